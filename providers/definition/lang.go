package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Lang is the language that a value is written in. Inside a language every
// expression becomes one literal of it; what can't be written as a literal is
// refused, never stripped.
type Lang string

// The languages.
const (
	LangText       Lang = ""           // no inner language: the place's encoding is all
	LangJQL        Lang = "jql"        // Jira: "…", backslash escapes
	LangSOQL       Lang = "soql"       // Salesforce: '…', backslash escapes
	LangSQL        Lang = "sql"        // '…', doubled quotes; no backslash
	LangSQLDouble  Lang = "sql_double" // "…" as in SendGrid's query language; no quote, no backslash
	LangOData      Lang = "odata"      // '…', doubled quotes
	LangLucene     Lang = "lucene"     // "…", backslash escapes; GitHub's search, too
	LangZendesk    Lang = "zendesk"    // "…", without quotes and backslashes inside
	LangFreshdesk  Lang = "freshdesk"  // '…' inside the query's own "…"; no quote of either kind
	LangServiceNow Lang = "servicenow" // encoded query: bare, without its operators
	LangGraphQL    Lang = "graphql"    // a string literal; variables are better
)

// Langs are all languages, for messages and tests.
func Langs() []Lang {
	return []Lang{LangText, LangJQL, LangSOQL, LangSQL, LangSQLDouble, LangOData, LangLucene, LangZendesk, LangFreshdesk, LangServiceNow, LangGraphQL}
}

func (l Lang) known() bool { return slices.Contains(Langs(), l) }

// literal writes one value. Numbers, true and false stay bare where a language
// has types.
func (l Lang) literal(v ref.Val) (string, error) {
	s, err := scalar(v)
	if err != nil {
		return "", err
	}
	if l == LangText {
		return s, nil
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }) {
		return "", fmt.Errorf("%.60q holds control characters, which %s can't take", s, l)
	}
	switch v.(type) {
	case types.Int, types.Uint, types.Bool, types.Double:
		return s, nil
	}
	return l.quote(s)
}

func (l Lang) quote(s string) (string, error) {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	switch l {
	case LangJQL, LangLucene, LangGraphQL:
		return `"` + escape.Replace(s) + `"`, nil
	case LangSOQL:
		return `'` + strings.NewReplacer(`\`, `\\`, `'`, `\'`, `"`, `\"`).Replace(s) + `'`, nil
	case LangSQL:
		if strings.Contains(s, `\`) { // an escape in some dialects, not in others
			return "", refused(s, l)
		}
		return `'` + strings.ReplaceAll(s, `'`, `''`) + `'`, nil
	case LangOData:
		return `'` + strings.ReplaceAll(s, `'`, `''`) + `'`, nil
	case LangSQLDouble, LangZendesk:
		if strings.ContainsAny(s, `"\`) {
			return "", refused(s, l)
		}
		return `"` + s + `"`, nil
	case LangFreshdesk:
		if strings.ContainsAny(s, `"'\`) {
			return "", refused(s, l)
		}
		return `'` + s + `'`, nil
	case LangServiceNow:
		// ^ joins terms, the others are operators; javascript: runs on the instance.
		if s == "" || strings.ContainsAny(s, "^=<>!@,*%") || strings.Contains(strings.ToLower(s), "javascript:") {
			return "", refused(s, l)
		}
		return s, nil
	}
	return "", fmt.Errorf("%q is no language", string(l))
}

func refused(s string, l Lang) error {
	return fmt.Errorf("%.60q can't be written as a literal of %s", s, l)
}

package definition

import (
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
)

func TestLiterals(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		lang Lang
		in   string
		want string // "" = refused
	}{
		{LangJQL, `O"PS \ x`, `"O\"PS \\ x"`},
		{LangJQL, `x" OR project = SECRET OR "`, `"x\" OR project = SECRET OR \""`}, // T-04
		{LangLucene, `a:b -status:open`, `"a:b -status:open"`},                      // T-04
		{LangGraphQL, `a"b`, `"a\"b"`},
		{LangSOQL, `o'brien-7\`, `'o\'brien-7\\'`}, // P-08
		{LangSQL, `o'brien-7`, `'o''brien-7'`},     // P-08
		{LangSQL, `a\'b`, ""},
		{LangOData, `o'brien`, `'o''brien'`},
		{LangSQLDouble, `a"b`, ""},
		{LangSQLDouble, `50%`, `"50%"`},
		{LangZendesk, `a"b`, ""},
		{LangZendesk, `名前`, `"名前"`},
		{LangFreshdesk, `a'b`, ""},
		{LangFreshdesk, `a"b`, ""},
		{LangFreshdesk, `ab`, `'ab'`},
		{LangServiceNow, `a^ORb=c`, ""},
		{LangServiceNow, `javascript:gs.x()`, ""},
		{LangServiceNow, ``, ""},
		{LangServiceNow, `0123abcd`, `0123abcd`},
		{LangJQL, "a\nb", ""},
		{LangSQL, "a\x00b", ""},
		{LangText, "a\nb'\"", "a\nb'\""},
	} {
		t.Run(string(row.lang)+" "+row.in, func(t *testing.T) {
			t.Parallel()
			got, err := row.lang.literal(types.String(row.in))
			if (err != nil) != (row.want == "") || got != row.want {
				t.Errorf("%q, %v; want %q", got, err, row.want)
			}
		})
	}
	if got, err := LangJQL.literal(types.Int(7)); err != nil || got != "7" {
		t.Errorf("a number: %q, %v", got, err)
	}
}

// Whatever goes in, a literal ends where it should and nowhere before.
func FuzzLiteralNeverEndsEarly(f *testing.F) {
	for _, s := range []string{"", "'", `"`, `\`, `\\'`, `'' OR 1=1`, `x\"y`, "\u2028", "^", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, l := range Langs() {
			got, err := l.literal(types.String(s))
			if err != nil || l == LangText {
				continue
			}
			if l == LangServiceNow {
				if strings.ContainsAny(got, "^\n") {
					t.Errorf("%s: %q", l, got)
				}
				continue
			}
			if !closed(l, got) {
				t.Errorf("%s: %q becomes %s", l, s, got)
			}
		}
	})
}

// closed walks a literal as the language's lexer would.
func closed(l Lang, s string) bool {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return false
	}
	q, inner := s[0], s[1:len(s)-1]
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\' && (l == LangJQL || l == LangLucene || l == LangGraphQL || l == LangSOQL):
			if i++; i == len(inner) {
				return false
			}
		case c == q && (l == LangSQL || l == LangOData):
			if i++; i == len(inner) || inner[i] != q {
				return false
			}
		case c == q:
			return false
		}
	}
	return true
}

func TestUntilBrace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ref} rest": "ref", `"}" + ref}x`: `"}" + ref`, `{"a": 1}["a"]}`: `{"a": 1}["a"]`, `'\'}'}`: `'\'}'`,
	} {
		got, _, err := untilBrace(in)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

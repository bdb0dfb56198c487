package rtdesk

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// condition is one term of a query; a query is terms joined by AND, which is all
// that the adapter needs of TicketSQL and TransactionSQL.
type condition struct {
	key, op, value string
}

const statusDeleted = "deleted"

// queryError is what is wrong with a query, in RT's words: it is the answer.
type queryError string

func (e queryError) Error() string { return string(e) }

func queryErrorf(format string, args ...any) error { return queryError(fmt.Sprintf(format, args...)) }

// parseQuery understands  key op value {AND key op value}.  Keys and values may
// be quoted by ' or ", with backslash escapes, as in RT's own parser.
func parseQuery(q string) ([]condition, error) {
	tokens, err := tokenize(q)
	if err != nil {
		return nil, err
	}
	var out []condition
	for i := 0; i < len(tokens); i += 4 {
		if i > 0 && !strings.EqualFold(tokens[i-1], "AND") {
			return nil, queryErrorf("Wrong query, expecting a AGGREGATOR in '%s'", q)
		}
		if i+3 > len(tokens) {
			return nil, queryErrorf("Incomplete query in '%s'", q)
		}
		out = append(out, condition{unquote(tokens[i]), tokens[i+1], unquote(tokens[i+2])})
	}
	if len(tokens)%4 != 3 && len(tokens) > 0 {
		return nil, queryErrorf("Incomplete query in '%s'", q)
	}
	return out, nil
}

func tokenize(q string) ([]string, error) {
	re := regexp.MustCompile(`^\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|CF\.\{[^}]+\}|!=|>=|<=|=|>|<|[\w.]+)`)
	var out []string
	for rest := q; strings.TrimSpace(rest) != ""; {
		m := re.FindStringSubmatch(rest)
		if m == nil {
			return nil, queryErrorf("Wrong query, expecting a KEYWORD in '%s'", q)
		}
		out = append(out, m[1])
		rest = rest[len(m[0]):]
	}
	return out, nil
}

func unquote(s string) string {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return s
	}
	return regexp.MustCompile(`\\(.)`).ReplaceAllString(s[1:len(s)-1], "$1")
}

// matches evaluates conds on t. Unknown keys are errors, as in RT; a custom field
// that does not exist matches nothing, without a word.
func (d *Desk) matches(t *Ticket, conds []condition) (bool, error) {
	all := true
	for _, c := range conds {
		ok, err := d.holds(t, c)
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

func (d *Desk) holds(t *Ticket, c condition) (bool, error) {
	if name, ok := strings.CutPrefix(c.key, "CF.{"); ok {
		name = strings.TrimSuffix(name, "}")
		ours := strings.EqualFold(name, d.cfg.Field) || name == strconv.Itoa(d.cfg.FieldID)
		return ours && t.Ref != "" && compareText(t.Ref, c), nil
	}
	switch c.key {
	case "id":
		return compareNumber(t.ID, c), nil
	case "EffectiveId":
		return compareNumber(effectiveID(t), c), nil
	case "Queue", "TicketQueue":
		return compareNumber(d.queueID(t.Queue), condition{c.key, c.op, strconv.Itoa(d.queueID(c.value))}), nil
	case "Status", "TicketStatus":
		return compareText(t.Status, c), nil
	case "Subject":
		return compareText(t.Subject, c), nil
	case "Type":
		return compareText("ticket", c), nil
	}
	return false, queryErrorf("Unknown field: %s", c.key)
}

// holdsTransaction evaluates a condition on the transaction that created t.
func (d *Desk) holdsTransaction(t *Ticket, c condition) (bool, error) {
	switch c.key {
	case "Type":
		return compareText("Create", c), nil
	case "ObjectType":
		return compareText("RT::Ticket", c), nil
	case "TicketCreated", "Created":
		return compareOrder(strings.Compare(t.Created.Format("2006-01-02 15:04:05"), c.value), c.op), nil
	case "TicketStatus", "TicketQueue":
		return d.holds(t, c)
	}
	return false, queryErrorf("Unknown field: %s", c.key)
}

// usesEffectiveID reports whether a query speaks of EffectiveId: only then does
// RT show merged tickets.
func usesEffectiveID(conds []condition) bool {
	for _, c := range conds {
		if c.key == "EffectiveId" {
			return true
		}
	}
	return false
}

func effectiveID(t *Ticket) int {
	if t.MergedInto != 0 {
		return t.MergedInto
	}
	return t.ID
}

// compareText ignores case, as RT's databases do.
func compareText(have string, c condition) bool {
	return compareOrder(strings.Compare(strings.ToLower(have), strings.ToLower(c.value)), c.op)
}

func compareNumber(have int, c condition) bool {
	want, err := strconv.Atoi(c.value)
	return err == nil && compareOrder(have-want, c.op)
}

func compareOrder(diff int, op string) bool {
	switch op {
	case "=":
		return diff == 0
	case "!=":
		return diff != 0
	case ">":
		return diff > 0
	case ">=":
		return diff >= 0
	case "<":
		return diff < 0
	case "<=":
		return diff <= 0
	}
	return false
}

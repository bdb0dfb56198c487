package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const maxStatement = 8 << 10

// hiding lists the reserved words that can hide a second row, or lock or copy
// rows. None of them can be a column's name without quotes.
func hiding() []string {
	return []string{"limit", "offset", "fetch", "distinct", "group", "tablesample", "for", "into"}
}

// checkStatement checks the text of the look-up without a server: one SELECT
// that can stand in parentheses, with $1 as its only placeholder. What it does
// not understand it refuses.
func checkStatement(s string) error {
	switch {
	case s == "":
		return errors.New("statement is not set: give one SELECT with $1 for the reference")
	case len(s) > maxStatement || !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return fmt.Errorf("statement is longer than %d bytes, or not UTF-8", maxStatement)
	case strings.Contains(s, "--") || strings.Contains(s, "/*"):
		return errors.New("statement holds a comment: leave it out")
	case strings.ContainsRune(s, '\\'):
		return errors.New("statement holds a backslash, which means different things to different servers: leave it out")
	}
	sc := scanner{rest: s}
	if err := sc.run(); err != nil {
		return fmt.Errorf("statement %w", err)
	}
	switch {
	case len(sc.words) == 0 || sc.words[0] != "select" && sc.words[0] != "with":
		return errors.New("statement is no SELECT")
	case sc.params == 0:
		return errors.New("statement has no $1: the reference must be its condition")
	}
	for _, w := range hiding() {
		if slices.Contains(sc.words, w) {
			return fmt.Errorf("statement has %s: it could hide a second row or do more than read", strings.ToUpper(w))
		}
	}
	return nil
}

// scanner takes a statement apart as far as the check needs: words outside
// quotes in lower case, placeholders, and balanced parentheses.
type scanner struct {
	rest   string
	words  []string
	params int
	depth  int
}

func (s *scanner) run() error {
	for s.rest != "" {
		if err := s.next(); err != nil {
			return err
		}
	}
	if s.depth != 0 {
		return errors.New("has a parenthesis that is not closed")
	}
	return nil
}

func (s *scanner) next() error {
	c := s.rest[0]
	switch {
	case c == '\'' || c == '"':
		end := strings.IndexByte(s.rest[1:], c) // a doubled quote is two quoted parts side by side
		if end < 0 {
			return errors.New("has a quote that is not closed")
		}
		s.rest = s.rest[end+2:]
	case c == ';':
		return errors.New("holds a semicolon: one SELECT is allowed")
	case c == '$':
		return s.placeholder()
	case isWordByte(c) && (c < '0' || c > '9'):
		n := 1
		for n < len(s.rest) && (isWordByte(s.rest[n]) || s.rest[n] == '$') {
			n++
		}
		s.words = append(s.words, strings.ToLower(s.rest[:n]))
		s.rest = s.rest[n:]
	case c == '(':
		s.depth++
		s.rest = s.rest[1:]
	case c == ')':
		if s.depth--; s.depth < 0 {
			return errors.New("closes a parenthesis that it did not open")
		}
		s.rest = s.rest[1:]
	default:
		s.rest = s.rest[1:]
	}
	return nil
}

func (s *scanner) placeholder() error {
	n := 1
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	switch s.rest[:n] {
	case "$1":
		s.params++
		s.rest = s.rest[n:]
		return nil
	case "$":
		return errors.New("holds a dollar quote: use ordinary quotes")
	}
	return fmt.Errorf("has the placeholder %.10s: only $1 is allowed, for the reference", s.rest[:n])
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// inner is the statement where PostgreSQL allows a query and nothing else:
// neither another kind of statement nor a WITH that writes.
func inner(statement string) string { return "(\n" + statement + "\n) AS landed_lookup" }

// describing is prepared to learn the types of the columns and of $1.
func describing(statement string) string { return "SELECT * FROM " + inner(statement) }

// looking reads the mapped columns as text. Only the reference is read far
// enough to be compared; a huge value can't fill the memory.
func looking(statement string, columns []string) string {
	parts := make([]string, len(columns))
	for i, name := range columns {
		parts[i] = "left(landed_lookup." + quoteName(name) + "::text, 300)"
	}
	return fmt.Sprintf("SELECT %s FROM %s LIMIT %d", strings.Join(parts, ", "), inner(statement), maxRows+1)
}

// quoteName quotes an identifier.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

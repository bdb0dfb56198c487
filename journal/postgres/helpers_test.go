package postgres_test

import "strings"

// splitSQL separates statements; the tests' own SQL holds no semicolon elsewhere.
func splitSQL(sql string) []string {
	var out []string
	for _, s := range strings.Split(sql, ";") {
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}

// countArgs is how many arguments a statement takes.
func countArgs(sql string) int {
	n := 0
	for n < 9 && strings.Contains(sql, "$"+string(rune('1'+n))) {
		n++
	}
	return n
}

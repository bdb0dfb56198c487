package postgres

import (
	"strings"
	"unicode/utf8"
)

// clean makes text storable, so that no state change after the effect can fail
// because of content: valid UTF-8, no NUL, at most n bytes.
func clean(s string, n int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.ReplaceAll(s, "\x00", "\u2400")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

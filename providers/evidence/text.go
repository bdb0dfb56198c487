package evidence

import (
	"strings"
	"unicode/utf8"
)

// sanitize makes provider text storable: valid UTF-8 without NUL.
func sanitize(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\u2400")
}

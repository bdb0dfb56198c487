package imap

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeName reads a mailbox name as it is on the wire (RFC 3501, 5.1.3). The
// library does so for what it asks itself.
func decodeName(wire string) (name string, ok bool) {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(wire, "&")
		if strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r > '~' }) {
			return "", false
		}
		b.WriteString(plain)
		if !found {
			return b.String(), true
		}
		code, after, closed := strings.Cut(rest, "-")
		if !closed {
			return "", false
		}
		if code == "" {
			b.WriteByte('&')
		} else if !decodeUTF16(&b, code) {
			return "", false
		}
		wire = after
	}
}

func decodeUTF16(b *strings.Builder, code string) bool {
	raw, err := base64.RawStdEncoding.DecodeString(strings.ReplaceAll(code, ",", "/"))
	if err != nil || len(raw)%2 != 0 {
		return false
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
	}
	for _, r := range utf16.Decode(units) {
		if r == utf8.RuneError {
			return false
		}
		b.WriteRune(r)
	}
	return true
}

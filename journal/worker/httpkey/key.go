package httpkey

import (
	"errors"
	"net/http"
	"strings"

	"github.com/landedhq/landed/journal"
)

// HeaderName is the request header that carries the key.
const HeaderName = "Idempotency-Key"

// errNoKey: the request carries no key at all.
var errNoKey = errors.New("the request has no " + HeaderName + " header")

// keyOf reads the key of a request: one field line that holds a Structured Field
// string (RFC 9651, section 3.3.3), as the draft asks, or the bare value that
// most clients send. Both forms of one value are one key. Parameters after the
// string are ignored: the draft defines none.
func keyOf(h http.Header) (string, error) {
	lines := h.Values(HeaderName)
	switch len(lines) {
	case 0:
		return "", errNoKey
	case 1:
	default:
		return "", errors.New(HeaderName + " is there more than once: send one key per request")
	}
	raw := strings.Trim(lines[0], " \t")
	if raw == "" {
		return "", errors.New(HeaderName + " is empty")
	}
	key := raw
	if raw[0] == '"' {
		var err error
		if key, err = unquote(raw); err != nil {
			return "", err
		}
	}
	if err := journal.ValidateKey(key); err != nil {
		return "", err
	}
	return key, nil
}

// unquote reads a Structured Field string from the start of s.
func unquote(s string) (string, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			if rest := strings.TrimLeft(s[i+1:], " "); rest != "" && rest[0] != ';' {
				return "", errors.New(HeaderName + " goes on after its closing quote: send one string")
			}
			return b.String(), nil
		case c == '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", errors.New(HeaderName + ` has a backslash that is not before " or \`)
			}
			b.WriteByte(s[i])
		case c < 0x20 || c > 0x7e:
			return "", errors.New(HeaderName + " holds a character that is not printable ASCII")
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New(HeaderName + " has no closing quote")
}

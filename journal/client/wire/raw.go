package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
)

// rawMember is a member whose bytes must arrive as they are. json.Marshal would
// compact and escape them, so they are put in after it.
type rawMember struct {
	name  string
	value []byte // nil = left out
}

// embeddable reports whether b survives as a JSON value inside a document.
func embeddable(b []byte) bool {
	return len(b) > 0 && !space(b[0]) && !space(b[len(b)-1]) && string(b) != "null" && utf8.Valid(b) && json.Valid(b)
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// encode writes v, whose raw members must be nil, and adds raws.
func encode(v any, raws ...rawMember) ([]byte, error) {
	out, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	for _, m := range raws {
		switch {
		case m.value == nil:
		case embeddable(m.value):
			out = appendMember(out, m.name, m.value)
		default:
			out = appendMember(out, m.name+"_base64", []byte(`"`+base64.StdEncoding.EncodeToString(m.value)+`"`))
		}
	}
	return out, nil
}

// appendMember adds a member at the end of the object obj.
func appendMember(obj []byte, name string, value []byte) []byte {
	obj = bytes.TrimSuffix(obj, []byte("}"))
	if len(obj) > 1 {
		obj = append(obj, ',')
	}
	obj = append(obj, '"')
	obj = append(obj, name...)
	obj = append(obj, '"', ':')
	obj = append(obj, value...)
	return append(obj, '}')
}

// Join adds the members of the object b to the object a.
func Join(a, b []byte) []byte {
	if len(b) <= 2 {
		return a
	}
	a = bytes.TrimSuffix(a, []byte("}"))
	if len(a) > 1 {
		a = append(a, ',')
	}
	return append(a, b[1:]...)
}

// take reads a member that came in one of its two forms.
func take(name string, raw json.RawMessage, b64 *string) ([]byte, error) {
	if string(raw) == "null" {
		raw = nil
	}
	if b64 == nil {
		return raw, nil
	}
	if raw != nil {
		return nil, &journal.InvalidError{Field: name, Detail: "and " + name + "_base64 exclude each other"}
	}
	out, err := base64.StdEncoding.Strict().DecodeString(*b64)
	if err != nil {
		return nil, &journal.InvalidError{Field: name + "_base64", Detail: "is not standard base64 with padding"}
	}
	return out, nil
}

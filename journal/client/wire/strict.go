package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
)

// opaque members are carried, not read: the journal itself judges args and
// resume, and nobody judges a result.
var opaque = []string{"args", "resume", "result"}

// strictness says what a body may be refused for.
type strictness int

const (
	beforeEffect strictness = iota // text that can't be kept is refused
	afterEffect                    // facts come first: odd text is read as it can be
)

// readStrict reads one JSON object into dst. Errors are *journal.InvalidError
// naming the member, or "body".
func readStrict(body []byte, dst any, s strictness) error {
	members, err := split(body)
	if err != nil {
		return err
	}
	known := names(reflect.TypeOf(dst).Elem())
	seen := map[string]bool{}
	for _, m := range members {
		switch {
		case !slices.Contains(known, m.name):
			return &journal.InvalidError{Field: shown(m.name), Detail: "is not a member of this request; known are " + strings.Join(known, ", ")}
		case seen[m.name]:
			return &journal.InvalidError{Field: m.name, Detail: "is there twice"}
		}
		seen[m.name] = true
		if slices.Contains(opaque, m.name) {
			continue
		}
		if err := checkMember(m, s); err != nil {
			return err
		}
	}
	return typed(json.Unmarshal(body, dst))
}

// shown is how an unknown name is repeated.
func shown(name string) string {
	if name == "" {
		return `""`
	}
	return strings.ToValidUTF8(name[:min(len(name), 100)], "?")
}

// names lists the members of a form, those of embedded forms included.
func names(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			out = append(out, names(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

type topMember struct {
	name string
	raw  json.RawMessage
}

// split takes the body apart at its first level.
func split(body []byte) ([]topMember, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, notAnObject(err)
	}
	var out []topMember
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, notAnObject(err)
		}
		m := topMember{name: fmt.Sprint(name)}
		if err := dec.Decode(&m.raw); err != nil {
			return nil, notAnObject(err)
		}
		out = append(out, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, notAnObject(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &journal.InvalidError{Field: "body", Detail: "holds more than one JSON value"}
	}
	return out, nil
}

func notAnObject(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &journal.InvalidError{Field: "body", Detail: fmt.Sprintf("is not valid JSON (%v, at byte %d)", syntax, syntax.Offset)}
	}
	return &journal.InvalidError{Field: "body", Detail: "must be one whole JSON object"}
}

func checkMember(m topMember, s strictness) error {
	if s == beforeEffect {
		if what := oddText(m.raw); what != "" {
			return &journal.InvalidError{Field: m.name, Detail: what}
		}
	}
	if m.raw[0] == '{' || m.raw[0] == '[' {
		if twice := repeated(m.raw); twice != "" {
			return &journal.InvalidError{Field: m.name, Detail: fmt.Sprintf("holds member %q twice", twice)}
		}
	}
	return nil
}

// oddText says why the strings in raw, which is valid JSON, can't be kept, or "".
func oddText(raw []byte) string {
	if !utf8.Valid(raw) {
		return "is not valid UTF-8"
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // the escaped character: a backslash stands only in strings
		if raw[i] != 'u' {
			continue
		}
		unit := hex4(raw[i+1:])
		i += 4
		switch {
		case unit >= 0xdc00 && unit < 0xe000:
			return "holds a lone surrogate"
		case unit >= 0xd800 && unit < 0xdc00:
			if i+6 >= len(raw) || raw[i+1] != '\\' || raw[i+2] != 'u' {
				return "holds a lone surrogate"
			}
			if low := hex4(raw[i+3:]); low < 0xdc00 || low >= 0xe000 {
				return "holds a lone surrogate"
			}
			i += 6
		}
	}
	return ""
}

func hex4(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return 0 // not reached: raw is valid JSON
	}
	return n
}

// repeated returns a member that an object anywhere in raw holds twice, or "".
func repeated(raw []byte) string {
	type level struct {
		object bool
		name   bool // the next string is a member's name
		seen   map[string]bool
	}
	var stack []level
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err != nil {
			return ""
		}
		top := len(stack) - 1
		switch t {
		case json.Delim('{'), json.Delim('['):
			if top >= 0 {
				stack[top].name = stack[top].object
			}
			object := t == json.Delim('{')
			stack = append(stack, level{object: object, name: object, seen: map[string]bool{}})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
			continue
		}
		if top < 0 || !stack[top].object {
			continue
		}
		if l := &stack[top]; l.name {
			name := fmt.Sprint(t)
			if l.seen[name] {
				return name
			}
			l.seen[name], l.name = true, false
		} else {
			l.name = true
		}
	}
}

// typed turns a value of another type into an error that names its member.
func typed(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		kind, ok := map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false", reflect.Int: "a whole number",
			reflect.Int64: "a whole number", reflect.Map: "an object", reflect.Struct: "an object", reflect.Slice: "a list"}[wrong.Type.Kind()]
		if !ok {
			kind = "something else"
		}
		field := wrong.Field
		if field == "" {
			field = "body"
		}
		return &journal.InvalidError{Field: field, Detail: "must be " + kind + ", not a " + wrong.Value}
	}
	if err != nil {
		return &journal.InvalidError{Field: "body", Detail: "can't be read: " + err.Error()}
	}
	return nil
}

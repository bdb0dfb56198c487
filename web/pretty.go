package web

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// maxIndent bounds the indentation of deeply nested JSON, so that nesting can't
// push values out of view.
const maxIndent = 16

// PrettyJSON lays out one JSON text token by token. Every number, string and
// escape stays exactly as it was stored: nothing is decoded. What is not JSON is
// shown as the text that it is.
func PrettyJSON(raw []byte, limit int) Text {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return Visible(string(raw), limit)
	}
	p := prettyPrinter{in: compact.String()}
	p.run()
	return cutMiddle(p.out.done(), limit)
}

type prettyPrinter struct {
	in    string
	out   spanList
	depth int
}

func (p *prettyPrinter) run() {
	for i := 0; i < len(p.in); {
		c := p.in[i]
		switch c {
		case '{', '[':
			if i+1 < len(p.in) && (p.in[i+1] == '}' || p.in[i+1] == ']') {
				p.out.own(p.in[i : i+2])
				i += 2
				continue
			}
			p.depth++
			p.out.own(p.in[i : i+1])
			p.newline()
		case '}', ']':
			p.depth--
			p.newline()
			p.out.own(p.in[i : i+1])
		case ',':
			p.out.own(p.in[i : i+1])
			p.newline()
		case ':':
			p.out.own(": ")
		default:
			i = p.token(i)
			continue
		}
		i++
	}
}

// token copies a string, number or literal and returns where it ends.
func (p *prettyPrinter) token(i int) int {
	end := tokenEnd(p.in, i)
	p.out.hostile(p.in[i:end])
	return end
}

func tokenEnd(s string, i int) int {
	if s[i] != '"' {
		for i < len(s) && !strings.ContainsRune("{}[],:", rune(s[i])) {
			i++
		}
		return i
	}
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

func (p *prettyPrinter) newline() {
	p.out.own("\n")
	p.out.own(strings.Repeat("  ", min(p.depth, maxIndent)))
}

// RawMember is one top-level member of a JSON object, its value as stored.
type RawMember struct {
	Name  string
	Value []byte
}

// Members splits a JSON object into its members, in their order. ok is false
// for anything else.
func Members(raw []byte) (members []RawMember, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil {
			return nil, false
		}
		members = append(members, RawMember{Name: name, Value: value})
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	_, err = d.Token()
	return members, err == io.EOF
}

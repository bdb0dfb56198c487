package guide

import (
	"strings"

	"github.com/landedhq/landed/journal"
)

// Kind is what one part of a value stands for.
type Kind string

// The kinds of parts. An argument is one of the tool's, as the journal holds them.
const (
	Literal           Kind = ""
	Ref               Kind = "ref"
	DashedRef         Kind = "dashed ref"
	ProviderKey       Kind = "provider key"
	DashedProviderKey Kind = "dashed provider key"
	Arg               Kind = "arg"
	Secret            Kind = "secret" // the worker's own credentials
)

// Part is one part of a value: text, or something that is known at run time.
type Part struct {
	Kind Kind   `json:"kind,omitempty"`
	Text string `json:"text,omitempty"` // of a literal; the name of an argument
}

// Value is what a worker sets, in parts.
type Value []Part

// String writes a value for people: "landed:{ref}.".
func (v Value) String() string {
	var b strings.Builder
	for _, p := range v {
		switch p.Kind {
		case Literal:
			b.WriteString(p.Text)
		case Arg:
			b.WriteString("{args." + p.Text + "}")
		default:
			b.WriteString("{" + string(p.Kind) + "}")
		}
	}
	return b.String()
}

// has reports whether a part is of one of the kinds.
func (v Value) has(kinds ...Kind) bool {
	for _, p := range v {
		for _, k := range kinds {
			if p.Kind == k {
				return true
			}
		}
	}
	return false
}

// stand are texts that stand for the reference and the key while an adapter
// renders its instruction. Nothing else in an instruction looks like them.
type stand struct {
	ref, key string
}

func newStand() stand {
	ref := "5eed0000ab1e4dad8a5eba11c0ffee00"
	return stand{ref: ref, key: journal.ProviderKey(ref, 1)}
}

// parse takes a rendered value apart again.
func (s stand) parse(text string) Value {
	known := []struct {
		text string
		kind Kind
	}{{s.ref, Ref}, {journal.Dashed(s.ref), DashedRef}, {s.key, ProviderKey}, {journal.Dashed(s.key), DashedProviderKey}}
	var out Value
	for text != "" {
		at, hit := len(text), Part{}
		length := 0
		for _, k := range known {
			if i := strings.Index(text, k.text); i >= 0 && i < at {
				at, hit, length = i, Part{Kind: k.kind}, len(k.text)
			}
		}
		if at > 0 {
			out = append(out, Part{Text: text[:at]})
		}
		if hit.Kind != Literal {
			out = append(out, hit)
		}
		text = text[at+length:]
	}
	return out
}

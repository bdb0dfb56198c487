package schematest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Check holds a JSON text against a declared type: every field is declared and of
// its type, and none is missing that must be there.
func (d *Declarations) Check(name string, text []byte) []Finding {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return []Finding{{name, err.Error()}}
	}
	return d.fits(name, v, name)
}

// CheckQuery holds the parameters of a query against a declared type.
func (d *Declarations) CheckQuery(name string, q url.Values) (out []Finding) {
	declared := map[string]field{}
	for _, f := range d.fieldsOf(name) {
		declared[f.name] = f
		if !f.optional && !q.Has(f.name) {
			out = append(out, Finding{name + "/" + f.name, "it is required"})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(q)) {
		f, ok := declared[k]
		if !ok {
			out = append(out, Finding{name + "/" + k, "there is no such parameter"})
			continue
		}
		var wrong []Finding
		for _, v := range []any{q.Get(k), number(q.Get(k)), scalar(q.Get(k))} {
			if wrong = d.fits(f.typ, v, name+"/"+k); len(wrong) == 0 {
				break
			}
		}
		out = append(out, wrong...)
	}
	return out
}

// number is a text as JSON's decoder gives numbers, or the text.
func number(s string) any {
	var n float64
	if json.Unmarshal([]byte(s), &n) == nil {
		return n
	}
	return s
}

// fits holds a value against a type as it is written: names, lists, unions.
func (d *Declarations) fits(typ string, v any, at string) []Finding {
	var first []Finding
	for _, one := range strings.Split(typ, " | ") {
		wrong := d.fitsOne(strings.TrimSpace(one), v, at)
		if len(wrong) == 0 {
			return nil
		}
		if first == nil {
			first = wrong
		}
	}
	return first
}

func (d *Declarations) fitsOne(typ string, v any, at string) (out []Finding) {
	inner, list := strings.CutSuffix(typ, "[]")
	if cut, ok := strings.CutPrefix(typ, "Array<"); ok {
		inner, list = strings.TrimSuffix(cut, ">"), true
	}
	if list {
		rows, ok := v.([]any)
		if !ok {
			return []Finding{{at, fmt.Sprintf("%T instead of a list", v)}}
		}
		for _, row := range rows {
			out = append(out, d.fits(inner, row, at+"/*")...)
		}
		return out
	}
	if t := d.types[typ]; t != nil {
		return d.object(typ, t, v, at)
	}
	if !primitive(typ, v) {
		return []Finding{{at, fmt.Sprintf("%v is no %s", v, typ)}}
	}
	return nil
}

// primitive holds a value against a type that needs no declaration. Any other is
// one that was not read.
func primitive(typ string, v any) (ok bool) {
	switch typ {
	case "any", "unknown":
		return true
	case "null":
		return v == nil
	case "string", "Date":
		_, ok = v.(string)
	case "number":
		_, ok = v.(float64)
	case "boolean":
		_, ok = v.(bool)
	default:
		s, text := v.(string)
		ok = text && (typ == `"`+s+`"` || typ == "'"+s+"'")
	}
	return ok
}

func (d *Declarations) object(name string, t *declared, v any, at string) (out []Finding) {
	if len(t.values) > 0 {
		if s, ok := v.(string); !ok || !slices.Contains(t.values, s) {
			out = append(out, Finding{at, fmt.Sprintf("%v is no %s", v, name)})
		}
		return out
	}
	object, ok := v.(map[string]any)
	if !ok {
		return []Finding{{at, fmt.Sprintf("%T instead of a %s", v, name)}}
	}
	if t.open {
		return nil
	}
	known := map[string]bool{}
	for _, f := range d.fieldsOf(name) {
		known[f.name] = true
		if value, there := object[f.name]; there {
			out = append(out, d.fits(f.typ, value, at+"/"+f.name)...)
		} else if !f.optional {
			out = append(out, Finding{at + "/" + f.name, "it is missing"})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		if !known[k] {
			out = append(out, Finding{at + "/" + k, "the type has no such field"})
		}
	}
	return out
}

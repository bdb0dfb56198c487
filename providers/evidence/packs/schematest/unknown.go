package schematest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// unknown lists the fields of v that no branch of the schema names: descriptions
// leave objects open, so a misspelt field would otherwise go by. Where a schema
// says nothing of an object's fields, or allows any, none is unknown.
func (a *OpenAPI) unknown(n node, v any) ([]string, error) { return a.unknownIn([]node{n}, v, "") }

func (a *OpenAPI) unknownIn(schemas []node, v any, path string) (out []string, err error) {
	if schemas, err = a.branches(schemas); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		var items []node
		for _, s := range schemas {
			if of := s.child("items"); of.v != nil {
				items = append(items, of)
			}
		}
		for i, e := range v {
			more, err := a.unknownIn(items, e, fmt.Sprintf("%s/%d", path, i))
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			of, open := fields(schemas, key)
			if len(of) == 0 && !open {
				out = append(out, path+"/"+key)
			}
			more, err := a.unknownIn(of, v[key], path+"/"+key)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	return out, nil
}

// fields are the schemas of one field; open says that any field may be there.
func fields(schemas []node, key string) (of []node, open bool) {
	named := false
	for _, s := range schemas {
		properties := s.child("properties")
		named = named || len(properties.object()) > 0
		if p := properties.child(key); p.v != nil {
			of = append(of, p)
		}
		switch more := s.child("additionalProperties"); more.v.(type) {
		case bool:
			open = open || more.v == true
		case map[string]any:
			of = append(of, more)
		}
	}
	return of, open || !named
}

// branches are the schemas with everything that they are composed of.
func (a *OpenAPI) branches(schemas []node) (out []node, err error) {
	for _, s := range schemas {
		if s, err = a.follow(s); err != nil {
			return nil, err
		}
		out = append(out, s)
		for _, word := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := s.child(word).v.([]any)
			var parts []node
			for i := range list {
				parts = append(parts, s.child(word).child(fmt.Sprint(i)))
			}
			more, err := a.branches(parts)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	return out, nil
}

// held validates v and looks for unknown fields: one finding for each place.
func (a *OpenAPI) held(where string, n node, v any) []Finding {
	var out []Finding
	if err := a.validate(n, v); err != nil {
		out = places(where, err)
	}
	names, err := a.unknown(n, v)
	if err != nil {
		return append(out, Finding{where, err.Error()})
	}
	for _, name := range names {
		out = append(out, Finding{where + " " + pattern(strings.Split(name[1:], "/")), "the schema has no such field"})
	}
	return out
}

// places takes an error apart. Where one of several schemas would do, what is
// wrong with each of them stands together.
func places(where string, err error) (out []Finding) {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return []Finding{{where, err.Error()}}
	}
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			out = append(out, places(where, cause)...)
		}
		return out
	}
	if at := pattern(e.InstanceLocation); at != "" {
		where += " " + at
	}
	return []Finding{{where, e.Error()}}
}

// pattern writes a place without the numbers of rows.
func pattern(path []string) string {
	out := ""
	for _, key := range path {
		if strings.Trim(key, "0123456789") == "" {
			key = "*"
		}
		out += "/" + key
	}
	return out
}

package schematest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// parameters are the operation's and its path's, by "in name".
func (a *OpenAPI) parameters(o operation) (map[string]node, error) {
	out := map[string]node{}
	for _, from := range []node{o.item, o.op} { // the operation's win
		list, _ := from.child("parameters").v.([]any)
		for i := range list {
			p, err := a.follow(from.child("parameters").child(fmt.Sprint(i)))
			if err != nil {
				return nil, err
			}
			in, _ := p.object()["in"].(string)
			name, _ := p.object()["name"].(string)
			if in == "header" {
				name = http.CanonicalHeaderKey(name)
			}
			out[in+" "+name] = p
		}
	}
	return out, nil
}

func (a *OpenAPI) checkParameters(o operation, params map[string]node, r *http.Request) (out []Finding) {
	given := map[string]map[string][]string{} // by "in name", then by what follows it in brackets
	put := func(name, part string, v []string) {
		if given[name] == nil {
			given[name] = map[string][]string{}
		}
		given[name][part] = v
	}
	for k, v := range o.values {
		put("path "+k, "", []string{v})
	}
	for k, v := range r.URL.Query() {
		if _, ok := params["query "+k]; ok {
			put("query "+k, "", v)
			continue
		}
		name, _, _ := strings.Cut(k, "[")
		put("query "+name, k[len(name):], v)
	}
	for name := range params {
		if h, ok := strings.CutPrefix(name, "header "); ok && r.Header[h] != nil {
			put(name, "", r.Header[h])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, ok := params[name]
		if !ok {
			out = append(out, Finding{o.name + " " + name, "there is no such parameter"})
		} else if err := a.checkValue(p, given[name]); err != nil {
			out = append(out, Finding{o.name + " " + name, err.Error()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if given[name] == nil && params[name].object()["required"] == true {
			out = append(out, Finding{o.name + " " + name, "it is required"})
		}
	}
	return out
}

// checkValue holds what a parameter's text may stand for against its schema.
func (a *OpenAPI) checkValue(p node, parts map[string][]string) (err error) {
	schema := p.child("schema")
	if schema.v == nil {
		return fmt.Errorf("the description gives no schema")
	}
	err = fmt.Errorf("it is not written like this: %v", parts)
	for _, v := range readings(parts, p.object()["style"] == "deepObject") {
		if err = a.validate(schema, v); err == nil {
			return nil
		}
	}
	return err
}

// readings are the values that texts can stand for: what stands in a query has
// no type of its own. Brackets are read where the style has them, and then lists
// need them.
func readings(parts map[string][]string, deep bool) []any {
	if text, ok := parts[""]; ok {
		var out []any
		if !deep {
			list := make([]any, 0, len(text))
			for _, s := range text {
				list = append(list, scalar(s))
			}
			out = append(out, list)
		}
		if len(text) == 1 {
			out = append(out, scalar(text[0]), text[0]) // the last one's error is shown
		}
		return out
	}
	if !deep {
		return nil
	}
	object, array := map[string]any{}, []any{}
	for _, k := range slices.Sorted(maps.Keys(parts)) {
		name := strings.Trim(k, "[]")
		object[name] = scalar(parts[k][0])
		if strings.Trim(name, "0123456789") == "" {
			for _, s := range parts[k] {
				array = append(array, s)
			}
		}
	}
	if len(array) >= len(object) {
		return []any{array}
	}
	return []any{object}
}

func scalar(s string) any {
	switch {
	case s == "true" || s == "false":
		return s == "true"
	case s != "" && strings.Trim(s, "0123456789") == "":
		return json.Number(s)
	}
	return s
}

// form reads a form as the object that it stands for. What has a part in
// brackets is text: such forms carry names and values of a caller's own.
func form(body string) (any, error) {
	values, err := url.ParseQuery(body)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for k, v := range values {
		name, part, nested := strings.Cut(strings.TrimSuffix(k, "]"), "[")
		if !nested {
			out[name] = scalar(v[0])
			continue
		}
		if out[name] == nil {
			out[name] = map[string]any{}
		}
		object, ok := out[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s stands there with and without a part", name)
		}
		object[part] = v[0]
	}
	return out, nil
}

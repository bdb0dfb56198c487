package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// operation is one method of one path.
type operation struct {
	name   string // "GET /v2/payments"
	item   node
	op     node
	values map[string]string // of the path's parameters
}

// find matches a request with the most literal path of the description.
func (a *OpenAPI) find(r *http.Request) (operation, error) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), strings.TrimSuffix(a.Server.Path, "/"))
	best, literal := -1, -1
	var values map[string]string
	for i, template := range a.paths {
		if got, n := match(template, path); got != nil && n > literal {
			best, literal, values = i, n, got
		}
	}
	if best < 0 || !ok {
		return operation{}, fmt.Errorf("no path for %s", r.URL.Path)
	}
	at := fmt.Sprintf("%spaths/%d", address, best)
	a.mu.Lock()
	doc, err := a.load(at)
	a.mu.Unlock()
	if err != nil {
		return operation{}, err
	}
	o := operation{name: r.Method + " " + a.paths[best], item: node{at: at, v: doc}, values: values}
	if o.op = o.item.child(strings.ToLower(r.Method)); o.op.v == nil {
		return operation{}, fmt.Errorf("%s takes no %s", a.paths[best], r.Method)
	}
	return o, nil
}

// match reads a path by its template; nil if it does not fit. n counts the
// literal segments.
func match(template, path string) (values map[string]string, n int) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, 0
	}
	values = map[string]string{}
	for i, w := range want {
		plain, err := url.PathUnescape(got[i])
		if err != nil {
			return nil, 0
		}
		before, rest, ok := strings.Cut(w, "{")
		name, after, _ := strings.Cut(rest, "}")
		switch {
		case !ok && w == plain:
			n++
		case ok && len(plain) > len(before)+len(after) && strings.HasPrefix(plain, before) && strings.HasSuffix(plain, after):
			values[name] = plain[len(before) : len(plain)-len(after)]
		default:
			return nil, 0
		}
	}
	return values, n
}

// CheckRequest holds a request against the description: its path and method,
// every parameter, the credentials' place, the body. It reads the body and puts
// it back.
func (a *OpenAPI) CheckRequest(r *http.Request) []Finding {
	o, err := a.find(r)
	if err != nil {
		return []Finding{{r.Method + " " + r.URL.Path, err.Error()}}
	}
	params, err := a.parameters(o)
	if err != nil {
		return []Finding{{o.name, err.Error()}}
	}
	out := a.checkParameters(o, params, r)
	if err := a.checkSecurity(o, r); err != nil {
		out = append(out, Finding{o.name + " credentials", err.Error()})
	}
	return append(out, a.checkBody(o, r)...)
}

func (a *OpenAPI) checkBody(o operation, r *http.Request) []Finding {
	where := o.name + " body"
	schema, v, err := a.readBody(o, r)
	if err != nil {
		return []Finding{{where, err.Error()}}
	}
	if v == nil {
		return nil
	}
	return a.held(where, schema, v)
}

// readBody gives a request's body and its schema; nil if there is none and need
// be none.
func (a *OpenAPI) readBody(o operation, r *http.Request) (schema node, v any, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return node{}, nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	described, err := a.follow(o.op.child("requestBody"))
	if err != nil {
		return node{}, nil, err
	}
	if len(body) == 0 {
		if described.object()["required"] == true {
			err = errors.New("it is missing")
		}
		return node{}, nil, err
	}
	if schema, err = media(described, r.Header); err != nil {
		return node{}, nil, err
	}
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
	case "application/json":
		v, err = jsonschema.UnmarshalJSON(bytes.NewReader(body))
	case "application/x-www-form-urlencoded":
		v, err = form(string(body))
	default:
		err = fmt.Errorf("a body of type %s is not understood here", kind)
	}
	return schema, v, err
}

// media is the schema of a body or an answer of this content type.
func media(described node, h http.Header) (node, error) {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return node{}, fmt.Errorf("content type %q: %w", h.Get("Content-Type"), err)
	}
	schema := described.child("content").child(kind).child("schema")
	if schema.v == nil {
		return node{}, fmt.Errorf("no content of type %s is described", kind)
	}
	return schema, nil
}

// CheckAnswer holds an answer to r against the description. An error status that
// it does not describe is let by: descriptions leave many out.
func (a *OpenAPI) CheckAnswer(r *http.Request, status int, h http.Header, body []byte) []Finding {
	o, err := a.find(r)
	if err != nil {
		return []Finding{{r.Method + " " + r.URL.Path, err.Error()}}
	}
	where := fmt.Sprintf("%s answer %d", o.name, status)
	responses, code := o.op.child("responses"), fmt.Sprint(status)
	described := responses.child(code)
	for _, other := range []string{code[:1] + "XX", "default"} {
		if described.v == nil {
			described = responses.child(other)
		}
	}
	if described.v == nil {
		if status < 400 {
			return []Finding{{where, "no such status is described"}}
		}
		return nil
	}
	if described, err = a.follow(described); err != nil {
		return []Finding{{where, err.Error()}}
	}
	schema, err := media(described, h)
	if err != nil {
		return []Finding{{where, err.Error()}}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []Finding{{where, err.Error()}}
	}
	return a.held(where, schema, v)
}

// checkSecurity holds the request's credentials against the schemes that the
// operation takes: one of them must be there. The token itself is not judged.
func (a *OpenAPI) checkSecurity(o operation, r *http.Request) error {
	var all []any
	if own, ok := o.op.child("security").v.([]any); ok {
		all = own
	} else if len(a.security) > 0 {
		if err := json.Unmarshal(a.security, &all); err != nil {
			return err
		}
	}
	var names []string
	for _, one := range all {
		needs, _ := one.(map[string]any)
		met := true
		for name := range needs {
			var s struct{ Type, Scheme, In, Name string }
			if err := json.Unmarshal(a.components["securitySchemes"][name], &s); err != nil {
				return fmt.Errorf("the scheme %s: %w", name, err)
			}
			has := false
			switch {
			case s.Type == "http" && strings.EqualFold(s.Scheme, "basic"):
				has = strings.HasPrefix(r.Header.Get("Authorization"), "Basic ")
			case s.Type == "http", s.Type == "oauth2", s.Type == "openIdConnect":
				has = strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ")
			case s.In == "header":
				has = r.Header.Get(s.Name) != ""
			case s.In == "query":
				has = r.URL.Query().Has(s.Name)
			}
			met = met && has
			names = append(names, name)
		}
		if met {
			return nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("none of the schemes %s", strings.Join(names, ", "))
}

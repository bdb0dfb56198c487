package declared

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// request is a compiled request.
type request struct {
	path    string // where it stands in the file
	method  string
	segs    []*text
	query   []pair
	headers []pair
	form    []pair
	body    any // nil = none; a tree with *text leaves
}

// pair is a name with its values.
type pair struct {
	name   *text
	values []*text
}

// graphQLOnlyReads refuses what could be a mutation: a document must begin as a
// query.
func graphQLOnlyReads(q string) error {
	for _, line := range strings.Split(q, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !strings.HasPrefix(line, "query") && !strings.HasPrefix(line, "{") {
			return errors.New("a GraphQL document must begin with query")
		}
		break
	}
	for _, word := range []string{"mutation", "subscription"} {
		if uses(q, word) {
			return fmt.Errorf("a GraphQL document with %s does more than read", word)
		}
	}
	return nil
}

func (c *compiler) request(path string, s *scope, b *requestBlock) *request {
	r := &request{path: path, method: c.method(path, b)}
	if len(b.Path) == 0 {
		c.src.fail(path+".path", "is missing: list the path's segments, like [api, v2, tickets]")
	}
	for i, seg := range b.Path {
		r.segs = append(r.segs, c.text(index(path+".path", i), s, seg, LangText))
	}
	r.query = c.pairs(path+".query", s, b.Query)
	r.form = c.pairs(path+".form", s, b.Form)
	for _, name := range sortedKeys(b.Headers) {
		if !headerName(name) || strings.EqualFold(name, "authorization") || strings.EqualFold(name, "host") {
			c.src.fail(path+".headers."+name, "is no header that a request may set: credentials go into auth")
		}
		p := path + ".headers." + name
		r.headers = append(r.headers, pair{c.text(p, c.params, name, LangText), []*text{c.text(p, s, b.Headers[name], LangText)}})
	}
	bodies := 0
	if b.JSON != nil {
		bodies++
		r.body = c.tree(path+".json", s, b.JSON)
	}
	if b.GraphQL != nil {
		bodies++
		r.body = c.graphQL(path+".graphql", s, b.GraphQL)
	}
	if b.Form != nil {
		bodies++
	}
	if bodies > 1 {
		c.src.fail(path, "a request has one body: json, form or graphql")
	}
	return r
}

func (c *compiler) graphQL(path string, s *scope, b *graphQLBlock) any {
	if strings.Contains(b.Query, "${") {
		c.src.fail(path+".query", "holds an expression: values go into variables")
	}
	if err := graphQLOnlyReads(b.Query); err != nil {
		c.src.fail(path+".query", "%v", err)
	}
	return map[string]any{"query": b.Query, "variables": c.tree(path+".variables", s, b.Variables)}
}

// pairs compiles query parameters and form fields.
func (c *compiler) pairs(path string, s *scope, m map[string]any) []pair {
	var out []pair
	for _, name := range sortedKeys(m) {
		p := path + "." + name
		pr := pair{name: c.text(p, s, name, LangText)}
		list, ok := m[name].([]any)
		if !ok {
			list = []any{m[name]}
		}
		for _, v := range list {
			pr.values = append(pr.values, c.leaf(p, s, v))
		}
		out = append(out, pr)
	}
	return out
}

// leaf compiles one value: a scalar or {lang, text, omit_empty}.
func (c *compiler) leaf(path string, s *scope, v any) *text {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if k != "lang" && k != "text" && k != "omit_empty" {
				c.src.fail(path+"."+k, "is not known: a value is a text, or has lang, text and omit_empty")
			}
		}
		lang, _ := v["lang"].(string)
		src, ok := v["text"].(string)
		if !ok {
			c.src.fail(path+".text", "is missing")
			return nil
		}
		t := c.text(path, s, src, Lang(lang))
		if omit, _ := v["omit_empty"].(bool); t != nil {
			t.omitEmpty = omit
		}
		return t
	case []any, nil:
		c.src.fail(path, "is no text")
		return nil
	}
	return c.text(path, s, fmt.Sprint(v), LangText)
}

// tree compiles a JSON body: texts become *text, a map of lang and text too.
func (c *compiler) tree(path string, s *scope, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["lang"]; ok && len(v) == 2 && v["text"] != nil {
			return c.leaf(path, s, v)
		}
		out := map[string]any{}
		for k, x := range v {
			out[k] = c.tree(path+"."+k, s, x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = c.tree(index(path, i), s, x)
		}
		return out
	case string:
		return c.text(path, s, v, LangText)
	}
	return v
}

// built is a request ready to be sent, without credentials.
type built struct {
	method  string
	url     *url.URL
	headers http.Header
	body    []byte
	json    map[string]any // the body as an object, for paging and body keys
	kind    string         // content type
}

// build renders a request below base.
func (r *request) build(ctx context.Context, base *url.URL, v vars) (*built, error) {
	b := &built{method: r.method, headers: http.Header{}}
	u := *base
	raw := strings.TrimRight(u.EscapedPath(), "/")
	for _, seg := range r.segs {
		s, err := seg.render(ctx, v)
		if err != nil {
			return nil, err
		}
		if s == "" || s == "." || s == ".." {
			return nil, fmt.Errorf("%s: %q can't be a path segment", seg.path, s)
		}
		raw += "/" + url.PathEscape(s)
	}
	var err error
	if u.Path, err = url.PathUnescape(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	u.RawPath = raw
	q, err := renderPairs(ctx, r.query, v)
	if err != nil {
		return nil, err
	}
	u.RawQuery = q.Encode()
	b.url = &u
	for _, h := range r.headers {
		s, err := h.values[0].render(ctx, v)
		if err != nil {
			return nil, err
		}
		if !headerValue(s) {
			return nil, fmt.Errorf("%s: the value can't stand in a header", h.values[0].path)
		}
		b.headers.Set(h.name.parts[0].literal, s)
	}
	return b, r.buildBody(ctx, b, v)
}

func (r *request) buildBody(ctx context.Context, b *built, v vars) error {
	switch {
	case len(r.form) > 0:
		f, err := renderPairs(ctx, r.form, v)
		if err != nil {
			return err
		}
		b.body, b.kind = []byte(f.Encode()), "application/x-www-form-urlencoded"
	case r.body != nil:
		x, err := renderTree(ctx, r.body, v)
		if err != nil {
			return err
		}
		b.kind = "application/json"
		if b.json, _ = x.(map[string]any); b.json != nil {
			return b.encode()
		}
		if b.body, err = json.Marshal(x); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	return nil
}

// encode writes the JSON object into the body again.
func (b *built) encode() error {
	var err error
	if b.body, err = json.Marshal(b.json); err != nil {
		return fmt.Errorf("encoding the body: %w", err)
	}
	return nil
}

// http makes the request that goes out.
func (b *built) http(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, b.method, b.url.String(), bytes.NewReader(b.body))
	if err != nil {
		return nil, errors.New("the request can't be built") // the cause would show the whole address
	}
	req.Header = b.headers.Clone()
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if b.kind != "" {
		req.Header.Set("Content-Type", b.kind)
	}
	return req, nil
}

func renderPairs(ctx context.Context, ps []pair, v vars) (url.Values, error) {
	out := url.Values{}
	for _, p := range ps {
		name, err := p.name.render(ctx, v)
		if err != nil {
			return nil, err
		}
		for _, t := range p.values {
			s, err := t.render(ctx, v)
			if err != nil {
				return nil, err
			}
			if s != "" || !t.omitEmpty {
				out.Add(name, s)
			}
		}
	}
	return out, nil
}

func renderTree(ctx context.Context, x any, v vars) (any, error) {
	var err error
	switch x := x.(type) {
	case *text:
		return x.value(ctx, v)
	case map[string]any:
		out := map[string]any{}
		for k, e := range x {
			if out[k], err = renderTree(ctx, e, v); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			if out[i], err = renderTree(ctx, e, v); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return x, nil
}

// headerName allows the characters that header names really have.
func headerName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// headerValue allows visible ASCII and spaces inside.
func headerValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

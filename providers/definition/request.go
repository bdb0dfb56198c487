package definition

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

// RequestBlock is a request as written.
type RequestBlock struct {
	Method  string            `yaml:"method"`
	Reads   bool              `yaml:"reads"` // POST only: the vendor documents it as a read
	Path    []string          `yaml:"path"`  // segments, texts; each is escaped
	Query   map[string]any    `yaml:"query"` // text, list of texts, or {lang, text, omit_empty}
	Headers map[string]string `yaml:"headers"`
	JSON    any               `yaml:"json"`
	Form    map[string]any    `yaml:"form"`
	GraphQL *GraphQLBlock     `yaml:"graphql"`
}

// GraphQLBlock is a query's document and its variables, as written.
type GraphQLBlock struct {
	Query     string         `yaml:"query"` // fixed: values go into variables only
	Variables map[string]any `yaml:"variables"`
}

// Read checks that a request only reads.
func (c *Compiler) Read(path string, b *RequestBlock) {
	switch b.Method {
	case http.MethodGet:
		if b.JSON != nil || b.Form != nil || b.GraphQL != nil || b.Reads {
			c.Src.Fail(path, "a GET has no body and needs no reads: true")
		}
	case http.MethodPost:
		if !b.Reads {
			c.Src.Fail(path+".method", "POST is allowed only where the vendor documents the call as a read: say reads: true then")
		}
	default:
		c.Src.Fail(path+".method", "%q: what asks only reads, so GET, or POST with reads: true", b.Method)
	}
}

// Request is a compiled request.
type Request struct {
	path    string // where it stands in the file
	method  string
	segs    []*Text
	query   []pair
	headers []pair
	form    []pair
	body    any // nil = none; a tree with *Text leaves
}

// pair is a name with its values.
type pair struct {
	name   *Text
	values []*Text
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
		if Uses(q, word) {
			return fmt.Errorf("a GraphQL document with %s does more than read", word)
		}
	}
	return nil
}

// Request compiles a request. The caller has checked its method: Read does where
// nothing may be written.
func (c *Compiler) Request(path string, s *Scope, b *RequestBlock) *Request {
	r := &Request{path: path, method: b.Method}
	if len(b.Path) == 0 {
		c.Src.Fail(path+".path", "is missing: list the path's segments, like [api, v2, tickets]")
	}
	for i, seg := range b.Path {
		r.segs = append(r.segs, c.Text(Index(path+".path", i), s, seg, LangText))
	}
	r.query = c.pairs(path+".query", s, b.Query)
	r.form = c.pairs(path+".form", s, b.Form)
	for _, name := range SortedKeys(b.Headers) {
		if !headerName(name) || strings.EqualFold(name, "authorization") || strings.EqualFold(name, "host") {
			c.Src.Fail(path+".headers."+name, "is no header that a request may set: credentials go into auth")
		}
		p := path + ".headers." + name
		r.headers = append(r.headers, pair{c.Text(p, c.Plain, name, LangText), []*Text{c.Text(p, s, b.Headers[name], LangText)}})
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
		c.Src.Fail(path, "a request has one body: json, form or graphql")
	}
	return r
}

func (c *Compiler) graphQL(path string, s *Scope, b *GraphQLBlock) any {
	if strings.Contains(b.Query, "${") {
		c.Src.Fail(path+".query", "holds an expression: values go into variables")
	}
	if err := graphQLOnlyReads(b.Query); err != nil {
		c.Src.Fail(path+".query", "%v", err)
	}
	return map[string]any{"query": b.Query, "variables": c.tree(path+".variables", s, b.Variables)}
}

// pairs compiles query parameters and form fields.
func (c *Compiler) pairs(path string, s *Scope, m map[string]any) []pair {
	var out []pair
	for _, name := range SortedKeys(m) {
		p := path + "." + name
		pr := pair{name: c.Text(p, s, name, LangText)}
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
func (c *Compiler) leaf(path string, s *Scope, v any) *Text {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if k != "lang" && k != "text" && k != "omit_empty" {
				c.Src.Fail(path+"."+k, "is not known: a value is a text, or has lang, text and omit_empty")
			}
		}
		lang, _ := v["lang"].(string)
		src, ok := v["text"].(string)
		if !ok {
			c.Src.Fail(path+".text", "is missing")
			return nil
		}
		t := c.Text(path, s, src, Lang(lang))
		if omit, _ := v["omit_empty"].(bool); t != nil {
			t.omitEmpty = omit
		}
		return t
	case []any, nil:
		c.Src.Fail(path, "is no text")
		return nil
	}
	return c.Text(path, s, fmt.Sprint(v), LangText)
}

// written reports whether a map is one value: a text with its language, or one
// that is left out when it is empty.
func written(v map[string]any) bool {
	_, lang := v["lang"]
	_, omit := v["omit_empty"]
	_, text := v["text"].(string)
	want := 1
	if lang {
		want++
	}
	if omit {
		want++
	}
	return text && want > 1 && len(v) == want
}

// tree compiles a JSON body: texts become *Text, and so does what is written.
func (c *Compiler) tree(path string, s *Scope, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if written(v) {
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
			out[i] = c.tree(Index(path, i), s, x)
		}
		return out
	case string:
		return c.Text(path, s, v, LangText)
	}
	return v
}

// Built is a request ready to be sent, without credentials.
type Built struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
	JSON   map[string]any // the body as an object, for paging and body keys
	Kind   string         // content type
}

// Build renders a request below base. A segment is never empty, "." or "..".
func (r *Request) Build(ctx context.Context, base *url.URL, v Vars) (*Built, error) {
	b := &Built{Method: r.method, Header: http.Header{}}
	u := *base
	raw := strings.TrimRight(u.EscapedPath(), "/")
	for _, seg := range r.segs {
		s, err := seg.Render(ctx, v)
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
	b.URL = &u
	for _, h := range r.headers {
		s, err := h.values[0].Render(ctx, v)
		if err != nil {
			return nil, err
		}
		if !headerValue(s) {
			return nil, fmt.Errorf("%s: the value can't stand in a header", h.values[0].path)
		}
		b.Header.Set(h.name.parts[0].literal, s)
	}
	return b, r.buildBody(ctx, b, v)
}

func (r *Request) buildBody(ctx context.Context, b *Built, v Vars) error {
	switch {
	case len(r.form) > 0:
		f, err := renderPairs(ctx, r.form, v)
		if err != nil {
			return err
		}
		b.Body, b.Kind = []byte(f.Encode()), "application/x-www-form-urlencoded"
	case r.body != nil:
		x, err := renderTree(ctx, r.body, v)
		if err != nil {
			return err
		}
		b.Kind = "application/json"
		if b.JSON, _ = x.(map[string]any); b.JSON != nil {
			return b.Encode()
		}
		if b.Body, err = json.Marshal(x); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	return nil
}

// Encode writes the JSON object into the body again.
func (b *Built) Encode() error {
	var err error
	if b.Body, err = json.Marshal(b.JSON); err != nil {
		return fmt.Errorf("encoding the body: %w", err)
	}
	return nil
}

// HTTP makes the request that goes out.
func (b *Built) HTTP(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, b.Method, b.URL.String(), bytes.NewReader(b.Body))
	if err != nil {
		return nil, errors.New("the request can't be built") // the cause would show the whole address
	}
	req.Header = b.Header.Clone()
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if b.Kind != "" {
		req.Header.Set("Content-Type", b.Kind)
	}
	return req, nil
}

func renderPairs(ctx context.Context, ps []pair, v Vars) (url.Values, error) {
	out := url.Values{}
	for _, p := range ps {
		name, err := p.name.Render(ctx, v)
		if err != nil {
			return nil, err
		}
		for _, t := range p.values {
			s, err := t.Render(ctx, v)
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

func renderTree(ctx context.Context, x any, v Vars) (any, error) {
	var err error
	switch x := x.(type) {
	case *Text:
		return x.Value(ctx, v)
	case map[string]any:
		out := map[string]any{}
		for k, e := range x {
			got, err := renderTree(ctx, e, v)
			if err != nil {
				return nil, err
			}
			if t, ok := e.(*Text); !ok || !t.omitEmpty || got != "" {
				out[k] = got
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

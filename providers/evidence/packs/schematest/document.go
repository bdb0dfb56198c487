package schematest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// address is where the parts of a description are said to lie. Every component
// and every path is a document of its own, so that only what a test uses of some
// ten megabytes is ever decoded and compiled.
const (
	address = "https://openapi.invalid/"
	schemas = address + "components/schemas/"
)

// OpenAPI is a description in OpenAPI 3.0. It is safe for concurrent use.
type OpenAPI struct {
	// Version is info.version.
	Version string
	// Server is the address of the first server.
	Server *url.URL

	paths      []string // templates, sorted; the number of each is in its address
	items      map[string]json.RawMessage
	components map[string]map[string]json.RawMessage
	security   json.RawMessage

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	docs     map[string]any
	schemas  map[string]*jsonschema.Schema
}

// ParseOpenAPI reads a description. Its parts are read when they are used.
func ParseOpenAPI(doc []byte) (*OpenAPI, error) {
	var in struct {
		OpenAPI    string
		Info       struct{ Version string }
		Servers    []struct{ URL string }
		Paths      map[string]json.RawMessage
		Components map[string]map[string]json.RawMessage
		Security   json.RawMessage
	}
	if err := json.Unmarshal(doc, &in); err != nil {
		return nil, fmt.Errorf("reading the description: %w", err)
	}
	if !strings.HasPrefix(in.OpenAPI, "3.0") || len(in.Servers) == 0 {
		return nil, fmt.Errorf("OpenAPI %q with %d servers: only 3.0 with one is understood", in.OpenAPI, len(in.Servers))
	}
	server, err := url.Parse(in.Servers[0].URL)
	if err != nil {
		return nil, fmt.Errorf("reading the server's address: %w", err)
	}
	a := &OpenAPI{
		Version: in.Info.Version, Server: server, items: in.Paths, components: in.Components, security: in.Security,
		paths: slices.Sorted(maps.Keys(in.Paths)), compiler: jsonschema.NewCompiler(),
		docs: map[string]any{}, schemas: map[string]*jsonschema.Schema{},
	}
	a.compiler.DefaultDraft(jsonschema.Draft4) // the dialect that 3.0 extends
	a.compiler.UseLoader(loader{a})
	return a, nil
}

type loader struct{ a *OpenAPI }

// Load is called by the compiler, which holds the lock.
func (l loader) Load(at string) (any, error) { return l.a.load(at) }

// load decodes one part of the description.
func (a *OpenAPI) load(at string) (any, error) {
	if doc, ok := a.docs[at]; ok {
		return doc, nil
	}
	var raw json.RawMessage
	switch section, name, _ := strings.Cut(strings.TrimPrefix(at, address), "/"); section {
	case "paths":
		for i, template := range a.paths {
			if fmt.Sprint(i) == name {
				raw = a.items[template]
			}
		}
	case "components":
		kind, name, _ := strings.Cut(name, "/")
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		raw = a.components[kind][name]
	}
	if raw == nil {
		return nil, fmt.Errorf("the description has no %s", at)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", at, err)
	}
	if err := prepare(doc); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if strings.HasPrefix(at, address+"components/") && !strings.HasPrefix(at, schemas) {
		doc = map[string]any{"is": doc} // no schema itself: the compiler must not read it as one
	}
	a.docs[at] = doc
	return doc, nil
}

// prepare turns OpenAPI's own keyword into JSON Schema, and references inside
// one document into references between its parts, in place.
func prepare(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := prepare(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := prepare(e); err != nil {
				return err
			}
		}
		if ref, ok := v["$ref"].(string); ok {
			to, err := target(ref)
			if err != nil {
				return err
			}
			v["$ref"] = to
		}
		if v["nullable"] == true {
			rest := maps.Clone(v)
			clear(v)
			delete(rest, "nullable")
			v["anyOf"] = []any{map[string]any{"type": "null"}, rest}
		}
	}
	return nil
}

// target is the address of what a reference leads to.
func target(ref string) (string, error) {
	parts := strings.SplitN(strings.TrimPrefix(ref, "#/"), "/", 4)
	if len(parts) < 3 || parts[0] != "components" || !strings.HasPrefix(ref, "#/") {
		return "", fmt.Errorf("a reference of a kind that is not understood: %s", ref)
	}
	to := address + "components/" + parts[1] + "/" + url.PathEscape(strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[2]))
	pointer := ""
	if parts[1] != "schemas" {
		pointer = "/is"
	}
	if len(parts) == 4 {
		pointer += "/" + parts[3]
	}
	return to + "#" + pointer, nil
}

// node is a place in the description.
type node struct {
	at string // address of the document
	in string // JSON pointer inside it
	v  any
}

func (n node) address() string { return n.at + "#" + n.in }

// object is what stands there; nil if it is none.
func (n node) object() map[string]any { m, _ := n.v.(map[string]any); return m }

// follow goes where a reference leads, if n is one.
func (a *OpenAPI) follow(n node) (node, error) {
	for range 20 {
		ref, ok := n.object()["$ref"].(string)
		if !ok {
			return n, nil
		}
		at, pointer, _ := strings.Cut(ref, "#")
		a.mu.Lock()
		doc, err := a.load(at)
		a.mu.Unlock()
		if err != nil {
			return node{}, err
		}
		n = node{at: at, v: doc}
		for _, key := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
			if key != "" {
				n = n.child(strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
			}
		}
	}
	return node{}, fmt.Errorf("references without an end at %s", n.address())
}

// child is the value of a key or a place of a list; its v is nil if there is none.
func (n node) child(key string) node {
	to := node{at: n.at, in: n.in + "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))}
	switch v := n.v.(type) {
	case map[string]any:
		to.v = v[key]
	case []any:
		for i, e := range v {
			if fmt.Sprint(i) == key {
				to.v = e
			}
		}
	}
	return to
}

// validate holds a value against the schema at n.
func (a *OpenAPI) validate(n node, v any) error {
	a.mu.Lock()
	s := a.schemas[n.address()]
	if s == nil {
		var err error
		if s, err = a.compiler.Compile(n.address()); err != nil {
			a.mu.Unlock()
			return fmt.Errorf("compiling: %w", err)
		}
		a.schemas[n.address()] = s
	}
	a.mu.Unlock()
	return s.Validate(v)
}

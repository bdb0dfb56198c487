package schematest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// GraphQL is a vendor's GraphQL schema.
type GraphQL struct {
	schema *ast.Schema
}

// ParseGraphQL reads a schema in GraphQL's own language.
func ParseGraphQL(sdl string) (*GraphQL, error) {
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema", Input: sdl})
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return &GraphQL{schema}, nil
}

// CheckRequest holds a request's body against the schema: the query's text, and
// every variable.
func (g *GraphQL) CheckRequest(body []byte) []Finding {
	_, out := g.query(body)
	return out
}

func (g *GraphQL) query(body []byte) (*ast.OperationDefinition, []Finding) {
	var in struct {
		Query     string
		Variables map[string]any
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, []Finding{{"body", err.Error()}}
	}
	doc, errs := gqlparser.LoadQueryWithRules(g.schema, in.Query, nil)
	if errs != nil {
		return nil, []Finding{{"query", errs.Error()}}
	}
	if len(doc.Operations) != 1 {
		return nil, []Finding{{"query", fmt.Sprintf("%d operations", len(doc.Operations))}}
	}
	op := doc.Operations[0]
	if _, err := validator.VariableValues(g.schema, op, in.Variables); err != nil {
		return op, []Finding{{"variables", err.Error()}}
	}
	return op, nil
}

// CheckAnswer holds an answer without errors against what its request selected:
// every field is there, none besides, each of its type.
func (g *GraphQL) CheckAnswer(request, answer []byte) []Finding {
	op, out := g.query(request)
	if len(out) > 0 {
		return out
	}
	var in struct {
		Data   any
		Errors []any
	}
	if err := json.Unmarshal(answer, &in); err != nil {
		return []Finding{{"answer", err.Error()}}
	}
	if len(in.Errors) > 0 {
		return nil
	}
	return g.selection(op.SelectionSet, in.Data, "answer ")
}

func (g *GraphQL) selection(set ast.SelectionSet, v any, at string) (out []Finding) {
	object, ok := v.(map[string]any)
	if !ok {
		return []Finding{{at, fmt.Sprintf("%T instead of an object", v)}}
	}
	left := map[string]bool{}
	for k := range object {
		left[k] = true
	}
	for _, s := range set {
		f, ok := s.(*ast.Field)
		if !ok {
			return []Finding{{at, "fragments are not understood here"}}
		}
		value, there := object[f.Alias]
		delete(left, f.Alias)
		if !there {
			out = append(out, Finding{at + "/" + f.Alias, "it is missing"})
			continue
		}
		out = append(out, g.value(f, f.Definition.Type, value, at+"/"+f.Alias)...)
	}
	for k := range left {
		out = append(out, Finding{at + "/" + k, "nobody asked for it"})
	}
	return out
}

func (g *GraphQL) value(f *ast.Field, t *ast.Type, v any, at string) (out []Finding) {
	if v == nil {
		if t.NonNull {
			return []Finding{{at, "it is never null"}}
		}
		return nil
	}
	if t.Elem != nil {
		list, ok := v.([]any)
		if !ok {
			return []Finding{{at, fmt.Sprintf("%T instead of a list", v)}}
		}
		for _, e := range list {
			out = append(out, g.value(f, t.Elem, e, at+"/*")...)
		}
		return out
	}
	def := g.schema.Types[t.NamedType]
	switch {
	case len(f.SelectionSet) > 0:
		return g.selection(f.SelectionSet, v, at)
	case def.Kind == ast.Enum:
		if s, ok := v.(string); !ok || def.EnumValues.ForName(s) == nil {
			return []Finding{{at, fmt.Sprintf("%v is no %s", v, def.Name)}}
		}
	case !scalarFits(def.Name, v):
		return []Finding{{at, fmt.Sprintf("%T is no %s", v, def.Name)}}
	}
	return nil
}

// scalarFits says whether a value can be of a scalar type. Of a vendor's own,
// only those of text are known.
func scalarFits(name string, v any) bool {
	switch v := v.(type) {
	case string:
		return name != "Int" && name != "Float" && name != "Boolean"
	case bool:
		return name != "Int" && name != "Float" && name != "String" && name != "ID" && !strings.HasPrefix(name, "Date")
	case float64:
		return name != "Boolean" && name != "String" && !strings.HasPrefix(name, "Date") && (name != "Int" || v == float64(int64(v)))
	}
	return name != "Int" && name != "Float" && name != "Boolean" && name != "String" && name != "ID" && !strings.HasPrefix(name, "Date")
}

package declared

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// DefinitionError says what is wrong with a definition, where, and what to do.
type DefinitionError struct {
	File    string
	Line    int    // 0 = the file as a whole
	Path    string // e.g. steps[0].match.value
	Problem string
}

func (e *DefinitionError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Path != "" {
		fmt.Fprintf(&b, ": %s", e.Path)
	}
	fmt.Fprintf(&b, ": %s", e.Problem)
	return b.String()
}

// source is the parsed text of a definition, for finding lines.
type source struct {
	name string
	ast  *ast.File
	errs []error
}

func newSource(name string, b []byte) (*source, error) {
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, yamlError(name, err)
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, &DefinitionError{File: name, Problem: "a definition is exactly one YAML document"}
	}
	return &source{name: name, ast: f}, nil
}

// fail notes a problem at path, with the line of the nearest thing that exists.
func (s *source) fail(path, format string, args ...any) {
	s.errs = append(s.errs, &DefinitionError{File: s.name, Line: s.line(path), Path: path, Problem: fmt.Sprintf(format, args...)})
}

// err joins what was noted; nil = nothing.
func (s *source) err() error { return errors.Join(s.errs...) }

func (s *source) line(path string) int {
	var node ast.Node = s.ast.Docs[0].Body
	line := 0
	for _, seg := range splitPath(path) {
		next, at := child(node, seg)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return line
}

// splitPath cuts steps[0].match.value into its segments.
func splitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// child finds a key or an index below a node and the line where it stands.
func child(n ast.Node, seg string) (ast.Node, int) {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if next, at := child(v, seg); next != nil {
				return next, at
			}
		}
	case *ast.MappingValueNode:
		if n.Key.GetToken().Value == seg {
			return n.Value, n.Key.GetToken().Position.Line
		}
	case *ast.SequenceNode:
		var i int
		if c, err := fmt.Sscanf(seg, "%d", &i); c == 1 && err == nil && i >= 0 && i < len(n.Values) {
			return n.Values[i], n.Values[i].GetToken().Position.Line
		}
	}
	return nil, 0
}

// yamlError turns an error of the YAML library into a DefinitionError.
func yamlError(name string, err error) error {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		return &DefinitionError{File: name, Problem: err.Error()}
	}
	line := 0
	if t := ye.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	problem := ye.GetMessage()
	if strings.HasPrefix(problem, "unknown field") {
		problem += ": remove it or mend its spelling"
	}
	return &DefinitionError{File: name, Line: line, Problem: problem}
}

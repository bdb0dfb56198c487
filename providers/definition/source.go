package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Error says what is wrong with a definition, where, and what to do.
type Error struct {
	File    string
	Line    int    // 0 = the file as a whole
	Path    string // e.g. steps[0].match.value
	Problem string
}

func (e *Error) Error() string {
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

// maxFileBytes bounds a definition.
const maxFileBytes = 64 << 10

// Source is the parsed text of a definition, for finding lines, and the list of
// what is wrong with it.
type Source struct {
	name   string
	sha256 string
	ast    *ast.File
	errs   []error
}

// Decode reads a definition strictly into a struct. name is how messages call the
// file. Errors are *Error.
func Decode(name string, b []byte, into any) (src *Source, err error) {
	if len(b) > maxFileBytes {
		return nil, &Error{File: name, Problem: "a definition has at most 64 KiB"}
	}
	defer func() {
		if p := recover(); p != nil { // the YAML library's, on a tag without a value where a list is expected
			src, err = nil, &Error{File: name, Problem: "is no YAML that can be read: look for a tag (!) or an anchor (&) that stands alone"}
		}
	}()
	if src, err = newSource(name, b); err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalWithOptions(b, into, yaml.Strict()); err != nil {
		return nil, yamlError(name, err)
	}
	return src, nil
}

func newSource(name string, b []byte) (*Source, error) {
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, yamlError(name, err)
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, &Error{File: name, Problem: "a definition is exactly one YAML document"}
	}
	sum := sha256.Sum256(b)
	return &Source{name: name, sha256: hex.EncodeToString(sum[:]), ast: f}, nil
}

// SHA256 is the hash of the file's bytes, in hex.
func (s *Source) SHA256() string { return s.sha256 }

// Fail notes a problem at path, with the line of the nearest thing that exists.
func (s *Source) Fail(path, format string, args ...any) {
	s.errs = append(s.errs, &Error{File: s.name, Line: s.line(path), Path: path, Problem: fmt.Sprintf(format, args...)})
}

// Err joins what was noted; nil = nothing.
func (s *Source) Err() error { return errors.Join(s.errs...) }

func (s *Source) line(path string) int {
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

// yamlError turns an error of the YAML library into an Error.
func yamlError(name string, err error) error {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		return &Error{File: name, Problem: err.Error()}
	}
	line := 0
	if t := ye.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	problem := ye.GetMessage()
	if strings.HasPrefix(problem, "unknown field") {
		problem += ": remove it or mend its spelling"
	}
	return &Error{File: name, Line: line, Problem: problem}
}

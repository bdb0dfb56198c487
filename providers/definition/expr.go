package definition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// The limits of one expression. The cost of reading a page of 100 rows is some
// thousand.
const (
	maxExprBytes = 4 << 10
	costLimit    = 200_000
	interruptAt  = 100 // iterations between looks at the context
)

// Vars are the values that an expression sees, by variable name.
type Vars map[string]any

// With returns a copy of v with more values.
func (v Vars) With(more Vars) Vars {
	out := make(Vars, len(v)+len(more))
	for k, x := range v {
		out[k] = x
	}
	for k, x := range more {
		out[k] = x
	}
	return out
}

// Expr is one compiled expression.
type Expr struct {
	path string // where it stands in the file
	prg  cel.Program
}

// Path is where it stands in the file.
func (e *Expr) Path() string { return e.path }

// Eval runs it. A missing field, a wrong type and the cost limit are errors.
func (e *Expr) Eval(ctx context.Context, v Vars) (ref.Val, error) {
	out, _, err := e.prg.ContextEval(ctx, map[string]any(v))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.path, err)
	}
	return out, nil
}

// Bool gives true or false; anything else is an error.
func (e *Expr) Bool(ctx context.Context, v Vars) (bool, error) {
	out, err := e.Eval(ctx, v)
	if err != nil {
		return false, err
	}
	b, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("%s: gives %s, want true or false", e.path, out.Type().TypeName())
	}
	return b, nil
}

// Text gives a scalar as text; null and a none optional are "".
func (e *Expr) Text(ctx context.Context, v Vars) (string, error) {
	out, err := e.Eval(ctx, v)
	if err != nil {
		return "", err
	}
	s, err := scalar(out)
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.path, err)
	}
	return s, nil
}

// Int gives a whole number.
func (e *Expr) Int(ctx context.Context, v Vars) (int64, error) {
	out, err := e.Eval(ctx, v)
	if err != nil {
		return 0, err
	}
	n, ok := out.ConvertToType(types.IntType).(types.Int)
	if !ok {
		return 0, fmt.Errorf("%s: gives %s, want a number", e.path, out.Type().TypeName())
	}
	return int64(n), nil
}

// List gives the elements; anything but a list is an error.
func (e *Expr) List(ctx context.Context, v Vars) ([]any, error) {
	out, err := e.Eval(ctx, v)
	if err != nil {
		return nil, err
	}
	l, ok := out.(interface {
		Size() ref.Val
		Get(ref.Val) ref.Val
	})
	if !ok || out.Type() != types.ListType {
		return nil, fmt.Errorf("%s: gives %s, want a list", e.path, out.Type().TypeName())
	}
	n, _ := l.Size().Value().(int64)
	rows := make([]any, 0, n)
	for i := range n {
		rows = append(rows, l.Get(types.Int(i)))
	}
	return rows, nil
}

// Strings gives one string or a list of strings.
func (e *Expr) Strings(ctx context.Context, v Vars) ([]string, error) {
	out, err := e.Eval(ctx, v)
	if err != nil {
		return nil, err
	}
	switch x := out.(type) {
	case types.Null:
		return nil, nil
	case types.String:
		return []string{string(x)}, nil
	}
	rows, err := e.List(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("%s: gives %s, want a string or a list of strings", e.path, out.Type().TypeName())
	}
	var got []string
	for _, r := range rows {
		if s, ok := r.(types.String); ok { // other things hold no reference
			got = append(got, string(s))
		}
	}
	return got, nil
}

// Scope is the set of variables that an expression may use.
type Scope struct {
	env   *cel.Env
	names map[string]*cel.Type
}

// NewScope makes the root environment with the functions that definitions have.
func NewScope() (*Scope, error) {
	opts := append(functions(), cel.OptionalTypes(), ext.Strings(), cel.DefaultUTCTimeZone(true))
	env, err := cel.NewEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	return &Scope{env: env, names: map[string]*cel.Type{}}, nil
}

// Extend adds variables.
func (s *Scope) Extend(more map[string]*cel.Type) (*Scope, error) {
	out := &Scope{names: map[string]*cel.Type{}}
	var opts []cel.EnvOption
	for k, t := range s.names {
		out.names[k] = t
	}
	for k, t := range more {
		if _, ok := s.names[k]; ok {
			continue
		}
		out.names[k] = t
		opts = append(opts, cel.Variable(k, t))
	}
	env, err := s.env.Extend(opts...)
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	out.env = env
	return out, nil
}

// Compile checks src; wants are the allowed types of its result, none = any.
func (s *Scope) Compile(path, src string, wants ...*cel.Type) (*Expr, error) {
	if strings.TrimSpace(src) == "" {
		return nil, errors.New("the expression is empty")
	}
	if len(src) > maxExprBytes {
		return nil, fmt.Errorf("the expression has %d bytes, at most %d are allowed", len(src), maxExprBytes)
	}
	ast, iss := s.env.Compile(src)
	if iss != nil && iss.Err() != nil {
		return nil, s.explain(src, iss)
	}
	if got := ast.OutputType(); len(wants) > 0 && !slices.ContainsFunc(append(wants, cel.DynType), got.IsExactType) {
		return nil, fmt.Errorf("the expression gives %s, want %s", got, wants[0])
	}
	prg, err := s.env.Program(ast, cel.CostLimit(costLimit), cel.InterruptCheckFrequency(interruptAt))
	if err != nil {
		return nil, err
	}
	return &Expr{path: path, prg: prg}, nil
}

// explain words the first problem and lists what may be used where a name is not
// known.
func (s *Scope) explain(src string, iss *cel.Issues) error {
	first := iss.Errors()[0]
	msg := first.Message
	if strings.HasPrefix(msg, "undeclared reference") {
		names := make([]string, 0, len(s.names))
		for n := range s.names {
			names = append(names, n)
		}
		slices.Sort(names)
		return fmt.Errorf("there is no %s: usable here are %s", nameAt(src, first.Location.Line(), first.Location.Column()), strings.Join(names, ", "))
	}
	return fmt.Errorf("character %d of the expression: %s", first.Location.Column()+1, msg)
}

// nameAt reads the dotted name at a place of an expression.
func nameAt(src string, line, column int) string {
	lines := strings.Split(src, "\n")
	if line < 1 || line > len(lines) || column > len(lines[line-1]) {
		return "such name"
	}
	rest := lines[line-1][column:]
	end := strings.IndexFunc(rest, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(rest)
	}
	return rest[:end]
}

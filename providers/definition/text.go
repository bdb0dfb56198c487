package definition

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Text is a value of a request: literals and expressions, and the language that
// the value is written in.
type Text struct {
	path      string
	lang      Lang
	parts     []part
	omitEmpty bool
}

type part struct {
	literal string
	expr    *Expr // nil = literal
}

// CompileText splits src at ${…} and compiles what stands inside.
func (s *Scope) CompileText(path, src string, lang Lang) (*Text, error) {
	t := &Text{path: path, lang: lang}
	for src != "" {
		before, rest, ok := strings.Cut(src, "${")
		if before != "" {
			t.parts = append(t.parts, part{literal: before})
		}
		if !ok {
			break
		}
		inner, after, err := untilBrace(rest)
		if err != nil {
			return nil, err
		}
		e, err := s.Compile(path, inner)
		if err != nil {
			return nil, err
		}
		t.parts, src = append(t.parts, part{expr: e}), after
	}
	return t, nil
}

// untilBrace cuts at the brace that closes an expression; braces in quotes and
// in pairs belong to the expression.
func untilBrace(s string) (inner, after string, err error) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}':
			return s[:i], s[i+1:], nil
		}
	}
	return "", "", errors.New("${ is never closed by }")
}

// Render gives the value before the place's own encoding.
func (t *Text) Render(ctx context.Context, v Vars) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.expr == nil {
			b.WriteString(p.literal)
			continue
		}
		val, err := p.expr.Eval(ctx, v)
		if err != nil {
			return "", err
		}
		s, err := t.lang.literal(val)
		if err != nil {
			return "", fmt.Errorf("%s: %w", t.path, err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// Value gives a JSON leaf: a text that is one expression keeps its type.
func (t *Text) Value(ctx context.Context, v Vars) (any, error) {
	if len(t.parts) != 1 || t.parts[0].expr == nil || t.lang != LangText {
		return t.Render(ctx, v)
	}
	out, err := t.parts[0].expr.Eval(ctx, v)
	if err != nil {
		return nil, err
	}
	x, err := native(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	return x, nil
}

// native turns a value into what package json writes.
func native(v ref.Val) (any, error) {
	switch x := v.(type) {
	case traits.Mapper:
		return nativeMap(x)
	case traits.Lister:
		return nativeList(x)
	case types.String, types.Int, types.Bool, types.Double, types.Uint:
		return x.Value(), nil
	case types.Null:
		return nil, nil
	case types.Timestamp:
		return scalar(x)
	case *types.Optional:
		if !x.HasValue() {
			return nil, nil
		}
		return native(x.GetValue())
	}
	return nil, fmt.Errorf("gives %s: that is no JSON value", v.Type().TypeName())
}

func nativeMap(m traits.Mapper) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		name, ok := k.(types.String)
		if !ok {
			return nil, fmt.Errorf("has a key of type %s: a JSON object's keys are text", k.Type().TypeName())
		}
		var err error
		if out[string(name)], err = native(m.Get(k)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func nativeList(l traits.Lister) (any, error) {
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		x, err := native(it.Next())
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// Expressions lists what stands inside ${…} in a text; nothing of one that is
// never closed.
func Expressions(src string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(src, "${")
		if !ok {
			return out
		}
		inner, after, err := untilBrace(rest)
		if err != nil {
			return out
		}
		out, src = append(out, inner), after
	}
}

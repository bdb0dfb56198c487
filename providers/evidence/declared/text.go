package declared

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// text is a value of a request: literals and expressions, and the language that
// the value is written in.
type text struct {
	path      string
	lang      Lang
	parts     []part
	omitEmpty bool
}

type part struct {
	literal string
	expr    *expr // nil = literal
}

// compileText splits src at ${…} and compiles what stands inside.
func (s *scope) compileText(path, src string, lang Lang) (*text, error) {
	t := &text{path: path, lang: lang}
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
		e, err := s.compile(path, inner)
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

// render gives the value before the place's own encoding.
func (t *text) render(ctx context.Context, v vars) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.expr == nil {
			b.WriteString(p.literal)
			continue
		}
		val, err := p.expr.eval(ctx, v)
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

// value gives a JSON leaf: a text that is one expression keeps its type.
func (t *text) value(ctx context.Context, v vars) (any, error) {
	if len(t.parts) != 1 || t.parts[0].expr == nil || t.lang != LangText {
		return t.render(ctx, v)
	}
	out, err := t.parts[0].expr.eval(ctx, v)
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
	case types.String, types.Int, types.Bool, types.Double, types.Uint:
		return x.Value(), nil
	case types.Null:
		return nil, nil
	case types.Timestamp:
		return scalar(x)
	}
	return nil, fmt.Errorf("gives %s: a JSON value is text, a number, true, false or null", v.Type().TypeName())
}

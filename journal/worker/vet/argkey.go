package vet

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
)

// keyMember finds a member of arguments that looks like an idempotency key, up to
// two levels deep: in constant JSON, in a map or struct literal, or in the type of
// what is marshalled.
func (u *unit) keyMember(e ast.Expr, level int) (string, token.Pos) {
	if text, ok := constantOf(u.TypesInfo, e); ok {
		return inJSON([]byte(text)), e.Pos()
	}
	if level > maxDepth {
		return "", token.NoPos
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := u.variable(e)
		if v == nil || !u.local(v) {
			break
		}
		for _, d := range u.defs[v] {
			if d.value == nil || d.path != "" {
				continue
			}
			if name, at := u.keyMember(d.value, level+1); name != "" {
				return name, at
			}
		}
	case *ast.UnaryExpr:
		return u.keyMember(e.X, level+1)
	case *ast.CallExpr:
		if tv := u.TypesInfo.Types[e.Fun]; tv.IsType() && len(e.Args) == 1 {
			return u.keyMember(e.Args[0], level+1)
		}
		if f := u.callee(e); f != nil && pkgPath(f) == "encoding/json" && len(e.Args) > 0 {
			if name, at := u.keyMember(e.Args[0], level+1); name != "" {
				return name, at
			}
			return inType(u.TypesInfo.TypeOf(e.Args[0]), 0), e.Args[0].Pos()
		}
	case *ast.CompositeLit:
		return u.inLiteral(e)
	}
	return "", token.NoPos
}

// inLiteral looks at the constant keys of a map literal, and of those inside it.
func (u *unit) inLiteral(lit *ast.CompositeLit) (string, token.Pos) {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if name, ok := constantOf(u.TypesInfo, kv.Key); ok && looksLikeKey(name) {
			return name, kv.Pos()
		}
		if inner, ok := ast.Unparen(kv.Value).(*ast.CompositeLit); ok {
			if name, at := u.inLiteral(inner); name != "" {
				return name, at
			}
		}
	}
	return "", token.NoPos
}

// inType looks at the members that a struct is marshalled to.
func inType(t types.Type, level int) string {
	if t == nil || level > 1 {
		return ""
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	for i := range s.NumFields() {
		name := s.Field(i).Name()
		if tag := reflect.StructTag(s.Tag(i)).Get("json"); tag != "" {
			name = tag
		}
		if s.Field(i).Exported() && name != "-" && looksLikeKey(name) {
			return s.Field(i).Name()
		}
		if inner := inType(s.Field(i).Type(), level+1); inner != "" {
			return inner
		}
	}
	return ""
}

func inJSON(text []byte) string {
	var top map[string]json.RawMessage
	if json.Unmarshal(text, &top) != nil {
		return ""
	}
	for name, raw := range top {
		if looksLikeKey(name) {
			return name
		}
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) != nil {
			continue
		}
		for name := range inner {
			if looksLikeKey(name) {
				return name
			}
		}
	}
	return ""
}

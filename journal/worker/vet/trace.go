package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// kind says what an origin is.
type kind int

const (
	isFresh  kind = iota + 1 // time or random numbers: nothing makes it again
	isParam                  // a parameter of the function itself
	isPlace                  // a variable or field on the way
	callID                   // a framework's tool call id
	personal                 // a mail address or telephone number
	attempt                  // a counter of attempts
)

// origin is one thing that an expression is made of.
type origin struct {
	kind  kind
	pos   token.Pos // in this package: of the call that makes it, or of the name
	what  string    // for people
	root  *types.Var
	path  string // from root
	typ   types.Type
	made  bool // through marshalling, formatting or hashing
	hash  bool // through a hash
	part  bool // as one part of a composite value or text
	via   []*types.Var
	fixed bool // one of the variables on the way has another, lasting value too
}

// How far an expression is followed. The second bound is for generated code, where
// one function can have thousands of assignments.
const (
	maxDepth = 40
	maxSteps = 5000
)

// place is a variable or a field of one.
type place struct {
	root *types.Var
	path string
}

// tracer follows an expression back to what it is made of, in one function and
// those literals around it, and through calls of functions whose summary is known.
// It does not look at the order of statements: a variable is all of its values.
type tracer struct {
	u     *unit
	seen  map[place]bool // each is followed once: values go in circles
	out   []origin
	now   origin // the state on the way: made, hash, part, via, fixed
	depth int
	steps int
}

// trace returns the origins of an expression; result says which one of a call with
// several results.
func (u *unit) trace(e ast.Expr, result int) []origin {
	t := &tracer{u: u, seen: map[place]bool{}}
	t.expr(e, result)
	return t.out
}

func (t *tracer) add(o origin) {
	o.made, o.hash, o.part, o.fixed = o.made || t.now.made, o.hash || t.now.hash, o.part || t.now.part, o.fixed || t.now.fixed
	o.via = append([]*types.Var(nil), t.now.via...)
	t.out = append(t.out, o)
}

// in follows e with a changed state.
func (t *tracer) in(change func(*origin), e ast.Expr) {
	was := t.now
	change(&t.now)
	t.expr(e, 0)
	t.now = was
}

func (t *tracer) expr(e ast.Expr, result int) {
	if e == nil || t.depth > maxDepth || t.steps > maxSteps {
		return
	}
	t.steps++
	t.depth++
	defer func() { t.depth-- }()
	if tv, ok := t.u.TypesInfo.Types[e]; ok && tv.Value != nil {
		return
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		t.expr(e.X, result)
	case *ast.Ident:
		if v := t.u.variable(e); v != nil {
			t.variable(v, e.Pos())
		}
	case *ast.SelectorExpr:
		t.selector(e)
	case *ast.CallExpr:
		t.call(e, result)
	case *ast.CompositeLit:
		t.elements(e)
	case *ast.BinaryExpr:
		if e.Op == token.ADD || e.Op == token.XOR || e.Op == token.OR {
			for _, x := range []ast.Expr{e.X, e.Y} {
				t.in(func(o *origin) { o.part = true }, x)
			}
		} else if !isComparison(e.Op) {
			t.expr(e.X, 0)
			t.expr(e.Y, 0)
		}
	case *ast.UnaryExpr:
		if e.Op != token.ARROW && e.Op != token.NOT {
			t.expr(e.X, 0)
		}
	case *ast.StarExpr:
		t.expr(e.X, 0)
	case *ast.SliceExpr:
		t.expr(e.X, 0)
	case *ast.TypeAssertExpr:
		t.expr(e.X, 0)
	case *ast.IndexExpr:
		t.element(e)
	}
}

func isComparison(op token.Token) bool {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ, token.LAND, token.LOR:
		return true
	}
	return false
}

// variable follows the values of a variable.
func (t *tracer) variable(root *types.Var, pos token.Pos) {
	t.place(root, pos, "", root.Type())
	if _, ok := t.u.params[root]; ok {
		t.add(origin{kind: isParam, pos: pos, what: root.Name(), root: root})
	}
	if !t.u.local(root) || t.seen[place{root, ""}] {
		return
	}
	t.seen[place{root, ""}] = true
	was := t.now
	t.now.via = append(append([]*types.Var(nil), was.via...), root)
	t.now.fixed = was.fixed || t.u.lasting(root)
	for _, d := range t.u.defs[root] {
		if d.path == "" {
			t.expr(d.value, d.result)
		} else {
			t.in(func(o *origin) { o.part = true }, d.value)
		}
	}
	t.now = was
}

// place notes a variable or field on the way, and what its name says of it.
func (t *tracer) place(root *types.Var, pos token.Pos, path string, typ types.Type) {
	t.add(origin{kind: isPlace, pos: pos, root: root, path: path, typ: typ, what: root.Name() + path})
	name := root.Name()
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		name = strings.Trim(path[i:], ".[]")
	}
	t.name(name, pos, typ)
}

func (t *tracer) name(name string, pos token.Pos, typ types.Type) {
	switch {
	case typ == nil:
	case isCallID(name) && isString(typ):
		t.add(origin{kind: callID, pos: pos, what: name})
	case isPersonal(name) && isString(typ):
		t.add(origin{kind: personal, pos: pos, what: name})
	case isAttempt(name) && isInteger(typ):
		t.add(origin{kind: attempt, pos: pos, what: name})
	}
}

func (t *tracer) selector(e *ast.SelectorExpr) {
	info := t.u.TypesInfo
	if v, ok := info.Uses[e.Sel].(*types.Var); ok && !v.IsField() {
		if pkgPath(v) == "crypto/rand" && v.Name() == "Reader" {
			t.add(origin{kind: isFresh, pos: e.Pos(), what: "random numbers"})
		}
		return
	}
	typ := info.TypeOf(e)
	if e.Sel.Name == "ID" && isToolCall(info.TypeOf(e.X)) {
		t.add(origin{kind: callID, pos: e.Pos(), what: "the ID of a tool call"})
	}
	if root, path := t.u.place(e); root != nil {
		t.place(root, e.Pos(), path, typ)
		if t.u.local(root) {
			t.fieldsOf(root, path)
		}
		return
	}
	t.name(e.Sel.Name, e.Pos(), typ)
}

// fieldsOf follows what is assigned to one field of a local variable, there or in
// the composite literal that the variable was made of.
func (t *tracer) fieldsOf(root *types.Var, path string) {
	if t.seen[place{root, path}] {
		return
	}
	t.seen[place{root, path}] = true
	was := t.now
	t.now.via = append(append([]*types.Var(nil), was.via...), root)
	t.now.fixed = was.fixed || t.u.lastingAt(root, path)
	for _, d := range t.u.defs[root] {
		switch {
		case d.value == nil:
		case d.path == path:
			t.expr(d.value, d.result)
		case d.path == "":
			t.field(d.value, path)
		}
	}
	t.now = was
}

// field follows the element of a composite literal at path.
func (t *tracer) field(e ast.Expr, path string) {
	if x, ok := ast.Unparen(e).(*ast.UnaryExpr); ok {
		e = x.X
	}
	lit, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		return
	}
	head, rest := path, ""
	if i := strings.IndexAny(path[1:], ".["); i >= 0 {
		head, rest = path[:i+1], path[i+1:]
	}
	value := t.u.member(lit, strings.Trim(head, ".[]"))
	switch {
	case value == nil:
	case rest == "":
		t.expr(value, 0)
	default:
		t.field(value, rest)
	}
}

// member returns what a composite literal holds under a field's name or a constant
// key, or nil.
func (u *unit) member(lit *ast.CompositeLit, name string) ast.Expr {
	for i, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			st, isStruct := u.TypesInfo.TypeOf(lit).Underlying().(*types.Struct)
			if isStruct && i < st.NumFields() && st.Field(i).Name() == name {
				return e
			}
			continue
		}
		if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
			return kv.Value
		}
		if s, ok := constantOf(u.TypesInfo, kv.Key); ok && s == name {
			return kv.Value
		}
	}
	return nil
}

func (t *tracer) elements(lit *ast.CompositeLit) {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		t.in(func(o *origin) { o.part = true }, e)
	}
}

// element follows x[i]: bytes of a slice hold what the slice holds, a map's member
// is judged by its name.
func (t *tracer) element(e *ast.IndexExpr) {
	typ := t.u.TypesInfo.TypeOf(e.X)
	if typ == nil {
		return
	}
	if _, ok := typ.Underlying().(*types.Map); !ok {
		t.expr(e.X, 0)
		return
	}
	if root, path := t.u.place(e); root != nil && path != "" {
		t.place(root, e.Pos(), path, types.Typ[types.String])
		t.fieldsOf(root, path)
	}
}

// lasting reports whether a variable also gets a value that comes from outside: it
// is a parameter, or assigned from what is not fresh.
func (u *unit) lasting(v *types.Var) bool { return u.lastingAt(v, "") }

func (u *unit) lastingAt(v *types.Var, path string) bool {
	if _, ok := u.params[v]; ok {
		return true
	}
	for _, d := range u.defs[v] {
		if d.path == path && !d.adds && u.outside(d.value) {
			return true
		}
	}
	return false
}

func orNil(e ast.Expr) ast.Expr {
	if e == nil {
		return &ast.BadExpr{}
	}
	return e
}

// outside reports whether a value is one that the analyzer can't see the making of:
// a look-up.
func (u *unit) outside(e ast.Expr) bool {
	if e == nil {
		return true
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	f := u.callee(call)
	if f == nil || u.freshness(f) != "" || passes(pkgPath(f)) || pkgPath(f) == "time" || u.library.MatchString(pkgPath(f)) {
		return false
	}
	if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && stringer(f.Name()) && u.TypesInfo.Selections[s] != nil {
		return u.outside(s.X)
	}
	s := u.summary(f)
	return s == nil || len(s.Results) == 0
}

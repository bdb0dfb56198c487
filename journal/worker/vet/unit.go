package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// unit is the package under analysis with an index of it.
type unit struct {
	*analysis.Pass
	*rules
	on   switches
	told map[finding]bool

	funcs   []*fn                     // every function and function literal, outer ones first
	decls   map[*types.Func]*fn       // the declared ones
	params  map[*types.Var]param      // whose parameter a variable is
	defs    map[*types.Var][]def      // what is assigned to a variable or its fields
	calls   []site[*ast.CallExpr]     // in the order of the source
	lits    []site[*ast.CompositeLit] // likewise
	sets    []site[*ast.AssignStmt]   // assignments to fields and elements
	uses    map[*types.Func][]*fn     // where a declared function is named; nil = outside of functions
	regions []region                  // see retried.go

	directives []*directive
	summaries  map[*types.Func]*Summary // of this package's functions, as far as asked for
	keyParams  map[*fn]map[int]string
	inside     map[*fn]bool     // what runs under a grant only, see effects.go
	groups     map[*fn]*members // by the declared function
	methods    map[*fn]map[int]bool
	minting    map[*fn]string // which functions mint a provider's key themselves
	causing    map[*fn]string // which functions cause an effect themselves
}

// members are the sites inside of one declared function, its literals included.
type members struct {
	calls []site[*ast.CallExpr]
	lits  []site[*ast.CompositeLit]
	sets  []site[*ast.AssignStmt]
}

// of returns what stands inside of a declared function.
func (u *unit) of(f *fn) *members {
	if u.groups == nil {
		u.groups = map[*fn]*members{}
		group := func(in *fn) *members {
			d := in.declared()
			if u.groups[d] == nil {
				u.groups[d] = &members{}
			}
			return u.groups[d]
		}
		for _, c := range u.calls {
			g := group(c.in)
			g.calls = append(g.calls, c)
		}
		for _, l := range u.lits {
			g := group(l.in)
			g.lits = append(g.lits, l)
		}
		for _, a := range u.sets {
			g := group(a.in)
			g.sets = append(g.sets, a)
		}
	}
	if g := u.groups[f.declared()]; g != nil {
		return g
	}
	return &members{}
}

// fn is a function or a function literal.
type fn struct {
	node  ast.Node // *ast.FuncDecl or *ast.FuncLit
	body  *ast.BlockStmt
	sig   *types.Signature
	obj   *types.Func // nil for a literal
	outer *fn         // around a literal
}

func (f *fn) declared() *fn {
	for f != nil && f.outer != nil {
		f = f.outer
	}
	return f
}

func (f *fn) contains(p token.Pos) bool { return f.node.Pos() <= p && p < f.node.End() }

// within reports whether f is g or a literal inside of it.
func (f *fn) within(g *fn) bool {
	for ; f != nil; f = f.outer {
		if f == g {
			return true
		}
	}
	return false
}

type param struct {
	of    *fn
	index int
}

// def is one value that a variable, or with a path a field of it, can have.
type def struct {
	value  ast.Expr // nil: it comes from somewhere that is not traced
	result int      // of a call with several results
	pos    token.Pos
	path   string // ".Key", ".Run.RootRun", `["key"]`
	adds   bool   // it is written into the variable, which keeps the rest
}

// site is a node and the function that it stands in, if any.
type site[T ast.Node] struct {
	node T
	in   *fn
}

func newUnit(pass *analysis.Pass, on switches, known *rules) *unit {
	u := &unit{
		Pass: pass, rules: known, on: on, told: map[finding]bool{},
		decls: map[*types.Func]*fn{}, params: map[*types.Var]param{}, defs: map[*types.Var][]def{}, uses: map[*types.Func][]*fn{},
		summaries: map[*types.Func]*Summary{}, keyParams: map[*fn]map[int]string{}, methods: map[*fn]map[int]bool{},
	}
	for _, f := range pass.Files {
		u.index(f, nil)
		u.readDirectives(f)
	}
	return u
}

// index walks what belongs to one function; the literals inside are functions of
// their own.
func (u *unit) index(root ast.Node, in *fn) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			obj, _ := u.TypesInfo.Defs[n.Name].(*types.Func)
			if obj != nil && n.Body != nil {
				u.function(&fn{node: n, body: n.Body, sig: obj.Signature(), obj: obj})
			}
			return false
		case *ast.FuncLit:
			if sig, ok := u.TypesInfo.TypeOf(n).(*types.Signature); ok {
				u.function(&fn{node: n, body: n.Body, sig: sig, outer: in})
			}
			return false
		case *ast.CallExpr:
			u.calls = append(u.calls, site[*ast.CallExpr]{n, in})
			u.written(n)
		case *ast.CompositeLit:
			u.lits = append(u.lits, site[*ast.CompositeLit]{n, in})
		case *ast.AssignStmt:
			u.assigned(n, in)
		case *ast.ValueSpec:
			u.declaredVars(n)
		case *ast.RangeStmt:
			u.unknown(n.Key)
			u.unknown(n.Value)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				u.unknown(n.X)
			}
		case *ast.Ident:
			if obj, ok := u.TypesInfo.Uses[n].(*types.Func); ok && obj.Pkg() == u.Pkg {
				u.uses[obj.Origin()] = append(u.uses[obj.Origin()], in)
			}
		}
		return true
	})
}

func (u *unit) function(f *fn) {
	u.funcs = append(u.funcs, f)
	if f.obj != nil {
		u.decls[f.obj] = f
	}
	for i := range f.sig.Params().Len() {
		u.params[f.sig.Params().At(i)] = param{f, i}
	}
	u.index(f.body, f)
}

// unknown notes that a variable can get a value that is not traced: it is ranged
// over, or its address is taken.
func (u *unit) unknown(e ast.Expr) {
	if id, ok := e.(*ast.Ident); ok {
		if v := u.variable(id); v != nil {
			u.defs[v] = append(u.defs[v], def{pos: id.Pos()})
		}
	}
}

func (u *unit) assigned(a *ast.AssignStmt, in *fn) {
	for i, left := range a.Lhs {
		d := def{pos: a.Pos(), adds: a.Tok != token.ASSIGN && a.Tok != token.DEFINE}
		if len(a.Rhs) == len(a.Lhs) {
			d.value = a.Rhs[i]
		} else {
			d.value, d.result = a.Rhs[0], i
		}
		root, path := u.place(left)
		if path != "" {
			u.sets = append(u.sets, site[*ast.AssignStmt]{a, in})
		}
		if root != nil {
			d.path = path
			u.defs[root] = append(u.defs[root], d)
		}
	}
}

func (u *unit) declaredVars(s *ast.ValueSpec) {
	for i, name := range s.Names {
		v, ok := u.TypesInfo.Defs[name].(*types.Var)
		if !ok || len(s.Values) == 0 {
			continue
		}
		d := def{pos: s.Pos()}
		if len(s.Values) == len(s.Names) {
			d.value = s.Values[i]
		} else {
			d.value, d.result = s.Values[0], i
		}
		u.defs[v] = append(u.defs[v], d)
	}
}

// written notes what a call writes into a variable: a hash, a builder, a buffer.
func (u *unit) written(call *ast.CallExpr) {
	target, sources := writes(u.TypesInfo, call)
	if target == nil {
		return
	}
	root, _ := u.place(target)
	if root == nil {
		return
	}
	for _, s := range sources {
		u.defs[root] = append(u.defs[root], def{value: s, pos: call.Pos(), adds: true})
	}
}

// place splits an expression that can be assigned to into its variable and the
// path from there; nil if it does not begin with a variable.
func (u *unit) place(e ast.Expr) (*types.Var, string) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return u.variable(e), ""
	case *ast.SelectorExpr:
		if s := u.TypesInfo.Selections[e]; s != nil && s.Kind() == types.FieldVal {
			root, path := u.place(e.X)
			return root, path + "." + e.Sel.Name
		}
		v, _ := u.TypesInfo.Uses[e.Sel].(*types.Var) // of a package
		return v, ""
	case *ast.IndexExpr:
		root, path := u.place(e.X)
		if k, ok := constantOf(u.TypesInfo, e.Index); ok {
			return root, path + "[" + k + "]"
		}
		return root, path
	case *ast.StarExpr:
		return u.place(e.X)
	case *ast.SliceExpr:
		return u.place(e.X)
	case *ast.UnaryExpr:
		return u.place(e.X)
	}
	return nil, ""
}

func (u *unit) variable(id *ast.Ident) *types.Var {
	if v, ok := u.TypesInfo.Defs[id].(*types.Var); ok {
		return v
	}
	v, _ := u.TypesInfo.Uses[id].(*types.Var)
	return v
}

// local reports whether v lives in a function.
func (u *unit) local(v *types.Var) bool {
	return v.Pkg() == u.Pkg && v.Parent() != u.Pkg.Scope() && !v.IsField()
}

// callee is the function that a call names, generic ones in their general form.
func (u *unit) callee(call *ast.CallExpr) *types.Func {
	f, _ := typeutil.Callee(u.TypesInfo, call).(*types.Func)
	return f
}

// functionsOf resolves a function value: a literal, a declared function or method
// of this package, or a local variable that holds either.
func (u *unit) functionsOf(e ast.Expr) []*fn { return u.resolve(e, map[*types.Var]bool{}) }

func (u *unit) resolve(e ast.Expr, seen map[*types.Var]bool) []*fn {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		for _, f := range u.funcs {
			if f.node == e {
				return []*fn{f}
			}
		}
	case *ast.Ident:
		switch obj := u.TypesInfo.Uses[e].(type) {
		case *types.Func:
			return u.declOf(obj)
		case *types.Var:
			return u.held(obj, seen)
		}
	case *ast.SelectorExpr:
		if obj, ok := u.TypesInfo.Uses[e.Sel].(*types.Func); ok {
			return u.declOf(obj)
		}
	case *ast.IndexExpr:
		return u.resolve(e.X, seen)
	case *ast.CallExpr: // a conversion such as backoff.Operation(send)
		if t, ok := u.TypesInfo.Types[e.Fun]; ok && t.IsType() && len(e.Args) == 1 {
			return u.resolve(e.Args[0], seen)
		}
	}
	return nil
}

func (u *unit) held(v *types.Var, seen map[*types.Var]bool) []*fn {
	if seen[v] {
		return nil
	}
	seen[v] = true
	var out []*fn
	for _, d := range u.defs[v] {
		if d.path == "" && d.value != nil {
			out = append(out, u.resolve(d.value, seen)...)
		}
	}
	return out
}

func (u *unit) declOf(f *types.Func) []*fn {
	if d := u.decls[f.Origin()]; d != nil {
		return []*fn{d}
	}
	return nil
}

package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// sink is a place where an expression becomes a key or part of one.
type sink struct {
	expr   ast.Expr
	args   ast.Expr // the arguments of the same call, if they are in sight
	what   string   // for people: "the key", "the Idempotency-Key header"
	worker bool     // the journal's key; else a provider's
	run    bool     // the root run that the key begins with
	pos    token.Pos
	in     *fn
}

// sinks are all of the package's, those that lie behind a call of another function
// included.
func (u *unit) sinks() []sink {
	var out []sink
	for _, l := range u.lits {
		out = append(out, u.literalSinks(l)...)
	}
	for _, a := range u.sets {
		out = append(out, u.assignedSinks(a)...)
	}
	for _, c := range u.calls {
		out = append(out, u.callSinks(c)...)
	}
	return out
}

// keyFields are the fields of a journal's type that make its key, and how they are
// called in a message.
func keyFields(t types.Type) (fields []string, names map[string]string) {
	switch {
	case is(t, workerPath, "Call"):
		return []string{"Key", "Step", "Operation", "Item"}, map[string]string{
			"Key": "the key", "Step": "Step, a part of the key,", "Operation": "Operation, a part of the key,", "Item": "Item, a part of the key,",
		}
	case is(t, workerPath, "Run"):
		return []string{"RootRun"}, map[string]string{"RootRun": "RootRun, which the key begins with,"}
	case is(t, journalPath, "BeginRequest"):
		return []string{"Key"}, map[string]string{"Key": "the key"}
	}
	return nil, nil
}

func (u *unit) literalSinks(l site[*ast.CompositeLit]) []sink {
	t := u.TypesInfo.TypeOf(l.node)
	if t == nil {
		return nil
	}
	fields, names := keyFields(t)
	var out []sink
	for _, f := range fields {
		if e := u.member(l.node, f); e != nil {
			out = append(out, sink{expr: e, args: u.member(l.node, "Args"), what: names[f], worker: true, run: f == "RootRun", pos: e.Pos(), in: l.in})
			if f == "Key" && !emptyString(u.TypesInfo, e) {
				break // the others are not part of it then
			}
		}
	}
	if fields != nil {
		return out
	}
	for _, e := range l.node.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if id, ok := kv.Key.(*ast.Ident); ok && isStruct(t) && plain(id.Name) == "idempotencykey" {
			out = append(out, sink{expr: kv.Value, what: "the provider's key (" + id.Name + ")", pos: kv.Value.Pos(), in: l.in})
		}
		if name, ok := constantOf(u.TypesInfo, kv.Key); ok && keyHeader(name) && isHeader(t) {
			out = append(out, sink{expr: kv.Value, what: "the " + name + " header", pos: kv.Value.Pos(), in: l.in})
		}
	}
	return out
}

func emptyString(info *types.Info, e ast.Expr) bool {
	s, ok := constantOf(info, e)
	return ok && s == ""
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// isHeader reports whether a map could be request headers.
func isHeader(t types.Type) bool {
	m, ok := t.Underlying().(*types.Map)
	if !ok || !isString(m.Key()) {
		return false
	}
	s, ok := m.Elem().Underlying().(*types.Slice)
	return isString(m.Elem()) || ok && isString(s.Elem())
}

func (u *unit) assignedSinks(a site[*ast.AssignStmt]) []sink {
	var out []sink
	for i, left := range a.node.Lhs {
		if len(a.node.Lhs) != len(a.node.Rhs) {
			break
		}
		s := sink{expr: a.node.Rhs[i], pos: a.node.Rhs[i].Pos(), in: a.in}
		switch left := ast.Unparen(left).(type) {
		case *ast.SelectorExpr:
			name := left.Sel.Name
			if _, names := keyFields(u.TypesInfo.TypeOf(left.X)); names[name] != "" {
				s.what, s.worker, s.run, s.args = names[name], true, name == "RootRun", u.argsBeside(left)
				out = append(out, s)
			} else if plain(name) == "idempotencykey" {
				s.what = "the provider's key (" + name + ")"
				out = append(out, s)
			}
		case *ast.IndexExpr:
			if name, ok := constantOf(u.TypesInfo, left.Index); ok && keyHeader(name) && isHeader(u.TypesInfo.TypeOf(left.X)) {
				s.what = "the " + name + " header"
				out = append(out, s)
			}
		}
	}
	return out
}

// argsBeside finds the arguments of the Call whose field is assigned.
func (u *unit) argsBeside(left *ast.SelectorExpr) ast.Expr {
	root, path := u.place(left.X)
	if root == nil || path != "" {
		return nil
	}
	for _, d := range u.defs[root] {
		if d.path == ".Args" {
			return d.value
		}
		if lit, ok := ast.Unparen(orNil(d.value)).(*ast.CompositeLit); ok && d.path == "" {
			if e := u.member(lit, "Args"); e != nil {
				return e
			}
		}
	}
	return nil
}

func (u *unit) callSinks(c site[*ast.CallExpr]) []sink {
	f := u.callee(c.node)
	if f == nil {
		return nil
	}
	var out []sink
	add := func(i int, what string, worker bool) {
		if i < len(c.node.Args) {
			out = append(out, sink{expr: c.node.Args[i], what: what, worker: worker, pos: c.node.Args[i].Pos(), in: c.in})
		}
	}
	switch path := pkgPath(f); {
	case path == journalPath && f.Name() == "DeriveKey":
		for i, part := range []string{"the root run of the key", "the step in the key", "the operation in the key", "the item in the key"} {
			add(i, part, true)
		}
	case path == "net/http" && (f.Name() == "Set" || f.Name() == "Add") && len(c.node.Args) == 2:
		if name, ok := constantOf(u.TypesInfo, c.node.Args[0]); ok && keyHeader(name) {
			add(1, "the "+name+" header", false)
		}
	case plain(f.Name()) == "setidempotencykey", plain(f.Name()) == "withidempotencykey":
		add(0, "the provider's key", false)
	default:
		for i, what := range u.keysTaken(f) {
			add(i, strings.TrimPrefix(what, providerMark), !strings.HasPrefix(what, providerMark))
		}
	}
	return out
}

// providerMark begins the name of a key that is a provider's in Summary.Keys.
const providerMark = "provider: "

// keysTaken are the parameters of a function that become a key.
func (u *unit) keysTaken(f *types.Func) map[int]string {
	if d := u.decls[f.Origin()]; d != nil {
		return u.keysOf(d)
	}
	if f.Pkg() == u.Pkg {
		return nil
	}
	if s := u.summary(f); s != nil {
		return s.Keys
	}
	return nil
}

// keysOf finds the parameters of a declared function that become a key in it, or in
// what it calls.
func (u *unit) keysOf(d *fn) map[int]string {
	if k, ok := u.keyParams[d]; ok {
		return k
	}
	u.keyParams[d] = nil // a recursive call adds nothing
	found := map[int]string{}
	for _, s := range u.sinksOf(d) {
		what := s.what
		if !s.worker {
			what = providerMark + what
		}
		for _, o := range u.trace(s.expr, 0) {
			if p, ok := u.params[o.root]; ok && o.kind == isParam && p.of == d && keyable(o.root.Type()) {
				found[p.index] = what
			}
		}
	}
	if len(found) == 0 {
		found = nil
	}
	u.keyParams[d] = found
	return found
}

// keyable reports whether a value of this type can be a key: text, bytes, numbers.
func keyable(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return true
	case *types.Slice:
		return isBasic(t.Elem())
	case *types.Array:
		return isBasic(t.Elem())
	case *types.Pointer:
		return isBasic(t.Elem())
	case *types.Struct:
		return false
	}
	return false
}

// sinksOf are the sinks inside of one declared function.
func (u *unit) sinksOf(d *fn) []sink {
	var out []sink
	for _, l := range u.of(d).lits {
		out = append(out, u.literalSinks(l)...)
	}
	for _, a := range u.of(d).sets {
		out = append(out, u.assignedSinks(a)...)
	}
	for _, c := range u.of(d).calls {
		out = append(out, u.callSinks(c)...)
	}
	return out
}

package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// sends reports whether a call of net/http, or of a client of the same shape, sends
// a request that changes something, to more than this machine.
func (u *unit) sends(call *ast.CallExpr, f *types.Func) bool {
	switch f.Name() {
	case "Post", "PostForm":
		if r := receiver(f); r != nil {
			if _, name := named(r); name != "Client" {
				return false
			}
		}
		return len(call.Args) > 0 && !u.loopback(call.Args[0], 0)
	case "Do":
		if r := receiver(f); r == nil || len(call.Args) != 1 {
			return false
		}
		method, url := u.request(call.Args[0], 0)
		return changes(method) && (url == nil || !u.loopback(url, 0))
	}
	return false
}

// sendsAs reports whether a function of this package, which sends requests with the
// method that it is given, is given one that changes something.
func (u *unit) sendsAs(call *ast.CallExpr, d *fn) bool {
	for i := range u.methodParams(d) {
		if i < len(call.Args) {
			if m, ok := u.text(call.Args[i]); ok && changes(m) {
				return true
			}
		}
	}
	return false
}

// methodParams finds the parameters of a function that are the method of a request
// that it sends, not through a grant.
func (u *unit) methodParams(d *fn) map[int]bool {
	if m, ok := u.methods[d]; ok {
		return m
	}
	found := map[int]bool{}
	for _, c := range u.of(d).calls {
		f := u.callee(c.node)
		if f == nil || pkgPath(f) != "net/http" || f.Name() != "Do" || len(c.node.Args) != 1 || u.ofGrant(c.node) {
			continue
		}
		for _, m := range u.methodsOf(c.node.Args[0]) {
			if p, ok := u.params[m]; ok && p.of == d {
				found[p.index] = true
			}
		}
	}
	u.methods[d] = found
	return found
}

// methodsOf finds the variables that are the method of a request made in the same
// function.
func (u *unit) methodsOf(req ast.Expr) []*types.Var {
	id, ok := ast.Unparen(req).(*ast.Ident)
	if !ok || u.variable(id) == nil {
		return nil
	}
	var out []*types.Var
	for _, d := range u.defs[u.variable(id)] {
		call, ok := ast.Unparen(orNil(d.value)).(*ast.CallExpr)
		if !ok {
			continue
		}
		f, at := u.callee(call), 0
		if f == nil || pkgPath(f) != "net/http" {
			continue
		}
		switch f.Name() {
		case "NewRequest":
		case "NewRequestWithContext":
			at = 1
		default:
			continue
		}
		if m, ok := ast.Unparen(call.Args[at]).(*ast.Ident); ok && u.variable(m) != nil {
			out = append(out, u.variable(m))
		}
	}
	return out
}

func changes(method string) bool {
	return slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, method)
}

// request finds the constant method and the address of a request, through variables
// and through functions that make one. "" is a method that is not known.
func (u *unit) request(e ast.Expr, depth int) (method string, url ast.Expr) {
	if depth > 8 {
		return "", nil
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := u.variable(e)
		if v == nil {
			return "", nil
		}
		for _, d := range u.defs[v] {
			if d.path == "" && d.value != nil && d.result == 0 {
				if m, at := u.request(d.value, depth+1); changes(m) {
					return m, at
				}
			}
		}
	case *ast.UnaryExpr:
		return u.request(e.X, depth+1)
	case *ast.CompositeLit:
		if m := u.member(e, "Method"); m != nil {
			method, _ = u.text(m)
		}
		return method, u.member(e, "URL")
	case *ast.CallExpr:
		return u.requestOf(e, depth)
	}
	return "", nil
}

// requestOf looks for the method among the arguments of what makes a request: of
// NewRequest, and of the helpers that teams write around it.
func (u *unit) requestOf(e *ast.CallExpr, depth int) (string, ast.Expr) {
	f := u.callee(e)
	if f == nil {
		return "", nil
	}
	for i, a := range e.Args {
		if m, ok := u.text(a); ok && changes(m) {
			if i+1 < len(e.Args) {
				return m, e.Args[i+1]
			}
			return m, nil
		}
	}
	if s, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok && (f.Name() == "WithContext" || f.Name() == "Clone") {
		return u.request(s.X, depth+1)
	}
	return "", nil
}

// text is a constant string, or the one value of a local variable that is one.
func (u *unit) text(e ast.Expr) (string, bool) {
	if s, ok := constantOf(u.TypesInfo, e); ok {
		return s, true
	}
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return "", false
	}
	v := u.variable(id)
	if v == nil || len(u.defs[v]) != 1 || u.defs[v][0].value == nil {
		return "", false
	}
	return constantOf(u.TypesInfo, u.defs[v][0].value)
}

// loopback reports whether an address is certain to be one of this machine: a
// constant that says so, or that of a test server.
func (u *unit) loopback(e ast.Expr, depth int) bool {
	if s, ok := u.text(e); ok {
		return isLoopback(s)
	}
	if depth > 8 {
		return false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "URL" && is(u.TypesInfo.TypeOf(e.X), "net/http/httptest", "Server")
	case *ast.BinaryExpr:
		return u.loopback(e.X, depth+1)
	case *ast.Ident:
		v := u.variable(e)
		if v == nil || len(u.defs[v]) != 1 || u.defs[v][0].value == nil {
			return false
		}
		return u.loopback(u.defs[v][0].value, depth+1)
	}
	return false
}

func isLoopback(address string) bool {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return false
	}
	for _, host := range []string{"127.", "localhost", "[::1]"} {
		if strings.HasPrefix(rest, host) {
			return true
		}
	}
	return false
}

// ofGrant reports whether a request goes through the client of a grant, which fails
// outside of a tool's function: worker.Client, or one on the worker's Transport.
func (u *unit) ofGrant(call *ast.CallExpr) bool {
	s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := ast.Unparen(s.X).(*ast.Ident)
	if !ok {
		return false
	}
	v := u.variable(id)
	if v == nil {
		return false
	}
	for _, d := range u.defs[v] {
		if d.path == "" && d.value != nil && u.grantClient(d.value) {
			return true
		}
	}
	return false
}

func (u *unit) grantClient(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		return u.grantClient(e.X)
	case *ast.CallExpr:
		f := u.callee(e)
		return f != nil && pkgPath(f) == workerPath && (f.Name() == "Client" || f.Name() == "NewTransport")
	case *ast.CompositeLit:
		t := u.member(e, "Transport")
		return t != nil && is(u.TypesInfo.TypeOf(t), workerPath, "Transport")
	}
	return false
}

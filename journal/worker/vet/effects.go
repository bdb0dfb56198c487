package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

const journalIt = "Move it into the function of a tool and call that with Worker.Do, or say why not: //landed:unjournaled reason"

// effectCall is a call that causes something at a provider.
type effectCall struct {
	pos     token.Pos
	what    string
	in      *fn
	grant   bool // through the client of the grant, whose transport refuses what may not be repeated
	repeats bool // the client itself sends it again
}

// checkEffects reports effects that are caused outside of the functions of tools,
// in packages that use the journal and in what is registered as an agent's tool;
// and those that a tool's function repeats on its own.
func (u *unit) checkEffects() {
	u.inside = u.insideTools()
	uses, agent := u.usesJournal(), u.agentTools()
	for _, c := range u.calls {
		e, ok := u.effect(c)
		if !ok {
			continue
		}
		if withinAny(e.in, u.inside) {
			u.checkRepeated(e)
			continue
		}
		if e.grant {
			continue
		}
		if uses {
			u.report(catUnjournaled, e.pos, e.what+" causes an effect without the journal, so that a retry or a crash doubles or loses it", journalIt)
		} else if tool := agent[e.in.declared()]; tool != "" {
			u.report(catUnjournaled, e.pos, fmt.Sprintf("%s causes an effect without the journal in %s, which a model calls and repeats", e.what, tool), journalIt)
		}
	}
}

// checkRepeated: inside of a tool's function the journal decides what is sent again,
// so nothing else may.
func (u *unit) checkRepeated(e effectCall) {
	if e.grant {
		return
	}
	if e.repeats {
		u.report(catRepeated, e.pos, e.what+" sends again on its own what may have arrived, and the journal sees one attempt", "Use worker.Client, or a client whose retries are off")
		return
	}
	r := u.regionOf(e.pos)
	if r == nil || r.of != nil && r.effect {
		return
	}
	u.report(catRepeated, e.pos, fmt.Sprintf("%s is repeated inside of a tool's function, where %s, and the journal sees one attempt", e.what, r.why), "Send once and return the error: Do tries again where that is safe")
}

// usesJournal reports whether the package is a worker's.
func (u *unit) usesJournal() bool {
	for _, p := range u.Pkg.Imports() {
		if path := p.Path(); below(path, workerPath) && !below(u.Pkg.Path(), workerPath) {
			return true
		}
	}
	return false
}

func withinAny(f *fn, set map[*fn]bool) bool {
	for ; f != nil; f = f.outer {
		if set[f] {
			return true
		}
	}
	return false
}

// insideTools finds the functions that only run under a grant: those of tools, and
// those that nobody but them uses.
func (u *unit) insideTools() map[*fn]bool {
	in := map[*fn]bool{}
	for _, r := range u.regions {
		if r.effect && r.of != nil && u.isEffectFn(r.of) {
			in[r.of] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for f, d := range u.decls {
			if in[d] || len(u.uses[f]) == 0 {
				continue
			}
			all := true
			for _, by := range u.uses[f] {
				all = all && (by != nil && by.within(d) || withinAny(by, in))
			}
			if all && !u.recursiveOnly(f, d) {
				in[d], changed = true, true
			}
		}
	}
	return in
}

func (u *unit) recursiveOnly(f *types.Func, d *fn) bool {
	for _, by := range u.uses[f] {
		if by == nil || !by.within(d) {
			return false
		}
	}
	return true
}

// isEffectFn reports whether a region's function is a tool's own, not one that it
// happens to call.
func (u *unit) isEffectFn(f *fn) bool {
	for _, r := range u.regions {
		if r.of == f {
			return r.effect && !strings.Contains(r.why, "which is called where ")
		}
	}
	return false
}

// agentTools finds the functions that are registered as tools of a model, and what
// they call, each with how it is called in a message.
func (u *unit) agentTools() map[*fn]string {
	out := map[*fn]string{}
	add := func(f *fn) {
		if d := f.declared(); d != nil && out[d] == "" {
			out[d] = "the tool " + u.nameOf(f)
		}
	}
	for _, f := range u.funcs {
		for i := range f.sig.Params().Len() {
			path, name := named(f.sig.Params().At(i).Type())
			if name == "CallToolRequest" && (below(path, "github.com/modelcontextprotocol/go-sdk") || below(path, "github.com/mark3labs/mcp-go")) {
				add(f)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, c := range u.calls {
			name := out[c.in.declared()]
			if name == "" {
				continue
			}
			for _, f := range u.functionsOf(c.node.Fun) {
				if d := f.declared(); out[d] == "" {
					out[d], changed = name, true
				}
			}
		}
	}
	return out
}

// effect reports whether a call causes an effect.
func (u *unit) effect(c site[*ast.CallExpr]) (effectCall, bool) {
	f := u.callee(c.node)
	if f == nil || c.in == nil {
		return effectCall{}, false
	}
	e := effectCall{pos: c.node.Pos(), what: display(f), in: c.in}
	if strings.HasSuffix(pkgPath(f), "/go-retryablehttp") {
		e.repeats = true
		return e, u.sends(c.node, f)
	}
	switch pkgPath(f) {
	case "net/http":
		if !u.sends(c.node, f) {
			return e, false
		}
		e.grant = u.ofGrant(c.node)
		return e, true
	case "net/smtp":
		return e, f.Name() == "SendMail" || f.Name() == "Data" && is(receiverOrNil(f), "net/smtp", "Client")
	}
	if s := u.own(f); s != nil && s.Effect != "" {
		e.what = fmt.Sprintf("%s (%s)", display(f), s.Effect)
		return e, true
	}
	return e, sdkEffect(f)
}

func receiverOrNil(f *types.Func) types.Type {
	if r := receiver(f); r != nil {
		return r
	}
	return types.Typ[types.Invalid]
}

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

// causes tells the effect that each call of a function causes without the journal,
// "" if there is none.
func (u *unit) causes(d *fn) string {
	return u.causesOf(d, map[*fn]bool{})
}

func (u *unit) causesOf(d *fn, seen map[*fn]bool) string {
	if seen[d] || u.inside[d] {
		return ""
	}
	seen[d] = true
	for _, c := range u.of(d).calls {
		if e, ok := u.effect(c); ok && !e.grant && !withinAny(c.in, u.inside) {
			if !u.silenced(catUnjournaled, e.pos) {
				return e.what
			}
			continue
		}
		f := u.callee(c.node)
		if f == nil || u.decls[f.Origin()] == nil || withinAny(c.in, u.inside) {
			continue
		}
		if what := u.causesOf(u.decls[f.Origin()], seen); what != "" {
			return what
		}
	}
	return ""
}

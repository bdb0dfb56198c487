package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// What to do instead.
const (
	passIn     = "Mint it once outside of the retry and pass it in, or leave Key empty and set RootRun, Step and Item"
	useGrant   = "Use the grant's ProviderKey, or name the header in ToolSpec.KeyHeader"
	mintOnce   = "Mint it once outside of the retry and pass it in"
	storeFirst = "Take it from what started the run, store it before the call, or leave Key empty and set RootRun, Step and Item"
)

// checkKeys judges every expression that becomes a key, and the calls of functions
// elsewhere that mint one.
func (u *unit) checkKeys() {
	for _, s := range u.sinks() {
		u.checkKey(s)
	}
	for _, l := range u.lits {
		if is(u.TypesInfo.TypeOf(l.node), workerPath, "Call") {
			u.checkArgs(u.member(l.node, "Args"))
		}
	}
	for _, c := range u.calls {
		f := u.callee(c.node)
		s := u.own(f)
		if s == nil || s.Mints == "" {
			continue
		}
		if r := u.regionOf(c.node.Pos()); r != nil {
			u.report(catRetried, c.node.Pos(), fmt.Sprintf("%s mints %s anew each time that it is called, and %s", display(f), s.Mints, r.why), "Give it the key as an argument and mint that outside of the retry")
		}
	}
}

func (u *unit) checkKey(s sink) {
	origins := u.trace(s.expr, 0)
	for _, o := range origins {
		switch o.kind {
		case isFresh:
			u.checkFresh(s, o)
		case attempt:
			r := u.regionOf(s.pos)
			if s.worker || r != nil {
				u.report(catRetried, o.pos, fmt.Sprintf("%s counts attempts (%s), so that every retry gets another one", s.what, o.what), passIn)
			}
		case callID:
			if s.worker {
				u.report(catCallID, o.pos, fmt.Sprintf("%s holds a framework's tool call id (%s), which is new whenever the model asks again", s.what, o.what),
					"Set RootRun, Step and Item: the workflow's name for the step and the business object")
			}
		case personal:
			if s.worker && !o.hash {
				u.report(catPersonal, o.pos, fmt.Sprintf("%s holds personal data (%s), and keys are logged and shown", s.what, o.what), "Use the id of the record that it belongs to")
			}
		}
	}
	if s.worker && s.args != nil {
		u.checkDerived(s, origins)
	}
}

func (u *unit) checkFresh(s sink, o origin) {
	kept := u.kept(o, s)
	if r := u.regionOf(o.pos, s.pos); r != nil {
		if kept && o.fixed { // minted only if none was found
			return
		}
		instead := passIn
		switch {
		case !s.worker && r.effect:
			instead = useGrant
		case !s.worker:
			instead = mintOnce
		}
		u.report(catRetried, o.pos, fmt.Sprintf("%s is minted by %s where %s, so that every retry gets a new one", s.what, o.what, r.why), instead)
		return
	}
	if !s.worker || kept || o.fixed || s.in == nil || s.run && !u.callsWorker(s.in) {
		return
	}
	u.report(catFresh, o.pos, fmt.Sprintf("%s is made by %s in the function that uses it, so that whatever runs this again gets a new one", s.what, o.what), storeFirst)
}

// kept reports whether one of the variables that carry a fresh value to the sink is
// handed to something that keeps it, before the sink.
func (u *unit) kept(o origin, s sink) bool {
	for _, c := range u.of(s.in).calls {
		if c.node.Pos() < o.pos || c.node.End() > s.pos {
			continue
		}
		f := u.callee(c.node)
		if f == nil || !u.keeping(f) {
			continue
		}
		for _, a := range c.node.Args {
			if u.mentions(a, o.via) {
				return true
			}
		}
	}
	return false
}

// mentions reports whether one of the variables stands in an expression.
func (u *unit) mentions(e ast.Expr, vars []*types.Var) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			for _, v := range vars {
				found = found || u.TypesInfo.Uses[id] == v
			}
		}
		return !found
	})
	return found
}

// callsWorker reports whether a function executes effects itself.
func (u *unit) callsWorker(f *fn) bool {
	for _, c := range u.of(f).calls {
		g := u.callee(c.node)
		if g == nil || receiver(g) == nil || !is(receiver(g), workerPath, "Worker") {
			continue
		}
		switch g.Name() {
		case "Do", "DoUntilSettled", "Compensate":
			return true
		}
	}
	return false
}

// checkDerived reports a key that is made of the whole of its call's arguments. One
// that names a business object from among them is as it should be.
func (u *unit) checkDerived(s sink, key []origin) {
	args := u.trace(s.args, 0)
	for _, k := range key {
		if k.kind != isPlace || !k.made && isBasic(k.typ) {
			continue
		}
		for _, a := range args {
			if a.kind != isPlace || a.part || a.root != k.root || a.path != k.path {
				continue
			}
			u.report(catArgs, s.pos, fmt.Sprintf("%s is derived from the arguments of its call (%s), so that a reworded argument makes a second effect", s.what, k.what),
				"Set RootRun, Step and Item: the run, the workflow's name for the step and the business object")
			return
		}
	}
}

// checkArgs reports an idempotency key among the arguments, where it protects
// nothing.
func (u *unit) checkArgs(e ast.Expr) {
	if e == nil {
		return
	}
	if name, at := u.keyMember(e, 0); name != "" {
		if at == token.NoPos {
			at = e.Pos()
		}
		u.report(catArgKey, at, fmt.Sprintf("the arguments hold %q, which looks like an idempotency key and protects nothing there", name), "Pass it as Call.Key")
	}
}

// mints tells the provider's key that each call of a function mints anew, "" if
// there is none.
func (u *unit) mints(d *fn) string {
	if u.minting == nil {
		u.minting = u.direct(u.mintsItself)
	}
	return u.reaches(d, u.minting, nil)
}

func (u *unit) mintsItself(d *fn) string {
	for _, s := range u.sinksOf(d) {
		if s.worker {
			continue
		}
		for _, o := range u.trace(s.expr, 0) {
			if o.kind == isFresh && d.contains(o.pos) && !o.fixed && !u.kept(o, s) && !u.silenced(catRetried, o.pos) {
				return s.what
			}
		}
	}
	for _, c := range u.of(d).calls {
		if s := u.own(u.callee(c.node)); s != nil && s.Mints != "" {
			return s.Mints
		}
	}
	return ""
}

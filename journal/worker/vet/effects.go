package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
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

// usesJournal reports whether the package is a worker's. The journal itself is none:
// its requests go to the journal.
func (u *unit) usesJournal() bool {
	for _, p := range u.Pkg.Imports() {
		if below(p.Path(), workerPath) && !below(u.Pkg.Path(), journalPath) {
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
	if d := u.decls[f.Origin()]; d != nil {
		return e, u.sendsAs(c.node, d)
	}
	return e, sdkEffect(f)
}

func receiverOrNil(f *types.Func) types.Type {
	if r := receiver(f); r != nil {
		return r
	}
	return types.Typ[types.Invalid]
}

// causes tells the effect that each call of a function causes without the journal,
// "" if there is none. The journal's own requests are none.
func (u *unit) causes(d *fn) string {
	if below(u.Pkg.Path(), journalPath) {
		return ""
	}
	if u.causing == nil {
		u.causing = u.direct(u.causesItself)
	}
	return u.reaches(d, u.causing, u.inside)
}

func (u *unit) causesItself(d *fn) string {
	for _, c := range u.of(d).calls {
		e, ok := u.effect(c)
		if ok && !e.grant && !withinAny(c.in, u.inside) && !u.silenced(catUnjournaled, e.pos) {
			return e.what
		}
	}
	return ""
}

// direct asks something of every declared function.
func (u *unit) direct(ask func(*fn) string) map[*fn]string {
	out := map[*fn]string{}
	for _, d := range u.decls {
		if what := ask(d); what != "" {
			out[d] = what
		}
	}
	return out
}

// reaches follows the calls of a function, within the package and not into those
// left out, to one that does what is asked.
func (u *unit) reaches(d *fn, does map[*fn]string, without map[*fn]bool) string {
	if len(does) == 0 {
		return ""
	}
	seen := map[*fn]bool{d: true}
	for todo := []*fn{d}; len(todo) > 0; todo = todo[1:] {
		next := todo[0]
		if without[next] {
			continue
		}
		if what := does[next]; what != "" {
			return what
		}
		for _, c := range u.of(next).calls {
			f := u.callee(c.node)
			if f == nil || withinAny(c.in, without) {
				continue
			}
			if g := u.decls[f.Origin()]; g != nil && !seen[g] {
				seen[g] = true
				todo = append(todo, g)
			}
		}
	}
	return ""
}

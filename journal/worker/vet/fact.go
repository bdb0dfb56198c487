package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Summary is the fact about a function that other packages are judged by: what its
// results are made of, which parameters become keys, and what each call of it does
// that no retry may repeat.
type Summary struct {
	Module  string
	Results []Result
	Keys    map[int]string // parameters that become a key, and which one
	Calls   []int          // function parameters that it calls again when they fail
	Mints   string         // the provider's key that each call mints anew
	Effect  string         // the effect that each call causes without the journal
}

// AFact marks Summary as a fact of package analysis.
func (*Summary) AFact() {}

// String tells a fact for tests.
func (s *Summary) String() string {
	var parts []string
	for _, r := range s.Results {
		parts = append(parts, r.String())
	}
	for _, i := range slices.Sorted(func(yield func(int) bool) {
		for i := range s.Keys {
			if !yield(i) {
				return
			}
		}
	}) {
		parts = append(parts, fmt.Sprintf("parameter %d is %s", i, s.Keys[i]))
	}
	for _, i := range s.Calls {
		parts = append(parts, fmt.Sprintf("retries parameter %d", i))
	}
	if s.Mints != "" {
		parts = append(parts, "mints "+s.Mints)
	}
	if s.Effect != "" {
		parts = append(parts, "causes "+s.Effect)
	}
	return strings.Join(parts, "; ")
}

func (s *Summary) empty() bool {
	return len(s.Results) == 0 && len(s.Keys) == 0 && len(s.Calls) == 0 && s.Mints == "" && s.Effect == ""
}

// Result is one thing that a result of a function is made of.
type Result struct {
	Result           int // which one
	Kind             int
	What             string
	Param            int    // the parameter that it comes from, -1 = none
	Path             string // the field of it
	Made, Hash, Part bool
}

// String tells one result for tests.
func (r Result) String() string {
	if r.Param < 0 {
		return fmt.Sprintf("result %d is %s", r.Result, r.What)
	}
	return fmt.Sprintf("result %d is of parameter %d%s", r.Result, r.Param, r.Path)
}

// summary is what is known of a function's results, from the package's own code or
// from the fact of another package; nil if nothing is.
func (u *unit) summary(f *types.Func) *Summary {
	f = f.Origin()
	if f.Pkg() != u.Pkg {
		s := new(Summary)
		if f.Pkg() == nil || !u.ImportObjectFact(f, s) {
			return nil
		}
		return s
	}
	if s, ok := u.summaries[f]; ok {
		return s
	}
	d := u.decls[f]
	if d == nil {
		return nil
	}
	s := &Summary{}
	u.summaries[f] = s // a recursive call adds nothing
	s.Results = u.results(d)
	return s
}

// results traces what a declared function returns.
func (u *unit) results(d *fn) []Result {
	if !returnsKey(d.sig) {
		return nil
	}
	var out []Result
	ast.Inspect(d.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			out = append(out, u.returned(d, n)...)
		}
		return true
	})
	slices.SortFunc(out, func(a, b Result) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return slices.Compact(out)
}

func (u *unit) returned(d *fn, r *ast.ReturnStmt) []Result {
	var out []Result
	for i := range d.sig.Results().Len() {
		var origins []origin
		switch {
		case len(r.Results) == d.sig.Results().Len():
			origins = u.trace(r.Results[i], 0)
		case len(r.Results) == 1:
			origins = u.trace(r.Results[0], i)
		case len(r.Results) == 0:
			t := &tracer{u: u, seen: map[place]bool{}}
			t.variable(d.sig.Results().At(i), token.NoPos)
			origins = t.out
		}
		for _, o := range origins {
			if res, ok := u.result(d, i, o); ok {
				out = append(out, res)
			}
		}
	}
	return out
}

// result turns an origin into what a caller may know of it.
func (u *unit) result(d *fn, i int, o origin) (Result, bool) {
	r := Result{Result: i, Kind: int(o.kind), What: o.what, Param: -1, Made: o.made, Hash: o.hash, Part: o.part}
	switch o.kind {
	case isFresh, callID, personal, attempt:
		return r, !o.fixed || o.kind != isFresh
	case isPlace, isParam:
		p, ok := u.params[o.root]
		if !ok || p.of != d || o.kind == isPlace && o.path == "" {
			return r, false
		}
		r.Param, r.Path, r.What, r.Kind = p.index, o.path, "", int(isPlace)
		return r, true
	}
	return r, false
}

// returnsKey reports whether a result could be a key or part of one.
func returnsKey(sig *types.Signature) bool {
	for i := range sig.Results().Len() {
		switch t := sig.Results().At(i).Type().Underlying().(type) {
		case *types.Basic:
			if t.Info()&(types.IsString|types.IsInteger) != 0 {
				return true
			}
		case *types.Slice:
			return true
		case *types.Array:
			return true
		case *types.Pointer:
			if isBasic(t.Elem()) {
				return true
			}
		}
	}
	return false
}

// exportFacts tells other packages what is worth knowing of this one's functions.
func (u *unit) exportFacts() {
	for f, d := range u.decls {
		if !f.Exported() || u.isTest(d.node.Pos()) {
			continue
		}
		s := *u.summary(f)
		s.Keys = u.keysOf(d)
		s.Calls = u.retriedParams(d)
		if u.module() != "" || strings.Contains(u.Pkg.Path(), ".") {
			s.Module, s.Mints, s.Effect = u.module(), u.mints(d), u.causes(d)
		}
		if !s.empty() {
			u.ExportObjectFact(f, &s)
		}
	}
}

func (u *unit) module() string {
	if u.Module == nil {
		return ""
	}
	return u.Module.Path
}

// own returns the fact of a function of another package of this module. What other
// modules do with keys of their own is their makers' business.
func (u *unit) own(f *types.Func) *Summary {
	if f == nil || f.Pkg() == u.Pkg {
		return nil
	}
	s := u.summary(f)
	if s == nil || s.Module != u.module() {
		return nil
	}
	return s
}

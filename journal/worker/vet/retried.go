package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// region is code that runs again until it succeeds.
type region struct {
	lo, hi token.Pos
	why    string // "the loop at line 12 retries", to go on with "and"
	effect bool   // the function of a tool: the journal calls it again
	of     *fn    // the function that is retried as a whole, nil for a loop
}

// regionOf returns the smallest region that holds all positions.
func (u *unit) regionOf(at ...token.Pos) *region {
	var best *region
	for i := range u.regions {
		r := &u.regions[i]
		holds := true
		for _, p := range at {
			holds = holds && r.lo <= p && p < r.hi
		}
		if holds && (best == nil || r.hi-r.lo < best.hi-best.lo) {
			best = r
		}
	}
	return best
}

func (u *unit) retriedFn(f *fn, why string, effect bool) {
	for i := range u.regions {
		if u.regions[i].of == f {
			u.regions[i].effect = u.regions[i].effect || effect
			return
		}
	}
	u.regions = append(u.regions, region{lo: f.body.Lbrace, hi: f.body.Rbrace, why: why, effect: effect, of: f})
}

// findRegions finds what is retried: loops, functions handed to something that
// calls them again, functions that a runtime calls again, and all that these call.
func (u *unit) findRegions() {
	for _, f := range u.funcs {
		u.loopsOf(f)
		if why, effect := u.redelivered(f); why != "" {
			u.retriedFn(f, why, effect)
		}
	}
	for _, c := range u.calls {
		u.handedOver(c.node)
	}
	for _, l := range u.lits {
		u.stepsOf(l.node)
	}
	for i := 0; i < len(u.regions); i++ { // grows on the way
		r := u.regions[i]
		for _, c := range u.calls {
			if c.node.Pos() < r.lo || c.node.Pos() >= r.hi {
				continue
			}
			for _, f := range u.functionsOf(c.node.Fun) {
				if _, immediate := ast.Unparen(c.node.Fun).(*ast.FuncLit); immediate || f.contains(c.node.Pos()) {
					continue
				}
				u.retriedFn(f, u.calledBy(f, r), r.effect)
			}
		}
	}
}

func (u *unit) calledBy(f *fn, r region) string {
	if strings.Contains(r.why, "which is called where ") {
		return r.why
	}
	return fmt.Sprintf("%s, which is called where %s", u.nameOf(f), r.why)
}

func (u *unit) nameOf(f *fn) string {
	if f.obj != nil {
		return display(f.obj)
	}
	return fmt.Sprintf("the function at line %d", u.line(f.node.Pos()))
}

// redelivered reports why a runtime runs a function more than once, by what the
// function takes or gives:
//
//   - the function of a tool (worker.RunFunc), which the journal grants again;
//   - a workflow of Temporal, which is replayed (docs.temporal.io, "Side Effects -
//     Go SDK"), or one of its activities, known by its use of package activity;
//   - a job of River or asynq, a message of SQS, which come again after a failure;
//   - a workflow of DBOS, a handler of Restate, which start over at their first line.
func (u *unit) redelivered(f *fn) (why string, effect bool) {
	res, name := f.sig.Results(), u.nameOf(f)
	if res.Len() == 2 && is(res.At(0).Type(), workerPath, "Outcome") {
		return name + " is the function of a tool, which runs once per attempt", true
	}
	for i := range f.sig.Params().Len() {
		path, typ := named(f.sig.Params().At(i).Type())
		switch {
		case below(path, "go.temporal.io/sdk") && typ == "Context":
			return name + " is a Temporal workflow, which is replayed", false
		case path == "github.com/riverqueue/river" && typ == "Job" && f.obj != nil && f.obj.Name() == "Work":
			return name + " works a River job, which is tried again", false
		case path == "github.com/hibiken/asynq" && typ == "Task" && res.Len() == 1 && isError(res.At(0).Type()):
			return name + " handles an asynq task, which is tried again", false
		case strings.HasPrefix(path, "github.com/dbos-inc/") && (typ == "Context" || typ == "DBOSContext") && res.Len() == 2 && i == 0:
			return name + " is a DBOS workflow, which starts over", false
		case below(path, "github.com/restatedev/sdk-go") && strings.HasSuffix(typ, "Context"):
			return name + " is a Restate handler, which starts over", false
		case below(path, "github.com/aws/aws-lambda-go/events") && (typ == "SQSEvent" || typ == "SQSMessage"):
			return name + " handles messages of SQS, which come again", false
		}
	}
	if u.usesActivity(f) {
		return name + " is a Temporal activity, which is retried", false
	}
	return "", false
}

// usesActivity reports whether a function asks package activity about its own
// execution, which only an activity can.
func (u *unit) usesActivity(f *fn) bool {
	if f.sig.Params().Len() == 0 || !is(f.sig.Params().At(0).Type(), "context", "Context") {
		return false
	}
	for _, c := range u.of(f).calls {
		if c.in != f {
			continue
		}
		if g := u.callee(c.node); g != nil && pkgPath(g) == "go.temporal.io/sdk/activity" {
			switch g.Name() {
			case "GetInfo", "GetLogger", "RecordHeartbeat", "HasHeartbeatDetails", "GetHeartbeatDetails", "GetMetricsHandler":
				return true
			}
		}
	}
	return false
}

// handedOver marks the functions among the arguments of a call that calls them
// again.
func (u *unit) handedOver(call *ast.CallExpr) {
	f := u.callee(call)
	if f == nil {
		return
	}
	if s := u.summary(f); s != nil || u.decls[f.Origin()] != nil {
		for _, i := range u.retriesOf(f, s) {
			if i < len(call.Args) {
				u.markAll(call.Args[i:i+1], display(f)+" calls again what it is given")
			}
		}
	}
	path, name := pkgPath(f), f.Name()
	switch {
	case below(path, "go.temporal.io/sdk") && registersActivity(name):
		u.markAll(call.Args, "Temporal retries it as an activity")
	case below(path, "go.temporal.io/sdk") && strings.HasPrefix(name, "RegisterWorkflow"):
		u.markAll(call.Args, "Temporal replays it as a workflow")
	case strings.HasPrefix(path, "github.com/dbos-inc/") && strings.HasPrefix(name, "RunAs") && name != "RunAsWorkflow",
		below(path, "github.com/restatedev/sdk-go") && strings.HasPrefix(name, "Run"),
		strings.HasPrefix(path, "github.com/inngest/") && path[strings.LastIndex(path, "/"):] == "/step" && name == "Run":
		u.markAll(call.Args, display(f)+" runs it again until it succeeds")
	case strings.HasPrefix(strings.ToLower(path), "github.com/richardknop/machinery") && strings.HasPrefix(name, "RegisterTask"):
		u.markAll(call.Args, "machinery retries it as a task")
	case u.retries(f):
		u.markAll(call.Args, display(f)+" calls it again when it fails")
	}
}

func registersActivity(name string) bool {
	switch name {
	case "RegisterActivity", "RegisterActivityWithOptions", "ExecuteActivity", "ExecuteLocalActivity":
		return true
	}
	return false
}

// retries reports whether a function's name, its receiver's or its package's says
// that it calls the function that it is given again. backoff.Retry, retry.Do,
// failsafe.Get and wait.ExponentialBackoff are such, and most that teams write.
func (u *unit) retries(f *types.Func) bool {
	takes := false
	for i := range f.Signature().Params().Len() {
		sig, ok := f.Signature().Params().At(i).Type().Underlying().(*types.Signature)
		takes = takes || ok && returnsError(sig)
	}
	if !takes || u.notify.MatchString(f.Name()) || strings.HasPrefix(pkgPath(f), workerPath) {
		return false
	}
	names := []string{f.Name()}
	if r := receiver(f); r != nil {
		path, name := named(r)
		names = append(names, name, lastElement(path))
	} else {
		names = append(names, lastElement(pkgPath(f)))
	}
	for _, n := range names {
		if u.retry.MatchString(n) || n == "failsafe" || n == "failsafe-go" {
			return true
		}
	}
	return false
}

// lastElement is the name of a package in its path, without a major version.
func lastElement(path string) string {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		last = parts[len(parts)-2]
	}
	return last
}

// returnsError: what is retried says whether it failed.
func returnsError(sig *types.Signature) bool {
	for i := range sig.Results().Len() {
		if t := sig.Results().At(i).Type(); isError(t) || isBasic(t) {
			return true
		}
	}
	return false
}

// markAll marks the functions among arguments; of a pointer to a struct, its
// exported methods, as Temporal registers them.
func (u *unit) markAll(args []ast.Expr, why string) {
	for _, a := range args {
		for _, f := range u.functionsOf(a) {
			u.retriedFn(f, u.nameOf(f)+" is retried: "+why, false)
		}
		u.elsewhere(a, why)
		if strings.HasPrefix(why, "Temporal") {
			u.markMethods(a, why)
		}
		if lit, ok := ast.Unparen(a).(*ast.CompositeLit); ok && strings.HasPrefix(why, "machinery") {
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					u.markAll([]ast.Expr{kv.Value}, why)
				}
			}
		}
	}
}

// elsewhere reports a function of another package of this module that is handed to
// something that calls it again, if it mints a key.
func (u *unit) elsewhere(a ast.Expr, why string) {
	var id *ast.Ident
	switch a := ast.Unparen(a).(type) {
	case *ast.SelectorExpr:
		id = a.Sel
	case *ast.Ident:
		id = a
	default:
		return
	}
	f, _ := u.TypesInfo.Uses[id].(*types.Func)
	if s := u.own(f); s != nil && s.Mints != "" {
		u.report(catRetried, a.Pos(), fmt.Sprintf("%s mints %s anew each time that it is called, and it is retried: %s", display(f), s.Mints, why),
			"Mint the key outside of the retry and pass it in")
	}
}

func (u *unit) markMethods(a ast.Expr, why string) {
	path, name := named(u.TypesInfo.TypeOf(a))
	if path != u.Pkg.Path() {
		return
	}
	for f, d := range u.decls {
		if r := receiver(f); r != nil && f.Exported() {
			if _, n := named(r); n == name {
				u.retriedFn(d, u.nameOf(d)+" is retried: "+why, false)
			}
		}
	}
}

// stepsOf marks the functions of the two steps of package staged, and of an Undo:
// they run once per attempt.
func (u *unit) stepsOf(lit *ast.CompositeLit) {
	t := u.TypesInfo.TypeOf(lit)
	steps := is(t, stagedPath, "Steps")
	if !steps && !is(t, workerPath, "Undo") && !is(t, workerPath, "ToolSpec") {
		return
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if id, ok := kv.Key.(*ast.Ident); ok && (steps || id.Name == "Run") {
			for _, f := range u.functionsOf(kv.Value) {
				u.retriedFn(f, u.nameOf(f)+" is the function of a tool, which runs once per attempt", true)
			}
		}
	}
}

// retriesOf returns the parameters that a function calls again when they fail.
func (u *unit) retriesOf(f *types.Func, s *Summary) []int {
	if d := u.decls[f.Origin()]; d != nil {
		return u.retriedParams(d)
	}
	if s == nil {
		return nil
	}
	return s.Calls
}

// retriedParams finds the function parameters that are called inside of a loop that
// retries.
func (u *unit) retriedParams(d *fn) []int {
	var out []int
	for _, c := range u.of(d).calls {
		id, ok := ast.Unparen(c.node.Fun).(*ast.Ident)
		if !ok {
			continue
		}
		v, _ := u.TypesInfo.Uses[id].(*types.Var)
		p, ok := u.params[v]
		if v == nil || !ok || p.of != d {
			continue
		}
		if r := u.regionOf(c.node.Pos()); r != nil && r.of == nil {
			out = append(out, p.index)
		}
	}
	return out
}

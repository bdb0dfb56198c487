package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// category is one kind of finding, and the name of the flag that switches it.
type category string

// The categories.
const (
	catRetried     category = "retried"
	catFresh       category = "fresh"
	catArgs        category = "args"
	catCallID      category = "callid"
	catPersonal    category = "personal"
	catArgKey      category = "argkey"
	catUnjournaled category = "unjournaled"
	catRepeated    category = "repeated"
)

// categories lists every category with what its flag says.
func categories() map[category]string {
	return map[category]string{
		catRetried:     "report keys that are minted anew by every retry",
		catFresh:       "report keys made of time or random numbers in the function that uses them",
		catArgs:        "report keys derived from the arguments of their call",
		catCallID:      "report keys that hold a framework's tool call id",
		catPersonal:    "report keys that hold a mail address or telephone number",
		catArgKey:      "report idempotency keys inside of arguments",
		catUnjournaled: "report effects that are caused without the journal",
		catRepeated:    "report effects that a tool's function repeats on its own",
	}
}

// switches says which categories are on.
type switches map[category]*bool

// New returns the analyzer. Each category of findings has a flag of its own, on
// by default: -landed.retried=false turns one off in go vet.
func New() *analysis.Analyzer {
	on, known := switches{}, newRules()
	a := &analysis.Analyzer{
		Name: "landed",
		Doc: "check that effects go through the journal under keys that survive a retry\n\n" +
			"A key that is minted inside of a retry, or derived from what changes between two attempts, " +
			"lets the retry cause the effect again. So does a call past the journal.",
		URL:       "https://pkg.go.dev/github.com/landedhq/landed/journal/worker/vet",
		FactTypes: []analysis.Fact{new(Summary)},
	}
	for c, usage := range categories() {
		on[c] = a.Flags.Bool(string(c), true, usage)
	}
	a.Run = func(pass *analysis.Pass) (any, error) {
		if !standard(pass) {
			run(pass, on, known)
		}
		return nil, nil
	}
	return a
}

// run checks one package. The order matters: regions need the index, and the
// facts leave out what a directive silenced.
func run(pass *analysis.Pass, on switches, known *rules) {
	u := newUnit(pass, on, known)
	u.findRegions()
	u.checkKeys()
	u.checkEffects()
	u.exportFacts()
	u.checkDirectives()
}

// standard reports whether the package belongs to the standard library, of which
// the analyzer knows what it must by name.
func standard(pass *analysis.Pass) bool {
	first, _, _ := strings.Cut(pass.Pkg.Path(), "/")
	return (pass.Module == nil || pass.Module.Path == "" || pass.Module.Path == "std") && !strings.Contains(first, ".") && first != "command-line-arguments"
}

// report tells a finding: what is wrong, and what to do instead. A directive with
// a reason silences it. It returns whether the finding stands.
func (u *unit) report(c category, at token.Pos, wrong, instead string) bool {
	if u.generated(at) || u.isTest(at) && c != catRetried {
		return false
	}
	if u.silenced(c, at) {
		return false
	}
	id := finding{c, at}
	if !*u.on[c] || u.told[id] {
		return true
	}
	u.told[id] = true
	u.Report(analysis.Diagnostic{Pos: at, Category: string(c), Message: fmt.Sprintf("%s. %s.", wrong, instead)})
	return true
}

// finding is what is told once.
type finding struct {
	c  category
	at token.Pos
}

// isTest: `go test` is the outside of every retry, and a test's process is never
// resumed. What a test mints per run is right; what it mints inside of a retry is
// still wrong.
func (u *unit) isTest(at token.Pos) bool {
	return strings.HasSuffix(u.Fset.File(at).Name(), "_test.go")
}

func (u *unit) generated(at token.Pos) bool {
	f := u.fileOf(at)
	return f == nil || ast.IsGenerated(f)
}

func (u *unit) fileOf(at token.Pos) *ast.File {
	for _, f := range u.Files {
		if f.FileStart <= at && at <= f.FileEnd {
			return f
		}
	}
	return nil
}

func (u *unit) line(at token.Pos) int { return u.Fset.Position(at).Line }

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/landedhq/landed/"

// rule says what packages at and below a path may import of this module. The
// longest path wins.
type rule struct {
	path string
	own  []string // paths below the module, with all below them
	// std: nothing from outside the standard library either.
	std bool
}

// rules is the direction of imports: cmd → handlers → web, decide, providers,
// journal; everything → journal; journal → the standard library.
func rules() []rule {
	return []rule{
		{path: "cmd", own: []string{"cmd", "handlers", "web", "static", "journal", "providers"}},
		{path: "handlers", own: []string{"handlers", "web", "static", "journal", "journal/decide", "journal/audit", "journal/client/wire", "providers"}},
		{path: "handlers/login/logintest", own: []string{"handlers/login", "cmd/landed/demo/idp", "journal"}}, // a fake identity provider
		{path: "web", own: []string{"web", "journal"}},
		{path: "static", std: true},
		{path: "providers", own: []string{"providers", "journal"}},
		{path: "journal", std: true},
		{path: "journal/audit", own: []string{"journal", "journal/audit"}},
		{path: "journal/argschema", own: []string{"journal"}},
		{path: "journal/decide", own: []string{"journal", "journal/decide", "journal/argschema"}},
		{path: "journal/worker", own: []string{"journal", "journal/worker", "journal/argschema"}},
		{path: "journal/client", own: []string{"journal", "journal/client", "journal/worker"}},
		{path: "journal/postgres", own: []string{"journal", "journal/audit", "journal/postgres"}},
		{path: "journal/journaltest", own: []string{"journal", "journal/journaltest", "journal/postgres"}},
	}
}

// limit says which packages may import a module from outside.
type limit struct {
	outside string
	only    []string // empty = nobody
}

func limits() []limit {
	return []limit{
		{"github.com/jackc/pgx/", []string{"journal/postgres", "journal/journaltest", "providers/evidence/sql", "providers/resume/dbos", "providers/resume/river", "providers/resume/internal/pgtarget", "cmd"}},
		{"github.com/labstack/echo/", []string{"handlers", "cmd"}},
		{"github.com/labstack/echo/v4/middleware/", nil}, // its proxy and its reading of client addresses have open advisories
		{"github.com/a-h/templ", []string{"web", "handlers"}},
		{"github.com/riverqueue/", []string{"cmd", "providers/resume/river", "journal/worker/river"}},
	}
}

// goPackage is what this check reads of `go list -json`.
type goPackage struct {
	ImportPath string
	Imports    []string
	Error      *struct{ Err string }
}

func checkImports(out io.Writer) error {
	list, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Error", "./...").Output()
	if err != nil {
		return fmt.Errorf("listing packages: %w", err)
	}
	wrong := 0
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("reading the list of packages: %w", err)
		}
		for _, line := range judgeImports(p) {
			fmt.Fprintln(out, line)
			wrong++
		}
	}
	if wrong > 0 {
		return errFound
	}
	return nil
}

func judgeImports(p goPackage) []string {
	self, ok := strings.CutPrefix(p.ImportPath, module)
	if !ok {
		return nil
	}
	var found []string
	r := ruleFor(self)
	for _, imp := range p.Imports {
		own, isOwn := strings.CutPrefix(imp, module)
		switch {
		case isOwn && !allowsOwn(r, self, own):
			found = append(found, fmt.Sprintf("%s must not import %s: packages below %s may not", self, own, r.path))
		case !isOwn && r.std && strings.Contains(strings.Split(imp, "/")[0], "."):
			found = append(found, fmt.Sprintf("%s must not import %s: only the standard library", self, imp))
		}
		for _, l := range limits() {
			if strings.HasPrefix(imp+"/", l.outside) && !slices.ContainsFunc(l.only, func(o string) bool { return under(self, o) }) {
				found = append(found, fmt.Sprintf("%s must not import %s: only %s may", self, imp, cmp.Or(strings.Join(l.only, ", "), "nobody")))
			}
		}
	}
	return found
}

// allowsOwn: test helpers (xtest) may use journaltest anywhere. "journal" means
// that package alone, any other path all below it.
func allowsOwn(r rule, self, own string) bool {
	if own == "journal/journaltest" && strings.HasSuffix(self, "test") {
		return true
	}
	if r.path == "cmd" {
		return true
	}
	return slices.ContainsFunc(r.own, func(o string) bool {
		return own == o || o != "journal" && under(own, o)
	})
}

func ruleFor(self string) rule {
	var best rule
	for _, r := range rules() {
		if under(self, r.path) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best
}

func under(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") }

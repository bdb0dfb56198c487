package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// event is one line of `go test -json` (go doc test2json), or of the build
// output that goes with it (go help buildjson).
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// sum adds up the events of all modules.
type sum struct {
	out                     io.Writer
	passed, failed, skipped int
	bad                     []string            // packages that failed, in order
	kept                    map[string][]string // output of tests and packages that have not ended

}

// runTests runs `go test -json` in each folder and prints what a reader needs:
// one line a package, all output of what failed, every skip, and a closing line.
// The folders come first, the flags for go test after "--".
func runTests(args []string, out io.Writer) error {
	dirs, flags := args, []string(nil)
	if i := slices.Index(args, "--"); i >= 0 {
		dirs, flags = args[:i], args[i+1:]
	}
	s := &sum{out: out, kept: map[string][]string{}}
	var broken []error
	for _, dir := range dirs {
		if err := s.module(dir, flags); err != nil {
			broken = append(broken, fmt.Errorf("module %s: %w", dir, err))
		}
	}
	s.close()
	if s.failed+len(s.bad) > 0 {
		return errFound
	}
	if s.passed == 0 {
		broken = append(broken, errors.New("no test ran"))
	}
	return errors.Join(broken...)
}

func (s *sum) module(dir string, flags []string) error {
	cmd := exec.Command("go", append(append([]string{"test", "-json"}, flags...), "./...")...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			s.line(line)
		}
		if err != nil {
			break
		}
	}
	before := len(s.bad)
	if err := cmd.Wait(); err != nil && before == 0 {
		return err // nothing in the events explains it
	}
	return nil
}

func (s *sum) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(s.out, line) // go's own words, such as a module that can't be read
		return
	}
	if e.Test == "" {
		s.packageEvent(e)
		return
	}
	s.testEvent(e)
}

func (s *sum) testEvent(e event) {
	key := e.Package + "." + e.Test
	switch e.Action {
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") && !strings.HasPrefix(strings.TrimSpace(e.Output), "--- ") { // go's own frame
			s.kept[key] = append(s.kept[key], e.Output)
		}
		return
	case "pass":
		s.passed++
	case "fail":
		s.failed++
		fmt.Fprintf(s.out, "--- FAIL %s %s (%.1fs)\n%s", e.Package, e.Test, e.Elapsed, strings.Join(s.kept[key], ""))
	case "skip":
		s.skipped++
		fmt.Fprintf(s.out, "--- SKIP %s %s\n%s", e.Package, e.Test, strings.Join(s.kept[key], ""))
	default:
		return
	}
	delete(s.kept, key)
}

func (s *sum) packageEvent(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "output":
		if e.Output != "FAIL\n" && !strings.HasPrefix(e.Output, "FAIL\t") { // said below
			s.kept[e.Package] = append(s.kept[e.Package], e.Output)
		}
	case "pass":
		fmt.Fprintf(s.out, "ok    %s (%.1fs)\n", e.Package, e.Elapsed)
	case "skip":
		fmt.Fprintf(s.out, "none  %s has no tests\n", e.Package)
	case "fail":
		// A test that was running when the process died never says so itself.
		s.unended(e.Package)
		why := ""
		if e.FailedBuild != "" {
			why = ": it does not build"
		}
		fmt.Fprintf(s.out, "%sFAIL  %s (%.1fs)%s\n", strings.Join(s.kept[e.Package], ""), e.Package, e.Elapsed, why)
		s.bad = append(s.bad, e.Package)
	}
}

// unended prints what tests of the package said that neither passed nor failed.
func (s *sum) unended(pkg string) {
	for _, key := range sortedKeys(s.kept) {
		if strings.HasPrefix(key, pkg+".Test") || strings.HasPrefix(key, pkg+".Fuzz") {
			fmt.Fprintf(s.out, "--- NOT ENDED %s\n%s", key, strings.Join(s.kept[key], ""))
			delete(s.kept, key)
		}
	}
}

func (s *sum) close() {
	for _, p := range s.bad {
		fmt.Fprintln(s.out, "failed package:", p)
	}
	failed := s.failed
	if failed == 0 {
		failed = len(s.bad) // did not build, or died outside a test
	}
	fmt.Fprintf(s.out, "tests: %d passed, %d failed, %d skipped\n", s.passed, failed, s.skipped)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

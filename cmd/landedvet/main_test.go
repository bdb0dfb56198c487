package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// job is a worker with a key that is minted inside of a retry, a request past the
// journal, and a use of both that is right.
const job = `package job

import (
	"context"
	"net/http"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

func Pay(ctx context.Context, w *worker.Worker, order string) (err error) {
	for attempt := 0; attempt < 3; attempt++ {
		if _, err = w.Do(ctx, worker.Call{Key: journal.NewToken(), Tool: "pay"}); err == nil {
			return nil
		}
	}
	return err
}

func Notify(url string) error {
	_, err := http.Post(url, "text/plain", nil)
	return err
}

func Refund(ctx context.Context, w *worker.Worker, run worker.Run, order string) error {
	_, err := w.Do(ctx, worker.Call{Run: run, Tool: "refund", Step: "refund", Item: order})
	return err
}
`

// The program in a build of another module, against the real package worker.
func TestVetTool(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "landedvet")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	dir := module(t, job)
	minted := "job.go:13:42: the key is minted by journal.NewToken, a new id where the loop at line 12 retries, so that every retry gets a new one. " +
		"Mint it once outside of the retry and pass it in, or leave Key empty and set RootRun, Step and Item."
	raw := "job.go:21:12: http.Post causes an effect without the journal, so that a retry or a crash doubles or loses it. " +
		"Move it into the function of a tool and call that with Worker.Do, or say why not: //landed:unjournaled reason."
	for _, row := range []struct {
		name string
		args []string
		want []string
	}{
		{"as a tool of go vet", []string{"go", "vet", "-vettool=" + tool, "./..."}, []string{minted, raw}},
		{"with a category off", []string{"go", "vet", "-vettool=" + tool, "-landed.retried=false", "./..."}, []string{raw}},
		{"on its own", []string{tool, "./..."}, []string{minted, raw}},
		{"on its own, all off", []string{tool, "-landed.retried=false", "-landed.unjournaled=false", "./..."}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, failed := vetted(t, dir, row.args)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			if failed != (row.want != nil) {
				t.Errorf("failed = %v", failed)
			}
		})
	}
}

// vetted runs a command in dir and returns the findings in what it printed.
func vetted(t *testing.T, dir string, args []string) ([]string, bool) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	var found []string
	for _, line := range strings.Split(string(out), "\n") {
		if i := strings.Index(line, "job.go:"); i >= 0 {
			found = append(found, line[i:])
		}
	}
	if err != nil && found == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return found, err != nil
}

// module makes a module that requires this one, with what this one requires.
func module(t *testing.T, source string) string {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod := read(t, filepath.Join(top, "go.mod"))
	mod = regexp.MustCompile(`(?m)^module .*`).ReplaceAllString(mod, "module example.com/job")
	mod += "\nrequire github.com/landedhq/landed v0.0.0\n\nreplace github.com/landedhq/landed => " + filepath.ToSlash(top) + "\n"
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": mod, "go.sum": read(t, filepath.Join(top, "go.sum")), "job.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

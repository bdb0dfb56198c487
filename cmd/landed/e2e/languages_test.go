package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/providers/resume/temporal/temporaltest"
)

// TestBroughtHome: the examples in Python and Java, which ask for decisions, and a
// Temporal workflow, which is sent them, park against a real desk, a person decides
// in the page, and they finish. Each has two effects at a provider that answers 503
// after it did its work: one is closed as landed, the other ordered again.
func TestBroughtHome(t *testing.T) {
	t.Parallel()
	readAxe(t)
	browser := startBrowser(t)
	flows := temporaltest.Start(t)
	var provider sandbox
	d := startDesk(t, setup{Provider: provider.start, More: "resume:\n  - {name: flows, temporal: {url: \"" + flows.URL + "\", namespace: default, allow_private: true, allow_plain_http: true}}\n"})
	for _, l := range []struct {
		name  string
		start func(t *testing.T, d *desk, url, run string) *exec.Cmd
	}{{"python", pythonWorker}, {"java", javaWorker(t)}, {"temporal", temporalWorker(t, flows.GRPC)}} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := newTab(t, browser, d.URL, desktop(), "languages-"+l.name)
			b.open(d.URL + "/")
			b.pick(d.URL, olivia)
			for _, c := range []struct {
				choice, code, status string
				made                 int
			}{{"close_landed", "confirmed_by_person", "done", 1}, {"reissue/new_key", "confirmed_by_person", "done", 2}} {
				p := newDoubtful(t)
				w := watch(t, l.start(t, d, p.URL, "run-"+l.name+"-"+c.choice[:5]))
				id := fmt.Sprint(w.next("executing")["effect_id"])
				b.opensUntil(d.URL+"/e/"+id, "main", "Decide")
				b.loadsUntil(d.URL+"/e/"+id, "the form", `!!document.querySelector('input[name="choice"]')`)
				b.review(c.choice, c.code, "The provider was called, and a person there looked it up.")
				b.click(confirmed)
				b.sees("main", "The decision is recorded")
				if end := w.next("finished"); end["status"] != c.status {
					t.Errorf("%s after %s ends with %v", l.name, c.choice, end)
				}
				w.exits(0)
				if n := p.count(); n != c.made {
					t.Errorf("%s after %s: %d at the provider, want %d", l.name, c.choice, n, c.made)
				}
				b.opensUntil(d.URL+"/e/"+id+"#outcome", "#outcome", "Settled")
				if l.name == "temporal" {
					b.sees("#delivery", "Acknowledged")
					b.shot("delivered-" + c.choice[:5])
				}
			}
		})
	}
	t.Cleanup(func() { // after the parallel ones
		if out := d.run(t, "audit", "verify", "--config", d.config); !strings.Contains(out, "hold") {
			t.Errorf("audit verify says %q", out)
		}
	})
}

// temporalWorker builds the example, with the race detector if the test has it:
// then what the example's own module compiled is reused.
func temporalWorker(t *testing.T, frontend string) func(t *testing.T, d *desk, url, run string) *exec.Cmd {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "example")
	args := []string{"build", "-buildvcs=false", "-o", bin}
	if raceDetector {
		args = append(args, "-race")
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "./example")...)
	build.Dir = "../../../journal/worker/temporal"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the example: %v\n%s", err, out)
	}
	return func(t *testing.T, d *desk, url, run string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), bin, "--landed", d.URL, "--temporal", frontend, "--ticket-url", url, "--order", run)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANDED_TOKEN=" + d.Token}
		return cmd
	}
}

// doubtful is a provider that does its work and then answers 503, the first time.
type doubtful struct {
	*httptest.Server
	mu sync.Mutex
	n  int
}

func newDoubtful(t *testing.T) *doubtful {
	p := &doubtful{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		p.mu.Lock()
		p.n++
		n := p.n
		p.mu.Unlock()
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":"p-%d"}`, n)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *doubtful) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

const examples = "../../../journal/client/examples"

func pythonWorker(t *testing.T, d *desk, url, run string) *exec.Cmd {
	t.Helper()
	bin, err := exec.LookPath("python3")
	if err != nil {
		journaltest.Missing(t, "python3", "apt-get install --no-install-recommends python3 (3.11 or newer)")
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), bin, "worker.py", "--landed", d.URL, "--thread", run, "--ticket-url", url)
	cmd.Dir = filepath.Join(examples, "python")
	cmd.Env = []string{"PYTHONDONTWRITEBYTECODE=1", "PATH=" + os.Getenv("PATH"), "LANDED_TOKEN=" + d.Token}
	return cmd
}

// javaWorker compiles the example once.
func javaWorker(t *testing.T) func(t *testing.T, d *desk, url, run string) *exec.Cmd {
	t.Helper()
	bin, err := exec.LookPath("javac")
	if err != nil {
		return func(t *testing.T, _ *desk, _, _ string) *exec.Cmd {
			journaltest.Missing(t, "javac", "apt-get install --no-install-recommends openjdk-17-jdk-headless (17 or newer)")
			return nil
		}
	}
	classes := t.TempDir()
	args := []string{"-encoding", "UTF-8", "--release", "17", "-d", classes}
	err = filepath.WalkDir(filepath.Join(examples, "java"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".java") {
			args = append(args, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return func(t *testing.T, d *desk, url, run string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "shop.Main",
			"--landed", d.URL, "--gateway", url, "--run", run)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "LANDED_TOKEN=" + d.Token}
		return cmd
	}
}

// watched is a worker that says one JSON line per step.
type watched struct {
	t      *testing.T
	cmd    *exec.Cmd
	events chan map[string]any
}

func watch(t *testing.T, cmd *exec.Cmd) *watched {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	w := &watched{t, cmd, make(chan map[string]any, 100)}
	go func() {
		defer close(w.events)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var ev map[string]any
			if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
				ev = map[string]any{"event": "unreadable: " + lines.Text()}
			}
			w.events <- ev
		}
	}()
	return w
}

// next passes over lines up to one of a kind.
func (w *watched) next(kind string) map[string]any {
	w.t.Helper()
	var seen []map[string]any
	deadline := time.After(patience)
	for {
		select {
		case ev, ok := <-w.events:
			if seen = append(seen, ev); !ok {
				w.t.Fatalf("the worker ended after %v, want %s", seen, kind)
			}
			if ev["event"] == kind {
				return ev
			}
		case <-deadline:
			w.t.Fatalf("the worker says %v, want %s", seen, kind)
		}
	}
}

func (w *watched) exits(status int) {
	w.t.Helper()
	for range w.events { // to the end of what it says
	}
	_ = w.cmd.Wait()
	if got := w.cmd.ProcessState.ExitCode(); got != status {
		w.t.Errorf("the worker exits with %d, want %d", got, status)
	}
}

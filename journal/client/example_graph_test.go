package client_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

// killEveryLine names the environment variable that, set to 1, kills the graph
// at each line that it runs instead of at a sample of them.
const killEveryLine = "LANDED_TEST_KILL_EVERY_LINE"

// assassin runs a script of the example and kills the process right before its
// nth new line of the example's own code; 0 never. It says how many it saw.
const assassin = `
import atexit, os, runpy, signal, sys
nth, script = int(sys.argv[1]), os.path.abspath(sys.argv[2])
here, seen = os.path.dirname(script), set()
def trace(frame, event, arg):
    if os.path.dirname(frame.f_code.co_filename) != here:
        return None
    if event == "line" and (line := (frame.f_code.co_filename, frame.f_lineno)) not in seen:
        seen.add(line)
        if len(seen) == nth:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace
atexit.register(lambda: print('{"event":"lines","n":%d}' % len(seen), flush=True))
sys.argv = sys.argv[2:]
sys.path.insert(0, here)
sys.settrace(trace)
runpy.run_path(script, run_name="__main__")
`

// desk is a ticket system that counts what it made per thread and operation, and
// loses its first answer to some.
type desk struct {
	*httptest.Server
	mu   sync.Mutex
	made map[string]int  // by title
	lose map[string]bool // by the operation in front of the title: the next answer is lost
}

func newDesk(t *testing.T, lose ...string) *desk {
	t.Helper()
	d := &desk{made: map[string]int{}, lose: map[string]bool{}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ticket struct{ Title string }
		if err := json.NewDecoder(r.Body).Decode(&ticket); err != nil {
			t.Errorf("the ticket can't be read: %v", err)
		}
		d.mu.Lock()
		d.made[ticket.Title]++
		operation, _, _ := strings.Cut(ticket.Title, " ")
		lost := slices.Contains(lose, operation) && d.made[ticket.Title] == 1
		d.mu.Unlock()
		if lost {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "{\"id\": %q, \"n\": 1.50}\n", ticket.Title)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *desk) count(title string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made[title]
}

// thread is one thread of the graph; its order is its name.
type thread struct {
	*example
	desk        *desk
	name        string
	checkpoints string
	assassin    string
}

func newThread(e *example, d *desk, name, dir string) *thread {
	return &thread{e, d, name, filepath.Join(dir, name+".db"), filepath.Join(dir, "assassin.py")}
}

// wake starts a process for the thread and returns what it said. It is killed at
// its nth new line if nth is not 0.
func (x *thread) wake(nth int) []event {
	x.Helper()
	cmd := python(x.T, x.assassin, fmt.Sprint(nth), "parked.py", "--landed", x.url, "--thread", x.name, "--order", x.name,
		"--checkpoints", x.checkpoints, "--ticket-url", x.desk.URL+"/tickets")
	c := x.run(cmd)
	var said []event
	deadline := time.After(time.Minute)
	for {
		select {
		case ev, ok := <-c.events:
			if !ok {
				_ = c.cmd.Wait()
				return said
			}
			said = append(said, ev)
		case <-deadline:
			x.Fatalf("the graph says %v and does not end within a minute", said)
		}
	}
}

// said returns the last line of a kind, nil if there is none.
func said(lines []event, kind string) event {
	for _, ev := range slices.Backward(lines) {
		if ev["event"] == kind {
			return ev
		}
	}
	return nil
}

// effects returns the effects of the thread.
func (x *thread) effects() []journal.Effect {
	x.Helper()
	rows, err := x.store.Pool().Query(x.Context(), `select id::text from effects where root_run = $1 order by id`, x.name)
	if err != nil {
		x.Fatal(err)
	}
	var out []journal.Effect
	var id string
	var ids []string
	for rows.Next() {
		if err := rows.Scan(&id); err != nil {
			x.Fatal(err)
		}
		ids = append(ids, id)
	}
	if rows.Err() != nil {
		x.Fatal(rows.Err())
	}
	for _, id := range ids {
		s, err := x.store.Snapshot(x.Context(), id)
		if err != nil {
			x.Fatal(err)
		}
		out = append(out, s.Effect)
	}
	return out
}

// operator lets the leases of killed processes pass and decides what is parked
// after a look at the ticket system: what is there is closed, what is not is
// ordered again.
func (x *thread) operator() {
	x.Helper()
	for _, e := range x.effects() {
		switch {
		case e.State == journal.StateIntent:
			x.leaseOver(e.ID)
		case e.State == journal.StateParked && x.desk.count(e.Operation+" "+x.name) > 0:
			x.decide(e.ID, journal.VerbCloseLanded, "")
		case e.State == journal.StateParked:
			x.decide(e.ID, journal.VerbReissue, journal.NewKey)
		}
	}
}

// ended demands one ticket per operation and nothing left to do.
func (x *thread) ended() {
	x.Helper()
	for _, operation := range []string{"open", "notify", "close"} {
		if n := x.desk.count(operation + " " + x.name); n != 1 {
			x.Errorf("%s: %q was done %d times, want once", x.name, operation, n)
		}
	}
	for _, e := range x.effects() {
		if e.State != journal.StateCommitted || e.OpenDelivery {
			x.Errorf("%s: %s is %s, delivery open: %v", x.name, e.Operation, e.State, e.OpenDelivery)
		}
	}
}

func graphDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "assassin.py"), []byte(assassin), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The node pauses, the process ends, and the thread is woken four times before
// and once after the decision. What stands before the pause runs again each time.
func TestPython_J03_PausedAndResumed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "notify")
	x := newThread(newExample(t), d, "order-17", graphDir(t))
	first := x.wake(0)
	pause := said(first, "paused")
	effects := x.effects()
	if len(effects) != 2 || pause["effect_id"] != effects[1].ID || pause["directive"] != "parked" || pause["cursor"] == nil || pause["interrupt"] == nil {
		t.Fatalf("the graph pauses with %v", pause)
	}
	for range 4 { // nothing is decided: it asks the journal and ends again
		if again := x.wake(0); said(again, "undecided") == nil || said(again, "opened") != nil {
			t.Errorf("woken without a decision it says %v", again)
		}
	}
	x.operator()
	last := x.wake(0)
	if ev := said(last, "resumed"); ev["resolution"] != "close_landed" {
		t.Errorf("it is resumed with %v", ev)
	}
	want, got := said(first, "opened"), said(last, "opened")
	for _, ev := range []event{want, got} {
		delete(ev, "settled_by") // who settled it, and the journal's cursor, are known to a later begin only
		delete(ev, "cursor")
	}
	if diff := cmp.Diff(want, got); diff != "" || want["result"] != "{\"id\": \"open order-17\", \"n\": 1.50}\n" {
		t.Errorf("the effect before the pause differs on resume (-first +last):\n%s\n%v", diff, want)
	}
	x.ended()
	if ev := said(x.wake(0), "finished"); ev == nil {
		t.Error("an ended thread that is woken once more does not end the same way")
	}
	x.ended()
}

// A resume that comes too early, as from a person or a stray delivery, must not
// let an unsettled answer through, however often it comes.
func TestPython_J03_ResumedTooEarly(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "notify")
	x := newThread(newExample(t), d, "order-17", graphDir(t))
	id := said(x.wake(0), "paused")["interrupt"]
	const early = `
import os, sys
sys.path.insert(0, ".")
import parked
from graph import Checkpoints, Command
from landed import Journal
graph = parked.build(Journal(sys.argv[1], os.environ["LANDED_TOKEN"]), Checkpoints(sys.argv[2]), sys.argv[3], "30s", 5.0, 0.0)
config = {"configurable": {"thread_id": "order-17"}}
for resume in ("go on", {sys.argv[4]: "go on"}, {"0" * 32: "of another pause"}):
    out = graph.invoke(Command(resume=resume), config)
    parked.say("paused", interrupt=out["__interrupt__"][0].id, **out["__interrupt__"][0].value)
`
	c := x.run(python(t, "-c", early, x.url, x.checkpoints, d.URL+"/tickets", fmt.Sprint(id)))
	for range 3 {
		if ev := c.until("paused"); ev["directive"] != "parked" || ev["interrupt"] != id {
			t.Errorf("resumed too early the graph says %v", ev)
		}
	}
	c.exit(0)
	x.operator()
	if said(x.wake(0), "finished") == nil {
		t.Error("the thread does not end after the decision")
	}
	x.ended()
}

// TestPython_J01_GraphKilledAtAnyLine kills the graph before a line of its own
// code, in the process that pauses or in the one that is resumed, and starts it
// again until it ends: each effect happened once.
func TestPython_J01_GraphKilledAtAnyLine(t *testing.T) {
	t.Parallel()
	e, d, dir := newExample(t), newDesk(t, "notify"), graphDir(t)
	x := newThread(e, d, "control", dir)
	pausing := int(said(x.wake(0), "lines")["n"].(float64))
	x.operator()
	resuming := int(said(x.wake(0), "lines")["n"].(float64))
	x.ended()
	if pausing < 150 || resuming < 150 {
		t.Fatalf("%d and %d lines are counted: the tracer sees too little", pausing, resuming)
	}

	stride, from := 25, rand.IntN(25)
	if os.Getenv(killEveryLine) == "1" {
		stride, from = 1, 0
	}
	t.Logf("%d and %d lines, killed at each %d. from %d on", pausing, resuming, stride, from)
	for process, lines := range []int{pausing, resuming} {
		for nth := 1 + from; nth <= lines; nth += stride {
			t.Run(fmt.Sprintf("process %d line %d", process+1, nth), func(t *testing.T) {
				t.Parallel()
				own := *e
				own.T = t
				killedAtLine(newThread(&own, d, fmt.Sprintf("thread-%d-%d", process, nth), dir), process, nth)
			})
		}
	}
}

func killedAtLine(x *thread, process, nth int) {
	x.Helper()
	killed := false
	for n := range 12 {
		kill := 0
		if n == process {
			kill = nth
		}
		lines := x.wake(kill)
		killed = killed || kill > 0 && said(lines, "lines") == nil
		if said(lines, "finished") != nil {
			break
		}
		x.operator()
	}
	if !killed {
		x.Errorf("%s: nothing was killed", x.name)
	}
	x.ended()
}

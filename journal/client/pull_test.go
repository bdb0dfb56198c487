package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
)

// counter is a provider that counts effects by path and loses its answer to the
// first request of each, with or without having done it.
type counter struct {
	*httptest.Server
	lands bool // what the first request does before its answer is lost

	mu       sync.Mutex
	requests map[string]int
	done     map[string]int
}

func newCounter(t *testing.T, lands bool) *counter {
	t.Helper()
	p := &counter{lands: lands, requests: map[string]int{}, done: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.requests[r.URL.Path]++
		first := p.requests[r.URL.Path] == 1
		if !first || p.lands {
			p.done[r.URL.Path]++
		}
		if first {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x"}`)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *counter) count(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done["/"+key]
}

// pull is one effect that a worker process has to bring to its end.
type pull struct {
	*example
	puller
	provider *counter
	verb     journal.Verb // what the operator decides when the provider shows nothing
}

// kill says where a process ends: right at a step, or behind it.
type kill struct {
	step   int // from 0; below 0 it may finish
	behind bool
}

// process lets one worker process run, and returns its steps and how it ended.
func (x *pull) process(p puller, k kill) (steps []string, end string) {
	x.Helper()
	env, err := json.Marshal(p)
	if err != nil {
		x.Fatal(err)
	}
	cmd := exec.CommandContext(x.Context(), os.Args[0])
	cmd.Env, cmd.Stderr, cmd.WaitDelay = append(os.Environ(), pullerEnv+"="+string(env)), &tail{t: x.T}, 10*time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		x.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		x.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		x.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		step, ok := strings.CutPrefix(lines.Text(), "AT ")
		if !ok {
			end, _ = strings.CutPrefix(lines.Text(), "END ")
			continue
		}
		steps = append(steps, step)
		if len(steps)-1 == k.step {
			if k.behind { // let it go on, and kill it somewhere on its way to the next step
				_, _ = io.WriteString(in, "\n")
				time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
			}
			_ = cmd.Process.Kill()
			break
		}
		_, _ = io.WriteString(in, "\n")
		if step == "before poll" { // it waits now, or will in a moment
			x.operator()
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	return steps, end
}

// snapshot is the effect's, or none if no begin has arrived yet.
func (x *pull) snapshot() (journal.Snapshot, bool) {
	x.Helper()
	id, err := x.store.EffectByKey(x.Context(), x.Namespace, x.Key)
	if err != nil {
		return journal.Snapshot{}, false
	}
	s, err := x.store.Snapshot(x.Context(), id)
	if err != nil {
		x.Fatal(err)
	}
	return s, true
}

// operator looks at the provider and decides if a decision is needed.
func (x *pull) operator() {
	x.Helper()
	s, ok := x.snapshot()
	if !ok || s.Effect.State != journal.StateParked {
		return
	}
	if x.provider.count(x.Key) > 0 {
		x.decide(s.Effect.ID, journal.VerbCloseLanded, "")
		return
	}
	mode := journal.ReissueMode("")
	if x.verb == journal.VerbReissue {
		mode = journal.NewKey
	}
	x.decide(s.Effect.ID, x.verb, mode)
}

// pass lets the lease of a killed process pass.
func (x *pull) pass() {
	x.Helper()
	if s, ok := x.snapshot(); ok && s.Effect.State == journal.StateIntent {
		x.leaseOver(s.Effect.ID)
	}
}

// open are the deliveries of the effect that nobody acknowledged.
func (x *pull) open(id string) (n int) {
	x.Helper()
	if err := x.store.Pool().QueryRow(x.Context(), `select count(*) from deliveries where effect_id = $1 and acked_at is null`, id).Scan(&n); err != nil {
		x.Fatal(err)
	}
	return n
}

// ended demands that the effect is settled, happened as often as it should, and
// is on no list any more.
func (x *pull) ended(where string) {
	x.Helper()
	s, ok := x.snapshot()
	want, state := 1, journal.StateCommitted
	if x.verb == journal.VerbCloseNotLanded {
		want, state = 0, journal.StateAbandoned
	}
	if !ok || s.Effect.State != state || s.Effect.OpenDelivery {
		x.Fatalf("%s: the effect is %s, delivery open: %v", where, s.Effect.State, s.Effect.OpenDelivery)
	}
	if n := x.provider.count(x.Key); n != want {
		x.Errorf("%s: the provider counts %d effects, want %d", where, n, want)
	}
	if n := x.open(s.Effect.ID); n != 0 {
		x.Errorf("%s: %d deliveries are open", where, n)
	}
	list, _, err := x.store.Outcomes(x.Context(), 1000)
	if err != nil {
		x.Fatal(err)
	}
	for _, o := range list {
		if o.Effect.ID == s.Effect.ID {
			x.Errorf("%s: it is still on the list of outcomes: %+v", where, o)
		}
	}
}

// TestPullAloneIsEnough kills a worker process at every step of parked → long
// poll → decision → begin → execute → commit → acknowledge, and on the way to
// the next, and starts it again. There is no adapter, no sweep and no collector:
// the worker API alone brings each story to its end.
func TestPullAloneIsEnough(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		lands bool
		verb  journal.Verb
	}{
		{"it was lost and is ordered again", false, journal.VerbReissue},
		{"it landed and is closed", true, journal.VerbReissue},
		{"it was lost and is closed", false, journal.VerbCloseNotLanded},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			e := newExample(t)
			if err := e.store.RegisterTool(t.Context(), journal.Tool{Name: "order.send", Class: journal.ClassAtMostOnce, ClientTimeout: 10 * time.Second}); err != nil {
				t.Fatal(err)
			}
			provider, n := newCounter(t, row.lands), 0
			story := func(t *testing.T) *pull {
				n++
				own := *e
				own.T = t
				ns := fmt.Sprintf("story-%d", n)
				return &pull{&own, puller{URL: e.url, Token: apitest.Token(t, e.store, ns, ns), Provider: provider.URL, Namespace: ns, Key: ns + "-key"}, provider, row.verb}
			}
			t.Run("long poll", func(t *testing.T) { pullByPoll(t, story) })
			t.Run("feed", func(t *testing.T) { pullByFeed(t, story) })
		})
	}
}

func pullByPoll(t *testing.T, story func(*testing.T) *pull) {
	control := story(t)
	steps, _ := control.process(control.puller, kill{step: -1})
	control.ended("not killed")
	want := []string{"after fail parked", "before poll", "after poll", "before ack", "after ack"}
	if got := slices.DeleteFunc(slices.Clone(steps), func(s string) bool { return !slices.Contains(want, s) }); !slices.Equal(got, want) {
		t.Fatalf("the steps %q are not those of a parked effect", steps)
	}
	t.Logf("killed at each of %q", steps)
	for at := range steps {
		for _, behind := range []bool{false, true} {
			x := story(t)
			absent := behind == (at%2 == 0) // the decision is made while no process runs: each way at every second step
			where := fmt.Sprintf("killed at %q, behind it: %v, decided without a process: %v", steps[at], behind, absent)
			x.process(x.puller, kill{at, behind})
			for range 6 {
				x.pass()
				if absent {
					x.operator()
				}
				if _, end := x.process(x.puller, kill{step: -1}); end != "in_progress" {
					break
				} // a begin that was on its way when its process died has arrived after all
			}
			x.ended(where)
		}
	}
}

func pullByFeed(t *testing.T, story func(*testing.T) *pull) {
	// Somebody starts the effect and is gone; the feed does the rest.
	begun := func() (*pull, puller) {
		x := story(t)
		start, reader := x.puller, x.puller
		start.Park = true
		x.process(start, kill{step: -1})
		x.operator()
		reader.Feed = filepath.Join(t.TempDir(), "cursor")
		return x, reader
	}
	control, reader := begun()
	steps, _ := control.process(reader, kill{step: -1})
	control.ended("not killed")
	t.Logf("killed at each of %q", steps)
	for at := range steps {
		for _, behind := range []bool{false, true} {
			x, reader := begun()
			old := behind == (at%2 == 0) // the restarted reader has an old cursor: each way at every second step
			where := fmt.Sprintf("reading the feed, killed at %q, behind it: %v, old cursor: %v", steps[at], behind, old)
			x.process(reader, kill{at, behind})
			for range 6 {
				x.pass()
				if old {
					_ = os.Remove(reader.Feed)
				}
				x.process(reader, kill{step: -1})
				if s, _ := x.snapshot(); s.Effect.State == journal.StateCommitted || s.Effect.State == journal.StateAbandoned {
					break
				}
				x.operator() // an order's attempt was killed: its outcome is unknown again
			}
			x.ended(where)
		}
	}
}

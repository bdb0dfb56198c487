package postgres_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
)

// victimEnv makes this test binary a worker that does one effect and tells each
// boundary, waiting for leave to cross it.
const victimEnv = "LANDED_TEST_VICTIM"

type victim struct{ DSN, Provider, Key, Tool string }

func TestMain(m *testing.M) {
	if v := os.Getenv(victimEnv); v != "" {
		if err := beVictim(v); err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if v := os.Getenv(bulkVictimEnv); v != "" {
		if err := beBulkVictim(v); err != nil {
			fmt.Fprintln(os.Stderr, "runner:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	journaltest.Main(m)
}

// gate tells a boundary on standard output and waits for a line on standard
// input. The parent kills instead of answering.
type gate struct{ in *bufio.Reader }

func (g *gate) at(name string) {
	fmt.Println("AT " + name)
	if _, err := g.in.ReadString('\n'); err != nil {
		os.Exit(3)
	}
}

// gated is the journal with a gate on both sides of every statement.
type gated struct {
	worker.Journal
	g *gate
}

func (j gated) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	j.g.at("before begin")
	a, err := j.Journal.Begin(ctx, r)
	j.g.at("after begin " + string(a.Directive))
	return a, err
}

func (j gated) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	j.g.at("before commit")
	a, err := j.Journal.Commit(ctx, r)
	j.g.at("after commit " + string(a.State))
	return a, err
}

func (j gated) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	j.g.at("before fail")
	a, err := j.Journal.Fail(ctx, r)
	j.g.at("after fail " + string(a.Directive))
	return a, err
}

// beVictim runs one Do against the store.
func beVictim(env string) error {
	var v victim
	if err := json.Unmarshal([]byte(env), &v); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := postgres.Open(ctx, v.DSN, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 2, CanLook: func(string) bool { return true }})
	if err != nil {
		return err
	}
	g := &gate{in: bufio.NewReader(os.Stdin)}
	reg := worker.NewRegistry()
	err = reg.Register(worker.ToolSpec{
		Tool:      journal.Tool{Name: v.Tool, Class: classOf(v.Tool), Provider: "asked", ClientTimeout: 10 * time.Second, KeyWindow: windowOf(v.Tool)},
		KeyHeader: "Idempotency-Key", Tracked: true,
		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
			c, err := worker.Client(ctx)
			if err != nil {
				return worker.Outcome{}, err
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.Provider, bytes.NewReader(call.Args))
			if err != nil {
				return worker.Outcome{}, worker.NotSent(err)
			}
			g.at("before the call")
			out, err := worker.Classifier{}.Send(c, req)
			g.at("after the call")
			return out, err
		},
	})
	if err != nil {
		return err
	}
	w := worker.New(gated{s, g}, reg, worker.Options{Logger: slog.New(slog.DiscardHandler), Patience: -1})
	a, err := w.Do(ctx, worker.Call{Run: worker.Run{RootRun: v.Key}, Tool: v.Tool, Step: "s", Operation: "o", Key: v.Key, Args: []byte(`{"n":1}`)})
	fmt.Printf("END %s %v\n", a.Status, err)
	return nil
}

func classOf(tool string) journal.Class {
	switch tool {
	case "pay":
		return journal.ClassProviderIdempotent
	case "ticket.create":
		return journal.ClassJournalDeduped
	}
	return journal.ClassAtMostOnce
}

func windowOf(tool string) time.Duration {
	if tool == "pay" {
		return time.Hour
	}
	return 0
}

// countingProvider counts effects per key; it honours keys only where asked to.
type countingProvider struct {
	mu      sync.Mutex
	effects map[string]int // by path: one per key of the journal
	seen    map[string]bool
	honours bool
}

func (p *countingProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if !p.honours || !p.seen[key] {
		p.effects[r.URL.Path]++
		p.seen[key] = true
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id":"x"}`)
}

func (p *countingProvider) count(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.effects["/"+key]
}

// told is what a victim had been told when it ended.
type told struct {
	boundaries         []string
	granted, committed bool
	status             string
}

// runVictim lets one worker process run; at boundary number kill (from 0) it is
// killed, after a random wait if jitter is set. kill < 0 lets it finish.
func runVictim(t *testing.T, v victim, kill int, jitter bool) told {
	t.Helper()
	env, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"="+string(env))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var x told
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		what, ok := strings.CutPrefix(lines.Text(), "AT ")
		if !ok {
			x.status, _ = strings.CutPrefix(lines.Text(), "END ")
			continue
		}
		x.boundaries = append(x.boundaries, what)
		x.granted = x.granted || what == "after begin execute"
		x.committed = x.committed || what == "after commit COMMITTED"
		if len(x.boundaries)-1 == kill {
			if jitter { // let it go on and kill it somewhere behind the boundary
				_, _ = io.WriteString(in, "\n")
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
			}
			_ = cmd.Process.Kill()
			break
		}
		_, _ = io.WriteString(in, "\n")
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	return x
}

// TestJ01_KilledAtEveryBoundary kills a worker at each statement boundary of Do
// and at random moments behind it, 200 times in all, starts it again, and lets
// an operator decide what is parked. Nothing acknowledged is lost, and the
// provider never shows an effect more than the orders allow.
func TestJ01_KilledAtEveryBoundary(t *testing.T) {
	t.Parallel()
	runs := 200
	if testing.Short() {
		runs = 24
	}
	d := openDesk(t)
	p := &countingProvider{effects: map[string]int{}, seen: map[string]bool{}}
	idem := &countingProvider{effects: map[string]int{}, seen: map[string]bool{}, honours: true}
	plainSrv, idemSrv := httptest.NewServer(p), httptest.NewServer(idem)
	t.Cleanup(plainSrv.Close)
	t.Cleanup(idemSrv.Close)
	tools := []string{"mail.send", "ticket.create", "pay"}
	// One after another in two lanes: the database is shared, the machine is small.
	work := make(chan int)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range work {
				tool := tools[i%len(tools)]
				prov, srv := p, plainSrv
				if tool == "pay" {
					prov, srv = idem, idemSrv
				}
				v := victim{DSN: d.dsn, Tool: tool, Key: fmt.Sprintf("kill-%d", i)}
				v.Provider = srv.URL + "/" + v.Key
				killOnce(t, d, v, prov, (i/len(tools))%6, i%2 == 1)
			}
		})
	}
	for i := range runs {
		work <- i
	}
	close(work)
	wg.Wait()
	if _, err := d.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

// killOnce is one run: a kill, a restart after the lease, a decision if a
// person is needed, and the checks.
func killOnce(t *testing.T, d *desk, v victim, p *countingProvider, at int, jitter bool) {
	t.Helper()
	first := runVictim(t, v, at, jitter)
	where := fmt.Sprintf("%s, killed at %v (behind it: %v)", v.Tool, first.boundaries, jitter)
	id, err := d.EffectByKey(t.Context(), "", v.Key)
	if err != nil && first.granted {
		t.Errorf("%s: an acknowledged intent is lost: %v", where, err)
	}
	if err == nil {
		if s := d.snap(id); first.committed && s.Effect.State != journal.StateCommitted {
			t.Errorf("%s: an acknowledged commit is lost: %s", where, s.Effect.State)
		}
		d.pass(id, 2*time.Minute)
	}
	second := runVictim(t, v, -1, false)
	// A begin that was on its way when its process died may have arrived after
	// all: then its lease has to pass as well.
	if id, err = d.EffectByKey(t.Context(), "", v.Key); err == nil {
		if s := d.snap(id); s.Live() {
			d.pass(id, 2*time.Minute)
			second = runVictim(t, v, -1, false)
		}
	}
	allowed := 1
	if id, err = d.EffectByKey(t.Context(), "", v.Key); err != nil {
		t.Errorf("%s: no effect after a whole run (%s): %v", where, second.status, err)
		return
	}
	if s := d.snap(id); s.Effect.State != journal.StateCommitted {
		allowed = settleByHand(t, d, v, id, p.count(v.Key))
	}
	if n := p.count(v.Key); n > allowed || n == 0 && d.snap(id).Effect.State == journal.StateCommitted {
		t.Errorf("%s: the provider shows %d effects, at most %d were ordered", where, n, allowed)
	}
}

// settleByHand does what evidence and an operator would: it looks what the
// provider shows, and orders a re-issue when it shows nothing.
func settleByHand(t *testing.T, d *desk, v victim, id string, shown int) int {
	t.Helper()
	verdict := journal.NotFound
	if shown > 0 {
		verdict = journal.Found
	}
	d.look(id, verdict)
	s := d.snap(id)
	if s.Effect.State == journal.StateParked {
		if verdict == journal.Found {
			d.decide(id, journal.VerbCloseLanded, "")
			return shown
		}
		d.decide(id, journal.VerbReissue, journal.NewKey)
	}
	if s = d.snap(id); s.Effect.State == journal.StateCommitted {
		return shown
	}
	third := runVictim(t, v, -1, false)
	if s = d.snap(id); s.Effect.State != journal.StateCommitted {
		t.Errorf("%s: after the decision the effect is %s (%s)", v.Tool, s.Effect.State, third.status)
	}
	return shown + 1
}

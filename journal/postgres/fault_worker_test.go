package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/journaltest/fault"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
)

// ledger is a provider in memory: it counts what happened, by the reference.
type ledger struct {
	mu    sync.Mutex
	count map[string]int
}

func newLedger() *ledger { return &ledger{count: map[string]int{}} }

// take does the effect of the attempt that ctx belongs to.
func (l *ledger) take(ctx context.Context) (worker.Outcome, error) {
	g, err := worker.Effect(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	if err := worker.Sending(ctx); err != nil {
		return worker.Outcome{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[g.Ref()]++
	return worker.Outcome{ProviderID: "p-" + g.Ref()[:8], Result: []byte(`{"ok":true}`)}, nil
}

func (l *ledger) of(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[journal.Ref("", key)]
}

// newFaultWorker is a worker with the desk's tools and short waits.
func newFaultWorker(t *testing.T, j worker.Journal, run worker.RunFunc) *worker.Worker {
	t.Helper()
	r := worker.NewRegistry()
	for _, tool := range []string{"mail.send", "ticket.create", "pay"} {
		s := worker.ToolSpec{Tool: journal.Tool{Name: tool, Class: classOf(tool), Provider: "asked", ClientTimeout: 10 * time.Second, KeyWindow: windowOf(tool)}, Tracked: true, Run: run}
		if tool == "pay" {
			s.IdentityFields = []string{"order"}
		}
		if err := r.Register(s); err != nil {
			t.Fatal(err)
		}
	}
	return worker.New(j, r, worker.Options{Logger: slog.New(slog.DiscardHandler), JournalTimeout: 5 * time.Second, BeginWithin: time.Minute,
		Backoff: worker.Backoff{Base: 10 * time.Millisecond, Cap: 100 * time.Millisecond}})
}

func faultCall(tool, key string) worker.Call {
	return worker.Call{Run: worker.Run{RootRun: key}, Tool: tool, Step: "s", Operation: "o", Key: key, Args: []byte(`{"order":"A1"}`)}
}

// TestWorkerOverHTTP_LostAtEveryStep loses the request and the answer of every
// call that Do makes over the HTTP client. Do itself carries on, the effect
// happens once, and the journal says so.
func TestWorkerOverHTTP_LostAtEveryStep(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	addr, token := apitest.Serve(t, d.Store), apitest.Token(t, d.Store, "w1")
	for _, tool := range []string{"mail.send", "ticket.create", "pay"} {
		for _, step := range []struct {
			path     string
			attempts int // a lost handle ends its attempt before anything was sent
		}{{"/effects", 1}, {"/handle", 2}, {"/heartbeat", 1}, {"/commit", 1}, {"/fail", 2}} {
			for _, after := range []bool{false, true} {
				name := fmt.Sprintf("%s%s lost after the server %v", tool, step.path, after)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					loseStep(t, d, addr, token, tool, step.path, after, step.attempts)
				})
			}
		}
	}
}

func loseStep(t *testing.T, d *desk, addr, token, tool, path string, after bool, attempts int) {
	g, err := fault.NewGateway(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	c, err := client.New(client.Config{BaseURL: g.URL(), Token: token})
	if err != nil {
		t.Fatal(err)
	}
	lost := g.Lose(path, 1, after)
	l, key := newLedger(), fmt.Sprintf("%s%s%v", tool, path, after)
	w := newFaultWorker(t, c, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
		grant, err := worker.Effect(ctx)
		if err != nil {
			return worker.Outcome{}, err
		}
		switch {
		case path == "/handle":
			if err := grant.RecordHandle(ctx, "draft", "d-1"); err != nil {
				return worker.Outcome{}, err
			}
		case path == "/fail" && grant.Attempt() == 1:
			return worker.Outcome{}, worker.NotSent(errors.New("could not connect"))
		case path == "/heartbeat":
			<-lost.Sprung() // the lease is renewed while the tool works
		}
		return l.take(ctx)
	})
	call := faultCall(tool, key)
	call.Lease = time.Second
	a, err := w.Do(t.Context(), call)
	if err != nil || a.Status != worker.StatusDone || a.Attempt != attempts {
		t.Fatalf("Do answered %s by attempt %d, %v; want done by attempt %d", a.Status, a.Attempt, err, attempts)
	}
	select {
	case <-lost.Sprung():
	default:
		t.Error("nothing was lost")
	}
	s := d.snap(a.EffectID)
	if n := l.of(key); n != 1 || s.Effect.State != journal.StateCommitted || s.Effect.ProbablyDouble || len(s.Attempts) != attempts {
		t.Errorf("the provider shows %d effects, the journal %s after %d attempts, double %v", n, s.Effect.State, len(s.Attempts), s.Effect.ProbablyDouble)
	}
	if n := d.count("select count(*) from effects where key = $1", key); n != 1 {
		t.Errorf("%d rows for one key", n)
	}
}

// TestWorkers_CutNowAndThen lets two dozen workers share a store whose
// connections are cut every hundred messages or two, whatever they are.
func TestWorkers_CutNowAndThen(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	p, err := fault.Listen(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s, err := postgres.Open(t.Context(), p.DSN(), postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	const workers, each = 24, 12
	stop := make(chan struct{})
	var cutter, all sync.WaitGroup
	cuts := 0
	cutter.Go(func() {
		for {
			trap := p.Arm(fault.Point{Nth: 100 + 23*(cuts%7), After: cuts%2 == 0}, fault.Cut())
			select {
			case <-trap.Sprung():
				cuts++
			case <-stop:
				trap.Disarm()
				return
			}
		}
	})
	l := newLedger()
	w := newFaultWorker(t, s, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) { return l.take(ctx) })
	tools := []string{"mail.send", "ticket.create", "pay"}
	for i := range workers {
		all.Go(func() {
			for n := range each {
				key := fmt.Sprintf("w%d-%d", i, n)
				if a, err := w.Do(t.Context(), faultCall(tools[n%3], key)); err != nil || a.Status != worker.StatusDone || l.of(key) != 1 {
					t.Errorf("%s: %s, %v, %d effects", key, a.Status, err, l.of(key))
				}
			}
		})
	}
	all.Wait()
	close(stop)
	cutter.Wait()
	if n := d.count("select count(*) from effects where state = 'COMMITTED' and not probably_double"); n != workers*each || cuts < 10 {
		t.Errorf("%d effects are committed after %d cuts, want %d", n, cuts, workers*each)
	}
}

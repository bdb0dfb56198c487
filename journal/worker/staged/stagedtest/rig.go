package stagedtest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// Step says which of the two steps a request is.
type Step string

// The steps. Whatever is neither creation nor finish counts as a look.
const (
	Look   Step = "look"
	Create Step = "create"
	Finish Step = "finish"
)

// Rig is one provider with its fake, fresh for each case.
type Rig struct {
	Class   journal.Class
	Kind    string       // of the handle
	Handler http.Handler // the fake
	// Step names the step of a request.
	Step func(r *http.Request, body []byte) Step
	// Run is the tool's function against the fake at url.
	Run func(url string, client *http.Client) worker.RunFunc
	// Made and Sent count what the fake holds: things that were created, and
	// effects.
	Made, Sent func() int
	// Discard takes what waits away, as a person would; Complete finishes it.
	Discard, Complete func()
}

// bench is a rig with its journal and its faults.
type bench struct {
	Rig
	t      *testing.T
	memory *workertest.Memory
	front  *front
	client *http.Client

	mu     sync.Mutex
	refuse bool // the next connections for a finish can't be made
}

const tool, key = "two.steps", "k-1"

func newBench(t *testing.T, r Rig) *bench {
	t.Helper()
	if r.Class == "" {
		r.Class = journal.ClassAtMostOnce
	}
	b := &bench{Rig: r, t: t, memory: workertest.NewMemory(), front: newFront(t, r)}
	transport := &http.Transport{DisableKeepAlives: true}
	transport.DialContext = b.dial
	b.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	return b
}

// worker is a new process: nothing but the journal is shared.
func (b *bench) worker(j worker.Journal, o worker.Options) *worker.Worker {
	b.t.Helper()
	r := worker.NewRegistry()
	spec := worker.ToolSpec{Tool: journal.Tool{Name: tool, Class: b.Class, ClientTimeout: 5 * time.Second}, Run: b.Run(b.front.URL, b.client)}
	if b.Class == journal.ClassProviderIdempotent {
		spec.KeyWindow = 24 * time.Hour
	}
	if err := r.Register(spec); err != nil {
		b.t.Fatal(err)
	}
	if err := r.Sync(b.t.Context(), j); err != nil {
		b.t.Fatal(err)
	}
	o.Logger = slog.New(slog.DiscardHandler)
	o.Backoff = worker.Backoff{Base: time.Millisecond, Cap: 5 * time.Millisecond}
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	return worker.New(j, r, o)
}

// call has a lease that is long enough for one attempt and short enough to wait
// for its end.
func call() worker.Call {
	return worker.Call{Tool: tool, Key: key, Run: worker.Run{RootRun: "root"}, Step: "s", Args: []byte(`{}`), Lease: 500 * time.Millisecond}
}

// do runs the call in a worker that lives.
func (b *bench) do(ctx context.Context) worker.Answer {
	b.t.Helper()
	a, err := b.worker(b.memory, worker.Options{}).Do(ctx, call())
	if err != nil && !errors.Is(err, context.Canceled) {
		b.t.Fatalf("Do: %v", err)
	}
	return a
}

// want fails unless the answer is as said.
func (b *bench) want(a worker.Answer, status worker.Status) {
	b.t.Helper()
	if a.Status != status {
		b.t.Fatalf("the call ended %s (%s), want %s", a.Status, a.Reason, status)
	}
}

// count fails unless the provider holds what is said.
func (b *bench) count(made, sent int) {
	b.t.Helper()
	if m, s := b.Made(), b.Sent(); m != made || s != sent {
		b.t.Fatalf("the provider made %d and sent %d, want %d and %d", m, s, made, sent)
	}
}

// settle lets a second worker repeat the call until it is done; a parked effect is
// ordered again, as an operator would who was wrong about it.
func (b *bench) settle() worker.Answer {
	b.t.Helper()
	for range 3 {
		a := b.do(b.t.Context())
		if !a.Parked() {
			return a
		}
		if err := b.memory.Decide(key, journal.VerbReissue, journal.NewKey); err != nil {
			b.t.Fatalf("ordering another issue: %v", err)
		}
	}
	b.t.Fatal("the effect is parked again and again")
	return worker.Answer{}
}

// done fails unless the effect happened exactly once and is recorded so.
func (b *bench) done(a worker.Answer) {
	b.t.Helper()
	b.want(a, worker.StatusDone)
	if s := b.Sent(); s != 1 {
		b.t.Fatalf("the provider sent %d, want 1", s)
	}
	if a.ProviderID == "" {
		b.t.Fatal("the commit names no id of the provider's")
	}
	if e, _, _ := b.memory.Effect(key); e.State != journal.StateCommitted {
		b.t.Fatalf("the effect is %s", e.State)
	}
}

package stagedtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// fault is what the front does with one request instead of passing it on.
type fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// front stands before the fake: it makes faults and counts requests by step.
type front struct {
	*httptest.Server

	mu     sync.Mutex
	faults map[Step][]fault
	seen   map[Step]int
	before func(Step) // called before each request is handled
}

func newFront(t *testing.T, r Rig) *front {
	t.Helper()
	f := &front{faults: map[Step][]fault{}, seen: map[Step]int{}}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		step := r.Step(req, body)
		if do := f.take(step); do != nil {
			do(w, req, r.Handler)
			return
		}
		r.Handler.ServeHTTP(w, req)
	}))
	t.Cleanup(f.Close)
	return f
}

// take counts the request and returns the next fault of its step.
func (f *front) take(s Step) fault {
	f.mu.Lock()
	f.seen[s]++
	before := f.before
	var do fault
	if list := f.faults[s]; len(list) > 0 {
		do, f.faults[s] = list[0], list[1:]
	}
	f.mu.Unlock()
	if before != nil {
		before(s)
	}
	return do
}

func (f *front) on(s Step, do fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[s] = append(f.faults[s], do)
}

// watch has a function called before each request of any step is handled.
func (f *front) watch(do func(Step)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = do
}

func (f *front) requests(s Step) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[s]
}

// apply has the fake handle the request; nobody reads its answer.
func apply(r *http.Request, next http.Handler) { next.ServeHTTP(httptest.NewRecorder(), r) }

// drop ends the connection without an answer.
func drop(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

func lost(w http.ResponseWriter, _ *http.Request, _ http.Handler) { drop(w) }

func lostApplied(w http.ResponseWriter, r *http.Request, next http.Handler) { apply(r, next); drop(w) }

func broken(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusBadGateway)
}

func brokenApplied(w http.ResponseWriter, r *http.Request, next http.Handler) {
	apply(r, next)
	w.WriteHeader(http.StatusBadGateway)
}

func busy(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusTooManyRequests)
}

func refused(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusBadRequest)
}

// thenBusy answers 429 and does something at the provider meanwhile.
func thenBusy(do func()) fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) { do(); busy(w, r, next) }
}

// cut ends the worker's context while the request is under way, and waits until
// the client is gone.
func cut(end func(), applied bool) fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if applied {
			apply(r, next)
		}
		end()
		drop(w)
	}
}

// dial refuses connections for a finish while refuse is set: whether one is due is
// known by the handle in the journal.
func (b *bench) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	b.mu.Lock()
	refuse := b.refuse && len(b.memory.Handles(key)) > 0
	b.refuse = b.refuse && !refuse
	b.mu.Unlock()
	if refuse {
		return nil, errors.New("no route to the provider")
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

func (b *bench) refuseConnection() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = true
}

// mortal is the journal as a worker sees it that may be killed: from then on
// nothing of it arrives.
type mortal struct {
	worker.Journal
	dead atomic.Bool
	// handle, if set, is asked before a handle is journaled, and with true after.
	handle func(after bool) error
}

func (m *mortal) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if m.dead.Load() {
		return journal.CommitAnswer{}, journal.ErrUnavailable
	}
	return m.Journal.Commit(ctx, r)
}

func (m *mortal) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	if m.dead.Load() {
		return journal.FailAnswer{}, journal.ErrUnavailable
	}
	return m.Journal.Fail(ctx, r)
}

func (m *mortal) Heartbeat(ctx context.Context, r journal.Report) (journal.HeartbeatAnswer, error) {
	if m.dead.Load() {
		return journal.HeartbeatAnswer{}, journal.ErrUnavailable
	}
	return m.Journal.Heartbeat(ctx, r)
}

func (m *mortal) Handle(ctx context.Context, r journal.HandleRequest) error {
	if m.dead.Load() {
		return journal.ErrUnavailable
	}
	if m.handle == nil {
		return m.Journal.Handle(ctx, r)
	}
	if err := m.handle(false); err != nil {
		return err
	}
	if err := m.Journal.Handle(ctx, r); err != nil {
		return err
	}
	return m.handle(true)
}

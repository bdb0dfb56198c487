package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// soakQueue hands effects to workers: new ones in order, and those that have to
// be asked for again.
type soakQueue struct {
	total int
	ready chan int // to be asked for again

	mu     sync.Mutex
	next   int            // the first that was never begun
	last   int            // where beginning ends
	idle   map[int]*again // wait for their time or for a decision
	ended  int
	all    chan struct{} // closed: everything begun is settled
	closed bool
	over   chan struct{} // closed: no work any more
}

type again struct{ timer *time.Timer }

func newSoakQueue(total int) *soakQueue {
	return &soakQueue{total: total, last: total, ready: make(chan int, total), idle: map[int]*again{},
		all: make(chan struct{}), over: make(chan struct{})}
}

// take returns the effect to work on next; ok is false when there is none left.
func (q *soakQueue) take() (i int, ok bool) {
	select {
	case <-q.over:
		return 0, false
	case i = <-q.ready:
		return i, true
	default:
	}
	q.mu.Lock()
	if q.next < q.last {
		q.next++
		i = q.next - 1
		q.mu.Unlock()
		return i, true
	}
	q.mu.Unlock()
	select {
	case <-q.over:
		return 0, false
	case i = <-q.ready:
		return i, true
	}
}

// later asks for the effect again after d, or sooner if wake is called.
func (q *soakQueue) later(i int, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := &again{}
	a.timer = time.AfterFunc(d, func() { q.wakeIf(i, a) })
	q.idle[i] = a
}

func (q *soakQueue) wakeIf(i int, a *again) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.idle[i] == a {
		delete(q.idle, i)
		q.ready <- i
	}
}

// wake asks for a waiting effect now. It reports whether somebody waited.
func (q *soakQueue) wake(i int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	a, ok := q.idle[i]
	if ok {
		a.timer.Stop()
		delete(q.idle, i)
		q.ready <- i
	}
	return ok
}

// finish notes that an effect is settled.
func (q *soakQueue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended++
	q.checkAll()
}

func (q *soakQueue) checkAll() {
	if q.ended >= q.last && !q.closed {
		q.closed = true
		close(q.all)
	}
}

// begun is how many effects were handed out.
func (q *soakQueue) begun() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next
}

// wait returns once everything is settled; nothing is begun after limit, and
// after settle more nothing is waited for.
func (q *soakQueue) wait(ctx context.Context, limit, settle time.Duration) (begun int) {
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		select {
		case <-q.all:
			return q.begun()
		case <-ctx.Done():
			return q.begun()
		case <-t.C:
		}
		q.mu.Lock()
		q.last = q.next
		q.checkAll()
		q.mu.Unlock()
	}
	for q.begun() < q.lastOne() {
		select {
		case <-ctx.Done():
			return q.begun()
		case <-time.After(soakRound):
		}
	}
	t := time.NewTimer(settle)
	defer t.Stop()
	select {
	case <-q.all:
	case <-ctx.Done():
	case <-t.C:
	}
	return q.begun()
}

func (q *soakQueue) lastOne() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last
}

func (q *soakQueue) stop() { close(q.over) }

func soakKey(i int) string { return fmt.Sprintf("soak-%08d", i) }

// soakIndex is the inverse of soakKey; ok is false for other keys.
func soakIndex(key string) (i int, ok bool) {
	n, ok := strings.CutPrefix(key, "soak-")
	i, err := strconv.Atoi(n)
	return i, ok && err == nil
}

func soakCall(i int) worker.Call {
	c := worker.Call{Run: worker.Run{RootRun: soakKey(i)}, Key: soakKey(i), Tool: soakTools()[i%3].Name, Step: "s", Operation: "o",
		Subject: "An effect of the soak", Args: []byte(`{"to":"somebody"}`), Lease: soakLease}
	if i%499 == 498 {
		c.Args = []byte(soakRefused)
	}
	return c
}

// work is one worker: it starts anew each time it was killed.
func (s *soak) work(ctx context.Context) {
	r, err := s.provider.registry()
	if err != nil {
		s.errors.add(err.Error())
		return
	}
	for {
		w := worker.New(&told{Journal: s.store, s: s}, r, worker.Options{Logger: s.log, Patience: -1, JournalTimeout: 3 * time.Second,
			BeginWithin: 30 * time.Second, ReportWithin: 30 * time.Second, Backoff: worker.Backoff{Base: 10 * time.Millisecond, Cap: 500 * time.Millisecond}})
		for alive := true; alive; {
			i, ok := s.queue.take()
			if !ok {
				return
			}
			alive = s.do(ctx, w, i)
		}
	}
}

// killed ends a worker in the middle of a call; its claim is forgotten.
type killed struct{}

// do asks for one effect. It reports whether the worker lived.
func (s *soak) do(ctx context.Context, w *worker.Worker, i int) (alive bool) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(killed); !ok {
				panic(v)
			}
			s.queue.later(i, soakLease/4) // whoever runs the workflow starts it again
		}
	}()
	a, err := w.Do(ctx, soakCall(i))
	switch {
	case err != nil:
		s.errors.add(kindOf(err))
		s.queue.later(i, 200*time.Millisecond)
	case a.Status == worker.StatusDone, a.Status == worker.StatusRefused, a.Status == worker.StatusAbandoned:
		s.queue.finish()
	case a.Parked():
		s.queue.later(i, 5*time.Second) // the feed of decisions wakes it sooner
	default:
		s.queue.later(i, min(max(a.RetryAfter, 20*time.Millisecond), time.Second))
	}
	return true
}

func kindOf(err error) string {
	var unrecorded *journal.DoneUnrecordedError
	for _, k := range []struct {
		name string
		is   bool
	}{
		{"done_unrecorded", errors.As(err, &unrecorded)},
		{"journal_unavailable", errors.Is(err, journal.ErrUnavailable)},
		{"deadline", errors.Is(err, context.DeadlineExceeded)},
		{"cancelled", errors.Is(err, context.Canceled)},
		{"conflict", errors.Is(err, journal.ErrConflict)},
	} {
		if k.is {
			return k.name
		}
	}
	return err.Error()
}

// told is the journal of one worker: it notes what the worker was told, and
// kills the worker where the injector wants it.
type told struct {
	worker.Journal
	s *soak
}

// Facts of an effect: the highest attempt that a worker was granted, and whether
// a commit was acknowledged.
const (
	factAttempts  = 1<<16 - 1
	factCommitted = 1 << 16
)

func note(fact *atomic.Uint32, change func(uint32) uint32) {
	for {
		was := fact.Load()
		if fact.CompareAndSwap(was, change(was)) {
			return
		}
	}
}

func (j *told) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	a, err := j.Journal.Begin(ctx, r)
	if i, ok := soakIndex(r.Key); ok && err == nil && a.Directive == journal.DirectiveExecute {
		note(&j.s.facts[i], func(f uint32) uint32 { return f&^factAttempts | max(f&factAttempts, uint32(a.Attempt)) }) //nolint:gosec // small
		if a.OrderID != "" {
			j.s.provider.underOrder(a.Ref, a.Attempt)
		}
		j.s.mayDie("after_begin")
		j.s.mayPause(ctx, "after_begin")
	}
	return a, err
}

func (j *told) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	j.s.mayDie("before_commit")
	j.s.mayPause(context.WithoutCancel(ctx), "before_commit")
	a, err := j.Journal.Commit(ctx, r)
	if i, ok := soakIndex(r.Key); ok && err == nil {
		note(&j.s.facts[i], func(f uint32) uint32 { return f | factCommitted })
		j.s.mayDie("after_commit")
	}
	return a, err
}

func (j *told) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	a, err := j.Journal.Fail(ctx, r)
	if err == nil {
		j.s.mayDie("after_fail")
	}
	return a, err
}

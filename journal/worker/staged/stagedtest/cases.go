package stagedtest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// Run runs every case on rigs that open makes, one per case.
func Run(t *testing.T, open func(t *testing.T) Rig) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, b *bench)
	}{
		{"OneOfEach", oneOfEach},
		{"CreationRefused", creationRefused},
		{"FinishRefused", finishRefused},
		{"R05_NoConnectionForTheFinish", noConnection},
		{"HandleNotJournaled", handleNotJournaled},
		{"HandleJournaledAnswerLost", handleAnswerLost},
		{"DiscardedByAPerson", discarded},
		{"DiscardedThenOrderedAgain", discardedThenOrdered},
		{"FinishedByAPerson", finishedByAPerson},
	} {
		t.Run(c.name, func(t *testing.T) { t.Parallel(); c.run(t, newBench(t, open(t))) })
	}
	retried(t, open)
	unknown(t, open)
	cutShort(t, open)
	killed(t, open)
}

func oneOfEach(t *testing.T, b *bench) {
	journaled := 0
	b.front.watch(func(s Step) {
		for _, h := range b.memory.Handles(key) {
			if s == Finish && h.Kind == b.Kind {
				journaled++
			}
		}
	})
	b.done(b.do(t.Context()))
	b.count(1, 1)
	if journaled != 1 {
		t.Fatalf("%d handles of kind %q were journaled before the finish, want 1", journaled, b.Kind)
	}
	for _, h := range b.memory.Handles(key) {
		if err := journal.ValidateName("kind", h.Kind); err != nil || len(h.Value) > journal.MaxHandleBytes {
			t.Fatalf("the store takes no handle %s of %d bytes: %v", h.Kind, len(h.Value), err)
		}
	}
	if a := b.do(t.Context()); !a.Repeated {
		t.Fatal("the second call executed")
	}
	b.count(1, 1)
}

// retried: what fails before the finish, or is refused for now, has no effect and
// is tried again by itself. made is how many creations are left at most.
func retried(t *testing.T, open func(t *testing.T) Rig) {
	for _, row := range []struct {
		name string
		step Step
		do   fault
		made int
	}{
		{"CreationLost", Create, lost, 1},
		{"CreationLostApplied", Create, lostApplied, 2},
		{"CreationBroken", Create, broken, 1},
		{"CreationBrokenApplied", Create, brokenApplied, 2},
		{"R16_CreationBusy", Create, busy, 1},
		{"R16_FinishBusy", Finish, busy, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open(t))
			b.front.on(row.step, row.do)
			b.done(b.do(t.Context()))
			if b.Made() > row.made {
				t.Fatalf("the provider made %d, want %d at most", b.Made(), row.made)
			}
			if n := b.front.requests(row.step); n != 2 {
				t.Fatalf("the %s was asked for %d times, want 2", row.step, n)
			}
		})
	}
}

// unknown: an answer of the finish that is lost leaves the outcome open, whether it
// was applied or not; who repeats it finds out by the handle.
func unknown(t *testing.T, open func(t *testing.T) Rig) {
	for _, row := range []struct {
		name string
		do   fault
		sent int
	}{
		{"FinishLost", lost, 0},
		{"FinishLostApplied", lostApplied, 1},
		{"R02_FinishBroken", broken, 0},
		{"R02_FinishBrokenApplied", brokenApplied, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open(t))
			b.front.on(Finish, row.do)
			a := b.do(t.Context())
			if b.Class == journal.ClassAtMostOnce {
				b.want(a, worker.StatusUnknown)
				b.count(1, row.sent)
				a = b.settle()
			}
			b.done(a)
			b.count(1, 1)
			if finishes := b.front.requests(Finish); finishes != 2-row.sent {
				t.Fatalf("the finish was asked for %d times, want %d", finishes, 2-row.sent)
			}
		})
	}
}

func creationRefused(t *testing.T, b *bench) {
	b.front.on(Create, refused)
	b.want(b.do(t.Context()), worker.StatusRefused)
	b.count(0, 0)
	if e, _, _ := b.memory.Effect(key); e.State != journal.StateRejected {
		t.Fatalf("the effect is %s, want REJECTED", e.State)
	}
}

func finishRefused(t *testing.T, b *bench) {
	b.front.on(Finish, refused)
	b.want(b.do(t.Context()), worker.StatusRefused)
	b.count(1, 0)
	if e, _, _ := b.memory.Effect(key); e.State != journal.StateRejected {
		t.Fatalf("the effect is %s, want REJECTED", e.State)
	}
}

func noConnection(t *testing.T, b *bench) {
	b.refuseConnection()
	b.done(b.do(t.Context()))
	b.count(1, 1)
	_, attempts, _ := b.memory.Effect(key)
	if len(attempts) != 2 || attempts[0].Phase != journal.PhaseNotSent {
		t.Fatalf("attempts %+v, want a first one that is not_sent", attempts)
	}
}

// withHandle runs the call in a worker whose journaling of handles is disturbed
// once.
func (b *bench) withHandle(disturb func(after bool) error) worker.Answer {
	b.t.Helper()
	a, err := b.worker(&mortal{Journal: b.memory, handle: disturb}, worker.Options{}).Do(b.t.Context(), call())
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// failOnce fails the first call before, or after, the handle is journaled.
func failOnce(when bool) func(bool) error {
	failed := false
	return func(after bool) error {
		if after != when || failed {
			return nil
		}
		failed = true
		return journal.ErrUnavailable
	}
}

func handleNotJournaled(t *testing.T, b *bench) {
	b.done(b.withHandle(failOnce(false)))
	if n := b.front.requests(Finish); n != 1 {
		t.Fatalf("the finish was asked for %d times, want 1: none without a handle", n)
	}
}

func handleAnswerLost(t *testing.T, b *bench) {
	b.done(b.withHandle(failOnce(true)))
	if n := b.front.requests(Finish); n != 1 {
		t.Fatalf("the finish was asked for %d times, want 1", n)
	}
}

func discarded(t *testing.T, b *bench) {
	b.front.on(Finish, thenBusy(b.Discard))
	a := b.do(t.Context())
	b.want(a, worker.StatusRefused)
	if !strings.Contains(a.Reason, "is gone") || !strings.Contains(a.Reason, b.Kind) {
		t.Fatalf("the reason is %q: it has to name what is gone", a.Reason)
	}
	b.count(1, 0)
}

func discardedThenOrdered(t *testing.T, b *bench) {
	if b.Class != journal.ClassAtMostOnce {
		return // one that repeats by itself is not parked by one lost answer
	}
	b.front.on(Finish, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { b.Discard(); drop(w) })
	b.want(b.do(t.Context()), worker.StatusUnknown)
	b.done(b.settle())
	b.count(2, 1)
}

func finishedByAPerson(t *testing.T, b *bench) {
	b.front.on(Finish, thenBusy(b.Complete))
	b.done(b.do(t.Context()))
	b.count(1, 1)
	if n := b.front.requests(Finish); n != 1 {
		t.Fatalf("the finish was asked for %d times, want 1", n)
	}
}

// cutShort: the worker lives, and its caller gives up at each step.
func cutShort(t *testing.T, open func(t *testing.T) Rig) {
	for _, row := range []struct {
		name    string
		step    Step
		applied bool
		made    int // at most, in the end
	}{
		{"CutBeforeCreate", Create, false, 1},
		{"CutAfterCreate", Create, true, 2},
		{"CutBeforeFinish", Finish, false, 1},
		{"CutAfterFinish", Finish, true, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open(t))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.front.on(row.step, cut(cancel, row.applied))
			b.do(ctx)
			b.done(b.settle())
			if b.Made() > row.made {
				t.Fatalf("the provider made %d, want %d at most", b.Made(), row.made)
			}
		})
	}
}

// killed: the worker dies at each step and reports nothing. Without a report an
// attempt may have landed; the next one finds what it left.
func killed(t *testing.T, open func(t *testing.T) Rig) {
	type point struct {
		name string
		set  func(b *bench, m *mortal, die func())
		made int // at most, in the end
	}
	at := func(name string, step Step, applied bool, made int) point {
		return point{name, func(b *bench, _ *mortal, die func()) { b.front.on(step, cut(die, applied)) }, made}
	}
	onHandle := func(name string, when bool, made int) point {
		return point{name, func(_ *bench, m *mortal, die func()) {
			m.handle = func(after bool) error {
				if after != when {
					return nil
				}
				die()
				return journal.ErrUnavailable
			}
		}, made}
	}
	for _, p := range []point{
		at("KilledBeforeCreate", Create, false, 1),
		at("KilledAfterCreate", Create, true, 2),
		onHandle("KilledBeforeHandle", false, 2),
		onHandle("KilledAfterHandle", true, 2), // what is beside the handle may come first
		at("KilledBeforeFinish", Finish, false, 1),
		at("KilledAfterFinish", Finish, true, 1),
		{"J01_KilledBeforeCommit", func(b *bench, m *mortal, _ func()) {
			b.front.watch(func(s Step) {
				if s == Finish {
					m.dead.Store(true)
				}
			})
		}, 1},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open(t))
			m := &mortal{Journal: b.memory}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p.set(b, m, func() { m.dead.Store(true); cancel() })
			if _, err := b.worker(m, worker.Options{ReportWithin: 20 * time.Millisecond}).Do(ctx, call()); err == nil {
				t.Fatal("the killed worker reported its end")
			}
			b.front.watch(nil)
			b.done(b.settle())
			if b.Made() > p.made {
				t.Fatalf("the provider made %d, want %d at most", b.Made(), p.made)
			}
		})
	}
}

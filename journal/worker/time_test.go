package worker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// These tests run on a fake clock: what takes minutes takes none.

func TestHeartbeat_AtAThirdOfTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := workertest.NewMemory()
		var mu sync.Mutex
		var beats []time.Duration
		start := time.Now()
		j.Fault(func(call string) error {
			if call == "heartbeat" {
				mu.Lock()
				defer mu.Unlock()
				beats = append(beats, time.Since(start))
			}
			return nil
		})
		s := spec("slow", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			_ = worker.Sending(ctx)
			time.Sleep(45 * time.Second)
			return worker.Outcome{}, ctx.Err()
		})
		s.ClientTimeout = 10 * time.Minute
		c := on("slow", "k")
		c.Lease = 30 * time.Second
		a, err := newFixture(t, j, s).Do(t.Context(), c)
		if err != nil || a.Status != worker.StatusDone {
			t.Fatalf("Do = %s, %v; want done", a.Status, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(beats) != 4 || beats[0] != 10*time.Second || beats[3] != 40*time.Second {
			t.Errorf("heartbeats at %v, want every 10 s", beats)
		}
	})
}

func TestLeaseLost_StopsTheToolAndKeepsTheLateFact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := workertest.NewMemory()
		var cause, second error
		s := spec("slow", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			_ = worker.Sending(ctx)
			j.Fence("k") // the sweeper, or an operator
			<-ctx.Done()
			cause, second = context.Cause(ctx), worker.Sending(ctx)
			return worker.Outcome{ProviderID: "p-late"}, nil // the answer had arrived
		})
		a, err := newFixture(t, j, s).Do(t.Context(), on("slow", "k"))
		var lost *journal.LeaseLostError
		if !errors.As(cause, &lost) || !errors.As(second, &lost) {
			t.Errorf("cause %v, a further send %v; want LeaseLostError", cause, second)
		}
		e, _, _ := j.Effect("k")
		if err != nil || a.Status != worker.StatusDone || e.State != journal.StateCommitted || e.ProviderID != "p-late" {
			t.Errorf("Do = %s, %v; state %s, provider id %q; want done, COMMITTED, p-late", a.Status, err, e.State, e.ProviderID)
		}
	})
}

func TestLeaseLost_ReturnsWhatWasDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := workertest.NewMemory()
		w := newFixture(t, j, spec("slow", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			_ = worker.Sending(ctx)
			j.Fence("k")
			if err := j.Decide("k", journal.VerbCloseLanded, ""); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return worker.Outcome{}, ctx.Err()
		}))
		a, err := w.Do(t.Context(), on("slow", "k"))
		if err != nil || a.Status != worker.StatusDone || !a.Repeated || a.SettledBy == "" {
			t.Errorf("Do = %+v, %v; want done, settled by the operator", a, err)
		}
	})
}

func TestSending_RefusedOnceTheLeaseRanOutUnheard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := workertest.NewMemory()
		j.Fault(func(call string) error {
			if call == "heartbeat" {
				return journal.ErrUnavailable
			}
			return nil
		})
		var seen error
		s := spec("slow", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			time.Sleep(31 * time.Second)
			seen = worker.Sending(ctx)
			return worker.Outcome{}, seen
		})
		s.ClientTimeout = time.Hour
		c := on("slow", "k")
		c.Lease = 30 * time.Second
		_, _ = newFixtureWith(t, j, s, worker.Options{Patience: -1}).Do(t.Context(), c)
		_, attempts, _ := j.Effect("k")
		if !errors.Is(seen, worker.ErrTooLate) || attempts[0].Phase != journal.PhaseNotSent {
			t.Errorf("Sending = %v, phase %s; want ErrTooLate, not_sent", seen, attempts[0].Phase)
		}
	})
}

func TestDeadline_EndsTheToolsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, start := workertest.NewMemory(), time.Now()
		s := spec("slow", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			_ = worker.Sending(ctx)
			<-ctx.Done()
			return worker.Outcome{}, ctx.Err()
		})
		c := on("slow", "k")
		c.Lease = 30 * time.Second
		a, err := newFixture(t, j, s).Do(t.Context(), c)
		if took := time.Since(start); err != nil || a.Status != worker.StatusUnknown || took != 35*time.Second {
			t.Errorf("Do = %s, %v after %s; want unknown after lease and client time-out, 35 s", a.Status, err, took)
		}
	})
}

func TestBegin_AnAnswerThatCameTooLateExecutesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := workertest.NewMemory()
		j.Fault(func(call string) error {
			if call == "after:begin" {
				time.Sleep(4 * time.Second) // the lease of 2 s runs from before begin was sent
			}
			return nil
		})
		ran := false
		s := spec("pay", journal.ClassAtMostOnce, func(ctx context.Context, c worker.Call) (worker.Outcome, error) {
			ran = true
			return confirm(ctx, c)
		})
		c := on("pay", "k")
		c.Lease = 2 * time.Second
		a, err := newFixtureWith(t, j, s, worker.Options{Patience: -1}).Do(t.Context(), c)
		_, attempts, _ := j.Effect("k")
		if ran || err != nil || a.Status != worker.StatusInProgress || attempts[0].Phase != journal.PhaseNotSent {
			t.Errorf("ran %v, Do = %s, %v, phase %s; want false, in_progress, not_sent", ran, a.Status, err, attempts[0].Phase)
		}
	})
}

func TestPatience_BoundsTheWaitForAnother(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		patience time.Duration
		deadline time.Duration
		want     worker.Status
		least    time.Duration
		most     time.Duration
	}{
		{"none: at once", -1, 0, worker.StatusInProgress, 0, 0},
		{"too short for the live attempt", 20 * time.Second, 0, worker.StatusInProgress, 0, 20 * time.Second},
		{"the caller's own deadline counts", 10 * time.Minute, 30 * time.Second, worker.StatusInProgress, 0, 30 * time.Second},
		{"long enough", 10 * time.Minute, 0, worker.StatusDone, 90 * time.Second, 3 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := workertest.NewMemory()
				s := spec("slow", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
					_ = worker.Sending(ctx)
					time.Sleep(90 * time.Second)
					return worker.Outcome{}, nil
				})
				s.ClientTimeout = time.Hour
				w := newFixtureWith(t, j, s, worker.Options{Patience: row.patience})
				c := on("slow", "k")
				c.Lease = 30 * time.Second
				go func() { _, _ = w.Do(context.Background(), c) }()
				synctest.Wait()
				ctx, start := t.Context(), time.Now()
				if row.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, row.deadline)
					defer cancel()
				}
				a, err := w.Do(ctx, c)
				if took := time.Since(start); err != nil || a.Status != row.want || took < row.least || took > row.most {
					t.Errorf("Do = %s, %v after %s; want %s within %s to %s", a.Status, err, took, row.want, row.least, row.most)
				}
				if row.want == worker.StatusInProgress && a.RetryAfter <= 0 {
					t.Error("the answer does not say when to ask again")
				}
				time.Sleep(5 * time.Minute) // let the first one end
			})
		})
	}
}

func TestHardStop_EndsTheRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, ran := workertest.NewMemory(), 0
		s := spec("pay", journal.ClassAtMostOnce, func(context.Context, worker.Call) (worker.Outcome, error) {
			ran++
			return worker.Outcome{}, worker.NotSent(errors.New("connection refused"))
		})
		a, err := newFixtureWith(t, j, s, worker.Options{Patience: time.Hour}).Do(t.Context(), on("pay", "k"))
		if err != nil || a.Status != worker.StatusHardStop || ran != journal.DefaultPolicy().RetryBudget {
			t.Errorf("Do = %s, %v after %d runs; want hard_stop after %d", a.Status, err, ran, journal.DefaultPolicy().RetryBudget)
		}
	})
}

func TestKeyWindow_EndsTheWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := workertest.NewMemory()
		s := spec("pay", journal.ClassProviderIdempotent, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			v := worker.Verdict{Phase: journal.PhaseRefused, RetryAfter: 20 * time.Minute}
			return worker.Outcome{}, v.Err(worker.Sending(ctx))
		})
		s.KeyWindow = 10 * time.Minute
		start := time.Now()
		a, err := newFixtureWith(t, j, s, worker.Options{Patience: time.Hour}).Do(t.Context(), on("pay", "k"))
		if err != nil || a.Status != worker.StatusInProgress || time.Since(start) > time.Second {
			t.Errorf("Do = %s, %v after %s; want in_progress at once", a.Status, err, time.Since(start))
		}
	})
}

func TestAwait_SurvivesAnUnreachableJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := workertest.NewMemory()
		s := spec("mail", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			_ = worker.Sending(ctx)
			return worker.Outcome{}, errors.New("cut off")
		})
		w := newFixture(t, j, s)
		a, err := w.Do(t.Context(), on("mail", "k"))
		if err != nil || !a.Parked() {
			t.Fatalf("Do = %+v, %v", a, err)
		}
		j.Fault(failing(5, "decision"))
		go func() {
			time.Sleep(26 * time.Hour)
			if err := j.Decide("k", journal.VerbCloseLanded, ""); err != nil {
				t.Error(err)
			}
		}()
		d, err := w.Await(t.Context(), a.EffectID, a.Cursor)
		if err != nil || d.Kind != journal.ResolvedLanded {
			t.Fatalf("Await = %+v, %v; want close_landed", d, err)
		}
		a, err = w.Do(t.Context(), on("mail", "k"))
		if err != nil || a.Status != worker.StatusDone || a.Result != nil || a.SettledBy == "" {
			t.Errorf("after the decision: %+v, %v; want done without a result, and who settled it", a, err)
		}
	})
}

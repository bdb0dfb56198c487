package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// trip is a run with four completed effects, three of which can be undone.
type trip struct {
	*workertest.Memory
	worker *worker.Worker
	run    worker.Run

	mu     sync.Mutex
	undone []string          // what the provider took back, in order
	refuse map[string]error  // what an undo of a provider id answers
	args   map[string]string // args of the undos by provider id
}

func newTrip(t *testing.T, class journal.Class) *trip {
	t.Helper()
	tr := &trip{Memory: workertest.NewMemory(), run: worker.Run{RootRun: "trip-1"}, refuse: map[string]error{}, args: map[string]string{}}
	tr.worker = tr.newWorker(t, tr.Memory, class)
	for _, step := range []string{"flight", "hotel", "mail", "car"} {
		tool := "book"
		if step == "mail" {
			tool = "mail.send" // nothing takes a mail back
		}
		a, err := tr.worker.Do(t.Context(), worker.Call{Run: tr.run, Tool: tool, Step: step, Subject: step, Args: []byte(`{"what":"` + step + `"}`)})
		if err != nil || a.Status != worker.StatusDone {
			t.Fatalf("%s: %s, %v", step, a.Status, err)
		}
		tr.tick(t)
	}
	return tr
}

// tick waits for the next microsecond: effects are in the order of their
// completion, which a journal keeps that exactly.
func (tr *trip) tick(t *testing.T) {
	t.Helper()
	for at := time.Now().UnixMicro(); time.Now().UnixMicro() == at; {
		if t.Context().Err() != nil {
			t.Fatal("the test is over")
		}
	}
}

func (tr *trip) newWorker(t *testing.T, j worker.Journal, class journal.Class) *worker.Worker {
	t.Helper()
	book := spec("book", class, func(ctx context.Context, c worker.Call) (worker.Outcome, error) {
		if err := worker.Sending(ctx); err != nil {
			return worker.Outcome{}, err
		}
		return worker.Outcome{Result: []byte(`{"booked":true}`), ProviderID: "b-" + c.Step}, nil
	})
	book.CompensatedBy = "cancel"
	r := worker.NewRegistry()
	register(t, r, book, spec("mail.send", journal.ClassAtMostOnce, confirm), spec("cancel", class, tr.cancel))
	return newWorker(t, j, r, worker.Options{Backoff: worker.Backoff{Base: time.Millisecond, Cap: 2 * time.Millisecond}, Patience: 400 * time.Millisecond,
		ReportWithin: 50 * time.Millisecond, BeginWithin: 50 * time.Millisecond})
}

// cancel is the compensating tool's own function.
func (tr *trip) cancel(ctx context.Context, c worker.Call) (worker.Outcome, error) {
	_, id, _ := strings.Cut(string(c.Args), `"provider_id":"`)
	id, _, _ = strings.Cut(id, `"`)
	tr.mu.Lock()
	tr.args[id] = string(c.Args)
	tr.mu.Unlock()
	return tr.takeBack(ctx, id)
}

func (tr *trip) takeBack(ctx context.Context, id string) (worker.Outcome, error) {
	if err := worker.Sending(ctx); err != nil {
		return worker.Outcome{}, err
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if err := tr.refuse[id]; err != nil {
		return worker.Outcome{}, err
	}
	tr.undone = append(tr.undone, id)
	return worker.Outcome{ProviderID: "undo-" + id}, nil
}

func (tr *trip) wantUndone(t *testing.T, want ...string) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if d := cmp.Diff(want, tr.undone); d != "" {
		t.Errorf("undone, in order (-want +got):\n%s", d)
	}
}

func steps(us []worker.Undone) []string {
	var out []string
	for _, u := range us {
		out = append(out, u.Effect.ProviderID+" "+string(u.Answer.Status))
	}
	return out
}

func TestCompensate_UndoesInReverseOrderAndOnce(t *testing.T) {
	t.Parallel()
	for _, class := range []journal.Class{journal.ClassAtMostOnce, journal.ClassProviderIdempotent, journal.ClassJournalDeduped} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			tr := newTrip(t, class)
			got, err := tr.worker.Compensate(t.Context(), tr.run, worker.Undo{})
			if err != nil || len(got.Open()) != 0 {
				t.Fatalf("open %v, %v", steps(got.Open()), err)
			}
			if d := cmp.Diff([]string{"b-car done", "b-hotel done", "b-flight done"}, steps(got.Effects)); d != "" {
				t.Errorf("effects:\n%s", d)
			}
			again, err := tr.worker.Compensate(t.Context(), tr.run, worker.Undo{})
			if err != nil || len(again.Effects) != 0 {
				t.Errorf("the second call touched %v, %v", steps(again.Effects), err)
			}
			tr.wantUndone(t, "b-car", "b-hotel", "b-flight")
			car := got.Effects[0].Effect
			want := fmt.Sprintf(`{"effect_id":%q,"tool":"book","operation":"book","provider_id":"b-car","args":{"what":"car"},"result":{"booked":true}}`, car.EffectID)
			if tr.args["b-car"] != want {
				t.Errorf("the tool got %s, want %s", tr.args["b-car"], want)
			}
			e, _, ok := tr.Effect("trip-1/undo/" + car.EffectID)
			if !ok || e.Compensates != car.EffectID || e.Tool != "cancel" || e.State != journal.StateCommitted {
				t.Errorf("the compensation is %+v", e)
			}
		})
	}
}

// The worker dies after one undo reached the provider and before it was recorded.
func TestCompensate_KilledHalfWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		class  journal.Class
		second []string // what the second call says
		undone []string
	}{
		{"provider_idempotent: asked again under the same key", journal.ClassProviderIdempotent,
			[]string{"b-hotel done", "b-flight done"}, []string{"b-car", "b-hotel", "b-hotel", "b-flight"}},
		{"at_most_once: parked, and the rest goes on", journal.ClassAtMostOnce,
			[]string{"b-hotel unknown", "b-flight done"}, []string{"b-car", "b-hotel", "b-flight"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrip(t, c.class)
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			var keys []string
			tr.Fault(func(call string) error {
				if ctx.Err() != nil && (call == "commit" || call == "fail" || call == "heartbeat") {
					return journal.ErrUnavailable // nothing of it is heard any more
				}
				return nil
			})
			undo := worker.Undo{Run: func(ctx context.Context, g *worker.Grant, d worker.Done) (worker.Outcome, error) {
				out, err := tr.takeBack(ctx, d.ProviderID)
				if d.ProviderID == "b-hotel" {
					keys = append(keys, g.ProviderKey())
					kill()
				}
				return out, err
			}}
			first, err := tr.worker.Compensate(ctx, tr.run, undo)
			if err == nil || !errors.Is(err, context.Canceled) {
				t.Fatalf("the killed call ended with %v of %v", err, steps(first.Effects))
			}
			tr.Fault(nil)
			for _, u := range first.Effects { // its lease is over, and nobody swept
				if e, attempts, ok := tr.Effect("trip-1/undo/" + u.Effect.EffectID); ok && e.State == journal.StateIntent {
					tr.Expire(e.Key)
					if len(attempts) != 1 {
						t.Fatalf("%d attempts of the killed undo", len(attempts))
					}
				}
			}
			second, err := tr.newWorker(t, tr.Memory, c.class).Compensate(t.Context(), tr.run, undo)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.second, steps(second.Effects)); d != "" {
				t.Errorf("the second call:\n%s", d)
			}
			tr.wantUndone(t, c.undone...)
			if len(slices.Compact(keys)) != 1 {
				t.Errorf("the provider saw keys %v, want one: that is how it tells a repeat", keys)
			}
		})
	}
}

func TestCompensate_OneThatFailsDoesNotStopTheRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		err    error
		status worker.Status
		state  journal.State
		reason string
	}{
		{"the provider refuses", worker.Refused(errors.New("no refund after check-in"), true), worker.StatusUnknown, journal.StateParked, journal.ReasonUndoRefused},
		{"the answer is lost", worker.Unknown(errors.New("connection reset")), worker.StatusUnknown, journal.StateParked, journal.ReasonAtMostOnce},
		{"the provider is busy for longer than the call waits", worker.Refused(errors.New("slow down"), false), worker.StatusInProgress, journal.StateIntent, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrip(t, journal.ClassAtMostOnce)
			tr.refuse["b-hotel"] = c.err
			got, err := tr.worker.Compensate(t.Context(), tr.run, worker.Undo{})
			if err != nil {
				t.Fatal(err)
			}
			tr.wantUndone(t, "b-car", "b-flight")
			open := got.Open()
			if len(open) != 1 || open[0].Effect.ProviderID != "b-hotel" || open[0].Answer.Status != c.status {
				t.Fatalf("open: %v", steps(open))
			}
			key, _ := journal.UndoKey("trip-1", open[0].Effect.EffectID)
			if e, _, _ := tr.Effect(key); e.State != c.state || e.ParkedReason != c.reason {
				t.Errorf("the failed undo is %s (%s), want %s (%s): an operator has to see it", e.State, e.ParkedReason, c.state, c.reason)
			}
			tr.wantUndone(t, "b-car", "b-flight")
			if c.state != journal.StateParked {
				return
			}
			// The operator has it tried once more; the next call carries the order out.
			delete(tr.refuse, "b-hotel")
			if err := tr.Decide(key, journal.VerbReissue, journal.NewKey); err != nil {
				t.Fatal(err)
			}
			last, err := tr.worker.Compensate(t.Context(), tr.run, worker.Undo{})
			if err != nil || len(last.Open()) != 0 || len(last.Effects) != 1 {
				t.Errorf("after the order: %v, %v", steps(last.Effects), err)
			}
			tr.wantUndone(t, "b-car", "b-flight", "b-hotel")
		})
	}
}

func TestCompensate_AlreadyGoneCountsAsUndone(t *testing.T) {
	t.Parallel()
	tr := newTrip(t, journal.ClassAtMostOnce)
	gone := worker.Refused(errors.New("404"), true)
	tr.refuse["b-hotel"] = gone
	got, err := tr.worker.Compensate(t.Context(), tr.run, worker.Undo{Run: func(ctx context.Context, _ *worker.Grant, d worker.Done) (worker.Outcome, error) {
		out, err := tr.takeBack(ctx, d.ProviderID)
		if errors.Is(err, gone) {
			return worker.Outcome{Replayed: true}, nil
		}
		return out, err
	}})
	if err != nil || len(got.Open()) != 0 {
		t.Errorf("open %v, %v", steps(got.Open()), err)
	}
}

func TestCompensate_WhatTheWorkerCannotDo(t *testing.T) {
	t.Parallel()
	tr := newTrip(t, journal.ClassAtMostOnce)
	other := worker.NewRegistry()
	register(t, other, spec("else", journal.ClassAtMostOnce, confirm))
	w := newWorker(t, tr.Memory, other, worker.Options{})
	got, err := w.Compensate(t.Context(), tr.run, worker.Undo{})
	if err != nil || len(got.Open()) != 3 || got.Effects[0].Answer.Status != worker.StatusReplan {
		t.Errorf("without the tool: %v, %v", steps(got.Effects), err)
	}
	bad := worker.Undo{Args: func(d worker.Done) ([]byte, error) {
		if d.ProviderID == "b-hotel" {
			return nil, errors.New("no price is known")
		}
		return worker.UndoArgs(d)
	}}
	got, err = tr.worker.Compensate(t.Context(), tr.run, bad)
	if err != nil || len(got.Open()) != 1 || got.Open()[0].Err == nil {
		t.Errorf("with args that can't be made: %v, %v", steps(got.Effects), err)
	}
	tr.wantUndone(t, "b-car", "b-flight")
}

func TestCompensate_JournalGone(t *testing.T) {
	t.Parallel()
	tr := newTrip(t, journal.ClassAtMostOnce)
	tr.Fault(func(call string) error {
		if call == "begin" {
			return journal.ErrUnavailable
		}
		return nil
	})
	got, err := tr.worker.Compensate(t.Context(), tr.run, worker.Undo{})
	if !errors.Is(err, journal.ErrUnavailable) || len(got.Effects) != 1 {
		t.Errorf("%v, %v: want to stop at the first begin that the journal does not answer", steps(got.Effects), err)
	}
	tr.wantUndone(t)
	tr.Fault(func(string) error { return journal.ErrUnavailable })
	if _, err := tr.worker.Compensate(t.Context(), tr.run, worker.Undo{}); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("without the list: %v", err)
	}
}

func TestCompensate_ManyPages(t *testing.T) {
	t.Parallel()
	tr := newTrip(t, journal.ClassAtMostOnce)
	const more = journal.MaxUndoPage + 3
	for i := range more {
		if a, err := tr.worker.Do(t.Context(), worker.Call{Run: tr.run, Tool: "book", Step: fmt.Sprint("leg-", i)}); err != nil || a.Status != worker.StatusDone {
			t.Fatalf("%s, %v", a.Status, err)
		}
		tr.tick(t)
	}
	tr.refuse["b-hotel"] = worker.Unknown(errors.New("lost"))
	tr.refuse[fmt.Sprint("b-leg-", more-1)] = worker.Unknown(errors.New("lost"))
	got, err := tr.worker.Compensate(t.Context(), tr.run, worker.Undo{})
	if err != nil || len(got.Effects) != more+3 || len(got.Open()) != 2 {
		t.Errorf("%d effects, open %v, %v", len(got.Effects), steps(got.Open()), err)
	}
}

func TestUndoArgs(t *testing.T) {
	t.Parallel()
	big := []byte(`"` + strings.Repeat("<", 200<<10) + `"`)
	for _, c := range []struct {
		name string
		d    worker.Done
		want string
	}{
		{"whole", worker.Done{EffectID: "e", Tool: "t", Operation: "o", ProviderID: "p", Args: []byte(`{"a": "<&>"}`), Result: []byte(`[1]`)},
			`{"effect_id":"e","tool":"t","operation":"o","provider_id":"p","args":{"a":"<&>"},"result":[1]}`},
		{"nothing recorded", worker.Done{EffectID: "e", Tool: "t", Operation: "o"}, `{"effect_id":"e","tool":"t","operation":"o"}`},
		{"no JSON", worker.Done{EffectID: "e", Tool: "t", Operation: "o", Result: []byte("250 OK")}, `{"effect_id":"e","tool":"t","operation":"o"}`},
		{"a member twice", worker.Done{EffectID: "e", Tool: "t", Operation: "o", Result: []byte(`{"a":1,"a":2}`)}, `{"effect_id":"e","tool":"t","operation":"o"}`},
		{"too long", worker.Done{EffectID: "e", Tool: "t", Operation: "o", Args: big, Result: big}, `{"effect_id":"e","tool":"t","operation":"o"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := worker.UndoArgs(c.d)
			if err != nil || string(got) != c.want {
				t.Errorf("%.300s, %v", got, err)
			}
			if err := journal.CheckArgs(got); err != nil {
				t.Errorf("the journal does not take them: %v", err)
			}
		})
	}
}

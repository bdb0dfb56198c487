package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// bookings registers a tool with its compensating one and completes n effects.
func bookings(t *testing.T, d *desk, n int) []journal.BeginAnswer {
	t.Helper()
	for _, tool := range []journal.Tool{
		{Name: "book", Class: journal.ClassAtMostOnce, ClientTimeout: 10 * time.Second, CompensatedBy: "cancel", CompensateRun: true},
		{Name: "cancel", Class: journal.ClassAtMostOnce, ClientTimeout: 10 * time.Second},
	} {
		if err := d.RegisterTool(t.Context(), tool); err != nil {
			t.Fatal(err)
		}
	}
	var out []journal.BeginAnswer
	for i := range n {
		r := request("book", fmt.Sprint("trip/", i))
		r.RootRun = "trip"
		a := d.begin(r)
		d.commit(r, a, fmt.Sprint("b-", i))
		out = append(out, a)
	}
	return out
}

func undoOf(a journal.BeginAnswer) journal.BeginRequest {
	r := request("cancel", "trip/undo/"+a.EffectID)
	r.RootRun, r.Compensates = "trip", a.EffectID
	return r
}

// TestCompensation_OnThePage: what closing would have undone is read for the page
// without args and results, and an effect shows its compensation.
func TestCompensation_OnThePage(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	done := bookings(t, d, 2)
	r := request("book", "trip/lost")
	r.RootRun = "trip"
	lost := parked(d, r).EffectID
	k, err := d.Case(t.Context(), lost)
	if err != nil || !k.CompensateRun || len(k.Undoable) != 2 || k.Undoable[0].EffectID != done[1].EffectID || k.Undoable[0].Args != nil || k.Undoable[0].CompensatedBy != "cancel" {
		t.Fatalf("policy %v, undoable %+v, %v", k.CompensateRun, k.Undoable, err)
	}
	undo := undoOf(done[1])
	a := d.begin(undo)
	k, err = d.Case(t.Context(), done[1].EffectID)
	if err != nil || k.Compensation == nil || k.Compensation.ID != a.EffectID || k.Compensation.State != journal.StateIntent || k.Undoable != nil {
		t.Errorf("the undone effect has %+v, undoable %v, %v", k.Compensation, k.Undoable, err)
	}
	if k, err = d.Case(t.Context(), a.EffectID); err != nil || k.Effect.Compensates != done[1].EffectID || k.Compensation != nil {
		t.Errorf("the undo has %+v of %q, %v", k.Compensation, k.Effect.Compensates, err)
	}
	d.commit(undo, a, "gone")
	d.decide(lost, journal.VerbCloseNotLanded, "")
	if k, err = d.Case(t.Context(), lost); err != nil || len(k.Resolutions) != 1 || !k.Resolutions[0].Compensate || k.Undoable != nil {
		t.Errorf("after the decision: %+v, undoable %v, %v", k.Resolutions, k.Undoable, err)
	}
}

// TestCompensation_OfTwoAtOnce: two keys for one effect, ten workers each; one
// compensation begins.
func TestCompensation_OfTwoAtOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	done := bookings(t, d, 1)[0]
	var mu sync.Mutex
	granted, refused := 0, 0
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r := undoOf(done)
			r.Key = fmt.Sprint("trip/undo/", i%2)
			a, err := d.Begin(t.Context(), r)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, journal.ErrNotCompensable):
				refused++
			case err != nil:
				t.Errorf("begin: %v", err)
			case a.Directive == journal.DirectiveExecute:
				granted++
			}
		})
	}
	wg.Wait()
	if granted != 1 || refused < 10 {
		t.Errorf("%d grants, %d refusals", granted, refused)
	}
}

// TestCompensation_PolicyOfToday: the tool's policy counts as it is when the
// decision is recorded, whatever another replica remembers of the tool.
func TestCompensation_PolicyOfToday(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	bookings(t, d, 1)
	r := request("book", "trip/lost")
	r.RootRun = "trip"
	lost := parked(d, r).EffectID
	if _, err := d.Pool().Exec(t.Context(), "update tools set compensate_run = false where name = 'book'"); err != nil {
		t.Fatal(err)
	}
	if k, err := d.Case(t.Context(), lost); err != nil || k.CompensateRun || k.Undoable != nil {
		t.Errorf("the page says %v %v, %v", k.CompensateRun, k.Undoable, err)
	}
	d.decide(lost, journal.VerbCloseNotLanded, "")
	if got, err := d.Decision(t.Context(), lost, 0, 0); err != nil || got == nil || got.Compensate {
		t.Errorf("the resolution is %+v, %v", got, err)
	}
}

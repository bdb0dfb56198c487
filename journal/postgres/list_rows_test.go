package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// asAfresh reads a page from the store that has shown the list all along and from
// one that never has, and says where they differ.
func asAfresh(ctx context.Context, old *postgres.Store, f journal.ListFilter) error {
	fresh := postgres.New(old.Pool(), postgres.Options{Policy: old.Policy()})
	want, err := fresh.List(ctx, f)
	if err != nil {
		return err
	}
	got, err := old.List(ctx, f)
	if err != nil {
		return err
	}
	clocks := cmpopts.IgnoreFields(journal.Snapshot{}, "Now", "CanLook", "Policy")
	if diff := cmp.Diff(want, got, clocks, cmpopts.IgnoreFields(journal.ListPage{}, "Now", "Counts", "Snoozed"), cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("the list shows something old (-fresh +shown):\n%s", diff)
	}
	return nil
}

// TestList_ShowsEveryChangeAtOnce: a store that keeps what it showed shows no
// effect as it was, whatever changed: with a transition, without one, or beside
// the effect only.
func TestList_ShowsEveryChangeAtOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("mail.send", "k")
	a, o := parked(d, r), parked(d, request("pay", "other"))
	at := func() journal.Snapshot { return d.snap(a.EffectID) }
	claim := func(v journal.ClaimVerb) func() error {
		return func() error {
			_, err := d.Claim(t.Context(), journal.ClaimOrder{EffectID: a.EffectID, Verb: v, Actor: operator})
			return err
		}
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"a look falls due", func() error { return d.ScheduleLook(t.Context(), a.EffectID) }},
		{"a look is claimed", func() error { _, err := d.ClaimLooks(t.Context(), "asked", 10, time.Minute); return err }},
		{"a look is postponed", func() error { return d.PostponeLook(t.Context(), a.EffectID, time.Now().Add(time.Hour)) }},
		{"evidence", func() error { d.look(a.EffectID, journal.NotFound); return nil }},
		{"a claim", claim(journal.ClaimTake)},
		{"a claim is given back", claim(journal.ClaimRelease)},
		{"an order", func() error { d.decide(a.EffectID, journal.VerbReissue, journal.NewKey); return nil }},
		{"a hit voids it", func() error { d.look(a.EffectID, journal.Found); return nil }},
		{"a late report", func() error { d.fail(r, a, journal.PhaseRefused, true); return nil }},
		{"an attempt that lands after all", func() error { d.commit(r, a, "p-1"); return nil }},
		{"time", func() error { d.pass(o.EffectID, time.Hour); return nil }},
	}
	for i, step := range steps {
		if err := asAfresh(t.Context(), d.Store, journal.ListFilter{}); err != nil {
			t.Fatalf("before %s: %v", step.name, err)
		}
		was := fmt.Sprintf("%+v", at())
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if err := asAfresh(t.Context(), d.Store, journal.ListFilter{}); err != nil {
			t.Fatalf("after %s: %v", step.name, err)
		}
		if i > 0 && i < 5 && was == fmt.Sprintf("%+v", at()) {
			t.Errorf("%s changed nothing: the step proves nothing", step.name)
		}
	}
}

// between runs something once, right before a statement that holds a text is sent.
type between struct {
	listener
	text string
	do   func()
	done atomic.Bool
	sent atomic.Int32 // batches that held the text
}

func (x *between) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		if strings.Contains(q.SQL, x.text) {
			x.sent.Add(1)
			if x.do != nil && !x.done.Swap(true) {
				x.do()
			}
			break
		}
	}
	return ctx
}

// beside opens a second store on the desk's database, whose statements x hears of.
func (d *desk) beside(x pgx.QueryTracer) *postgres.Store {
	d.t.Helper()
	cfg, err := pgxpool.ParseConfig(d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	cfg.ConnConfig.Tracer, cfg.MaxConns = x, 2
	pool, err := pgxpool.NewWithConfig(d.t.Context(), cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(pool.Close)
	return postgres.New(pool, postgres.Options{Policy: journal.DefaultPolicy()})
}

// TestList_ReadsAnEffectOnce: what was shown is not read again until it changes,
// and then alone.
func TestList_ReadsAnEffectOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	var ids []string
	for _, key := range []string{"a", "b", "c"} {
		ids = append(ids, parked(d, request("mail.send", key)).EffectID)
	}
	x := &between{text: " attempts "}
	s := d.beside(x)
	page := func(want int32) {
		t.Helper()
		p, err := s.List(t.Context(), journal.ListFilter{})
		if err != nil || len(p.Rows) != 3 {
			t.Fatalf("%d rows, %v", len(p.Rows), err)
		}
		for i := range p.Rows { // a reader may do what it likes with its page
			p.Rows[i].Attempts[0].Error, p.Rows[i].Effect.Subject = "spoiled", "spoiled"
		}
		if got := x.sent.Swap(0); got != want {
			t.Errorf("read what lies beside effects %d times, want %d", got, want)
		}
	}
	page(1)
	page(0)
	page(0)
	d.look(ids[1], journal.NotFound)
	page(1)
	page(0)
	if err := asAfresh(t.Context(), s, journal.ListFilter{}); err != nil {
		t.Error(err)
	}
}

// TestList_AnEffectThatMovesOnWhileItIsRead: a page is read in two round trips. An
// effect that changes between them is shown as one of its rows was, with what lay
// beside that row, and kept as no other.
func TestList_AnEffectThatMovesOnWhileItIsRead(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	a := parked(d, request("mail.send", "k"))
	x := &between{text: " attempts ", do: func() { d.decide(a.EffectID, journal.VerbReissue, journal.NewKey) }}
	s := d.beside(x)
	p, err := s.List(t.Context(), journal.ListFilter{})
	if err != nil || len(p.Rows) != 1 {
		t.Fatalf("%d rows, %v", len(p.Rows), err)
	}
	if got := p.Rows[0]; got.Effect.State != journal.StateReissue || got.Order == nil {
		t.Errorf("%s with order %+v: two times in one row", got.Effect.State, got.Order)
	}
	if got := x.sent.Load(); got != 2 {
		t.Errorf("read it %d times, want 2: the first is of no one time", got)
	}
	if err := asAfresh(t.Context(), s, journal.ListFilter{}); err != nil {
		t.Error(err)
	}
}

// TestList_AnEffectThatGoesWhileItIsRead is left out.
func TestList_AnEffectThatGoesWhileItIsRead(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("mail.send", "k")
	a := d.begin(r)
	d.commit(r, a, "p-1")
	x := &between{text: " attempts ", do: func() {
		d.pass(a.EffectID, 400*24*time.Hour)
		if n, err := d.Purge(context.WithoutCancel(t.Context()), 365*24*time.Hour, 10); err != nil || n != 1 {
			t.Errorf("purged %d, %v", n, err)
		}
	}}
	p, err := d.beside(x).List(t.Context(), journal.ListFilter{Query: a.EffectID})
	if err != nil || len(p.Rows) != 0 || !x.done.Load() {
		t.Errorf("%d rows, %v; purged in between: %v", len(p.Rows), err, x.done.Load())
	}
}

package resume_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/resume"
)

func TestHandedOverOnce(t *testing.T) {
	t.Parallel()
	rt := &runtime{name: "flow"}
	d := openDesk(t, postgres.Options{}, rt)
	effect, id := d.decided("k-1", `{"to":"flow","work":"w-1"}`, journal.VerbReissue)
	pulled, _ := d.decided("k-2", `{"kind":"pull"}`, journal.VerbCloseLanded)
	silent, _ := d.decided("k-3", "", journal.VerbCloseLanded)
	for range 3 {
		d.round()
	}
	if got := rt.ids(); !slices.Equal(got, []string{id}) {
		t.Fatalf("the runtime was handed %v, want %s alone", got, id)
	}
	m := rt.got[0]
	snap := d.read(effect)
	want := resume.Data{ResolutionID: id, Cursor: snap.Resolutions[0].Cursor, EffectID: effect, EffectVersion: snap.Resolutions[0].EffectVersion,
		Key: "k-1", Tool: "mail.send", Resolution: journal.ResolvedReissue, OrderID: snap.Order.ID, OrderExpiresAt: m.Data.OrderExpiresAt,
		At: snap.Resolutions[0].At.UTC(), URL: "https://desk.test/e/" + effect}
	if diff := cmp.Diff(want, m.Data); diff != "" || m.Data.OrderExpiresAt == nil {
		t.Errorf("what it was handed (-want +got):\n%s", diff)
	}
	if h := d.newest(effect); h.State != journal.HandoverSent || h.Target != "flow" || h.Tries != 1 || h.SentAt.IsZero() || h.AckedAt != nil {
		t.Errorf("sent: %+v", h)
	}
	for _, e := range []string{pulled, silent} {
		if h := d.newest(e); h.State != journal.HandoverPull || h.AckedAt != nil {
			t.Errorf("pulled: %+v", h)
		}
	}
	if tries := d.read(effect).HandoverTries; len(tries) != 1 || tries[0].Outcome != journal.HandoverAccepted || tries[0].Number != 1 {
		t.Errorf("tries: %+v", tries)
	}
}

// TestKilledBetweenSendAndRecord: the same message again under the same id, which
// is what a runtime's dedupe key needs.
func TestKilledBetweenSendAndRecord(t *testing.T) {
	t.Parallel()
	rt := &runtime{name: "flow"}
	d := openDesk(t, postgres.Options{}, rt)
	effect, id := d.decided("k-1", `{"to":"flow"}`, journal.VerbCloseNotLanded)
	killed := d.dispatcher(&forgetful{Store: d.Store, lose: 2}, rt)
	for range 2 {
		if err := killed.Round(t.Context()); !errors.Is(err, errKilled) {
			t.Fatalf("round: %v", err)
		}
		d.round() // not due while the claim holds
		d.due(0)
	}
	d.round()
	if got := rt.ids(); !slices.Equal(got, []string{id, id, id}) {
		t.Fatalf("handed over: %v", got)
	}
	if h := d.newest(effect); h.State != journal.HandoverSent || h.Tries != 3 {
		t.Errorf("%+v", h)
	}
}

// TestManyReplicas: a resolution that is due is one replica's.
func TestManyReplicas(t *testing.T) {
	t.Parallel()
	rt := &runtime{name: "flow"}
	d := openDesk(t, postgres.Options{}, rt)
	want := map[string]bool{}
	for i := range 20 {
		_, id := d.decided("k-"+string(rune('a'+i)), `{"to":"flow"}`, journal.VerbCloseLanded)
		want[id] = true
	}
	var wg sync.WaitGroup
	for range 4 {
		other := d.dispatcher(d.Store, rt)
		wg.Go(func() {
			if err := other.Round(t.Context()); err != nil {
				t.Errorf("round: %v", err)
			}
		})
	}
	wg.Wait()
	got := map[string]bool{}
	for _, id := range rt.ids() {
		got[id] = true
	}
	if len(rt.ids()) != 20 || !cmp.Equal(want, got) {
		t.Errorf("%d calls for %d resolutions", len(rt.ids()), len(want))
	}
}

// TestTypedAnswers: what a runtime says decides what follows.
func TestTypedAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		says  journal.HandoverOutcome
		age   time.Duration
		state journal.HandoverState
		wait  time.Duration // about; 0 = not due again
	}{
		{"gone", journal.HandoverGone, 0, journal.HandoverRefused, 0},
		{"too large", journal.HandoverTooLarge, 0, journal.HandoverRefused, 0},
		{"a bad address", journal.HandoverBadAddress, 0, journal.HandoverRefused, 0},
		{"not known, perhaps not yet", journal.HandoverUnknown, time.Minute, journal.HandoverPending, 30 * time.Second},
		{"not known for an hour", journal.HandoverUnknown, time.Hour, journal.HandoverRefused, 0},
		{"does not wait yet", journal.HandoverNotWaiting, 0, journal.HandoverPending, 30 * time.Second},
		{"does not wait for a day", journal.HandoverNotWaiting, 24 * time.Hour, journal.HandoverPending, time.Hour},
		{"never waited", journal.HandoverNotWaiting, 76 * time.Hour, journal.HandoverExpired, 0},
		{"not let in", journal.HandoverAuth, 0, journal.HandoverPending, 5 * time.Second},
		{"no answer", journal.HandoverTransient, 0, journal.HandoverPending, 5 * time.Second},
		{"no answer for a minute", journal.HandoverTransient, time.Minute, journal.HandoverPending, 5 * time.Minute},
		{"no answer for a day", journal.HandoverTransient, 24 * time.Hour, journal.HandoverPending, 14 * time.Hour},
		{"no answer for four days", journal.HandoverTransient, 96 * time.Hour, journal.HandoverExpired, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rt := &runtime{name: "flow", answer: answering(c.says)}
			d := openDesk(t, postgres.Options{}, rt)
			effect, _ := d.decided("k-1", `{"to":"flow"}`, journal.VerbCloseLanded)
			d.due(c.age)
			d.round()
			h := d.newest(effect)
			if h.State != c.state || !strings.Contains(h.Reason, string(c.says)) {
				t.Fatalf("%+v, want %s", h, c.state)
			}
			if c.wait == 0 {
				if !h.NextAt.IsZero() {
					t.Errorf("due again at %v", h.NextAt)
				}
				return
			}
			if left := h.NextAt.Sub(d.read(effect).Now); left > c.wait || left < c.wait*4/5 {
				t.Errorf("due again in %v, want %v", left, c.wait)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	rt := &runtime{name: "flow", answer: func(int) (resume.Receipt, error) {
		return resume.Receipt{}, &resume.Failure{Outcome: journal.HandoverTransient, RetryAfter: 10 * time.Minute, Err: errors.New("busy")}
	}}
	d := openDesk(t, postgres.Options{}, rt)
	effect, _ := d.decided("k-1", `{"to":"flow"}`, journal.VerbCloseLanded)
	d.round()
	if left := d.newest(effect).NextAt.Sub(d.read(effect).Now); left < 9*time.Minute {
		t.Errorf("due again in %v, though the runtime asked for ten minutes", left)
	}
}

// TestOvertaken: what is not true any more is not handed over.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	t.Run("by a later resolution", func(t *testing.T) {
		t.Parallel()
		rt := &runtime{name: "flow"}
		d := openDesk(t, postgres.Options{}, rt)
		effect, first := d.decided("k-1", `{"to":"flow"}`, journal.VerbReissue)
		if _, err := d.Pool().Exec(t.Context(), "update orders set expires_at = clock_timestamp()"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Sweep(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		second := d.decide(effect, journal.VerbCloseLanded)
		d.round()
		if got := rt.ids(); !slices.Equal(got, []string{second}) {
			t.Errorf("handed over %v, want %s alone", got, second)
		}
		if h := d.read(effect).Handovers[first]; h.State != journal.HandoverExpired || h.Reason == "" {
			t.Errorf("the first: %+v", h)
		}
	})
	t.Run("by the end of its order", func(t *testing.T) {
		t.Parallel()
		rt := &runtime{name: "flow", answer: answering(journal.HandoverTransient)}
		d := openDesk(t, postgres.Options{}, rt)
		effect, _ := d.decided("k-1", `{"to":"flow"}`, journal.VerbReissue)
		d.round()
		if _, err := d.Pool().Exec(t.Context(), "update deliveries set order_expires_at = clock_timestamp()"); err != nil {
			t.Fatal(err)
		}
		d.due(0)
		d.round()
		if h := d.newest(effect); h.State != journal.HandoverExpired || !strings.Contains(h.Reason, "expired") || len(rt.ids()) != 1 {
			t.Errorf("%+v after %d calls", h, len(rt.ids()))
		}
	})
	t.Run("by an acknowledgement", func(t *testing.T) {
		t.Parallel()
		rt := &runtime{name: "flow"}
		d := openDesk(t, postgres.Options{}, rt)
		effect, id := d.decided("k-1", `{"to":"flow"}`, journal.VerbCloseLanded)
		if err := d.Ack(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		d.round()
		if len(rt.ids()) != 0 || d.newest(effect).AckedAt == nil {
			t.Errorf("handed over %v after the runtime had pulled it", rt.ids())
		}
	})
}

// TestResumedCloses: a runtime that says that the work goes on has acknowledged.
func TestResumedCloses(t *testing.T) {
	t.Parallel()
	rt := &runtime{name: "flow", answer: func(int) (resume.Receipt, error) {
		return resume.Receipt{Resumed: true, Detail: "run 7"}, nil
	}}
	d := openDesk(t, postgres.Options{}, rt)
	effect, _ := d.decided("k-1", `{"to":"flow"}`, journal.VerbCloseLanded)
	d.round()
	c := d.read(effect)
	if h := d.newest(effect); h.AckedAt == nil || h.AckedBy != "runtime:flow" || c.Effect.OpenDelivery {
		t.Errorf("%+v, open %v", h, c.Effect.OpenDelivery)
	}
	if out, _, err := d.Outcomes(t.Context(), 10); err != nil || len(out) != 0 {
		t.Errorf("%d outcomes are left (%v)", len(out), err)
	}
}

// TestAddressesThatNameNothing: nothing is lost by an address with a slip; it
// stays on the list, and can be handed over once it is mended.
func TestAddressesThatNameNothing(t *testing.T) {
	t.Parallel()
	rt := &runtime{name: "flow"}
	d := openDesk(t, postgres.Options{}, rt)
	other, _ := d.decided("k-1", `{"to":"flwo"}`, journal.VerbCloseLanded)
	odd, _ := d.decided("k-2", `{"to":"flow","wrok":"w-1"}`, journal.VerbCloseLanded)
	d.round()
	if h := d.newest(other); h.State != journal.HandoverPending || !strings.Contains(h.Reason, `no target is called "flwo"`) || !strings.Contains(h.Reason, "flow") {
		t.Errorf("an unknown target: %+v", h)
	}
	if h := d.newest(odd); h.State != journal.HandoverRefused || !strings.Contains(h.Reason, "wrok") {
		t.Errorf("an unknown member: %+v", h)
	}
	if len(rt.ids()) != 0 {
		t.Errorf("handed over %v", rt.ids())
	}
	if out, _, err := d.Outcomes(t.Context(), 10); err != nil || len(out) != 2 {
		t.Errorf("%d outcomes are listed (%v), want both", len(out), err)
	}
}

func TestRedelivery(t *testing.T) {
	t.Parallel()
	rt := &runtime{name: "flow", answer: answering(journal.HandoverGone)}
	d := openDesk(t, postgres.Options{}, rt)
	effect, id := d.decided("k-1", `{"to":"flow"}`, journal.VerbCloseLanded)
	d.round()
	order := journal.Redelivery{ResolutionID: id, Actor: olga, Source: "page"}
	if err := d.Redeliver(t.Context(), effect, order); err != nil {
		t.Fatal(err)
	}
	if err := d.Redeliver(t.Context(), effect, order); err == nil {
		t.Error("ordered twice without an error that says that it is due already")
	}
	rt.answer = nil
	d.round()
	if h := d.newest(effect); h.State != journal.HandoverSent || h.Tries != 2 || h.Reason != "" {
		t.Errorf("%+v", h)
	}
	var rows int
	if err := d.Pool().QueryRow(t.Context(), "select count(*) from audit where effect_id = $1 and kind = 'redelivered'", effect).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d audit rows (%v), want one", rows, err)
	}
	if err := d.Ack(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	var ie *journal.InvalidError
	if err := d.Redeliver(t.Context(), effect, order); !errors.As(err, &ie) {
		t.Errorf("after the acknowledgement: %v", err)
	}
	_, elsewhere := d.decided("k-2", `{"to":"flow"}`, journal.VerbCloseLanded)
	if err := d.Redeliver(t.Context(), effect, journal.Redelivery{ResolutionID: elsewhere, Actor: olga}); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("another effect's resolution: %v", err)
	}
}

// wary is a runtime whose endpoint has to prove itself.
type wary struct {
	runtime
	endpoint   string
	challenges int
	proves     error
}

func (w *wary) Endpoint() string { return w.endpoint }

func (w *wary) Challenge(context.Context) error { w.challenges++; return w.proves }

func TestEndpointsProveThemselves(t *testing.T) {
	t.Parallel()
	w := &wary{runtime: runtime{name: "hook"}, endpoint: "a", proves: resume.Fail(journal.HandoverAuth, "no echo")}
	d := openDesk(t, postgres.Options{}, w)
	effect, _ := d.decided("k-1", `{"to":"hook"}`, journal.VerbCloseLanded)
	d.round()
	if h := d.newest(effect); len(w.ids()) != 0 || h.State != journal.HandoverPending || h.Reason != "no echo" {
		t.Fatalf("handed over to a stranger, or not on its way: %v, %+v", w.ids(), h)
	}
	w.proves = nil
	for range 3 {
		d.due(0)
		d.round()
	}
	if _, again := d.decided("k-2", `{"to":"hook"}`, journal.VerbCloseLanded); again != "" {
		d.round()
	}
	if len(w.ids()) != 2 || w.challenges != 2 {
		t.Errorf("%d handed over after %d challenges, want 2 and 2", len(w.ids()), w.challenges)
	}
	w.endpoint = "b" // another address is another endpoint
	d.decided("k-3", `{"to":"hook"}`, journal.VerbCloseLanded)
	d.round()
	if w.challenges != 3 || len(w.ids()) != 3 {
		t.Errorf("%d handed over after %d challenges, want 3 and 3", len(w.ids()), w.challenges)
	}
}

// TestStopped: an endpoint that wants nothing more gets nothing more, until a
// person says so.
func TestStopped(t *testing.T) {
	t.Parallel()
	w := &wary{runtime: runtime{name: "hook"}, endpoint: "a"}
	w.answer = func(int) (resume.Receipt, error) {
		return resume.Receipt{}, &resume.Failure{Outcome: journal.HandoverGone, Stop: true, Err: errors.New("410")}
	}
	d := openDesk(t, postgres.Options{}, w)
	first, id := d.decided("k-1", `{"to":"hook"}`, journal.VerbCloseLanded)
	d.round()
	second, _ := d.decided("k-2", `{"to":"hook"}`, journal.VerbCloseLanded)
	d.round()
	if len(w.ids()) != 1 {
		t.Fatalf("called %d times after a 410", len(w.ids()))
	}
	if h := d.newest(second); h.State != journal.HandoverRefused || !strings.Contains(h.Reason, "wants no more") {
		t.Errorf("%+v", h)
	}
	w.answer = nil
	if err := d.Redeliver(t.Context(), first, journal.Redelivery{ResolutionID: id, Actor: olga, Source: "page"}); err != nil {
		t.Fatal(err)
	}
	d.round()
	if h := d.newest(first); h.State != journal.HandoverSent {
		t.Errorf("%+v", h)
	}
}

// TestInTheDecisionsTransaction: both, or neither; and a runtime that fails there
// never takes the decision down with it.
func TestInTheDecisionsTransaction(t *testing.T) {
	t.Parallel()
	mode := "sent"
	rt := &runtime{name: "flow"}
	d := openDesk(t, postgres.Options{InTx: func(ctx context.Context, tx pgx.Tx, h journal.Handover) (journal.HandoverResult, error) {
		if _, err := tx.Exec(ctx, "insert into resume_targets (name) values ($1)", h.ID); err != nil {
			return journal.HandoverResult{}, err
		}
		switch mode {
		case "breaks":
			_, err := tx.Exec(ctx, "select 1/0")
			return journal.HandoverResult{}, err
		case "elsewhere":
			return journal.HandoverResult{State: journal.HandoverPending}, nil
		}
		return journal.HandoverResult{State: journal.HandoverSent, Target: "flow", Outcome: journal.HandoverAccepted}, nil
	}}, rt)
	wrote := func(id string) (n int) {
		t.Helper()
		if err := d.Pool().QueryRow(t.Context(), "select count(*) from resume_targets where name = $1", id).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	effect, id := d.decided("k-1", `{"to":"flow"}`, journal.VerbCloseLanded)
	if h := d.newest(effect); h.State != journal.HandoverSent || wrote(id) != 1 {
		t.Errorf("sent with the decision: %+v", h)
	}
	for _, mode = range []string{"breaks", "elsewhere"} {
		effect, id := d.decided(mode, `{"to":"flow"}`, journal.VerbCloseLanded)
		if h := d.newest(effect); h.State != journal.HandoverPending || wrote(id) != 0 {
			t.Errorf("%s: %+v, %d rows", mode, h, wrote(id))
		}
		d.round()
		if h := d.newest(effect); h.State != journal.HandoverSent {
			t.Errorf("%s, then by the dispatcher: %+v", mode, h)
		}
	}
	if len(rt.ids()) != 2 {
		t.Errorf("the dispatcher handed over %d, want 2", len(rt.ids()))
	}
}

// TestUndeliveredIsNews: what reaches nobody comes to a person, once each.
func TestUndeliveredIsNews(t *testing.T) {
	t.Parallel()
	rt := &runtime{name: "flow", answer: answering(journal.HandoverGone)}
	d := openDesk(t, postgres.Options{}, rt)
	raise := func() int {
		t.Helper()
		n, err := d.RaiseAlerts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	d.decided("pulled", "", journal.VerbCloseLanded)
	_, taken := d.decided("taken", "", journal.VerbCloseLanded)
	if err := d.Ack(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	d.round()
	if n := raise(); n != 0 {
		t.Fatalf("%d alerts for what was decided just now", n)
	}
	d.decided("refused", `{"to":"flow"}`, journal.VerbCloseLanded)
	d.round()
	if n := raise(); n != 1 {
		t.Fatalf("%d alerts for what the runtime refused, want 1", n)
	}
	if _, err := d.Pool().Exec(t.Context(), "update deliveries set at = at - interval '2 hours'"); err != nil {
		t.Fatal(err)
	}
	if n, again := raise(), raise(); n != 1 || again != 0 {
		t.Errorf("%d, then %d alerts for what nobody pulled in two hours, want 1 and 0", n, again)
	}
	if _, err := d.BindAlertMessages(t.Context(), []string{"pager"}); err != nil {
		t.Fatal(err)
	}
	ms, err := d.ClaimAlertMessages(t.Context(), 10)
	if err != nil || len(ms) != 1 || ms[0].Kind != journal.AlertUndelivered || ms[0].Count != 2 {
		t.Errorf("messages: %+v (%v)", ms, err)
	}
}

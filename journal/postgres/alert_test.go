package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// TestJ15_AbandonedClaimComesToAPerson: a crash before the provider was
// contacted and one after look the same to the journal; neither turns into a
// retry by itself, and both come to a person, once.
func TestJ15_AbandonedClaimComesToAPerson(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r1, r2 := request("mail.send", "crashed-before"), request("mail.send", "crashed-after")
	for _, r := range []journal.BeginRequest{r1, r2} {
		d.pass(d.begin(r).EffectID, 3*24*time.Hour)
	}
	d.sweep()
	page, err := d.List(t.Context(), journal.ListFilter{})
	if err != nil || page.Total != 2 {
		t.Fatalf("the list holds %d effects (%v), want 2", page.Total, err)
	}
	if n, err := d.RaiseAlerts(t.Context()); err != nil || n != 2 {
		t.Errorf("%d alerts (%v), want 2", n, err)
	}
	for _, r := range []journal.BeginRequest{r1, r2} {
		r.ClaimID = journal.NewToken()
		if a := d.begin(r); a.Directive != journal.DirectiveParked {
			t.Errorf("%s: %s after three days, want parked", r.Key, a.Directive)
		}
	}
	t.Run("proved not sent needs no person", func(t *testing.T) {
		r := request("mail.send", "proved")
		r.RootRun = "another"
		a := d.begin(r)
		d.fail(r, a, journal.PhaseNotSent, false)
		d.pass(a.EffectID, 3*24*time.Hour)
		r.ClaimID = journal.NewToken()
		if a := d.begin(r); a.Directive != journal.DirectiveExecute {
			t.Errorf("%s, want execute", a.Directive)
		}
	})
	t.Run("what nobody came back to retry is news as well", func(t *testing.T) {
		r := request("mail.send", "forgotten")
		r.RootRun = "forgotten"
		a := d.begin(r)
		d.fail(r, a, journal.PhaseNotSent, false)
		if n, err := d.RaiseAlerts(t.Context()); err != nil || n != 0 {
			t.Errorf("%d alerts (%v) before retry_at", n, err)
		}
		d.pass(a.EffectID, time.Hour)
		if n, err := d.RaiseAlerts(t.Context()); err != nil || n != 1 {
			t.Errorf("%d alerts (%v) an hour after retry_at, want 1", n, err)
		}
	})
	t.Run("a provider key that still protects needs none either", func(t *testing.T) {
		r := request("pay", "protected")
		d.pass(d.begin(r).EffectID, 30*time.Minute)
		r.ClaimID = journal.NewToken()
		if a := d.begin(r); a.Directive != journal.DirectiveExecute {
			t.Errorf("%s, want execute", a.Directive)
		}
	})
}

// TestN04_ReplicasAlertOnce: however many replicas run every step at the same
// time, an effect raises one alert, a group makes one message per sink, and a
// message is claimed once.
func TestN04_ReplicasAlertOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	const effects = 30
	for i := range effects {
		parked(d, request("mail.send", fmt.Sprintf("m-%d", i)))
	}
	parked(d, request("mail.send", "m-last"))
	var mu sync.Mutex
	var claimed []journal.AlertMessage
	raised := 0
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			n, err := d.RaiseAlerts(t.Context())
			if err != nil {
				t.Error(err)
			}
			if _, err := d.BindAlertMessages(t.Context(), []string{"pager", "chat"}); err != nil {
				t.Error(err)
			}
			ms, err := d.ClaimAlertMessages(t.Context(), 10)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			raised += n
			claimed = append(claimed, ms...)
		})
	}
	wg.Wait()
	if raised != effects+1 {
		t.Errorf("%d alerts raised, want %d", raised, effects+1)
	}
	// A replica may bind before another has raised the rest: every effect is in
	// some message of each sink, and none in two.
	total := map[string]int{}
	for _, m := range append(claimed, d.claimRest()...) {
		total[m.Sink] += m.Count
	}
	if total["pager"] != effects+1 || total["chat"] != effects+1 {
		t.Errorf("the sinks hear of %v effects, want %d each", total, effects+1)
	}
}

// claimRest lets the group interval pass and claims what was bound later.
func (d *desk) claimRest() []journal.AlertMessage {
	d.t.Helper()
	d.exec("update alert_messages set created_at = created_at - interval '1 hour'")
	if _, err := d.BindAlertMessages(d.t.Context(), []string{"pager", "chat"}); err != nil {
		d.t.Fatal(err)
	}
	ms, err := d.ClaimAlertMessages(d.t.Context(), 100)
	if err != nil {
		d.t.Fatal(err)
	}
	return ms
}

// TestAlerts: a group that got a message waits its interval; a sent message is
// over; a failed one comes due again; unknown again alerts again.
func TestAlerts(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) { o.Policy.AlertInterval = time.Hour })
	round := func() []journal.AlertMessage {
		t.Helper()
		if _, err := d.RaiseAlerts(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := d.BindAlertMessages(t.Context(), []string{"pager"}); err != nil {
			t.Fatal(err)
		}
		ms, err := d.ClaimAlertMessages(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return ms
	}
	r := request("mail.send", "first")
	a := parked(d, r)
	ms := round()
	if len(ms) != 1 || ms[0].Count != 1 || ms[0].FirstEffectID != a.EffectID || ms[0].Tries != 1 || !journal.ValidID(ms[0].ID) {
		t.Fatalf("messages %+v", ms)
	}
	if err := d.AlertFailed(t.Context(), ms[0].ID, "status 503", 0, false); err != nil {
		t.Fatal(err)
	}
	again := round()
	if len(again) != 1 || again[0].ID != ms[0].ID || again[0].Tries != 2 {
		t.Fatalf("after a failure: %+v", again)
	}
	if err := d.AlertSent(t.Context(), ms[0].ID); err != nil {
		t.Fatal(err)
	}
	parked(d, request("mail.send", "second"))
	if ms := round(); len(ms) != 0 {
		t.Fatalf("within the interval: %+v", ms)
	}
	d.exec("update alert_messages set created_at = created_at - interval '2 hours'")
	if ms := round(); len(ms) != 1 || ms[0].Count != 1 {
		t.Fatalf("after the interval: %+v", ms)
	}
	// The first one is ordered again and is unknown again: that is news.
	d.decide(a.EffectID, journal.VerbReissue, journal.NewKey)
	r.ClaimID = journal.NewToken()
	d.fail(r, d.begin(r), journal.PhaseSent, false)
	d.exec("update alert_messages set created_at = created_at - interval '2 hours'")
	if ms := round(); len(ms) != 1 || ms[0].FirstEffectID != a.EffectID {
		t.Fatalf("unknown again: %+v", ms)
	}
}

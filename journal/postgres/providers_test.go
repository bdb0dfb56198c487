package postgres_test

import (
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

func TestProviderState(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	state := func() journal.ProviderState {
		p, err := d.ProviderState(t.Context(), "asked")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	note := func(n journal.ProviderNote) {
		n.Provider = "asked"
		if err := d.NoteProvider(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if p := state(); p.Healthy() || p.LastOKAt != nil || p.Lag.Samples != 0 {
		t.Errorf("before anybody looked: %+v", p)
	}
	note(journal.ProviderNote{Controls: true, Passed: true})
	if p := state(); !p.Healthy() || p.ControlAt == nil || !p.ControlOK {
		t.Errorf("after a good look: %+v", p)
	}
	note(journal.ProviderNote{Controls: true, Why: "the canary was not found"})
	if p := state(); p.Healthy() || p.ControlOK || p.ControlWhy == "" {
		t.Errorf("after a failed control: %+v", p)
	}
	note(journal.ProviderNote{}) // a match: no control ran
	if p := state(); p.ControlOK || p.ControlWhy == "" {
		t.Errorf("a look without controls clears a failed one: %+v", p)
	}
	note(journal.ProviderNote{Fault: "it is down\x00", Pause: time.Hour})
	note(journal.ProviderNote{Fault: "and again", Pause: time.Second})
	p := state()
	if p.Healthy() || p.LastFault != "and again" || p.PausedUntil == nil || time.Until(*p.PausedUntil) < 50*time.Minute {
		t.Errorf("a shorter pause ends a longer one: %+v", p)
	}
	d.exec("update provider_states set paused_until = clock_timestamp()")
	if p := state(); p.PausedUntil != nil {
		t.Errorf("a pause that is over: %+v", p)
	}
}

func TestLagProbe(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	claim := func() *journal.LagProbe {
		p, err := d.ClaimLagProbe(t.Context(), "asked", time.Minute, time.Minute, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := claim(); p != nil {
		t.Fatalf("a probe without a commit: %+v", p)
	}
	r := request("mail.send", "k1")
	a := d.begin(r)
	d.commit(r, a, "p1")
	p := claim()
	if p == nil || p.EffectID != a.EffectID || p.Ref != a.Ref || p.Tries != 1 {
		t.Fatalf("the probe: %+v", p)
	}
	if again := claim(); again != nil {
		t.Errorf("claimed twice: %+v", again)
	}
	missed := p.Now
	if err := d.PostponeLagProbe(t.Context(), *p, 0, missed); err != nil {
		t.Fatal(err)
	}
	if p = claim(); p == nil || p.Tries != 2 || !p.MissedAt.Equal(missed) {
		t.Fatalf("after the wait: %+v", p)
	}
	if err := d.PostponeLagProbe(t.Context(), *p, 0, time.Time{}); err != nil { // the provider could not be asked
		t.Fatal(err)
	}
	if p = claim(); p == nil || !p.MissedAt.Equal(missed) {
		t.Fatalf("what could not be asked was no miss: %+v", p)
	}
	if err := d.EndLagProbe(t.Context(), *p, nil); err != nil {
		t.Fatal(err)
	}
	if s, err := d.ProviderState(t.Context(), "asked"); err != nil || s.Lag.Samples != 0 {
		t.Errorf("a probe that told nothing is a sample: %+v, %v", s.Lag, err)
	}
	if p = claim(); p == nil || p.Tries != 1 || !p.MissedAt.IsZero() {
		t.Fatalf("the next probe: %+v", p)
	}
	for range 2 { // two replicas end it: one sample
		if err := d.EndLagProbe(t.Context(), *p, &journal.LagSample{Lag: 7 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := d.ProviderState(t.Context(), "asked"); err != nil || s.Lag.Samples != 1 || s.Lag.Max != 7*time.Second {
		t.Errorf("the sample: %+v, %v", s.Lag, err)
	}
	r2 := request("mail.send", "k2")
	d.commit(r2, d.begin(r2), "p2")
	if p := claim(); p != nil {
		t.Errorf("a second sample within a minute: %+v", p)
	}
	d.exec("insert into lag_samples (provider, effect_id, committed_at, lag_ms) select 'asked', gen_random_uuid(), clock_timestamp(), n from generate_series(1, 1200) n")
	d.exec("insert into lag_samples (provider, effect_id, committed_at, lag_ms, lost) select 'asked', gen_random_uuid(), clock_timestamp(), 3600000, true")
	d.exec("update lag_probes set next_at = clock_timestamp()")
	s, err := d.ProviderState(t.Context(), "asked")
	if err != nil || s.Lag.Samples != 1000 || s.Lag.Lost != 1 || s.Lag.Max != time.Hour || s.Lag.P99 != 1191*time.Millisecond || s.Lag.Newest == nil {
		t.Errorf("the lag: %+v, %v", s.Lag, err)
	}
	if err := d.EndLagProbe(t.Context(), *p, &journal.LagSample{}); err != nil { // nothing left to end
		t.Fatal(err)
	}
}

func TestClaimLooks_OneProvider(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	var ids []string
	for _, tool := range []string{"mail.send", "note.create"} { // asked, unasked
		r := request(tool, tool)
		a := d.begin(r)
		d.fail(r, a, journal.PhaseSent, false)
		d.exec("update effects set next_look_at = clock_timestamp() where id = $1", a.EffectID)
		ids = append(ids, a.EffectID)
	}
	got, err := d.ClaimLooks(t.Context(), "asked", 10, time.Minute)
	if err != nil || len(got) != 1 || got[0] != ids[0] {
		t.Fatalf("claimed %v, %v; want %s", got, err, ids[0])
	}
	if again, err := d.ClaimLooks(t.Context(), "asked", 10, time.Minute); err != nil || len(again) != 0 {
		t.Errorf("claimed again: %v, %v", again, err)
	}
	if err := d.PostponeLook(t.Context(), ids[0], time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if again, err := d.ClaimLooks(t.Context(), "asked", 10, time.Minute); err != nil || len(again) != 1 {
		t.Errorf("given back: %v, %v", again, err)
	}
}

// The pages count from the journal's clock, also for a provider that nobody asked.
func TestProviderStateSaysWhenItWasRead(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	for _, name := range []string{"asked", "nobody"} {
		p, err := d.ProviderState(t.Context(), name)
		if err != nil || time.Since(p.Now).Abs() > time.Hour {
			t.Errorf("%s was read at %v, %v", name, p.Now, err)
		}
	}
}

package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func (d *desk) snoozeOrder(id string, by time.Duration) journal.SnoozeOrder {
	d.t.Helper()
	s := d.snap(id)
	o := journal.SnoozeOrder{EffectID: id, Actor: olivia, Digest: s.EvidenceDigest()}
	if by != 0 {
		o.Until = s.Now.Add(by)
	}
	return o
}

func (d *desk) snooze(id string, by time.Duration) *journal.Snooze {
	d.t.Helper()
	z, err := d.Snooze(d.t.Context(), d.snoozeOrder(id, by))
	if err != nil {
		d.t.Fatalf("snoozing: %v", err)
	}
	return z
}

// listed is what a list holds, by subject.
func (d *desk) listed(f journal.ListFilter) []string {
	d.t.Helper()
	page, err := d.List(d.t.Context(), f)
	if err != nil {
		d.t.Fatal(err)
	}
	out := []string{}
	for _, s := range page.Rows {
		out = append(out, s.Effect.Subject)
	}
	if page.Total != len(out) {
		d.t.Errorf("%+v: total %d, rows %d", f, page.Total, len(out))
	}
	return out
}

// TestSnooze_TheList: what sleeps is on its own list, and in no count; it comes
// back by itself.
func TestSnooze_TheList(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ids := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		ids[name] = d.parked("mail.send", name)
	}
	d.parked("ticket.create", "e")
	check := func(when string, awake, asleep []string, oldest string) {
		t.Helper()
		if diff := cmp.Diff(awake, d.listed(journal.ListFilter{Limit: 50})); diff != "" {
			t.Errorf("%s, the list (-want +got):\n%s", when, diff)
		}
		if diff := cmp.Diff(asleep, d.listed(journal.ListFilter{Limit: 50, Snoozed: true})); diff != "" {
			t.Errorf("%s, the snoozed (-want +got):\n%s", when, diff)
		}
		page, err := d.List(t.Context(), journal.ListFilter{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range page.Counts {
			n += c.Count
			if c.Tool == "mail.send" && !c.Oldest.Equal(d.snap(ids[oldest]).Effect.CreatedAt) {
				t.Errorf("%s: the oldest is of %v, want %s", when, c.Oldest, oldest)
			}
		}
		if n != len(awake) || page.Snoozed != len(asleep) {
			t.Errorf("%s: counts %d and %d, want %d and %d", when, n, page.Snoozed, len(awake), len(asleep))
		}
	}
	check("before", []string{"a", "b", "c", "d", "e"}, []string{}, "a")
	d.snooze(ids["a"], time.Hour)
	d.snooze(ids["c"], 2*time.Hour)
	check("after", []string{"b", "d", "e"}, []string{"a", "c"}, "b")
	for _, f := range []journal.ListFilter{{Query: "a"}, {Tool: "mail.send"}, {RootRun: "run-1"}, {Newest: true}, {State: journal.StateParked}} {
		f.Limit = 50
		if got := d.listed(f); slices.Contains(got, "c") {
			t.Errorf("%+v: %v", f, got)
		}
	}
	if got := d.listed(journal.ListFilter{Query: ids["a"]}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("by its whole id: %v", got)
	}
	page, err := d.List(t.Context(), journal.ListFilter{Snoozed: true})
	if err != nil || page.Team[ids["a"]].Snooze == nil || page.Team[ids["a"]].Snooze.Actor.Name != "Olivia" {
		t.Errorf("beside its row: %+v, %v", page.Team[ids["a"]], err)
	}
	d.exec("update snoozes set at = at - interval '1 hour', until = until - interval '1 hour' where effect_id = $1", ids["a"])
	check("at its time", []string{"a", "b", "d", "e"}, []string{"c"}, "a")
	if _, err := d.Snooze(t.Context(), journal.SnoozeOrder{EffectID: ids["c"], Actor: olivia, Wake: true}); err != nil {
		t.Fatal(err)
	}
	check("woken by hand", []string{"a", "b", "c", "d", "e"}, []string{}, "a")
	if d.teamAudit(ids["c"], "snoozed") != 1 || d.teamAudit(ids["c"], "snooze_ended") != 1 {
		t.Error("audit rows are missing")
	}
	if err := d.DropOldTeam(t.Context()); err != nil || d.count("select count(*) from snoozes") != 0 {
		t.Errorf("rows stay (%v)", err)
	}
}

// TestSnooze_EndsAtOnce: whatever changes what a person would decide on ends it.
func TestSnooze_EndsAtOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	tests := []struct {
		name  string
		do    func(r journal.BeginRequest, a journal.BeginAnswer)
		awake bool
		why   string
	}{
		{"a look that says the same", func(_ journal.BeginRequest, a journal.BeginAnswer) { d.look(a.EffectID, journal.CannotTell) }, false, ""},
		{"a look that says something else", func(_ journal.BeginRequest, a journal.BeginAnswer) { d.look(a.EffectID, journal.NotFound) }, true, journal.WokeEvidence},
		{"a hit", func(_ journal.BeginRequest, a journal.BeginAnswer) { d.look(a.EffectID, journal.Found) }, true, journal.WokeEvidence},
		{"a late report", func(r journal.BeginRequest, a journal.BeginAnswer) { d.fail(r, a, journal.PhaseRefused, false) }, true, journal.WokeFact},
		{"a late commit", func(r journal.BeginRequest, a journal.BeginAnswer) { d.commit(r, a, "p") }, true, journal.WokeFact},
		{"a decision", func(_ journal.BeginRequest, a journal.BeginAnswer) {
			d.decide(a.EffectID, journal.VerbCloseLanded, "")
		}, true, journal.WokeDecision},
		{"a comment", func(_ journal.BeginRequest, a journal.BeginAnswer) {
			if _, err := d.Comment(t.Context(), journal.Comment{EffectID: a.EffectID, Actor: pia, Text: "still waiting"}); err != nil {
				t.Error(err)
			}
		}, false, ""},
		{"a claim", func(_ journal.BeginRequest, a journal.BeginAnswer) { d.claim(take(a.EffectID, pia)) }, false, ""},
		{"a sweep", func(journal.BeginRequest, journal.BeginAnswer) { d.sweep() }, false, ""},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request("mail.send", fmt.Sprint("effect ", i))
			a := d.begin(r)
			d.fail(r, a, journal.PhaseSent, false)
			d.look(a.EffectID, journal.CannotTell)
			d.snooze(a.EffectID, time.Hour)
			tt.do(r, a)
			if got := d.team(a.EffectID).Snooze == nil; got != tt.awake {
				t.Fatalf("awake %t, want %t", got, tt.awake)
			}
			woken := ""
			k, err := d.Case(t.Context(), a.EffectID)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range k.Events {
				if e.Kind == journal.EventWoken {
					woken = string(e.Detail)
				}
			}
			if want := map[bool]string{true: `{"why":"` + tt.why + `"}`}[tt.awake]; woken != want {
				t.Errorf("event %s, want %s", woken, want)
			}
		})
	}
}

// TestSnooze_WhileItChanges: a snooze and a hit that come at once leave the hit on
// the list, whichever is first.
func TestSnooze_WhileItChanges(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	for i := range 30 {
		id := d.parked("mail.send", fmt.Sprint("race ", i))
		d.look(id, journal.CannotTell)
		o := d.snoozeOrder(id, time.Hour)
		done := make(chan error, 1)
		go func() { _, err := d.Snooze(t.Context(), o); done <- err }()
		d.look(id, journal.Found)
		err := <-done
		var stale *journal.StaleError
		if err != nil && !errors.As(err, &stale) {
			t.Fatal(err)
		}
		if d.team(id).Snooze != nil {
			t.Fatalf("round %d: the hit sleeps (%v)", i, err)
		}
	}
}

// TestD08_SnoozeOnStaleEvidence: what a person did not see is not put aside.
func TestD08_SnoozeOnStaleEvidence(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "stale")
	o := d.snoozeOrder(id, time.Hour)
	d.look(id, journal.Found)
	var stale *journal.StaleError
	if _, err := d.Snooze(t.Context(), o); !errors.As(err, &stale) || len(stale.Changed) == 0 {
		t.Errorf("got %v", err)
	}
}

func TestSnooze_Limits(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	mail := d.parked("mail.send", "mail")
	r := request("pay", "payment") // an hour of key window
	a := d.begin(r)
	d.pass(a.EffectID, 5*time.Minute)
	d.sweep()
	pay := a.EffectID
	live := d.begin(request("mail.send", "live")).EffectID
	for _, tt := range []struct {
		name string
		id   string
		by   time.Duration
		ok   bool
	}{
		{"an hour", mail, time.Hour, true},
		{"seven days", mail, 7*24*time.Hour - time.Minute, true},
		{"longer", mail, 7*24*time.Hour + time.Minute, false},
		{"as long as nothing changes", mail, 0, true},
		{"the past", mail, -time.Minute, false},
		{"inside the key window", pay, 50 * time.Minute, true},
		{"past the key window", pay, 56 * time.Minute, false},
		{"as long as nothing changes, in a key window", pay, 0, true},
		{"what needs no attention", live, time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := d.snoozeOrder(tt.id, tt.by)
			z, err := d.Snooze(t.Context(), o)
			if (err == nil) != tt.ok {
				t.Fatalf("got %+v, %v", z, err)
			}
			if s := d.snap(pay); tt.ok && tt.id == pay && z.Until.After(s.WindowEnd()) {
				t.Errorf("sleeps until %v, the window ends %v", z.Until, s.WindowEnd())
			}
		})
	}
	viewer := d.snoozeOrder(mail, time.Hour)
	viewer.Actor = person("Vera", journal.RoleViewer, journal.RoleAuditor)
	if _, err := d.Snooze(t.Context(), viewer); err == nil {
		t.Error("a viewer snoozed")
	}
}

// TestSnooze_NoAlert: nobody is called for what is put aside, until it changes.
func TestSnooze_NoAlert(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "quiet")
	d.snooze(id, time.Hour)
	raised := func() int {
		t.Helper()
		n, err := d.RaiseAlerts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := raised(); n != 0 {
		t.Errorf("%d alerts of what sleeps", n)
	}
	d.look(id, journal.Found)
	if n := raised(); n != 1 {
		t.Errorf("%d alerts after a hit", n)
	}
}

// TestList_ByClaim: what is mine, and what is nobody's.
func TestList_ByClaim(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ids := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		ids[name] = d.parked("mail.send", name)
	}
	d.claim(take(ids["a"], olivia))
	d.claim(take(ids["b"], pia))
	d.claim(take(ids["c"], olivia))
	d.claim(take(ids["d"], olivia))
	d.endClaim(ids["c"])
	d.snooze(ids["d"], time.Hour)
	for _, tt := range []struct {
		f    journal.ListFilter
		want []string
	}{
		{journal.ListFilter{Claim: journal.ClaimMine, Viewer: olivia}, []string{"a"}},
		{journal.ListFilter{Claim: journal.ClaimMine, Viewer: pia}, []string{"b"}},
		{journal.ListFilter{Claim: journal.ClaimMine, Viewer: operator}, []string{}},
		{journal.ListFilter{Claim: journal.ClaimNone, Viewer: olivia}, []string{"c", "e"}},
		{journal.ListFilter{Claim: journal.ClaimNone, Tool: "mail.send", Newest: true}, []string{"e", "c"}},
		{journal.ListFilter{Claim: journal.ClaimNone, RootRun: "run-1"}, []string{"c", "e"}},
		{journal.ListFilter{Claim: journal.ClaimMine, Viewer: olivia, Snoozed: true}, []string{"d"}},
	} {
		if diff := cmp.Diff(tt.want, d.listed(tt.f)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.f, diff)
		}
	}
	page, err := d.List(t.Context(), journal.ListFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if c := page.Team[ids["b"]].Claim; c == nil || c.Holder.Name != "Pia" {
		t.Errorf("beside the row: %+v", c)
	}
	if c := page.Team[ids["c"]].Claim; c != nil {
		t.Errorf("a claim that is over is shown: %+v", c)
	}
}

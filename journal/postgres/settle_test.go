package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

// TestSettleFound: where the policy names the tool, a FOUND settles what waits
// for a person, and nothing else does.
func TestSettleFound(t *testing.T) {
	t.Parallel()
	settling := func(o *postgres.Options) { o.Policy.SettleFound = map[string]bool{"mail.send": true} }
	parked := func(d *desk, tool string) string {
		r := request(tool, tool)
		a := d.begin(r)
		d.fail(r, a, journal.PhaseSent, false)
		d.exec("update effects set state = 'PARKED', parked_reason = 'at_most_once', retry_at = null where id = $1", a.EffectID)
		return a.EffectID
	}
	one := func(e *journal.Evidence) { e.Matches = []journal.Match{{ID: "mid-1", State: journal.MatchEffective}} }
	tests := []struct {
		name    string
		policy  bool
		tool    string
		before  func(d *desk, id string)
		verdict journal.Verdict
		settles bool
	}{
		{name: "found", policy: true, tool: "mail.send", verdict: journal.Found, settles: true},
		{name: "off by default", tool: "mail.send", verdict: journal.Found},
		{name: "another tool", policy: true, tool: "pay", verdict: journal.Found},
		{name: "not effective yet", policy: true, tool: "mail.send", verdict: journal.FoundPending},
		{name: "two of them", policy: true, tool: "mail.send", verdict: journal.Duplicate},
		{name: "not found", policy: true, tool: "mail.send", verdict: journal.NotFound},
		{name: "contradicted before", policy: true, tool: "mail.send", verdict: journal.Found,
			before: func(d *desk, id string) { d.exec("update effects set contradicted = true where id = $1", id) }},
		{name: "probably double", policy: true, tool: "mail.send", verdict: journal.Found,
			before: func(d *desk, id string) { d.exec("update effects set probably_double = true where id = $1", id) }},
		{name: "while the clock is suspect", policy: true, tool: "mail.send", verdict: journal.Found,
			before: func(d *desk, _ string) {
				d.exec("update journal_meta set clock_suspect_until = clock_timestamp() + interval '1 hour'")
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			change := []func(*postgres.Options){}
			if tt.policy {
				change = append(change, settling)
			}
			d := openDesk(t, change...)
			id := parked(d, tt.tool)
			if tt.before != nil {
				tt.before(d, id)
			}
			ev := d.look(id, tt.verdict, one)
			s := d.snap(id)
			if settled := s.Effect.State == journal.StateCommitted; settled != tt.settles {
				t.Fatalf("state %s, settled by %q", s.Effect.State, s.Effect.SettledBy)
			}
			if !tt.settles {
				return
			}
			if s.Effect.SettledBy != "policy" || s.Effect.ProviderID != "mid-1" || s.Newest == nil || s.Newest.Kind != journal.ResolvedByPolicy ||
				!strings.Contains(s.Newest.Reason, ev.ID) || !strings.Contains(s.Newest.Reason, journal.DefaultPolicy().Version) {
				t.Errorf("settled by %q as %q: %+v", s.Effect.SettledBy, s.Effect.ProviderID, s.Newest)
			}
			if n := d.count("select count(*) from audit where effect_id = $1 and kind = 'resolved:found'", id); n != 1 {
				t.Errorf("%d audit rows", n)
			}
		})
	}
}

// TestSettleFound_StuckIntent: at begin, too, and never while a later attempt lives.
func TestSettleFound_StuckIntent(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) { o.Policy.SettleFound = map[string]bool{"mail.send": true} })
	r := request("mail.send", "k")
	a := d.begin(r)
	d.look(a.EffectID, journal.Found) // live: only recorded
	if s := d.snap(a.EffectID); s.Effect.State != journal.StateIntent {
		t.Fatalf("a live attempt was settled: %s", s.Effect.State)
	}
	d.pass(a.EffectID, 2*time.Minute)
	r.ClaimID = journal.NewToken()
	if got := d.begin(r); got.Directive != journal.DirectiveReturn || got.SettledBy != "policy" {
		t.Errorf("%s by %q, want return by policy", got.Directive, got.SettledBy)
	}
}

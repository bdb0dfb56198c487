package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
)

// provider answers the use case's looks with a verdict.
type provider struct {
	d       *desk
	verdict journal.Verdict
	looks   int
}

func (p *provider) CanLook(string) bool { return true }

func (p *provider) LookNow(_ context.Context, id, _ string) (journal.Evidence, error) {
	p.looks++
	return p.d.look(id, p.verdict), nil
}

func useCase(d *desk, v journal.Verdict) (*decide.UseCase, *provider) {
	p := &provider{d: d, verdict: v}
	return decide.New(d.Store, p, slog.New(slog.DiscardHandler)), p
}

// parkedWith parks an at_most_once effect and records one look.
func (d *desk) parkedWith(v journal.Verdict) string { return d.parkedKey("run-1/step/do", v) }

func (d *desk) parkedKey(key string, v journal.Verdict) string {
	a := parked(d, request("mail.send", key))
	d.look(a.EffectID, v)
	return a.EffectID
}

// rows counts decisions, deliveries and audit rows of an effect.
func (d *desk) rows(id string) [3]int {
	return [3]int{
		d.count("select count(*) from decisions where effect_id = $1", id),
		d.count("select count(*) from deliveries where effect_id = $1", id),
		d.count("select count(*) from audit where effect_id = $1 and kind like 'decided:%'", id),
	}
}

// TestD01_SecondClickGetsTheFirstDecision: the same decision again, at once or
// later, is answered with the first one's outcome.
func TestD01_SecondClickGetsTheFirstDecision(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	want := d.decision(id, journal.VerbReissue, journal.NewKey)
	const clicks = 8
	results := make([]decide.Result, clicks)
	var wg sync.WaitGroup
	for i := range clicks {
		wg.Go(func() {
			r, err := u.Decide(t.Context(), want)
			if err != nil {
				t.Errorf("click %d: %v", i, err)
			}
			results[i] = r
		})
	}
	wg.Wait()
	later, err := u.Decide(t.Context(), want)
	if err != nil || !later.Repeated {
		t.Fatalf("a click two seconds later: %+v, %v", later, err)
	}
	first := 0
	for _, r := range results {
		if r.Decision.ID != later.Decision.ID {
			t.Errorf("decision %s, want %s", r.Decision.ID, later.Decision.ID)
		}
		if !r.Repeated {
			first++
		}
	}
	if got := d.rows(id); first != 1 || got != [3]int{1, 1, 1} {
		t.Errorf("%d first clicks; decisions, deliveries, audit rows %v, want one of each", first, got)
	}
}

// TestD02_OppositeDecisions: of two operators with the same version one wins;
// the other learns who, what and when.
func TestD02_OppositeDecisions(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	reissue := d.decision(id, journal.VerbReissue, journal.NewKey)
	closing := d.decision(id, journal.VerbCloseNotLanded, "")
	closing.Actor = journal.Actor{Issuer: "https://idp.test", Subject: "dario", Name: "Dario", Roles: []journal.Role{journal.RoleApprover}}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, one := range []journal.Decision{reissue, closing} {
		wg.Go(func() { _, errs[i] = u.Decide(t.Context(), one) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("one must win and one lose: %v, %v", errs[0], errs[1])
	}
	var stale *journal.StaleError
	if !errors.As(errors.Join(errs...), &stale) || stale.Winner == nil || len(stale.Changed) == 0 {
		t.Fatalf("the loser got %v", errors.Join(errs...))
	}
	if stale.Winner.Actor.Subject == "" || stale.Winner.At.IsZero() || stale.Winner.Verb == "" {
		t.Errorf("the winner is not named: %+v", stale.Winner)
	}
	if got := d.rows(id); got != [3]int{1, 1, 1} {
		t.Errorf("decisions, deliveries, audit rows %v, want one of each", got)
	}
	if n := d.count("select count(*) from audit where effect_id = $1 and kind like 'refused:%'", id); n != 1 {
		t.Errorf("%d refusals on the audit trail, want 1 (A-03)", n)
	}
}

// TestD04_SweeperLeavesALiveEffect: heartbeats decide, not the time since the
// start; and once swept, a heartbeat revives nothing.
func TestD04_SweeperLeavesALiveEffect(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("mail.send", "long")
	r.ClientTimeout = time.Hour
	a := d.begin(r)
	for range 5 {
		d.pass(a.EffectID, 25*time.Second) // nearly a lease of 30 s
		if _, err := d.Heartbeat(t.Context(), report(r, a)); err != nil {
			t.Fatalf("heartbeat: %v", err)
		}
		d.sweep()
	}
	if s := d.snap(a.EffectID); !s.Live() {
		t.Fatalf("swept after 125 s although it heartbeats: %s", s.Effect.State)
	}
	d.pass(a.EffectID, 31*time.Second)
	d.sweep()
	if s := d.snap(a.EffectID); s.Effect.State != journal.StateParked {
		t.Fatalf("state %s after the lease, want PARKED", s.Effect.State)
	}
	var lost *journal.LeaseLostError
	if _, err := d.Heartbeat(t.Context(), report(r, a)); !errors.As(err, &lost) || lost.State != journal.StateParked {
		t.Fatalf("heartbeat after the fence: %v", err)
	}
	if s := d.snap(a.EffectID); s.Live() {
		t.Error("a heartbeat revived a fenced attempt")
	}
}

// TestD07_DecisionAndFollowUpAreOne: with any of the decision's rows refused by
// the database, none of them is there, and the effect still waits.
func TestD07_DecisionAndFollowUpAreOne(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"decisions", "deliveries", "audit", "orders", "events"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			u, _ := useCase(d, journal.NotFound)
			id := d.parkedWith(journal.NotFound)
			one := d.decision(id, journal.VerbReissue, journal.NewKey)
			d.exec("alter table " + table + " add constraint broken check (false) not valid")
			if _, err := u.Decide(t.Context(), one); err == nil {
				t.Fatal("the decision went through")
			}
			if s := d.snap(id); s.Effect.State != journal.StateParked || s.Effect.Version != one.Expected {
				t.Errorf("state %s version %d after a failed decision", s.Effect.State, s.Effect.Version)
			}
			if got := d.rows(id); got != [3]int{} {
				t.Errorf("rows of a failed decision: %v", got)
			}
			d.exec("alter table " + table + " drop constraint broken")
			if _, err := u.Decide(t.Context(), one); err != nil {
				t.Fatalf("after the database was mended: %v", err)
			}
			// The order outlives everything: a worker that starts now executes it, once.
			r := request("mail.send", "run-1/step/do")
			if a := d.begin(r); a.Directive != journal.DirectiveExecute || a.Attempt != 2 {
				t.Fatalf("begin after the decision: %+v", a)
			}
			r.ClaimID = journal.NewToken()
			if a := d.begin(r); a.Directive != journal.DirectiveInProgress {
				t.Fatalf("a second begin: %s", a.Directive)
			}
		})
	}
}

// TestD08_StaleEvidenceIsPulledAgain: evidence over the policy's age is pulled
// before the decision; a new hit stops it, the same answer lets it through.
func TestD08_StaleEvidenceIsPulledAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fresh journal.Verdict
		age   time.Duration
		looks int
		stale bool
	}{
		{"young evidence is not pulled again", journal.Found, time.Minute, 0, false},
		{"the same answer", journal.NotFound, time.Hour, 1, false},
		{"a hit meanwhile", journal.Found, time.Hour, 1, true},
		{"the provider can't be asked now", journal.CannotTell, time.Hour, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			u, p := useCase(d, tt.fresh)
			id := d.parkedWith(journal.NotFound)
			d.pass(id, tt.age)
			_, err := u.Decide(t.Context(), d.decision(id, journal.VerbReissue, journal.NewKey))
			var stale *journal.StaleError
			if errors.As(err, &stale) != tt.stale || (err != nil) != tt.stale {
				t.Fatalf("got %v, want stale %v", err, tt.stale)
			}
			if p.looks != tt.looks {
				t.Errorf("%d looks, want %d", p.looks, tt.looks)
			}
		})
	}
}

// TestDecide_Refuses: who may not, what is missing, and what is blocked.
func TestDecide_Refuses(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	u, _ := useCase(d, journal.Found)
	id := d.parkedWith(journal.Found)
	var invalid *journal.InvalidError
	var blocked *journal.BlockedError
	tests := []struct {
		name   string
		change func(*journal.Decision)
		want   any
	}{
		{"no reason", func(x *journal.Decision) { x.Reason = "  ok  " }, &invalid},
		{"no reason code", func(x *journal.Decision) { x.ReasonCode = "because" }, &invalid},
		{"no mode", func(x *journal.Decision) { x.Mode = "" }, &invalid},
		{"no version", func(x *journal.Decision) { x.Expected = 0 }, &invalid},
		{"a hit blocks a re-issue", func(*journal.Decision) {}, &blocked},
		{"a hit blocks closing as not landed", func(x *journal.Decision) { x.Verb, x.Mode = journal.VerbCloseNotLanded, "" }, &blocked},
		{"a mode without a re-issue", func(x *journal.Decision) { x.Verb = journal.VerbCloseLanded }, &invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			one := d.decision(id, journal.VerbReissue, journal.NewKey)
			tt.change(&one)
			if _, err := u.Decide(t.Context(), one); err == nil || !errors.As(err, tt.want) {
				t.Fatalf("got %v, want %T", err, tt.want)
			}
		})
	}
	t.Run("an auditor", func(t *testing.T) {
		one := d.decision(id, journal.VerbCloseLanded, "")
		one.Actor.Roles = []journal.Role{journal.RoleAuditor}
		if _, err := u.Decide(t.Context(), one); !errors.Is(err, decide.ErrNotAllowed) {
			t.Fatalf("got %v", err)
		}
	})
	if got := d.rows(id); got != [3]int{} {
		t.Errorf("rows of refused decisions: %v", got)
	}
}

// TestAuditIsAppendOnly: not even the owner of the tables changes or drops a row.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parkedWith(journal.NotFound)
	d.decide(id, journal.VerbCloseNotLanded, "")
	for _, table := range []string{"audit", "decisions", "evidence"} {
		for _, sql := range []string{"update " + table + " set effect_id = effect_id", "delete from " + table, "truncate " + table + " cascade"} {
			if _, err := d.Pool().Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err == nil {
				t.Errorf("%s went through", sql)
			}
		}
	}
	n, err := d.VerifyAudit(t.Context())
	if err != nil || n == 0 {
		t.Errorf("verified %d rows: %v", n, err)
	}
}

// TestReissueRoad walks the whole road: parked, ordered, picked up, settled.
func TestReissueRoad(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	r := request("mail.send", "run-1/step/do")
	a := parked(d, r)
	d.look(a.EffectID, journal.NotFound)
	cursor := d.snap(a.EffectID).Cursor
	got := make(chan *journal.Resolution, 1)
	go func() {
		res, err := d.Decision(t.Context(), a.EffectID, cursor, 20*time.Second)
		if err != nil {
			t.Error(err)
		}
		got <- res
	}()
	made := d.decide(a.EffectID, journal.VerbReissue, journal.NewKey)
	res := <-got
	if res == nil || res.Kind != journal.ResolvedReissue || res.OrderID != made.Order.ID || res.By != "operator:olga" || res.OrderExpiresAt == nil {
		t.Fatalf("the long poll brought %+v", res)
	}
	r.ClaimID = journal.NewToken()
	b := d.begin(r)
	d.commit(r, b, "p2")
	s := d.snap(a.EffectID)
	if s.Effect.State != journal.StateCommitted || s.Effect.OpenDelivery || s.Order.Ended != "spent" {
		t.Errorf("state %s, open delivery %v, order %+v", s.Effect.State, s.Effect.OpenDelivery, s.Order)
	}
	// Attempt 1 was never proved not to have landed: a look follows.
	if s.Effect.NextLookAt.IsZero() {
		t.Error("no look is scheduled although attempt 1 is of unknown outcome")
	}
	t.Run("unknown again comes back", func(t *testing.T) {
		d := openDesk(t)
		a := underOrder(d, r)
		r := r
		d.fail(r, a, journal.PhaseSent, false)
		page, err := d.List(t.Context(), journal.ListFilter{})
		if err != nil || len(page.Rows) != 1 || page.Rows[0].Effect.State != journal.StateParked {
			t.Fatalf("the list after an unknown re-issue: %+v, %v", page.Rows, err)
		}
	})
}

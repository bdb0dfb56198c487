package postgres_test

import (
	"errors"
	"testing"

	"github.com/landedhq/landed/journal"
)

// correcting is a person's wish to do it anew with other arguments.
func (d *desk) correcting(id, args string) journal.Decision {
	d.t.Helper()
	s := d.snap(id)
	one := d.decision(id, journal.VerbCorrect, "")
	one.Correction = &journal.Correction{Args: []byte(args), Subject: s.Effect.Subject, Amount: s.Effect.Amount, Currency: s.Effect.Currency}
	return one
}

// TestCorrect: always two people; the old effect is closed as not landed, another
// with the corrected arguments is ordered in its place, and whoever begins it is
// handed those.
func TestCorrect(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	p := d.propose(u, d.correcting(id, `{"order":"A2","note":"x"}`))
	if p.Decision.Correction == nil || string(p.Decision.Correction.Args) != `{"order":"A2","note":"x"}` {
		t.Fatalf("proposed %+v", p.Decision.Correction)
	}
	r, err := u.Approve(t.Context(), d.approval(p, approver))
	if err != nil {
		t.Fatal(err)
	}
	old, next := d.snap(id), d.snap(r.Decision.SuccessorID)
	if old.Effect.State != journal.StateAbandoned || old.Newest.Kind != journal.ResolvedCorrected || old.Newest.SuccessorKey != "run-1/step/do~c2" {
		t.Errorf("the old one: %s, told %+v", old.Effect.State, old.Newest)
	}
	if next.Effect.State != journal.StateReissue || next.Effect.Supersedes != id || !next.Order.Open(next.Now) || next.Effect.Attempt != 0 {
		t.Errorf("its successor: %+v, order %+v", next.Effect, next.Order)
	}
	again := d.begin(request("mail.send", "run-1/step/do"))
	if again.Directive != journal.DirectiveAbandoned || again.Decision.SuccessorKey != next.Effect.Key {
		t.Fatalf("the worker that comes back is told %s %+v", again.Directive, again.Decision)
	}
	req := request("mail.send", next.Effect.Key) // with the old arguments, as it knows no others
	a := d.begin(req)
	if a.Directive != journal.DirectiveExecute || a.Attempt != 1 || string(a.Args) != `{"order":"A2","note":"x"}` || a.ProviderKey != journal.ProviderKey(next.Effect.Ref, 1) {
		t.Fatalf("%s attempt %d args %s", a.Directive, a.Attempt, a.Args)
	}
	d.commit(req, a, "m-1")
	if s := d.snap(next.Effect.ID); s.Effect.State != journal.StateCommitted {
		t.Errorf("in the end %s", s.Effect.State)
	}
	if got := d.rows(id); got != [3]int{1, 1, 1} {
		t.Errorf("decisions, deliveries, audit rows %v, want one each", got)
	}
}

// TestCorrect_Again: what was corrected and is unknown again can be corrected once
// more, under a further key.
func TestCorrect_Again(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	correct := func(id, args string) string {
		t.Helper()
		r, err := u.Approve(t.Context(), d.approval(d.propose(u, d.correcting(id, args)), approver))
		if err != nil {
			t.Fatal(err)
		}
		return r.Decision.SuccessorID
	}
	second := correct(id, `{"order":"A2"}`)
	req := request("mail.send", d.snap(second).Effect.Key)
	d.fail(req, d.begin(req), journal.PhaseSent, false)
	d.look(second, journal.NotFound)
	third := d.snap(correct(second, `{"order":"A3"}`))
	if third.Effect.Key != "run-1/step/do~c3" || third.Effect.Supersedes != second {
		t.Errorf("%s supersedes %s", third.Effect.Key, third.Effect.Supersedes)
	}
	d.look(id, journal.Found) // the first one landed after all
	if s := d.snap(second); !s.Effect.ProbablyDouble {
		t.Error("the successor of what landed after all is not flagged")
	}
}

// TestCorrect_Refused: what can't be corrected, and with what.
func TestCorrect_Refused(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	u, _ := useCase(d, journal.Found)
	if err := d.RegisterTool(t.Context(), journal.Tool{Name: "pay", Class: journal.ClassProviderIdempotent, Provider: "asked", KeyWindow: 3600e9, ClientTimeout: 10e9,
		IdentityFields: []string{"order"}, ArgsSchema: []byte(`{"type":"object","required":["order"],"properties":{"order":{"type":"string"}}}`)}); err != nil {
		t.Fatal(err)
	}
	id := d.parkedWith(journal.NotFound)
	var (
		invalid *journal.InvalidError
		blocked *journal.BlockedError
	)
	for _, tt := range []struct{ name, args string }{
		{"the same", `{"note":"x", "order":"A1"}`}, {"no JSON", `{"order":`}, {"nothing", ``}, {"a duplicate member", `{"order":"A2","order":"A3"}`},
	} {
		one := d.correcting(id, tt.args)
		if tt.args == "" {
			one.Correction.Args = nil
		}
		if _, err := u.Decide(t.Context(), one); !errors.As(err, &invalid) || invalid.Field != "args" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	bad := d.correcting(id, `{"order":"A2"}`)
	bad.Correction.Amount = "12,50"
	if _, err := u.Decide(t.Context(), bad); !errors.As(err, &invalid) {
		t.Errorf("a comma in the amount: %v", err)
	}
	paid := d.begin(request("pay", "p"))
	d.pass(paid.EffectID, 2*3600e9)
	d.sweep()
	one := d.correcting(paid.EffectID, `{"order":7}`)
	if _, err := u.Decide(t.Context(), one); !errors.As(err, &invalid) {
		t.Errorf("what the tool's schema forbids: %v", err)
	}
	d.look(id, journal.Found)
	if _, err := u.Decide(t.Context(), d.correcting(id, `{"order":"A2"}`)); !errors.As(err, &blocked) {
		t.Errorf("of what landed: %v", err)
	}
}

// TestSuccessorOfWhatLanded: what took the place of an effect that landed after all
// is flagged, and is not executed any more if nobody began it.
func TestSuccessorOfWhatLanded(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{false, true} {
		d := openDesk(t)
		u, _ := useCase(d, journal.NotFound)
		id := d.parkedWith(journal.NotFound)
		r, err := u.Approve(t.Context(), d.approval(d.propose(u, d.correcting(id, `{"order":"A2"}`)), approver))
		if err != nil {
			t.Fatal(err)
		}
		next := d.snap(r.Decision.SuccessorID)
		req := request("mail.send", next.Effect.Key)
		if begun {
			d.begin(req)
		}
		first := d.snap(id).Attempts[0]
		d.commit(request("mail.send", "run-1/step/do"), journal.BeginAnswer{EffectID: id, Attempt: 1, LeaseToken: first.Token}, "m-1")
		s := d.snap(next.Effect.ID)
		if !s.Effect.ProbablyDouble {
			t.Errorf("begun %v: not flagged", begun)
		}
		if !begun {
			if a := d.begin(req); a.Directive != journal.DirectiveParked || s.Effect.State != journal.StateParked {
				t.Errorf("it is %s and a worker is told %s", s.Effect.State, a.Directive)
			}
		}
		k, err := d.Case(t.Context(), id)
		if err != nil || k.SupersededBy != next.Effect.ID {
			t.Errorf("replaced by %q, %v", k.SupersededBy, err)
		}
	}
}

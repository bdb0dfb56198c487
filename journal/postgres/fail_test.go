package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// TestFailTable walks every row of the fail table on the real database, for
// each class where the class decides.
func TestFailTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		tool   string
		setup  func(d *desk, r journal.BeginRequest) journal.BeginAnswer // default: begin
		phase  journal.Phase
		final  bool
		change func(*journal.FailRequest)
		want   journal.Directive
		reason string
		state  journal.State
		check  func(t *testing.T, d *desk, id string, a journal.FailAnswer)
	}{
		{name: "not_sent", tool: "mail.send", phase: journal.PhaseNotSent, want: journal.DirectiveRetry, state: journal.StateIntent, check: fencedAndSpent(1)},
		{name: "not_sent, deduped", tool: "ticket.create", phase: journal.PhaseNotSent, want: journal.DirectiveRetry, state: journal.StateIntent, check: fencedAndSpent(1)},
		{name: "not_sent, idempotent", tool: "pay", phase: journal.PhaseNotSent, want: journal.DirectiveRetry, state: journal.StateIntent, check: fencedAndSpent(1)},
		{name: "refused and retryable, Retry-After honoured", tool: "mail.send", phase: journal.PhaseRefused, want: journal.DirectiveRetry, state: journal.StateIntent,
			change: func(f *journal.FailRequest) { f.RetryAfter = 90 * time.Second },
			check: func(t *testing.T, d *desk, id string, a journal.FailAnswer) {
				if a.RetryAfter != 90*time.Second || d.snap(id).Effect.RetryAt.IsZero() {
					t.Errorf("retry after %s", a.RetryAfter)
				}
			}},
		{name: "refused and retryable, an absurd Retry-After is cut", tool: "mail.send", phase: journal.PhaseRefused, want: journal.DirectiveRetry, state: journal.StateIntent,
			change: func(f *journal.FailRequest) { f.RetryAfter = 10 * 365 * 24 * time.Hour },
			check: func(t *testing.T, _ *desk, _ string, a journal.FailAnswer) {
				if a.RetryAfter != journal.MaxRetryAfter {
					t.Errorf("retry after %s", a.RetryAfter)
				}
			}},
		{name: "not_sent under an order: the order stays", tool: "mail.send", setup: underOrder, phase: journal.PhaseNotSent, want: journal.DirectiveRetry, state: journal.StateReissue,
			check: func(t *testing.T, d *desk, id string, _ journal.FailAnswer) {
				s := d.snap(id)
				if s.Order == nil || !s.Order.Open(s.Now) || s.Order.Attempt != 0 {
					t.Errorf("order %+v, want it open again", s.Order)
				}
				if s.Budget.Spent != 0 {
					t.Error("an order's attempts spend no budget")
				}
			}},
		{name: "not_sent, last of the budget", tool: "mail.send", phase: journal.PhaseNotSent, want: journal.DirectiveHardStop, reason: journal.ReasonBudgetSpent, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) journal.BeginAnswer {
				d.exec("insert into budgets values ('', 'run-1', '', 5)")
				return d.begin(r)
			}},
		{name: "refused, final, nothing exposed", tool: "mail.send", phase: journal.PhaseRefused, final: true, want: journal.DirectiveRejected, state: journal.StateRejected},
		{name: "refused, final, an earlier attempt exposed", tool: "pay", phase: journal.PhaseRefused, final: true, want: journal.DirectiveParked, reason: journal.ReasonRefusedExposed, state: journal.StateParked,
			setup: secondAttempt},
		{name: "sent, at_most_once", tool: "mail.send", phase: journal.PhaseSent, want: journal.DirectiveParked, reason: journal.ReasonAtMostOnce, state: journal.StateParked, check: lookDue},
		{name: "sent, at_most_once, under an order: the order is spent", tool: "mail.send", setup: underOrder, phase: journal.PhaseSent, want: journal.DirectiveParked, state: journal.StateParked,
			check: func(t *testing.T, d *desk, id string, _ journal.FailAnswer) {
				if o := d.snap(id).Order; o == nil || o.Ended != "spent" {
					t.Errorf("order %+v, want it spent", o)
				}
			}},
		{name: "sent, journal_deduped", tool: "ticket.create", phase: journal.PhaseSent, want: journal.DirectiveVerifying, state: journal.StateIntent, check: lookDue},
		{name: "sent, journal_deduped, no adapter", tool: "note.create", phase: journal.PhaseSent, want: journal.DirectiveParked, reason: journal.ReasonNoUsefulLook, state: journal.StateParked},
		{name: "sent, provider_idempotent, window covers", tool: "pay", phase: journal.PhaseSent, want: journal.DirectiveRetry, state: journal.StateIntent, check: fencedAndSpent(1)},
		{name: "sent, provider_idempotent, window over (P-03)", tool: "pay", phase: journal.PhaseSent, want: journal.DirectiveParked, reason: journal.ReasonWindowOver, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) journal.BeginAnswer {
				a := d.begin(r)
				d.pass(a.EffectID, 2*time.Hour)
				return a
			}},
		{name: "sent, provider_idempotent, the provider replays a stored error (R-15)", tool: "pay", phase: journal.PhaseSent, want: journal.DirectiveParked, reason: journal.ReasonReplayedError, state: journal.StateParked,
			change: func(f *journal.FailRequest) { f.Replayed = true }},
		{name: "sent, provider_idempotent, budget spent", tool: "pay", phase: journal.PhaseSent, want: journal.DirectiveParked, reason: journal.ReasonBudgetSpent, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) journal.BeginAnswer {
				d.exec("insert into budgets values ('', 'run-1', '', 5)")
				return d.begin(r)
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			r := request(tt.tool, "run-1/step/do")
			setup := tt.setup
			if setup == nil {
				setup = (*desk).beginOnly
			}
			a := setup(d, r)
			f := journal.FailRequest{Report: report(r, a), Phase: tt.phase, Final: tt.final, Error: "it broke"}
			if tt.change != nil {
				tt.change(&f)
			}
			got, err := d.Fail(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if got.Directive != tt.want || tt.reason != "" && got.Reason != tt.reason {
				t.Errorf("directive %s (%s), want %s (%s)", got.Directive, got.Reason, tt.want, tt.reason)
			}
			if s := d.snap(a.EffectID); s.Effect.State != tt.state {
				t.Errorf("state %s, want %s", s.Effect.State, tt.state)
			}
			if tt.check != nil {
				tt.check(t, d, a.EffectID, got)
			}
		})
	}
}

func (d *desk) beginOnly(r journal.BeginRequest) journal.BeginAnswer { return d.begin(r) }

// underOrder brings an effect to attempt 2, granted by an operator's order.
func underOrder(d *desk, r journal.BeginRequest) journal.BeginAnswer {
	ordered(d, r)
	r.ClaimID = journal.NewToken()
	return d.begin(r)
}

// secondAttempt brings a provider_idempotent effect to attempt 2 while attempt
// 1 is exposed.
func secondAttempt(d *desk, r journal.BeginRequest) journal.BeginAnswer {
	d.pass(d.begin(r).EffectID, 10*time.Minute)
	r.ClaimID = journal.NewToken()
	return d.begin(r)
}

func fencedAndSpent(budget int) func(*testing.T, *desk, string, journal.FailAnswer) {
	return func(t *testing.T, d *desk, id string, a journal.FailAnswer) {
		t.Helper()
		s := d.snap(id)
		cur, _ := s.Current()
		if cur.FencedAt.IsZero() || s.Budget.Spent != budget || a.RetryAfter <= 0 || s.Effect.RetryAt.IsZero() {
			t.Errorf("fenced %v, budget %d, retry after %s", cur.FencedAt, s.Budget.Spent, a.RetryAfter)
		}
	}
}

func lookDue(t *testing.T, d *desk, id string, _ journal.FailAnswer) {
	t.Helper()
	if s := d.snap(id); s.Effect.NextLookAt.IsZero() || s.Effect.NextLookAt.After(s.Now) {
		t.Errorf("the next look is at %v, want it due", s.Effect.NextLookAt)
	}
}

// TestLateFacts walks invariant 5: a fact that comes after its attempt was
// closed is recorded, and moves the state only as the invariant says.
func TestLateFacts(t *testing.T) {
	t.Parallel()
	type fact func(d *desk, r journal.BeginRequest, a journal.BeginAnswer) error
	lateCommit := func(d *desk, r journal.BeginRequest, a journal.BeginAnswer) error {
		_, err := d.Commit(d.t.Context(), journal.CommitRequest{Report: report(r, a), ProviderID: "late", Result: []byte(`1`)})
		return err
	}
	hit := func(v journal.Verdict) fact {
		return func(d *desk, _ journal.BeginRequest, a journal.BeginAnswer) error { d.look(a.EffectID, v); return nil }
	}
	lateFail := func(p journal.Phase) fact {
		return func(d *desk, r journal.BeginRequest, a journal.BeginAnswer) error { d.fail(r, a, p, true); return nil }
	}
	tests := []struct {
		name  string
		tool  string
		setup func(d *desk, r journal.BeginRequest) journal.BeginAnswer // returns the attempt that reports late
		fact  fact
		err   error
		state journal.State
		check func(t *testing.T, s journal.Snapshot)
	}{
		{name: "commit on PARKED (D-03 a)", tool: "mail.send", setup: parked, fact: lateCommit, state: journal.StateCommitted, check: settledBy("late_commit")},
		{name: "FOUND on PARKED blocks a re-issue", tool: "mail.send", setup: parked, fact: hit(journal.Found), state: journal.StateParked,
			check: func(t *testing.T, s journal.Snapshot) {
				if b := journal.Assess(&s).BlockFor(journal.VerbReissue, journal.NewKey); b == nil || b.Code != journal.WhyFound {
					t.Errorf("block %+v", b)
				}
			}},
		{name: "commit on a stuck INTENT", tool: "ticket.create", setup: swept, fact: lateCommit, state: journal.StateCommitted},
		{name: "commit on REISSUE voids the order (D-03 b)", tool: "mail.send", setup: orderOpen, fact: lateCommit, state: journal.StateCommitted,
			check: func(t *testing.T, s journal.Snapshot) {
				if s.Order.Ended != "void" {
					t.Errorf("order %+v", s.Order)
				}
			}},
		{name: "FOUND on REISSUE parks", tool: "mail.send", setup: orderOpen, fact: hit(journal.Found), state: journal.StateParked},
		{name: "commit on ABANDONED (D-03 c)", tool: "mail.send", setup: closedAs(journal.VerbCloseNotLanded), fact: lateCommit, state: journal.StateCommitted, check: contradicted},
		{name: "FOUND on ABANDONED", tool: "mail.send", setup: closedAs(journal.VerbCloseNotLanded), fact: hit(journal.Found), state: journal.StateParked, check: contradicted},
		{name: "commit on REJECTED", tool: "mail.send", setup: rejected, fact: lateCommit, state: journal.StateCommitted, check: contradicted},
		{name: "FOUND on REJECTED", tool: "mail.send", setup: rejected, fact: hit(journal.Found), state: journal.StateParked, check: contradicted},
		{name: "commit of attempt 1 while attempt 2 is live (D-03 d)", tool: "mail.send", setup: secondByOrder, fact: lateCommit, state: journal.StateIntent, check: double},
		{name: "commit of attempt 1 after attempt 2 committed (D-03 d)", tool: "mail.send", setup: secondCommitted("other"), fact: lateCommit, state: journal.StateCommitted, check: double},
		{name: "commit of attempt 1 with the same provider id", tool: "mail.send", setup: secondCommitted("late"), fact: lateCommit, state: journal.StateCommitted, check: notDouble},
		{name: "two matches after COMMITTED", tool: "mail.send", setup: committed, fact: hit(journal.Duplicate), state: journal.StateCommitted, check: double},
		{name: "one match after COMMITTED", tool: "mail.send", setup: committed, fact: hit(journal.Found), state: journal.StateCommitted, check: notDouble},
		{name: "late not_sent on PARKED ends exposure, state kept", tool: "mail.send", setup: parkedUnreported, fact: lateFail(journal.PhaseNotSent), state: journal.StateParked,
			check: func(t *testing.T, s journal.Snapshot) {
				if n := len(s.Exposed()); n != 0 {
					t.Errorf("%d attempts exposed, want 0", n)
				}
			}},
		{name: "late final refusal on PARKED, nothing exposed", tool: "mail.send", setup: parkedUnreported, fact: lateFail(journal.PhaseRefused), state: journal.StateRejected, check: settledBy("late_refusal")},
		{name: "late final refusal on PARKED with a hit", tool: "mail.send", fact: lateFail(journal.PhaseRefused), state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) journal.BeginAnswer {
				a := parkedUnreported(d, r)
				d.look(a.EffectID, journal.Found)
				return a
			}},
		{name: "sent, then a late not_sent does not lower it", tool: "mail.send", setup: parked, fact: lateFail(journal.PhaseNotSent), state: journal.StateParked,
			check: func(t *testing.T, s journal.Snapshot) {
				if len(s.Exposed()) != 1 {
					t.Error("the phase fell")
				}
			}},
		{name: "same attempt, another provider id", tool: "mail.send", setup: committed, fact: lateCommit, err: journal.ErrCommitConflict, state: journal.StateCommitted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			r := request(tt.tool, "run-1/step/do")
			a := tt.setup(d, r)
			if err := tt.fact(d, r, a); !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			s := d.snap(a.EffectID)
			if s.Effect.State != tt.state {
				t.Errorf("state %s, want %s", s.Effect.State, tt.state)
			}
			if tt.check != nil {
				tt.check(t, s)
			}
			if n := d.count("select count(*) from events where effect_id = $1 and kind in ('committed', 'conflict', 'evidence', 'reported')", a.EffectID); n == 0 {
				t.Error("the fact is not on the timeline")
			}
			if _, err := d.VerifyAudit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func parked(d *desk, r journal.BeginRequest) journal.BeginAnswer {
	a := d.begin(r)
	d.fail(r, a, journal.PhaseSent, false)
	return a
}

func parkedUnreported(d *desk, r journal.BeginRequest) journal.BeginAnswer {
	a := d.begin(r)
	d.pass(a.EffectID, 10*time.Minute)
	d.sweep()
	return a
}

func swept(d *desk, r journal.BeginRequest) journal.BeginAnswer { return parkedUnreported(d, r) }

func orderOpen(d *desk, r journal.BeginRequest) journal.BeginAnswer {
	a := parked(d, r)
	d.decide(a.EffectID, journal.VerbReissue, journal.NewKey)
	return a
}

func closedAs(v journal.Verb) func(*desk, journal.BeginRequest) journal.BeginAnswer {
	return func(d *desk, r journal.BeginRequest) journal.BeginAnswer {
		a := parked(d, r)
		d.decide(a.EffectID, v, "")
		return a
	}
}

func rejected(d *desk, r journal.BeginRequest) journal.BeginAnswer {
	a := d.begin(r)
	d.fail(r, a, journal.PhaseRefused, true)
	return a
}

func committed(d *desk, r journal.BeginRequest) journal.BeginAnswer {
	a := d.begin(r)
	d.commit(r, a, "p1")
	return a
}

func secondByOrder(d *desk, r journal.BeginRequest) journal.BeginAnswer {
	a := orderOpen(d, r)
	r.ClaimID = journal.NewToken()
	d.begin(r)
	return a
}

func secondCommitted(providerID string) func(*desk, journal.BeginRequest) journal.BeginAnswer {
	return func(d *desk, r journal.BeginRequest) journal.BeginAnswer {
		a := orderOpen(d, r)
		r.ClaimID = journal.NewToken()
		d.commit(r, d.begin(r), providerID)
		return a
	}
}

func settledBy(who string) func(*testing.T, journal.Snapshot) {
	return func(t *testing.T, s journal.Snapshot) {
		t.Helper()
		if s.Effect.SettledBy != who || s.Newest == nil {
			t.Errorf("settled by %q with resolution %+v, want %q", s.Effect.SettledBy, s.Newest, who)
		}
	}
}

func contradicted(t *testing.T, s journal.Snapshot) {
	t.Helper()
	if !s.Effect.Contradicted || s.Newest == nil || s.Newest.Kind != journal.ResolvedContradiction {
		t.Errorf("contradicted %v, newest resolution %+v", s.Effect.Contradicted, s.Newest)
	}
}

func double(t *testing.T, s journal.Snapshot) {
	t.Helper()
	if !s.Effect.ProbablyDouble {
		t.Error("not flagged as probably double")
	}
}

func notDouble(t *testing.T, s journal.Snapshot) {
	t.Helper()
	if s.Effect.ProbablyDouble {
		t.Error("flagged as probably double")
	}
}

package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// TestBeginTable walks every row of the begin table on the real database.
func TestBeginTable(t *testing.T) {
	t.Parallel()
	over := 10 * time.Minute // longer than any lease and deadline here
	tests := []struct {
		name  string
		tool  string
		setup func(d *desk, r journal.BeginRequest) // what stands under the key
		ask   func(r *journal.BeginRequest)
		want  journal.Directive
		err   error // or one of these
		state journal.State
		check func(t *testing.T, d *desk, a journal.BeginAnswer)
	}{
		{name: "none", tool: "mail.send", want: journal.DirectiveExecute, state: journal.StateIntent, check: attemptIs(1)},
		{name: "tombstone", tool: "mail.send", err: journal.ErrExpired,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.commit(r, a, "p1")
				d.pass(a.EffectID, 400*24*time.Hour)
				if n, err := d.Purge(d.t.Context(), 30*24*time.Hour, 100); err != nil || n != 1 {
					d.t.Fatalf("purge: %d, %v", n, err)
				}
			}},
		{name: "quarantined after a restore", tool: "mail.send", err: journal.ErrRestored,
			setup: func(d *desk, _ journal.BeginRequest) { d.exec("update journal_meta set quarantined = true") }},
		{name: "another tool", tool: "mail.send", err: &journal.KeyReusedError{},
			setup: func(d *desk, r journal.BeginRequest) { r.Tool = "ticket.create"; d.begin(r) }},
		{name: "another identity", tool: "mail.send", err: &journal.KeyReusedError{},
			setup: func(d *desk, r journal.BeginRequest) { r.Args = []byte(`{"order":"A2","note":"x"}`); d.begin(r) }},
		{name: "same identity, other fields: drift", tool: "pay", want: journal.DirectiveReturn, state: journal.StateCommitted,
			setup: func(d *desk, r journal.BeginRequest) {
				r.Args = []byte(`{"order":"A1","note":"reworded"}`)
				d.commit(r, d.begin(r), "p1")
			},
			check: func(t *testing.T, d *desk, a journal.BeginAnswer) {
				if len(a.Drift) != 1 || a.Drift[0].Field != "note" || !d.snap(a.EffectID).Effect.Drifted {
					t.Errorf("drift is not recorded: %+v", a.Drift)
				}
			}},
		{name: "COMMITTED", tool: "mail.send", want: journal.DirectiveReturn, state: journal.StateCommitted,
			setup: func(d *desk, r journal.BeginRequest) { d.commit(r, d.begin(r), "p1") },
			check: func(t *testing.T, d *desk, a journal.BeginAnswer) {
				if string(a.Result) != `{"ok":true}` || a.ProviderID != "p1" || a.SettledBy != "worker" {
					t.Errorf("result %s, provider id %s, settled by %s", a.Result, a.ProviderID, a.SettledBy)
				}
				if n := d.count("select count(*) from events where effect_id = $1 and kind = 'dedupe_hit'", a.EffectID); n != 1 {
					t.Errorf("%d dedupe events, want 1", n)
				}
			}},
		{name: "REJECTED", tool: "mail.send", want: journal.DirectiveReturn, state: journal.StateRejected,
			setup: func(d *desk, r journal.BeginRequest) { d.fail(r, d.begin(r), journal.PhaseRefused, true) },
			check: func(t *testing.T, _ *desk, a journal.BeginAnswer) {
				if a.Refusal != "it broke" {
					t.Errorf("refusal %q", a.Refusal)
				}
			}},
		{name: "settled without a commit: result null and who settled it", tool: "mail.send", want: journal.DirectiveReturn, state: journal.StateCommitted,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseSent, false)
				d.decide(a.EffectID, journal.VerbCloseLanded, "")
			},
			check: func(t *testing.T, _ *desk, a journal.BeginAnswer) {
				if a.Result != nil || a.SettledBy != "operator:olga" {
					t.Errorf("result %s settled by %s", a.Result, a.SettledBy)
				}
			}},
		{name: "INTENT live, same claim", tool: "mail.send", want: journal.DirectiveExecute, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) { r.ClaimID = sameClaim; d.begin(r) },
			ask:   func(r *journal.BeginRequest) { r.ClaimID = sameClaim }, check: attemptIs(1)},
		{name: "INTENT stuck, claim of an earlier attempt", tool: "pay", err: journal.ErrClaimUsed,
			setup: func(d *desk, r journal.BeginRequest) {
				r.ClaimID = sameClaim
				d.pass(d.begin(r).EffectID, over)
			},
			ask: func(r *journal.BeginRequest) { r.ClaimID = sameClaim }},
		{name: "INTENT live", tool: "mail.send", want: journal.DirectiveInProgress, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) { d.begin(r) },
			check: func(t *testing.T, _ *desk, a journal.BeginAnswer) {
				if a.Owner != "w1" || a.RetryAfter <= 0 || a.LeaseToken != "" {
					t.Errorf("owner %q, retry after %s, token %q", a.Owner, a.RetryAfter, a.LeaseToken)
				}
			}},
		{name: "INTENT fenced, before retry_at", tool: "mail.send", want: journal.DirectiveRetryLater, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseNotSent, false)
				d.exec("update effects set retry_at = clock_timestamp() + interval '1 minute' where id = $1", a.EffectID)
			}},
		{name: "INTENT fenced, budget spent, nothing exposed", tool: "mail.send", want: journal.DirectiveHardStop, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseNotSent, false)
				d.pass(a.EffectID, over)
				d.exec("update budgets set spent = 6")
			},
			check: func(t *testing.T, d *desk, a journal.BeginAnswer) {
				if !d.snap(a.EffectID).Effect.GaveUp {
					t.Error("not marked as given up")
				}
				if n, err := d.RaiseAlerts(t.Context()); err != nil || n != 0 {
					t.Errorf("giving up raised %d alerts (%v), want none", n, err)
				}
			}},
		{name: "INTENT fenced, budget spent, exposed", tool: "pay", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseSent, false)
				d.pass(a.EffectID, over)
				d.exec("update budgets set spent = 6")
			}, check: reasonIs(journal.ReasonBudgetSpent)},
		{name: "INTENT fenced, budget spent, exposed, journal_deduped verifies first", tool: "ticket.create", want: journal.DirectiveVerifying, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseSent, false)
				d.pass(a.EffectID, over)
				d.exec("update budgets set spent = 6")
			}},
		{name: "INTENT stuck, every attempt not sent", tool: "mail.send", want: journal.DirectiveExecute, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseNotSent, false)
				d.pass(a.EffectID, over)
			}, check: attemptIs(2)},
		{name: "INTENT stuck, refused and retryable", tool: "mail.send", want: journal.DirectiveExecute, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseRefused, false)
				d.pass(a.EffectID, over)
			}, check: attemptIs(2)},
		{name: "INTENT stuck, not sent, but a hit", tool: "mail.send", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseNotSent, false)
				d.look(a.EffectID, journal.Found)
				d.pass(a.EffectID, over)
			}, check: reasonIs(journal.ReasonHit)},
		{name: "INTENT stuck, exposed, provider_idempotent, window covers", tool: "pay", want: journal.DirectiveExecute, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) { d.pass(d.begin(r).EffectID, over) },
			check: func(t *testing.T, _ *desk, a journal.BeginAnswer) {
				if a.Attempt != 2 || a.Issue != 1 || a.ProviderKey != journal.ProviderKey(a.Ref, 1) {
					t.Errorf("attempt %d issue %d: the provider key must stay", a.Attempt, a.Issue)
				}
				if string(a.Args) != `{"order":"A1","note":"x"}` {
					t.Errorf("args %s, want the stored ones", a.Args)
				}
				if a.KeyWindow > time.Hour-9*time.Minute {
					t.Errorf("window %s is not counted from the first exposed grant", a.KeyWindow)
				}
			}},
		{name: "INTENT stuck, exposed, provider_idempotent, a hit is exempt", tool: "pay", want: journal.DirectiveExecute, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.pass(a.EffectID, over)
				d.sweep()
				d.look(a.EffectID, journal.Found)
			}, check: attemptIs(2)},
		{name: "INTENT stuck, exposed, provider_idempotent, window over", tool: "pay", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) { d.pass(d.begin(r).EffectID, 2*time.Hour) }, check: reasonIs(journal.ReasonWindowOver)},
		{name: "INTENT stuck, exposed, journal_deduped", tool: "ticket.create", want: journal.DirectiveVerifying, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) { d.pass(d.begin(r).EffectID, over) },
			check: func(t *testing.T, d *desk, a journal.BeginAnswer) {
				s := d.snap(a.EffectID)
				if cur, _ := s.Current(); cur.FencedAt.IsZero() || s.Effect.NextLookAt.IsZero() {
					t.Error("verifying must fence and schedule a look")
				}
			}},
		{name: "journal_deduped, FOUND settles", tool: "ticket.create", want: journal.DirectiveReturn, state: journal.StateCommitted,
			setup: func(d *desk, r journal.BeginRequest) { verifying(d, r, journal.Found) },
			check: func(t *testing.T, _ *desk, a journal.BeginAnswer) {
				if a.SettledBy != "policy" || a.Result != nil {
					t.Errorf("settled by %s with %s", a.SettledBy, a.Result)
				}
			}},
		{name: "journal_deduped, NOT_FOUND clears", tool: "ticket.create", want: journal.DirectiveExecute, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) { verifying(d, r, journal.NotFound) }, check: attemptIs(2)},
		{name: "journal_deduped, NOT_FOUND then a hit", tool: "ticket.create", want: journal.DirectiveReturn, state: journal.StateCommitted,
			setup: func(d *desk, r journal.BeginRequest) { verifying(d, r, journal.NotFound, journal.Found) }},
		{name: "journal_deduped, too early: asks again", tool: "ticket.create", want: journal.DirectiveVerifying, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) { verifying(d, r, journal.CannotTell) }},
		{name: "journal_deduped, FOUND_PENDING: asks again", tool: "ticket.create", want: journal.DirectiveVerifying, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) { verifying(d, r, journal.FoundPending) }},
		{name: "journal_deduped, DUPLICATE", tool: "ticket.create", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) { verifying(d, r, journal.Duplicate) }, check: reasonIs(journal.ReasonDuplicate)},
		{name: "journal_deduped, FOUND_NOT_EFFECTIVE", tool: "ticket.create", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) { verifying(d, r, journal.FoundNotEffective) }, check: reasonIs(journal.ReasonNotEffective)},
		{name: "journal_deduped, no adapter", tool: "note.create", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) { d.pass(d.begin(r).EffectID, over) }, check: reasonIs(journal.ReasonNoUsefulLook)},
		{name: "INTENT stuck, exposed, at_most_once", tool: "mail.send", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) { d.pass(d.begin(r).EffectID, over) }, check: reasonIs(journal.ReasonAtMostOnce)},
		{name: "at_most_once, a NOT_FOUND does not clear", tool: "mail.send", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.pass(a.EffectID, over)
				d.sweep()
				d.look(a.EffectID, journal.NotFound)
			}},
		{name: "PARKED", tool: "mail.send", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) { d.fail(r, d.begin(r), journal.PhaseSent, false) }},
		{name: "REISSUE, order valid", tool: "mail.send", want: journal.DirectiveExecute, state: journal.StateIntent,
			setup: func(d *desk, r journal.BeginRequest) { ordered(d, r) },
			check: func(t *testing.T, d *desk, a journal.BeginAnswer) {
				if a.Attempt != 2 || a.Issue != 2 || a.OrderID == "" || a.ProviderKey == journal.ProviderKey(a.Ref, 1) {
					t.Errorf("attempt %d, issue %d, order %q", a.Attempt, a.Issue, a.OrderID)
				}
				if n := d.count("select count(*) from deliveries where effect_id = $1 and acked_at is null", a.EffectID); n != 0 {
					t.Errorf("%d deliveries open although the order was picked up", n)
				}
			}},
		{name: "REISSUE, order expired", tool: "mail.send", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) { d.pass(ordered(d, r), 48*time.Hour) }, check: reasonIs(journal.ReasonOrderVoid)},
		{name: "REISSUE, a hit since", tool: "mail.send", want: journal.DirectiveParked, state: journal.StateParked,
			setup: func(d *desk, r journal.BeginRequest) { d.look(ordered(d, r), journal.Found) }, check: reasonIs(journal.ReasonHit)},
		{name: "ABANDONED", tool: "mail.send", want: journal.DirectiveAbandoned, state: journal.StateAbandoned,
			setup: func(d *desk, r journal.BeginRequest) {
				a := d.begin(r)
				d.fail(r, a, journal.PhaseSent, false)
				d.decide(a.EffectID, journal.VerbCloseNotLanded, "")
			}},
		{name: "read only", tool: "lookup", err: journal.ErrNotJournaled},
		{name: "unknown tool", tool: "nobody.knows", err: journal.ErrUnknownTool},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			r := request(tt.tool, "run-1/step/do")
			if tt.setup != nil {
				tt.setup(d, r)
			}
			r.ClaimID = journal.NewToken()
			if tt.ask != nil {
				tt.ask(&r)
			}
			a, err := d.Begin(t.Context(), r)
			if tt.err != nil {
				assertError(t, err, tt.err)
				return
			}
			if err != nil {
				t.Fatalf("begin: %v", err)
			}
			if a.Directive != tt.want {
				t.Fatalf("directive %s (%s), want %s", a.Directive, a.Reason, tt.want)
			}
			if got := d.snap(a.EffectID).Effect.State; got != tt.state {
				t.Errorf("state %s, want %s", got, tt.state)
			}
			if tt.check != nil {
				tt.check(t, d, a)
			}
		})
	}
}

const sameClaim = "0123456789abcdef0123456789abcdef"

func attemptIs(n int) func(*testing.T, *desk, journal.BeginAnswer) {
	return func(t *testing.T, _ *desk, a journal.BeginAnswer) {
		t.Helper()
		if a.Attempt != n || a.LeaseToken == "" || a.Ref == "" || a.SendBy <= 0 || a.Deadline < a.SendBy {
			t.Errorf("want attempt %d with token, ref and times: %+v", n, a)
		}
	}
}

func reasonIs(reason string) func(*testing.T, *desk, journal.BeginAnswer) {
	return func(t *testing.T, _ *desk, a journal.BeginAnswer) {
		t.Helper()
		if a.Reason != reason {
			t.Errorf("reason %q, want %q", a.Reason, reason)
		}
	}
}

// verifying brings a journal_deduped effect to its looks.
func verifying(d *desk, r journal.BeginRequest, verdicts ...journal.Verdict) {
	a := d.begin(r)
	d.pass(a.EffectID, 10*time.Minute)
	d.sweep()
	for _, v := range verdicts {
		d.look(a.EffectID, v, func(e *journal.Evidence) {
			if v == journal.FoundPending {
				e.LookAgainAt = e.StartedAt.Add(time.Minute)
			}
		})
	}
}

// ordered brings an at_most_once effect to an open order and returns its id.
func ordered(d *desk, r journal.BeginRequest) string {
	a := d.begin(r)
	d.fail(r, a, journal.PhaseSent, false)
	d.look(a.EffectID, journal.NotFound)
	d.decide(a.EffectID, journal.VerbReissue, journal.NewKey)
	return a.EffectID
}

func assertError(t *testing.T, got, want error) {
	t.Helper()
	var reused *journal.KeyReusedError
	if _, ok := want.(*journal.KeyReusedError); ok {
		if !errors.As(got, &reused) || len(reused.Fields) == 0 {
			t.Fatalf("got %v, want a key_reused error with fields", got)
		}
		return
	}
	if !errors.Is(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestHappyPathIsTwoStatements counts what goes to the server once the tool is
// known: one INSERT and one UPDATE, no BEGIN, no COMMIT.
func TestHappyPathIsTwoStatements(t *testing.T) {
	t.Parallel()
	d, seen := openDesk(t).traced()
	r := request("mail.send", "warm")
	d.commit(r, d.begin(r), "p")
	seen.reset()
	r = request("mail.send", "counted")
	d.commit(r, d.begin(r), "p")
	if len(seen.sql) != 2 {
		t.Fatalf("the happy path took %d statements, want 2:\n%q", len(seen.sql), seen.sql)
	}
}

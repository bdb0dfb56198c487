package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	"github.com/landedhq/landed/journal/postgres"
)

func nothing(*desk, *subject) {}

// transitions lists what the store does durably.
func transitions() []transition {
	out := append(beginTransitions(), reportTransitions()...)
	return append(append(out, deskTransitions()...), alertTransitions()...)
}

// endsIn is what a transition leaves of the effect, as the first words of its
// line: the design's tables, so that the matrix does not compare two wrongs.
func endsIn(name string) string {
	state, ok := map[string]string{
		"begin/insert": "INTENT attempt 1", "begin/drift": "INTENT attempt 2", "begin/regrant after not_sent": "INTENT attempt 2",
		"begin/regrant under the provider's key": "INTENT attempt 2 under number 1", "begin/regrant after not found": "INTENT attempt 2",
		"begin/parks": "PARKED attempt 1", "begin/verifies": "INTENT attempt 1", "begin/consumes an order": "INTENT attempt 2 under number 2",
		"begin/finds the order void": "PARKED attempt 1", "begin/returns and closes the delivery": "COMMITTED", "begin/key reused": "INTENT attempt 1",
		"commit/in time": "COMMITTED attempt 1", "commit/of a second attempt": "COMMITTED attempt 2", "commit/of an ordered attempt": "COMMITTED attempt 2",
		"commit/late on parked": "COMMITTED attempt 1", "commit/late on abandoned": "COMMITTED attempt 1", "commit/orphan": "COMMITTED",
		"fail/not_sent": "INTENT attempt 1", "fail/not_sent under an order": "REISSUE attempt 2", "fail/sent, at_most_once": "PARKED",
		"fail/sent, provider_idempotent": "INTENT", "fail/sent, journal_deduped": "INTENT", "fail/refused for good": "REJECTED",
		"fail/late refusal": "REJECTED", "fail/orphan": "PARKED",
		"sweep/parks": "PARKED", "sweep/fences": "INTENT", "sweep/ends an order": "PARKED",
		"evidence/found settles": "COMMITTED", "evidence/not found clears": "INTENT", "evidence/found voids the order": "PARKED",
		"evidence/found contradicts": "PARKED", "decide/reissue": "REISSUE", "decide/close_landed": "COMMITTED", "decide/close_not_landed": "ABANDONED",
		"decide/reopen": "PARKED", "propose": "PARKED", "approve": "REISSUE", "reject": "PARKED",
		"acknowledge": "COMMITTED", "ack": "COMMITTED", "heartbeat": "INTENT", "handle": "INTENT", "register a tool": "INTENT", "claim looks": "PARKED",
	}[name]
	if !ok { // what it concerns is not the effect's state
		return ""
	}
	return "effect " + state
}

func runBegin(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
	a, err := s.Begin(ctx, x.request)
	var reused *journal.KeyReusedError
	if errors.As(err, &reused) {
		return "key reused", nil
	}
	return fmt.Sprintf("%s %s attempt %d issue %d token %v", a.Directive, a.Reason, a.Attempt, a.Issue, a.LeaseToken != ""), err
}

func beginTransitions() []transition {
	reused := func(_ *desk, x *subject) { x.request.Args = []byte(`{"order":"B2","note":"x"}`) }
	return []transition{
		{"begin/insert", nothing, runBegin},
		{"begin/drift", then(begun("pay"), passed, func(_ *desk, x *subject) { x.request.Args = []byte(`{"order":"A1","note":"y"}`) }), runBegin},
		{"begin/regrant after not_sent", then(begun("mail.send"), failed(journal.PhaseNotSent), passed), runBegin},
		{"begin/regrant under the provider's key", then(begun("pay"), passed), runBegin},
		{"begin/regrant after not found", then(begun("ticket.create"), failed(journal.PhaseSent), looked(journal.NotFound)), runBegin},
		{"begin/parks", then(begun("mail.send"), passed), runBegin},
		{"begin/verifies", then(begun("ticket.create"), passed), runBegin},
		{"begin/consumes an order", withOrder, runBegin},
		{"begin/finds the order void", then(withOrder, func(d *desk, x *subject) { d.pass(x.id, 48*time.Hour) }), runBegin},
		{"begin/returns and closes the delivery", then(begun("mail.send"), failed(journal.PhaseSent), decided(journal.VerbCloseLanded, "")), runBegin},
		{"begin/key reused", then(begun("mail.send"), reused), runBegin},
	}
}

func runCommit(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
	a, err := s.Commit(ctx, journal.CommitRequest{Report: x.report, ProviderID: "p-1", Result: []byte(`{"ok":true}`)})
	return fmt.Sprintf("%s double %v contradicted %v orphan %v", a.State, a.Double, a.Contradicted, a.Orphan), err
}

func runFail(p journal.Phase, final bool) func(context.Context, *postgres.Store, *subject) (string, error) {
	return func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
		a, err := s.Fail(ctx, journal.FailRequest{Report: x.report, Phase: p, Final: final, Error: "it broke", Status: 503})
		return fmt.Sprintf("%s %s", a.Directive, a.State), err
	}
}

// unknown stages a report for an effect that the journal does not know.
func unknown(_ *desk, x *subject) {
	x.report = journal.Report{EffectID: journal.NewID(time.Now()), Attempt: 1, LeaseToken: journal.NewToken(), Key: x.key, Tool: "mail.send", Worker: "w1"}
}

func reportTransitions() []transition {
	second := func(d *desk, x *subject) {
		r := x.request
		r.ClaimID = journal.NewToken()
		x.report = report(r, d.begin(r))
	}
	return []transition{
		{"commit/in time", begun("mail.send"), runCommit},
		{"commit/of a second attempt", then(begun("pay"), passed, second), runCommit},
		{"commit/of an ordered attempt", orderedAttempt, runCommit},
		{"commit/late on parked", then(begun("mail.send"), failed(journal.PhaseSent)), runCommit},
		{"commit/late on abandoned", then(begun("mail.send"), failed(journal.PhaseSent), decided(journal.VerbCloseNotLanded, "")), runCommit},
		{"commit/orphan", unknown, runCommit},
		{"fail/not_sent", begun("mail.send"), runFail(journal.PhaseNotSent, false)},
		{"fail/not_sent under an order", orderedAttempt, runFail(journal.PhaseNotSent, false)},
		{"fail/sent, at_most_once", begun("mail.send"), runFail(journal.PhaseSent, false)},
		{"fail/sent, provider_idempotent", begun("pay"), runFail(journal.PhaseSent, false)},
		{"fail/sent, journal_deduped", begun("ticket.create"), runFail(journal.PhaseSent, false)},
		{"fail/refused for good", begun("mail.send"), runFail(journal.PhaseRefused, true)},
		{"fail/late refusal", then(begun("mail.send"), failed(journal.PhaseSent)), runFail(journal.PhaseRefused, true)},
		{"fail/orphan", unknown, runFail(journal.PhaseSent, false)},
		{"heartbeat", begun("mail.send"), func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			a, err := s.Heartbeat(ctx, x.report)
			return fmt.Sprintf("alive %v", a.LeaseFor > 0), err
		}},
		{"handle", begun("mail.send"), func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			return "kept", s.Handle(ctx, journal.HandleRequest{Report: x.report, Kind: "draft", Value: "d-1"})
		}},
	}
}

// noLooker: the evidence that was staged is fresh.
type noLooker struct{}

func (noLooker) CanLook(string) bool { return false }

func (noLooker) LookNow(context.Context, string, string) (journal.Evidence, error) {
	return journal.Evidence{}, errors.New("nobody can be asked")
}

// runDecide is what page, API and command line call: a second try finds the
// first one's outcome.
func runDecide(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
	r, err := decide.New(s, noLooker{}, slog.New(slog.DiscardHandler)).Decide(ctx, x.decision)
	return fmt.Sprintf("%s %s", r.Decision.Verb, r.Decision.Mode), err
}

func deciding(v journal.Verb, m journal.ReissueMode) func(*desk, *subject) {
	return func(d *desk, x *subject) { x.decision = d.decision(x.id, v, m) }
}

// runPropose answers a second try with the proposal that is there.
func runPropose(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
	_, err := s.Propose(ctx, x.decision)
	var stale *journal.StaleError
	if errors.As(err, &stale) || policyCode(err) == journal.PolicyProposed {
		now, loadErr := s.Snapshot(ctx, x.id)
		if loadErr == nil && now.Proposal.Open(now.Now) && now.Proposal.Decision.Reason == x.decision.Reason {
			err = nil
		}
	}
	return "proposed", err
}

func proposing(d *desk, x *subject) {
	p, err := d.Propose(d.t.Context(), d.decision(x.id, journal.VerbReissue, journal.NewKey))
	if err != nil {
		d.t.Fatal(err)
	}
	x.approval = d.approval(&p, approver)
}

// brokenGlass takes a decision alone that a rule asks two people for.
func brokenGlass(d *desk, x *subject) {
	d.decide(x.id, journal.VerbCloseLanded, "")
	s := d.snap(x.id)
	x.other = journal.NewID(s.Now)
	d.exec("insert into reviews (id, effect_id, decision_id, opened_at, due_at) select $1, d.effect_id, d.id, d.at, d.at + interval '7 days' from decisions d where d.effect_id = $2", x.other, x.id)
}

func runLook(v journal.Verdict) func(context.Context, *postgres.Store, *subject) (string, error) {
	return func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
		l, err := s.Snapshot(ctx, x.id)
		if err != nil {
			return "", err
		}
		e := journal.Evidence{EffectID: x.id, Adapter: "asked", Kind: "test", Verdict: v, StartedAt: l.Now, FinishedAt: l.Now,
			Digest: journal.NewToken(), RequestedBy: "schedule", CoversAttempt: l.Effect.Attempt}
		_, err = s.RecordEvidence(ctx, e)
		return string(v), err
	}
}

func runSweep(ctx context.Context, s *postgres.Store, _ *subject) (string, error) {
	_, err := s.Sweep(ctx, 100)
	return "swept", err
}

func deskTransitions() []transition {
	parked := then(begun("mail.send"), failed(journal.PhaseSent))
	open := then(parked, decided(journal.VerbCloseLanded, ""), func(d *desk, x *subject) { x.other = d.snap(x.id).Newest.ID })
	flagged := then(parked, decided(journal.VerbCloseNotLanded, ""), func(d *desk, x *subject) {
		if _, err := runCommit(d.t.Context(), d.Store, x); err != nil {
			d.t.Fatal(err)
		}
	})
	return []transition{
		{"sweep/parks", then(begun("mail.send"), passed), runSweep},
		{"sweep/fences", then(begun("ticket.create"), passed), runSweep},
		{"sweep/ends an order", then(withOrder, func(d *desk, x *subject) { d.pass(x.id, 48*time.Hour) }), runSweep},
		{"evidence/found settles", then(begun("ticket.create"), failed(journal.PhaseSent)), runLook(journal.Found)},
		{"evidence/not found clears", then(begun("ticket.create"), failed(journal.PhaseSent)), runLook(journal.NotFound)},
		{"evidence/found voids the order", withOrder, runLook(journal.Found)},
		{"evidence/found contradicts", then(parked, decided(journal.VerbCloseNotLanded, "")), runLook(journal.Found)},
		{"decide/reissue", then(parked, looked(journal.NotFound), deciding(journal.VerbReissue, journal.NewKey)), runDecide},
		{"decide/close_landed", then(parked, deciding(journal.VerbCloseLanded, "")), runDecide},
		{"decide/close_not_landed", then(parked, deciding(journal.VerbCloseNotLanded, "")), runDecide},
		{"decide/reopen", then(begun("ticket.create"), failed(journal.PhaseSent), looked(journal.Found), deciding(journal.VerbReopen, "")), runDecide},
		{"propose", then(parked, deciding(journal.VerbReissue, journal.NewKey)), runPropose},
		{"approve", then(parked, looked(journal.NotFound), proposing), func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			r, err := decide.New(s, noLooker{}, slog.New(slog.DiscardHandler)).Approve(ctx, x.approval)
			return fmt.Sprintf("%s %s", r.Decision.Verb, r.Decision.Mode), err
		}},
		{"reject", then(parked, proposing), func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			err := s.Reject(ctx, x.approval)
			if policyCode(err) == journal.PolicyNoProposal { // a second try finds it ended
				err = nil
			}
			return "rejected", err
		}},
		{"review", then(parked, brokenGlass), func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			err := s.CloseReview(ctx, journal.ReviewClose{ID: x.other, Actor: approver, Agreed: true, Reason: "there was nobody else"})
			if errors.Is(err, journal.ErrConflict) { // a second try finds it closed
				err = nil
			}
			return "reviewed", err
		}},
		{"acknowledge", flagged, func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			err := s.Acknowledge(ctx, x.id, operator, "asked the customer")
			var done *journal.InvalidError // there is nothing left to acknowledge
			if errors.As(err, &done) {
				err = nil
			}
			return "acknowledged", err
		}},
		{"ack", open, func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			return "acked", s.AckIn(ctx, nil, x.other, "worker:w1")
		}},
		{"claim looks", parked, func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			_, err := s.ClaimLooks(ctx, "asked", 10, time.Minute)
			return "claimed", err
		}},
		{"register a tool", begun("mail.send"), func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			t := journal.Tool{Name: "t." + x.key, Class: journal.ClassAtMostOnce, ClientTimeout: time.Second}
			return "registered", s.RegisterTool(ctx, t)
		}},
		{"purge", then(begun("mail.send"), func(d *desk, x *subject) {
			if _, err := runCommit(d.t.Context(), d.Store, x); err != nil {
				d.t.Fatal(err)
			}
			d.pass(x.id, 48*time.Hour)
		}), func(ctx context.Context, s *postgres.Store, _ *subject) (string, error) {
			_, err := s.Purge(ctx, time.Hour, 100)
			return "purged", err
		}},
	}
}

// alertTransitions: of one parked effect in its own group, as groups wait.
func alertTransitions() []transition {
	parked := func(d *desk, x *subject) {
		t := journal.Tool{Name: "mail." + x.key, Class: journal.ClassAtMostOnce, Provider: "asked", ClientTimeout: time.Second}
		if err := d.RegisterTool(d.t.Context(), t); err != nil {
			d.t.Fatal(err)
		}
		then(begun(t.Name), failed(journal.PhaseSent))(d, x)
	}
	raised := then(parked, func(d *desk, _ *subject) {
		if _, err := d.RaiseAlerts(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
	})
	bound := then(raised, func(d *desk, x *subject) {
		if _, err := d.BindAlertMessages(d.t.Context(), []string{"hook"}); err != nil {
			d.t.Fatal(err)
		}
		if err := d.Pool().QueryRow(d.t.Context(), "select id from alert_messages where first_effect = $1", x.id).Scan(&x.other); err != nil {
			d.t.Fatal(err)
		}
	})
	return []transition{
		{"alerts/raise", parked, func(ctx context.Context, s *postgres.Store, _ *subject) (string, error) {
			_, err := s.RaiseAlerts(ctx)
			return "raised", err
		}},
		{"alerts/bind", raised, func(ctx context.Context, s *postgres.Store, _ *subject) (string, error) {
			_, err := s.BindAlertMessages(ctx, []string{"hook", "mail"})
			return "bound", err
		}},
		{"alerts/claim", bound, func(ctx context.Context, s *postgres.Store, _ *subject) (string, error) {
			_, err := s.ClaimAlertMessages(ctx, 10)
			return "claimed", err
		}},
		{"alerts/sent", bound, func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			return "sent", s.AlertSent(ctx, x.other)
		}},
		{"alerts/failed", bound, func(ctx context.Context, s *postgres.Store, x *subject) (string, error) {
			return "failed", s.AlertFailed(ctx, x.other, "no", time.Minute, false)
		}},
	}
}

package conform

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func commitCases() []testCase {
	return []testCase{
		{"commit/in time and repeated", commitTwice},
		{"commit/conflict", commitConflict},
		{"commit/late settles PARKED", commitLate},
		{"commit/late contradicts ABANDONED", commitContradicts},
		{"commit/unknown effect, known key", commitKnownKey},
		{"commit/unknown effect and key is an orphan", commitOrphan},
		{"commit/unknown attempt", commitUnknownAttempt},
	}
}

func commitTwice(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, d.begin(r, journal.DirectiveExecute))
	first := d.commit(rep, "m1", []byte(`{"ok":true}`))
	if diff := cmp.Diff(journal.CommitAnswer{EffectID: rep.EffectID, State: journal.StateCommitted}, first); diff != "" {
		d.Errorf("the first commit answered:\n%s", diff)
	}
	second := d.commit(rep, "m1", []byte(`{"ok":true}`))
	if diff := cmp.Diff(journal.CommitAnswer{EffectID: rep.EffectID, State: journal.StateCommitted, Late: true}, second); diff != "" {
		d.Errorf("the second commit answered:\n%s", diff)
	}
}

func commitConflict(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, d.begin(r, journal.DirectiveExecute))
	d.commit(rep, "m1", nil)
	a, err := d.Commit(d.Context(), journal.CommitRequest{Report: rep, ProviderID: "m2"})
	if !errors.Is(err, journal.ErrCommitConflict) || a.EffectID != rep.EffectID || a.State != journal.StateCommitted {
		d.Errorf("commit under another provider id: %+v, %v", a, err)
	}
}

func commitLate(d *desk) {
	r, a, _ := d.park("k")
	got := d.commit(report(r, a), "m1", []byte(`1`))
	if !got.Late || got.State != journal.StateCommitted || got.Contradicted || got.Double {
		d.Errorf("the late commit answered %+v", got)
	}
	res, err := d.Decision(d.Context(), a.EffectID, 0, 0)
	if err != nil || res == nil || res.Kind != journal.ResolvedCommitted || res.By != "late_commit" {
		d.Errorf("the resolution is %+v, %v", res, err)
	}
}

func commitContradicts(d *desk) {
	r, a, _ := d.park("k")
	d.decide(a.EffectID, journal.VerbCloseNotLanded, "")
	got := d.commit(report(r, a), "m1", nil)
	if !got.Late || got.State != journal.StateCommitted || !got.Contradicted {
		d.Errorf("the contradicting commit answered %+v", got)
	}
}

func commitKnownKey(d *desk) {
	r := request("mail.send", "k")
	a := d.begin(r, journal.DirectiveExecute)
	rep := report(r, a)
	rep.EffectID = journal.NewID(time.Now()) // the row that it knew was lost
	rep.LeaseToken = journal.NewToken()
	if got := d.commit(rep, "m1", nil); got.EffectID != a.EffectID || got.Orphan {
		d.Errorf("the commit answered %+v, want a late fact on %s", got, a.EffectID)
	}
}

func commitOrphan(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, journal.BeginAnswer{EffectID: journal.NewID(time.Now()), Attempt: 1, LeaseToken: journal.NewToken()})
	got := d.commit(rep, "m1", []byte(`{"ok": 1}`))
	if !got.Orphan || got.State != journal.StateCommitted || got.EffectID == rep.EffectID {
		d.Fatalf("the orphan's commit answered %+v", got)
	}
	s := d.snap(got.EffectID)
	if !s.Effect.Orphan || s.Effect.Key != "k" || string(s.Effect.Result) != `{"ok": 1}` || s.Effect.ProviderID != "m1" {
		d.Errorf("the orphan is %+v", s.Effect)
	}
}

func commitUnknownAttempt(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, d.begin(r, journal.DirectiveExecute))
	rep.LeaseToken = journal.NewToken()
	if _, err := d.Commit(d.Context(), journal.CommitRequest{Report: rep}); !errors.Is(err, journal.ErrUnknownAttempt) {
		d.Errorf("commit with another token: %v", err)
	}
	rep.LeaseToken, rep.Attempt = "", 0
	_, err := d.Commit(d.Context(), journal.CommitRequest{Report: rep})
	d.invalid(err, "attempt", "is missing")
}

func failCases() []testCase {
	cases := []testCase{
		{"fail/late refusal settles", failLateRefusal},
		{"fail/orphan", failOrphan},
		{"fail/bad phase", failBadPhase},
		{"fail/what the provider asked for wins", failRetryAfter},
	}
	for _, c := range []struct {
		name, tool string
		phase      journal.Phase
		final      bool
		want       journal.Directive
		state      journal.State
	}{
		{"not_sent", "mail.send", journal.PhaseNotSent, false, journal.DirectiveRetry, journal.StateIntent},
		{"refused for now", "mail.send", journal.PhaseRefused, false, journal.DirectiveRetry, journal.StateIntent},
		{"refused for good", "mail.send", journal.PhaseRefused, true, journal.DirectiveRejected, journal.StateRejected},
		{"sent, at_most_once", "mail.send", journal.PhaseSent, false, journal.DirectiveParked, journal.StateParked},
		{"sent, provider_idempotent", "pay", journal.PhaseSent, false, journal.DirectiveRetry, journal.StateIntent},
		{"sent, journal_deduped", "ticket/create", journal.PhaseSent, false, journal.DirectiveVerifying, journal.StateIntent},
	} {
		cases = append(cases, testCase{"fail/" + c.name, func(d *desk) {
			r := request(c.tool, "k")
			a := d.begin(r, journal.DirectiveExecute)
			f := d.fail(report(r, a), c.phase, c.final)
			if f.Directive != c.want || f.State != c.state || f.EffectID != a.EffectID {
				d.Errorf("fail answered %+v, want %s and %s", f, c.want, c.state)
			}
			got := d.snap(a.EffectID).Attempts[0]
			if got.Phase != c.phase || got.Error != "it broke" || got.Status != 500 || got.Final != c.final {
				d.Errorf("recorded is %+v", got)
			}
		}})
	}
	return cases
}

func failLateRefusal(d *desk) {
	r, a, _ := d.park("k")
	f := d.fail(report(r, a), journal.PhaseRefused, true)
	if f.Directive != journal.DirectiveRejected || f.State != journal.StateRejected {
		d.Errorf("the late refusal answered %+v", f)
	}
	res, err := d.Decision(d.Context(), a.EffectID, 0, 0)
	if err != nil || res == nil || res.Kind != journal.ResolvedRejected {
		d.Errorf("the resolution is %+v, %v", res, err)
	}
}

func failOrphan(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, journal.BeginAnswer{EffectID: journal.NewID(time.Now()), Attempt: 1, LeaseToken: journal.NewToken()})
	f := d.fail(rep, journal.PhaseSent, false)
	if f.Directive != journal.DirectiveParked || f.Reason != journal.ReasonOrphan || f.EffectID == rep.EffectID {
		d.Errorf("the orphan's fail answered %+v", f)
	}
}

func failBadPhase(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, d.begin(r, journal.DirectiveExecute))
	_, err := d.Fail(d.Context(), journal.FailRequest{Report: rep, Phase: journal.PhaseConfirmed})
	d.invalid(err, "phase", "none of")
}

func failRetryAfter(d *desk) {
	r := request("mail.send", "k")
	rep := report(r, d.begin(r, journal.DirectiveExecute))
	f, err := d.Fail(d.Context(), journal.FailRequest{Report: rep, Phase: journal.PhaseRefused, RetryAfter: 90 * time.Second})
	if err != nil || f.RetryAfter != 90*time.Second {
		d.Errorf("fail answered %+v, %v", f, err)
	}
}

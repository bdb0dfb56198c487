package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	"github.com/landedhq/landed/journal/postgres"
)

var approver = journal.Actor{Issuer: "https://idp.test", Subject: "anna", Name: "Anna Approver", Roles: []journal.Role{journal.RoleApprover}}

// fourEyes asks for a second person on re-issues of mails, and lets one pass over
// a match.
func fourEyes(o *postgres.Options) {
	o.Policy.Version = "test/7"
	o.Policy.Overrides = []string{journal.WhyFound, journal.WhyTooEarly}
	o.Policy.Rules = []journal.Rule{{Name: "mails twice", Tools: []string{"mail.*"}, Verbs: []journal.Verb{journal.VerbReissue}, FourEyes: true}}
}

func (d *desk) approval(p *journal.Proposal, who journal.Actor) journal.Approval {
	d.t.Helper()
	s := d.snap(p.Decision.EffectID)
	return journal.Approval{ProposalID: p.ID, EffectID: p.Decision.EffectID, Actor: who, Reason: "checked it with the customer", Expected: s.Effect.Version, Digest: s.EvidenceDigest()}
}

func (d *desk) propose(u *decide.UseCase, one journal.Decision) *journal.Proposal {
	d.t.Helper()
	r, err := u.Decide(d.t.Context(), one)
	if err != nil || r.Proposal == nil {
		d.t.Fatalf("proposing: %+v, %v", r, err)
	}
	return r.Proposal
}

// audited lists the kinds of an effect's audit rows, in order.
func (d *desk) audited(id string) []string {
	d.t.Helper()
	rows, err := d.AuditRows(d.t.Context(), 0, 100)
	if err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].EffectID == id {
			out = append(out, rows[i].Kind)
		}
	}
	return out
}

func policyCode(err error) string {
	var pe *journal.PolicyError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

// TestFourEyes: what a rule asks a second person for is proposed, orders nothing,
// and becomes a decision by another person's word only.
func TestFourEyes(t *testing.T) {
	t.Parallel()
	d := openDesk(t, fourEyes)
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	one := d.decision(id, journal.VerbReissue, journal.NewKey)
	p := d.propose(u, one)
	if s := d.snap(id); s.Effect.State != journal.StateParked || s.Order != nil || !s.Proposal.Open(s.Now) {
		t.Fatalf("after proposing: %s, order %v, proposal %+v", s.Effect.State, s.Order, s.Proposal)
	}
	if got := d.rows(id); got != [3]int{0, 0, 0} {
		t.Fatalf("decisions, deliveries, decided rows %v after proposing", got)
	}
	page, err := d.List(t.Context(), journal.ListFilter{})
	if err != nil || len(page.Rows) != 1 || !page.Rows[0].Proposal.Open(page.Now) || page.Rows[0].Proposal.Decision.Actor.Name != operator.Name {
		t.Errorf("on the list: %+v, %v", page.Rows, err)
	}
	again, err := u.Decide(t.Context(), one)
	if err != nil || !again.Repeated || again.Proposal.ID != p.ID {
		t.Errorf("the second click: %+v, %v", again, err)
	}
	if _, err := u.Approve(t.Context(), d.approval(p, operator)); policyCode(err) != journal.PolicyOwnProposal {
		t.Errorf("approving one's own: %v", err)
	}
	other := journal.Actor{Issuer: operator.Issuer, Subject: "otto", Name: "Otto", Roles: []journal.Role{journal.RoleOperator}}
	if _, err := u.Approve(t.Context(), d.approval(p, other)); policyCode(err) != journal.PolicyRole {
		t.Errorf("approving without the role: %v", err)
	}
	stale := d.approval(p, approver)
	stale.Expected--
	var se *journal.StaleError
	if _, err := u.Approve(t.Context(), stale); !errors.As(err, &se) {
		t.Errorf("approving what was not seen: %v", err)
	}
	word := d.approval(p, approver)
	done, err := u.Approve(t.Context(), word)
	if err != nil {
		t.Fatal(err)
	}
	if done.Decision.Actor.Subject != "olga" || done.Decision.Approval == nil || done.Decision.Approval.Actor.Subject != "anna" {
		t.Errorf("decided by %+v", done.Decision)
	}
	if r, err := u.Approve(t.Context(), word); err != nil || !r.Repeated || r.Decision.ID != done.Decision.ID {
		t.Errorf("the approver's second click: %+v, %v", r, err)
	}
	if s := d.snap(id); s.Effect.State != journal.StateReissue || s.Proposal.Ended != journal.ProposalApproved {
		t.Errorf("after the approval: %s, %+v", s.Effect.State, s.Proposal)
	}
	if got := d.rows(id); got != [3]int{1, 1, 1} {
		t.Errorf("decisions, deliveries, decided rows %v, want one each", got)
	}
	k, err := d.Case(t.Context(), id)
	if err != nil || len(k.Decisions) != 1 || k.Decisions[0].Approval == nil || strings.Join(k.Decisions[0].Rules, "") != "mails twice" {
		t.Errorf("read back: %+v, %v", k.Decisions, err)
	}
	kinds := strings.Join(d.audited(id), " ")
	if kinds != "proposed:reissue refused:reissue refused:reissue refused:reissue decided:reissue" {
		t.Errorf("audit trail: %s", kinds)
	}
}

// TestFourEyes_Ends: every other way in which a proposal ends.
func TestFourEyes_Ends(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(d *desk, u *decide.UseCase, p *journal.Proposal)
		want string
	}{
		{"rejected", func(d *desk, u *decide.UseCase, p *journal.Proposal) {
			if err := u.Reject(d.t.Context(), d.approval(p, approver)); err != nil {
				d.t.Fatal(err)
			}
		}, journal.ProposalRejected},
		{"withdrawn", func(d *desk, u *decide.UseCase, p *journal.Proposal) {
			if err := u.Reject(d.t.Context(), d.approval(p, operator)); err != nil {
				d.t.Fatal(err)
			}
		}, journal.ProposalWithdrawn},
		{"another decision needs no second person", func(d *desk, _ *decide.UseCase, p *journal.Proposal) {
			d.decide(p.Decision.EffectID, journal.VerbCloseNotLanded, "")
		}, journal.ProposalVoid},
		{"a late commit", func(d *desk, _ *decide.UseCase, p *journal.Proposal) {
			k := d.snap(p.Decision.EffectID)
			r := request("mail.send", k.Effect.Key)
			d.commit(r, journal.BeginAnswer{EffectID: k.Effect.ID, Attempt: 1, LeaseToken: k.Attempts[0].Token}, "m-1")
		}, journal.ProposalVoid},
		{"nobody answers in time", func(d *desk, _ *decide.UseCase, p *journal.Proposal) {
			d.exec("update proposals set expires_at = clock_timestamp() - interval '1 second' where id = $1", p.ID)
			d.sweep()
		}, journal.ProposalExpired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t, fourEyes)
			u, _ := useCase(d, journal.NotFound)
			id := d.parkedWith(journal.NotFound)
			p := d.propose(u, d.decision(id, journal.VerbReissue, journal.NewKey))
			tt.do(d, u, p)
			s := d.snap(id)
			if s.Proposal.Ended != tt.want {
				t.Fatalf("ended %q, want %q", s.Proposal.Ended, tt.want)
			}
			if n := d.count("select count(*) from audit where effect_id = $1 and kind = $2", id, "proposal_"+tt.want); n != 1 {
				t.Errorf("%d audit rows of the end, want 1", n)
			}
			if _, err := u.Approve(t.Context(), d.approval(p, approver)); policyCode(err) != journal.PolicyNoProposal {
				t.Errorf("approving it afterwards: %v", err)
			}
			if s.Decidable() {
				d.propose(u, d.decision(id, journal.VerbReissue, journal.NewKey)) // and a new one may follow
			}
		})
	}
}

// TestFourEyes_OverdueMakesRoom: a proposal that nobody answered in time is ended by
// the next one, with its own audit row, before any sweep comes by.
func TestFourEyes_OverdueMakesRoom(t *testing.T) {
	t.Parallel()
	d := openDesk(t, fourEyes)
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	first := d.propose(u, d.decision(id, journal.VerbReissue, journal.NewKey))
	d.exec("update proposals set expires_at = clock_timestamp() - interval '1 second' where id = $1", first.ID)
	second := d.propose(u, d.decision(id, journal.VerbReissue, journal.NewKey))
	if second.ID == first.ID {
		t.Fatal("the overdue one was answered as a repeat")
	}
	if got := strings.Join(d.audited(id), " "); got != "proposed:reissue proposal_expired proposed:reissue" {
		t.Errorf("audit trail: %s", got)
	}
}

// TestFourEyes_AtOnce: an approval, a rejection and a late commit at the same
// time end the proposal once.
func TestFourEyes_AtOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t, fourEyes)
	u, _ := useCase(d, journal.NotFound)
	for i := range 10 {
		id := d.parkedKey(fmt.Sprint("run-1/", i), journal.NotFound)
		p := d.propose(u, d.decision(id, journal.VerbReissue, journal.NewKey))
		word, no := d.approval(p, approver), d.approval(p, operator)
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = u.Approve(context.WithoutCancel(t.Context()), word) })
		wg.Go(func() { errs[1] = u.Reject(context.WithoutCancel(t.Context()), no) })
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("one must win: %v, %v", errs[0], errs[1])
		}
		decided := d.count("select count(*) from decisions where effect_id = $1", id)
		if (errs[0] == nil) != (decided == 1) {
			t.Fatalf("%d decisions, approve said %v", decided, errs[0])
		}
	}
}

// TestOverride: a block falls only where the policy allows, where the person says
// so, and by a second person.
func TestOverride(t *testing.T) {
	t.Parallel()
	d := openDesk(t, fourEyes)
	u, _ := useCase(d, journal.Found)
	id := d.parkedWith(journal.Found)
	one := d.decision(id, journal.VerbReissue, journal.NewKey)
	one.Actor.AuthAt = time.Now()
	var blocked *journal.BlockedError
	if _, err := u.Decide(t.Context(), one); !errors.As(err, &blocked) || !blocked.Overridable || blocked.Reason != journal.WhyFound {
		t.Fatalf("without the override: %v", err)
	}
	one.Overrides = []string{journal.WhyFound, journal.WhyTooEarly}
	old := one
	old.Actor.AuthAt = time.Now().Add(-time.Hour)
	if _, err := u.Decide(t.Context(), old); policyCode(err) != journal.PolicyStepUp {
		t.Fatalf("with an old login: %v", err)
	}
	p := d.propose(u, one)
	if got := strings.Join(p.Decision.Overrides, " "); got != journal.WhyFound {
		t.Errorf("it passes over %q, want only what stood in the way", got)
	}
	word := d.approval(p, approver)
	if _, err := u.Approve(t.Context(), word); policyCode(err) != journal.PolicyStepUp {
		t.Fatalf("approved with an old login: %v", err)
	}
	word.Actor.AuthAt = time.Now()
	if _, err := u.Approve(t.Context(), word); err != nil {
		t.Fatal(err)
	}
	a, err := d.Begin(t.Context(), request("mail.send", "run-1/step/do"))
	if err != nil || a.Directive != journal.DirectiveExecute {
		t.Errorf("the order after the override: %+v, %v", a.Directive, err)
	}
}

// TestOverride_NewFactsCountAnew: a hit that comes after the proposal was not
// passed over by it.
func TestOverride_NewFactsCountAnew(t *testing.T) {
	t.Parallel()
	d := openDesk(t, fourEyes)
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	p := d.propose(u, d.decision(id, journal.VerbReissue, journal.NewKey))
	d.look(id, journal.Found)
	var blocked *journal.BlockedError
	if _, err := u.Approve(t.Context(), d.approval(p, approver)); !errors.As(err, &blocked) {
		t.Fatalf("approving over a new match: %v", err)
	}
	if n := d.count("select count(*) from decisions where effect_id = $1", id); n != 0 {
		t.Errorf("%d decisions", n)
	}
}

// TestNeverOverridden: what a worker confirmed stays.
func TestNeverOverridden(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) {
		o.Policy.Overrides = []string{journal.WhyConfirmed, journal.WhyNoNativeKey, journal.WhyLive, journal.WhySettled}
	})
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	one := d.decision(id, journal.VerbReissue, journal.SameKey)
	one.Overrides, one.Actor.AuthAt = []string{journal.WhyNoNativeKey}, time.Now()
	var blocked *journal.BlockedError
	if _, err := u.Decide(t.Context(), one); !errors.As(err, &blocked) || blocked.Overridable {
		t.Fatalf("same_key without a native key: %v", err)
	}
}

// TestBreakGlass: one person alone, of the groups that may, with a fresh login;
// and somebody else has to review it, which keeps the effect from being purged.
func TestBreakGlass(t *testing.T) {
	t.Parallel()
	d := openDesk(t, fourEyes, func(o *postgres.Options) { o.Policy.BreakGlass = []string{"incident-commanders"} })
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	one := d.decision(id, journal.VerbReissue, journal.NewKey)
	one.BreakGlass, one.Actor.AuthAt = true, time.Now()
	if _, err := u.Decide(t.Context(), one); policyCode(err) != journal.PolicyNoBreakGlass {
		t.Fatalf("outside the groups: %v", err)
	}
	one.Actor.Groups = []string{"incident-commanders"}
	done, err := u.Decide(t.Context(), one)
	if err != nil || done.Proposal != nil || !done.Decision.BreakGlass {
		t.Fatalf("%+v, %v", done, err)
	}
	open, err := d.Reviews(t.Context(), 10)
	if err != nil || len(open) != 1 || open[0].Decision.ID != done.Decision.ID || open[0].DueAt.Before(time.Now()) {
		t.Fatalf("reviews: %+v, %v", open, err)
	}
	mine := journal.ReviewClose{ID: open[0].ID, Actor: operator, Agreed: true, Reason: "there was nobody else"}
	mine.Actor.Roles = []journal.Role{journal.RoleApprover}
	if err := d.CloseReview(t.Context(), mine); policyCode(err) != journal.PolicyOwnProposal {
		t.Errorf("reviewing one's own: %v", err)
	}
	mine.Actor = approver
	if err := d.CloseReview(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := d.CloseReview(t.Context(), mine); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("a second word: %v", err)
	}
	if open, _ := d.Reviews(t.Context(), 10); len(open) != 0 {
		t.Errorf("still open: %+v", open)
	}
	if n := d.count("select count(*) from audit where effect_id = $1 and kind = 'reviewed'", id); n != 1 {
		t.Errorf("%d audit rows of the review", n)
	}
}

// TestBreakGlass_OnlyWhereItIsNeeded: a flag that nothing asks for is dropped.
func TestBreakGlass_OnlyWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	d := openDesk(t, fourEyes)
	u, _ := useCase(d, journal.NotFound)
	id := d.parkedWith(journal.NotFound)
	one := d.decision(id, journal.VerbCloseNotLanded, "")
	one.BreakGlass = true
	if r, err := u.Decide(t.Context(), one); err != nil || r.Decision.BreakGlass {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRules: what a policy can ask, one row each, on the real path.
func TestRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rule journal.Rule
		want string // policy code, "invalid", "proposed" or ""
	}{
		{"another tool", journal.Rule{Tools: []string{"pay"}, Forbid: true}, ""},
		{"the tool by its prefix", journal.Rule{Tools: []string{"mail.*"}, Forbid: true}, journal.PolicyForbidden},
		{"another verb", journal.Rule{Verbs: []journal.Verb{journal.VerbReissue}, Forbid: true}, ""},
		{"another class", journal.Rule{Classes: []journal.Class{journal.ClassJournalDeduped}, Forbid: true}, ""},
		{"the verdict", journal.Rule{Verdicts: []journal.Verdict{journal.NotFound}, FourEyes: true}, "proposed"},
		{"other groups", journal.Rule{Groups: []string{"payments"}}, journal.PolicyNotYours},
		{"the person's group", journal.Rule{Groups: []string{"payments", "mail"}}, ""},
		{"a fresh login", journal.Rule{StepUp: true}, journal.PolicyStepUp},
		{"other reason codes", journal.Rule{ReasonCodes: []journal.ReasonCode{"done_by_hand"}}, "invalid"},
		{"an amount that nobody named counts as reached", journal.Rule{AmountFrom: "1000", Currency: "EUR", Forbid: true}, journal.PolicyForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.rule.Name = tt.name
			d := openDesk(t, func(o *postgres.Options) { o.Policy.Rules = []journal.Rule{tt.rule} })
			u, _ := useCase(d, journal.NotFound)
			id := d.parkedWith(journal.NotFound)
			one := d.decision(id, journal.VerbCloseNotLanded, "")
			one.Actor.Groups = []string{"mail"}
			r, err := u.Decide(t.Context(), one)
			got := policyCode(err)
			var invalid *journal.InvalidError
			switch {
			case errors.As(err, &invalid):
				got = "invalid"
			case err == nil && r.Proposal != nil:
				got = "proposed"
			case err != nil && got == "":
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

// TestReopen: a person takes a settlement by policy back; policy does not settle
// it again, whatever it finds.
func TestReopen(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) { o.Policy.SettleFound = map[string]bool{"mail.send": true} })
	u, _ := useCase(d, journal.Found)
	id := d.parkedWith(journal.Found)
	if s := d.snap(id); s.Effect.State != journal.StateCommitted || s.Effect.SettledBy != "policy" {
		t.Fatalf("%s by %q", s.Effect.State, s.Effect.SettledBy)
	}
	listed, err := d.SettledByPolicy(t.Context(), 0, 10)
	if err != nil || len(listed) != 1 || listed[0].Effect.ID != id || listed[0].SettledBy != "policy" {
		t.Fatalf("for reviewers: %+v, %v", listed, err)
	}
	if _, err := u.Decide(t.Context(), d.decision(id, journal.VerbReopen, "")); err != nil {
		t.Fatal(err)
	}
	s := d.snap(id)
	if s.Effect.State != journal.StateParked || s.Effect.ParkedReason != journal.ReasonReopened || s.Effect.SettledBy != "" || s.Effect.ProviderID != "" {
		t.Fatalf("reopened: %+v", s.Effect)
	}
	if s.Newest == nil || s.Newest.Kind != journal.ResolvedReopened {
		t.Errorf("the runtime is told %+v", s.Newest)
	}
	d.look(id, journal.Found)
	if s := d.snap(id); s.Effect.State != journal.StateParked {
		t.Errorf("policy settled it again: %s", s.Effect.State)
	}
	var stale *journal.StaleError
	if _, err := u.Decide(t.Context(), d.decision(id, journal.VerbReopen, "")); !errors.As(err, &stale) {
		t.Errorf("reopening what is open: %v", err)
	}
	d.decide(id, journal.VerbCloseLanded, "")
	if _, err := u.Decide(t.Context(), d.decision(id, journal.VerbReopen, "")); !errors.As(err, &stale) {
		t.Errorf("reopening what a person closed: %v", err)
	}
}

package handlers

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

func proposer() journal.Actor {
	return journal.Actor{Issuer: "https://id.example.org", Subject: "u-9", Name: "Ada Lovelace", Roles: []journal.Role{journal.RoleOperator}}
}

// proposed is an effect on which Ada has proposed a re-issue.
func proposed(change ...func(*journal.Proposal)) journal.Case {
	k := byName("not found")
	p := &journal.Proposal{ID: caseID(77), Version: k.Effect.Version, CreatedAt: before(time.Minute), ExpiresAt: testNow().Add(time.Hour),
		Decision: journal.Decision{EffectID: k.Effect.ID, Verb: journal.VerbReissue, Mode: journal.NewKey, Actor: proposer(), ReasonCode: "evidence_not_found",
			Reason: "It is not in the Sent folder.", Digest: journal.Assess(&k.Snapshot).Digest, AssessmentSummary: string(journal.RecommendReissue), Rules: []string{"big ones"}}}
	for _, f := range change {
		f(p)
	}
	k.Proposal = p
	return k
}

func rejected(p *journal.Proposal) {
	p.Ended, p.EndedAt, p.EndedReason = journal.ProposalRejected, before(9*time.Second), "Ask the carrier first."
	p.EndedBy = journal.Actor{Issuer: "https://id.example.org", Subject: "u-3", Name: "Barbara Liskov"}
}

func word(word, reason string) []string {
	return []string{web.FieldProposal, caseID(77), web.FieldVersion, "7", web.FieldDigest, "x", web.FieldReason, reason, web.FieldWord, word}
}

func TestProposalIsShownToEachAsTheyMayAct(t *testing.T) {
	t.Parallel()
	approver := operator()
	approver.Roles = []journal.Role{journal.RoleApprover}
	viewer := operator()
	viewer.Roles = []journal.Role{journal.RoleViewer}
	for _, c := range []struct {
		name            string
		who             journal.Actor
		approve, reject int
		text            string
	}{
		{"the proposer withdraws", proposer(), 0, 1, "another person, an approver, has to say yes"},
		{"an approver answers", approver, 1, 1, "policy rule “big ones”"},
		{"an operator waits", operator(), 0, 0, "an approver has to say yes"},
		{"a viewer watches", viewer, 0, 0, "an approver has to say yes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSiteAs(t, &fakeJournal{cases: []journal.Case{proposed()}}, session{who: c.who}, "https://landed.example.org")
			doc := parse(t, s.get(web.EffectURL(caseID(2))))
			wantText(t, doc, "#proposal", c.text)
			wantText(t, doc, "#proposal blockquote", "It is not in the Sent folder.")
			a, r := doc.Find("#proposal button[value=approve]").Length(), doc.Find("#proposal button[value=reject]").Length()
			if a != c.approve || r != c.reject {
				t.Errorf("%d buttons to approve and %d to reject, want %d and %d", a, r, c.approve, c.reject)
			}
			if c.who.MayDecide() {
				wantText(t, doc, "#decide", "A proposal waits for a second person.")
			}
		})
	}
}

func TestLateWordKeepsTheTextAndNamesWhoEnded(t *testing.T) {
	t.Parallel()
	f := &fakeJournal{cases: []journal.Case{proposed(rejected)}, answer: &journal.PolicyError{Code: journal.PolicyNoProposal, Detail: "the proposal is over: see the effect as it is now"}}
	s := newSite(t, f, journal.RoleApprover)
	w := s.post(web.ProposalURL(caseID(2)), word(web.WordApprove, "I called them:\r\nthey know nothing.")...)
	wantStatus(t, w, http.StatusConflict)
	doc := parse(t, w)
	wantText(t, doc, ".notice", "It was rejected by Barbara Liskov 9 s ago: Ask the carrier first.")
	if got := doc.Find("textarea.kept").Text(); got != "I called them:\nthey know nothing." {
		t.Errorf("kept %q", got)
	}
	if doc.Find("#proposal").Length() != 0 {
		t.Error("the proposal is still shown")
	}
}

func TestWordThatNeedsAFreshLoginIsKeptUntilItIsRecorded(t *testing.T) {
	t.Parallel()
	f := &fakeJournal{cases: []journal.Case{proposed()}, answer: &journal.PolicyError{Code: journal.PolicyStepUp, Within: 5 * time.Minute, Detail: "sign in again"}}
	s := newSite(t, f, journal.RoleApprover)
	w := s.post(web.ProposalURL(caseID(2)), word(web.WordApprove, "I called them, they know nothing.")...)
	wantStatus(t, w, http.StatusForbidden)
	doc := parse(t, w)
	wantText(t, doc, "#f-word", "I called them, they know nothing.")
	if href := doc.Find(".notice-links a").First().AttrOr("href", ""); href != "/login?fresh=1&to=%2Fe%2F"+caseID(2)+"%3Fnote%3Dfresh" {
		t.Errorf("the way to a fresh login is %q", href)
	}
	wantText(t, parse(t, s.get(web.EffectNoteURL(caseID(2), noteFresh))), "#f-word", "I called them, they know nothing.")
	f.answer = nil
	w = s.post(web.ProposalURL(caseID(2)), word(web.WordApprove, "I called them, they know nothing.")...)
	wantStatus(t, w, http.StatusSeeOther)
	if len(f.draft) != 0 {
		t.Errorf("the text is kept although it is recorded: %s", f.draft)
	}
}

func TestFreshLoginOfSomebodyElsePromisesNoText(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	doc := parse(t, s.get(web.EffectNoteURL(caseID(2), noteFresh)))
	wantText(t, doc, ".notice", "Nothing is recorded yet: decide on what the page shows now.")
}

func TestBlockThatMayBePassedLeadsToItsCheckBox(t *testing.T) {
	t.Parallel()
	k := byName("found")
	k.Policy.Overrides = []string{"found"}
	s := newSite(t, &fakeJournal{cases: []journal.Case{k}})
	w := s.post(web.ConfirmURL(k.Effect.ID), decision(k, "reissue/new_key")...)
	wantStatus(t, w, http.StatusConflict)
	doc := parse(t, w)
	wantText(t, doc, ".notice", "The policy lets a second person pass over this.")
	if doc.Find(`.notice a[href="#f-overrides"]`).Length() != 1 || doc.Find(`#f-overrides input[value=found]`).Length() != 1 {
		t.Error("the notice does not lead to the check box")
	}
	w = s.post(web.ConfirmURL(k.Effect.ID), append(decision(k, "reissue/new_key"), web.FieldOverride, "found")...)
	if w.Code == http.StatusOK {
		t.Error("an override went on without a fresh login")
	}
}

func TestConfirmSaysWhatBecomesOfAProposal(t *testing.T) {
	t.Parallel()
	k := proposed()
	s := newSite(t, &fakeJournal{cases: []journal.Case{k}})
	doc := parse(t, s.post(web.ConfirmURL(k.Effect.ID), decision(k, "close_not_landed")...))
	wantText(t, doc, ".confirm", "It ends the proposal “Re-issue it as a new request” of Ada Lovelace.")
	k.Proposal, k.Policy.Rules = nil, []journal.Rule{{Name: "all", FourEyes: true}}
	s = newSite(t, &fakeJournal{cases: []journal.Case{k}})
	doc = parse(t, s.post(web.ConfirmURL(k.Effect.ID), decision(k, "close_not_landed")...))
	wantText(t, doc, ".confirm", "You can withdraw it as long as nobody approved.")
	wantText(t, doc, ".acts button", "Propose it")
}

func TestTimelineSaysWhyAProposalEnded(t *testing.T) {
	t.Parallel()
	k := proposed(rejected)
	detail, err := json.Marshal(map[string]string{"proposal": caseID(77), "how": journal.ProposalRejected, "reason": "Ask the carrier first."})
	if err != nil {
		t.Fatal(err)
	}
	k.Events = append(k.Events, journal.Event{At: before(9 * time.Second), Kind: journal.EventProposalOver, Actor: "operator:u-3", Detail: detail})
	doc := parse(t, newSite(t, &fakeJournal{cases: []journal.Case{k}}).get(web.EffectURL(k.Effect.ID)))
	wantText(t, doc, "#history", "The proposal was rejected Ask the carrier first. Barbara Liskov")
}

func TestReviewSaysThatItIsRecorded(t *testing.T) {
	t.Parallel()
	f := everything()
	s := newSite(t, f, journal.RoleApprover)
	fields := []string{web.FieldReview, caseID(5), web.FieldReason, "It was right to act.", web.FieldWord, web.WordApprove}
	w := s.post(web.RouteReviews, fields...)
	wantStatus(t, w, http.StatusSeeOther)
	wantText(t, parse(t, s.get(w.Header().Get("Location"))), ".notice", "Your review is recorded")
	f.answer = journal.ErrConflict
	w = s.post(web.RouteReviews, fields...)
	wantStatus(t, w, http.StatusConflict)
	wantText(t, parse(t, w), ".notice textarea", "It was right to act.")
}

func TestWayOnLeavesTheNoteBehind(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/e/1?note=fresh": "/e/1", "/e/1?args=all&note=fresh": "/e/1?args=all", "/?q=a+b": "/?q=a+b", "/": "/",
	} {
		if got := wayOn(path).URL; got != want {
			t.Errorf("the way on to %s is %s, want %s", path, got, want)
		}
	}
}

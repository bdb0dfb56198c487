package handlers

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// wordState is the second person's form as it was sent.
type wordState struct{ reason, err string }

// proposalWord takes the second person's word: approve, or reject. From the
// proposer a rejection is a withdrawal.
func (s *server) proposalWord(c echo.Context) error {
	who, k, err := s.decider(c, "approve or reject")
	if err != nil {
		return err
	}
	get := func(name string) string { return c.Request().PostForm.Get(name) }
	version, err := strconv.ParseInt(get(web.FieldVersion), 10, 64)
	if err != nil {
		version = 0
	}
	a := journal.Approval{ProposalID: get(web.FieldProposal), EffectID: k.Effect.ID, Actor: who, Expected: version, Digest: get(web.FieldDigest),
		Reason: strings.ReplaceAll(get(web.FieldReason), "\r\n", "\n")}
	note := noteRejected
	switch word := get(web.FieldWord); word {
	case web.WordApprove:
		var r DecideResult
		r, err = s.cfg.Decider.Approve(c.Request().Context(), a)
		if note = noteApproved; r.Repeated {
			note = noteRepeated
		}
	case web.WordReject:
		err = s.cfg.Decider.Reject(c.Request().Context(), a)
	default:
		err = &journal.InvalidError{Field: "word", Detail: "is neither approve nor reject: press one of the two buttons"}
	}
	if err != nil {
		return s.wordRefused(c, who, a, err)
	}
	s.drop(c, who, k.Effect.ID)
	return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, note))
}

// wordRefused shows the effect as it is now, with the second person's text.
func (s *server) wordRefused(c echo.Context, who journal.Actor, a journal.Approval, err error) error {
	k, loadErr := s.loadCase(c)
	if loadErr != nil {
		return loadErr
	}
	v := effectView{Who: who, Hosts: s.cfg.EvidenceHosts, Word: wordState{reason: a.Reason}}
	var ie *journal.InvalidError
	if errors.As(err, &ie) {
		v.Word.err = sentence(ie)
		n := &web.Notice{Tone: web.ToneStop, Title: "Nothing is recorded yet", Fields: []web.Link{{Text: v.Word.err, URL: "#f-word"}}}
		return s.renderEffect(c, http.StatusUnprocessableEntity, k, v, n)
	}
	var pe *journal.PolicyError
	if errors.As(err, &pe) && pe.Code == journal.PolicyStepUp {
		if err := s.keep(c, who, k, draft{Word: a.Reason}); err != nil {
			return err
		}
	}
	n, status := s.refusalNotice(k, err)
	if n == nil {
		return err
	}
	if !k.Proposal.Open(k.Now) { // its form is gone
		n.Kept, n.Links = a.Reason, nil
	}
	return s.renderEffect(c, status, k, v, n)
}

// refusalNotice puts a refusal into words; nil for what is no refusal.
func (s *server) refusalNotice(k *journal.Case, err error) (*web.Notice, int) {
	var (
		se *journal.StaleError
		be *journal.BlockedError
		pe *journal.PolicyError
	)
	now := clock{k.Now}
	switch {
	case errors.As(err, &se):
		return staleNotice(now, se), http.StatusConflict
	case errors.As(err, &be):
		n := blockedNotice(now, journal.Block{Code: be.Reason, Until: be.Until})
		if be.Overridable {
			n.Lines = append(n.Lines, "The policy lets a second person pass over this. If you know that the evidence is wrong, tick it and propose.")
			n.Links = append([]web.Link{{Text: "To what stands in the way", URL: "#f-overrides"}}, n.Links...)
		}
		return n, http.StatusConflict
	case errors.As(err, &pe):
		return s.policyNotice(k, pe)
	}
	return nil, 0
}

// policyNotice says what the policy asks and what to do about it.
func (s *server) policyNotice(k *journal.Case, pe *journal.PolicyError) (*web.Notice, int) {
	n := &web.Notice{Tone: web.ToneStop, Title: "Not recorded: the policy asks for more", Lines: []string{upper(pe.Detail) + "."}}
	status := http.StatusForbidden
	switch pe.Code {
	case journal.PolicyStepUp:
		n.Tone, n.Title = web.ToneWarn, "This needs a fresh login"
		n.Lines = []string{"The policy asks that you prove again who you are, within " + span(pe.Within) + ". Nothing is recorded yet, and nothing will be by signing in: you come back here, with your text, and decide then."}
		n.Links = []web.Link{{Text: "Sign in again", URL: s.cfg.FreshLogin(web.EffectNoteURL(k.Effect.ID, noteFresh))}}
	case journal.PolicyNoProposal:
		n.Title, status = "Not recorded: the proposal is over", http.StatusConflict
		if p := k.Proposal; p != nil && p.Ended != "" {
			n.Lines = append(n.Lines, proposalOver(clock{k.Now}, p))
		}
	case journal.PolicyProposed:
		n.Title, status = "Not recorded: something is proposed already", http.StatusConflict
	case journal.PolicyOwnProposal:
		n.Title = "Not recorded: it takes two people"
	}
	return n, status
}

// proposalOver says how a proposal ended, when, by whom and why.
func proposalOver(c clock, p *journal.Proposal) string {
	text := "It was " + proposalEnd(p.Ended)
	if by := firstOf(p.EndedBy.Name, p.EndedBy.Subject); by != "" {
		text += " by " + web.Visible(by, 80).String()
	}
	text += " " + c.ago(p.EndedAt).Rel
	if p.EndedReason != "" {
		return text + ": " + web.Visible(p.EndedReason, journal.MaxReasonBytes).String()
	}
	return text + "."
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// newProposalBox shows the open proposal; nil if there is none.
func newProposalBox(c clock, k *journal.Case, a journal.Assessment, v effectView) *web.ProposalBox {
	p := k.Proposal
	if !p.Open(c.now) {
		return nil
	}
	d := p.Decision
	b := &web.ProposalBox{URL: web.ProposalURL(k.Effect.ID), ID: p.ID, Title: verbTitle(d.Verb, d.Mode), By: line(firstOf(d.Actor.Name, d.Actor.Subject)),
		At: c.ago(p.CreatedAt), Expires: c.ago(p.ExpiresAt), Code: web.ReasonCodeText(d.ReasonCode), Reason: web.Visible(d.Reason, journal.MaxReasonBytes),
		Rules: rulesText(d.Rules), Overrides: passedOver(d.Overrides), Diff: correctionDiff(k, d.Correction), Changed: sinceProposed(k, a, p), Undo: undoBox(k, d.Verb),
		Version: strconv.FormatInt(k.Effect.Version, 10), Digest: a.Digest, Draft: v.Word.reason, Error: v.Word.err}
	own := v.Who.Same(d.Actor)
	switch {
	case own:
		b.Withdraw, b.Why = true, "You proposed it: another person, an approver, has to say yes."
	case v.Who.Has(journal.RoleApprover):
		b.Approve, b.Reject = true, true
	default:
		b.Why = "You are signed in as " + roleNames(v.Who) + ": an approver has to say yes."
	}
	if b.Approve {
		d.Expected, d.Digest = k.Effect.Version, a.Digest
		var be *journal.BlockedError
		if _, _, err := k.Weigh(d); errors.As(err, &be) {
			b.Approve = false
			b.Changed = append(b.Changed, "It can’t be approved any more: "+web.BlockSentence(be.Reason))
		}
	}
	return b
}

// sinceProposed says what is another than the proposer saw.
func sinceProposed(k *journal.Case, a journal.Assessment, p *journal.Proposal) []string {
	var out []string
	if a.Digest != p.Decision.Digest {
		text := "New evidence came in."
		if l, ok := k.LastLook(); ok && l.StartedAt.After(p.CreatedAt) {
			text = "The provider was asked again: " + web.VerdictBadge(l.Verdict, l.Reason).Text + "."
		}
		out = append(out, text)
	}
	if string(a.Recommend) != p.Decision.AssessmentSummary {
		out = append(out, "The recommendation was “"+adviceText(p.Decision.AssessmentSummary)+"” and is “"+adviceText(string(a.Recommend))+"” now.")
	}
	if len(out) == 0 && k.Effect.Version != p.Version {
		out = append(out, "A report or another look changed the effect; the evidence says the same.")
	}
	return out
}

func rulesText(rules []string) string {
	if len(rules) == 0 {
		return ""
	}
	quoted := make([]string, len(rules))
	for i, r := range rules {
		quoted[i] = "“" + web.Visible(r, 120).String() + "”"
	}
	if len(rules) == 1 {
		return "policy rule " + quoted[0]
	}
	return "policy rules " + strings.Join(quoted, ", ")
}

func passedOver(codes []string) []string {
	var out []string
	for _, code := range codes {
		if text := web.BlockSentence(code); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// asksText is what the policy asks of one decision, for people.
func asksText(ask journal.Demand, d journal.Decision, p *journal.Policy) []string {
	var out []string
	switch {
	case ask.FourEyes && d.BreakGlass:
		out = append(out, "You act alone: another person has to review it within "+span(p.ReviewWithin)+".")
	case ask.FourEyes:
		out = append(out, "A second person has to approve it within "+span(p.ProposalWithin)+"; until then nothing is ordered or closed.")
	}
	if ask.StepUp {
		out = append(out, "A login that is at most "+span(p.StepUp)+" old.")
	}
	if len(out) > 0 && len(ask.Rules) > 0 {
		out = append(out, upper(rulesText(ask.Rules))+" asks so.")
	}
	return out
}

// asksShort is asksText in one line, for a choice of the form.
func asksShort(ask journal.Demand) []string {
	var parts []string
	if ask.FourEyes {
		parts = append(parts, "a second person")
	}
	if ask.StepUp {
		parts = append(parts, "a fresh login")
	}
	if len(parts) == 0 {
		return nil
	}
	text := "Takes " + strings.Join(parts, " and ")
	if rules := rulesText(ask.Rules); rules != "" {
		text += " (" + rules + ")"
	}
	return []string{text + "."}
}

package handlers

import (
	"slices"
	"strconv"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// newDecideBox builds the decision form, or the sentence that stands for it.
// Nothing is chosen beforehand: the recommendation is shown, not taken.
func newDecideBox(c clock, k *journal.Case, a journal.Assessment, v effectView) web.DecideBox {
	b := web.DecideBox{URL: web.ConfirmURL(k.Effect.ID)}
	f := v.Form
	switch {
	case !k.Decidable() && !(k.Reopenable() && v.Who.MayDecide()):
		b.Closed = "There is nothing to decide now. " + web.WhySentence(closedBy(k))
	case !v.Who.MayDecide():
		b.Closed = "It waits for a decision. You are signed in as " + roleNames(v.Who) + ": operators and approvers decide."
	default:
		b.Open = true
	}
	if !b.Open {
		if f != nil {
			b.Kept = f.reason
		}
		return b
	}
	b.Claimed = claimWarning(c, k, v.Who)
	if p := k.Proposal; p.Open(k.Now) {
		b.Waits = "A proposal waits for a second person. What is decided here without one ends it."
	}
	b.Draft = web.Draft{Version: strconv.FormatInt(k.Effect.Version, 10), Digest: a.Digest}
	if len(k.Evidence) > 0 {
		for _, m := range k.Evidence[0].Matches {
			b.Matches = append(b.Matches, m.ID)
		}
	}
	if f == nil && len(b.Matches) == 1 {
		b.Draft.ProviderID = b.Matches[0]
	}
	if f != nil {
		b.Draft.Choice, b.Draft.Code, b.Draft.Reason, b.Draft.ProviderID = f.choice, f.code, f.reason, f.providerID
		b.Draft.Overrides, b.Draft.BreakGlass = f.overrides, f.breakGlass
		b.Errors = f.errors
	}
	b.Choices, b.Codes = choices(c, k, a, v, b.Draft.Choice), reasonCodes(b.Draft.Code)
	if a.BlockFor(journal.VerbCorrect, "") == nil && k.Decidable() && k.Effect.Args != nil && k.Effect.Compensates == "" {
		b.CorrectURL = web.CorrectURL(k.Effect.ID)
	}
	b.Overrides = overrides(k, a, b.Draft.Overrides)
	alone := slices.ContainsFunc(b.Choices, func(ch web.Choice) bool { return len(ch.Asks) > 0 }) || len(b.Overrides) > 0
	if alone && v.Who.InGroup(k.Policy.BreakGlass) {
		b.BreakGlass = "Where the policy asks for a second person, you may do without one. It needs a fresh login, and another person has to review it within " + span(k.Policy.ReviewWithin) + "."
	}
	return b
}

func closedBy(k *journal.Case) string {
	switch {
	case k.Live():
		return journal.WhyLive
	case k.Effect.State == journal.StateReissue:
		return journal.WhyOrdered
	}
	return journal.WhySettled
}

func reasonCodes(chosen string) []web.Option {
	out := []web.Option{{Value: "", Text: "Pick one", Selected: chosen == ""}}
	for _, code := range journal.ReasonCodes() {
		out = append(out, web.Option{Value: string(code), Text: web.ReasonCodeText(code), Selected: chosen == string(code)})
	}
	return out
}

// overrides are the blocks that the policy lets a second person pass over.
func overrides(k *journal.Case, a journal.Assessment, chosen []string) []web.Option {
	var out []web.Option
	for _, ch := range journal.Choices() {
		for _, b := range a.Blocks[ch] {
			known := slices.ContainsFunc(out, func(o web.Option) bool { return o.Value == b.Code })
			if !known && k.Policy.MayOverride(b) {
				out = append(out, web.Option{Value: b.Code, Text: web.BlockSentence(b.Code), Selected: slices.Contains(chosen, b.Code)})
			}
		}
	}
	return out
}

// choices are the ways to decide, each with what it means or why it is not open.
func choices(c clock, k *journal.Case, a journal.Assessment, v effectView, chosen string) []web.Choice {
	var out []web.Choice
	add := func(verb journal.Verb, mode journal.ReissueMode, advised bool) {
		ch := web.Choice{Value: choiceValue(verb, mode), Title: verbTitle(verb, mode), Means: verbMeans(verb, mode), Advised: advised}
		if b := a.BlockFor(verb, mode); b != nil {
			ch.Blocked = web.BlockSentence(b.Code)
			if b.Until.After(c.now) {
				ch.Until = c.maybe(b.Until)
			}
		}
		bs := a.Blocks[journal.Choice{Verb: verb, Mode: mode}]
		ch.Passable = len(bs) > 0 && !slices.ContainsFunc(bs, func(b journal.Block) bool { return !k.Policy.MayOverride(b) })
		if ch.Blocked == "" {
			d := journal.Decision{Verb: verb, Mode: mode, Actor: v.Who}
			ch.Asks = asksShort(k.Policy.Asks(&k.Snapshot, &d))
		}
		ch.Undo = undoBox(k, verb)
		ch.Checked = chosen == ch.Value && (ch.Blocked == "" || ch.Passable)
		out = append(out, ch)
	}
	if !k.Decidable() {
		add(journal.VerbReopen, "", false)
		return out
	}
	add(journal.VerbCloseLanded, "", a.Recommend == journal.RecommendCloseLanded)
	add(journal.VerbCloseNotLanded, "", a.Recommend == journal.RecommendCloseNotLanded)
	again := a.Recommend == journal.RecommendReissue
	if k.Effect.Class == journal.ClassProviderIdempotent {
		add(journal.VerbReissue, journal.SameKey, again && a.Mode == journal.SameKey)
	}
	add(journal.VerbReissue, journal.NewKey, again && a.Mode != journal.SameKey)
	return out
}

func choiceValue(v journal.Verb, m journal.ReissueMode) string {
	if m == "" {
		return string(v)
	}
	return string(v) + "/" + string(m)
}

func verbTitle(v journal.Verb, m journal.ReissueMode) string {
	switch v {
	case journal.VerbCloseLanded:
		return "It landed: close it"
	case journal.VerbCloseNotLanded:
		return "It did not land: close it"
	case journal.VerbCorrect:
		return "Do it anew with other arguments"
	case journal.VerbReopen:
		return "Take the settlement by policy back"
	}
	if m == journal.SameKey {
		return "Re-issue it under the same key"
	}
	return "Re-issue it as a new request"
}

func verbMeans(v journal.Verb, m journal.ReissueMode) string {
	switch v {
	case journal.VerbCloseLanded:
		return "The workflow goes on as if the worker had reported success."
	case journal.VerbCloseNotLanded:
		return "The workflow is told that it did not happen and will not. It is never repeated under this key."
	case journal.VerbCorrect:
		return "This effect is closed as not landed. Another takes its place, with the corrected arguments, and the worker may try it once. If an earlier request landed, this one is a second."
	case journal.VerbReopen:
		return "The effect waits for a person again, and the workflow is told so. What the workflow did meanwhile stays done."
	}
	if m == journal.SameKey {
		return "The worker may try once more. If the first request landed, the provider drops this one."
	}
	return "The worker may try once more. If an earlier request landed, this one doubles it."
}

// follows is what a decision leads to, for the confirmation.
func follows(v journal.Verb, m journal.ReissueMode, s *journal.Snapshot) []string {
	out := []string{verbMeans(v, m)}
	switch v {
	case journal.VerbReissue:
		out = append(out, "The order is for one attempt and expires; this page shows when.",
			"If its outcome is unknown again, it comes back to the list.")
	case journal.VerbCloseNotLanded:
		if s.CanLook {
			out = append(out, "The provider is asked once more afterwards. If it shows up there, the effect comes back to the list and the workflow is told.")
		}
	}
	return append(out, "Your name, the reason and the evidence that you saw are kept in the audit trail. This can’t be taken back.")
}

// newConfirmPage builds the page between the form and the record.
func newConfirmPage(sh web.Shell, k *journal.Case, a journal.Assessment, f formState, d journal.Decision, ask journal.Demand) web.ConfirmPage {
	c := clock{k.Now}
	answer := verdictOf(&k.Snapshot, a)
	p := web.ConfirmPage{
		Shell: sh, Head: effectHead(c, k), Title: verbTitle(d.Verb, d.Mode), Follows: follows(d.Verb, d.Mode, &k.Snapshot),
		Answer: answer.Text + " " + answer.Detail, Code: web.ReasonCodeText(d.ReasonCode),
		Reason: web.Visible(d.Reason, web.NoLimit), ProviderID: line(d.ProviderID),
		Draft: web.Draft{Choice: f.choice, Code: f.code, Reason: f.reason, ProviderID: f.providerID, Version: f.version, Digest: f.digest,
			Overrides: d.Overrides, BreakGlass: d.BreakGlass, Correction: f.correction},
		Diff: correctionDiff(k, d.Correction),
		Asks: asksText(ask, d, &k.Policy), Overrides: passedOver(d.Overrides), Button: "Record the decision",
		PostURL: web.DecideURL(k.Effect.ID), EditURL: web.ConfirmURL(k.Effect.ID),
	}
	if ask.FourEyes && !d.BreakGlass {
		p.Button = "Propose it"
		p.Follows[len(p.Follows)-1] = "Your name, the reason and the evidence that you saw are kept in the audit trail. You can withdraw it as long as nobody approved."
	} else if w := k.Proposal; w.Open(k.Now) {
		p.Follows = append(p.Follows, "It ends the proposal “"+verbTitle(w.Decision.Verb, w.Decision.Mode)+"” of "+line(firstOf(w.Decision.Actor.Name, w.Decision.Actor.Subject)).String()+".")
	}
	if l, ok := k.LastLook(); ok {
		p.Looked = c.maybe(l.StartedAt)
	}
	p.Undo = undoBox(k, d.Verb)
	if d.Verb == journal.VerbCorrect {
		p.EditURL = web.CorrectURL(k.Effect.ID)
	}
	p.Against = against(&k.Snapshot, a, d)
	p.Claimed = claimWarning(c, k, d.Actor)
	if d.Verb == journal.VerbReissue {
		args := newPayload(k.Effect.Args, k, true) // whoever repeats it has seen all of it
		p.Args = &args
	}
	return p
}

// against says that a decision departs from the recommendation.
func against(s *journal.Snapshot, a journal.Assessment, d journal.Decision) string {
	same := string(a.Recommend) == string(d.Verb) && (d.Verb != journal.VerbReissue || a.Mode == d.Mode)
	corrects := d.Verb == journal.VerbCorrect && a.Recommend == journal.RecommendReissue // the same, with better arguments
	if same || corrects || a.Recommend == journal.RecommendNothing {
		return ""
	}
	text := "The assessment says: " + recommendSentence(s, a)
	if a.Recommend == journal.RecommendWait && a.Until.After(s.Now) {
		text += " from " + a.Until.UTC().Format("15:04:05 UTC") + "."
	}
	if d.Verb == journal.VerbReissue && d.Mode == journal.NewKey && len(s.Exposed()) > 0 {
		text += " An attempt may have landed: a new request would then double it."
	}
	return text
}

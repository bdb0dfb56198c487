package handlers

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/web"
)

// tryBox is the form of one provider: as it was sent if it was this one's.
func tryBox(k clock, one providerView, v tryView) web.TryBox {
	b := web.TryBox{URL: web.TryURL(one.name), Provider: one.name}
	since := trySinceDefault
	if v.provider == one.name {
		since = v.since
		b.Ref, b.RefError, b.SinceErr = v.ref, v.refErr, v.sinceErr
		if v.effectID != "" {
			b.EffectAt = web.EffectURL(v.effectID)
		}
		if v.asked != nil {
			r := tryResult(k, one, v)
			b.Result = &r
		}
	}
	for _, o := range tryChoices() {
		o.Selected = o.Value == since
		b.Since = append(b.Since, o)
	}
	switch {
	case !v.who.MayDecide():
		b.Closed = "To try a look-up you need the role operator or approver."
	case one.state.PausedUntil != nil:
		b.Closed, b.Until = "Not now: the provider asked to be left alone. It can be tried", k.maybe(*one.state.PausedUntil)
	}
	return b
}

// tryResult says what was asked and what came back.
func tryResult(k clock, one providerView, v tryView) web.TryResult {
	f := v.asked.facts
	r := tryMeans(one.sheet, v)
	r.At = line(one.name)
	r.Facts = tryFacts(k, v)
	for _, m := range f.Answer.Matches {
		r.Matches = append(r.Matches, matchCard(k, m, v.hosts))
	}
	if f.Err == nil {
		r.Controls = []web.ControlRow{tryControl("Negative", negativeMeans, f.Negative, f), tryControl("Positive", positiveMeans, f.Positive, f)}
	}
	r.Scopes = scopeRows(f.Answer.Scopes)
	exchanges := f.Answer.Exchanges
	var p *evidence.ProviderError
	if errors.As(f.Err, &p) {
		exchanges = slices.Concat(exchanges, p.Exchanges)
	}
	r.Exchanges = exchangeRows(exchanges)
	return r
}

// tryControl is a control's row, with what it looked for. None runs where a
// match answers already.
func tryControl(name, means string, ctl journal.Control, f evidence.Facts) web.ControlRow {
	switch {
	case !ctl.Ran && ctl.Detail == "" && len(f.Answer.Matches) > 0:
		ctl.Detail = "not needed: the match itself was fetched again and compared character by character"
	case ctl.Ran && ctl.Detail != "":
		ctl.Detail += "; it looked for " + ctl.Ref
	case ctl.Ran:
		ctl.Detail = "it looked for " + ctl.Ref
	}
	return controlRow(name, means, ctl)
}

// tryMeans puts the outcome first. It never says NOT_FOUND: a try knows of no
// attempt, so it can't tell whether one may still land.
func tryMeans(sheet evidence.Sheet, v tryView) web.TryResult {
	f := v.asked.facts
	if f.Err != nil {
		return faultMeans(f.Err)
	}
	if len(f.Answer.Matches) > 0 {
		return matchesMean(f.Answer.Matches, v.random)
	}
	believed, _, why := evidence.Trust(f, sheet)
	if believed && sheet.Retention > 0 && v.asked.since > sheet.Retention-sheet.Retention/20 {
		believed, why = false, "The time asked for reaches further back than what the provider keeps ("+span(sheet.Retention)+")."
	}
	switch {
	case !believed:
		return web.TryResult{Tone: web.ToneWarn, Title: "Nothing was found, and that proves nothing.", Said: web.Visible(why, web.ValueLimit),
			Advice: "On an effect’s page such a look reads “can’t tell”."}
	case v.random:
		return web.TryResult{Tone: web.ToneGood, Title: "The search works.",
			Advice: "A reference that nobody has was not found, one that was committed lately was, and every page and place was read."}
	}
	return web.TryResult{Tone: web.ToneInfo, Title: "Nothing was found, and the search works.",
		Advice: "Decide on the effect’s page all the same: only Landed’s own look there knows whether a request may still land or show up late."}
}

func matchesMean(ms []journal.Match, random bool) web.TryResult {
	var effective, pending int
	for _, m := range ms {
		switch m.State {
		case journal.MatchPending:
			pending++
		case journal.MatchNotEffective:
		default:
			effective++
		}
	}
	switch {
	case random:
		return web.TryResult{Tone: web.ToneStop, Title: "A reference that nobody has was found.", Advice: "The provider’s search can’t be trusted. Tell whoever runs Landed."}
	case effective+pending > 1:
		return web.TryResult{Tone: web.ToneStop, Title: fmt.Sprintf("Found %d times.", effective+pending), Advice: "More than one object carries this reference: it landed more than once."}
	case effective == 1:
		return web.TryResult{Tone: web.ToneGood, Title: "Found.", Advice: "Exactly one object carries this reference. Decide on the effect’s page, where a look is recorded as evidence."}
	case pending == 1:
		return web.TryResult{Tone: web.ToneWait, Title: "Found, not done yet.", Advice: "The provider accepted it. A repeat now would double it."}
	}
	return web.TryResult{Tone: web.ToneWarn, Title: "Found, but it took no effect.", Advice: "It is a draft, or it bounced, failed or was cancelled. It may still be sent."}
}

// faultMeans says what went wrong and who can mend it.
func faultMeans(err error) web.TryResult {
	r := web.TryResult{Tone: web.ToneStop, Title: "The provider did not answer properly.", Said: web.Plain("It could not be reached, or did not answer in time."),
		Advice: "Landed tries again by itself. If it stays so, see whether the provider is up and reachable from here."}
	var p *evidence.ProviderError
	if !errors.As(err, &p) {
		return r
	}
	r.Said = web.Visible(p.Detail, web.ValueLimit)
	switch p.Kind {
	case evidence.FaultAuth:
		r.Title, r.Advice = "The provider refused Landed’s credentials.", "Waiting does not help: whoever runs Landed has to renew them."
	case evidence.FaultForbidden:
		r.Title, r.Advice = "Landed lacks a right at the provider.", "Waiting does not help: whoever runs the provider has to grant it. Reading is enough."
	case evidence.FaultRateLimited:
		r.Title, r.Advice = "The provider asks for fewer requests.", "Landed leaves it alone as long as it asked to, then goes on by itself."
	case evidence.FaultBadAnswer:
		r.Title, r.Advice = "The provider’s answer can’t be understood.", "Look at the answer below: it may be an error page, or the provider changed."
	case evidence.FaultRefused:
		r.Title, r.Advice = "The provider refused the query.", "Waiting does not help: whoever runs Landed has to look at how it is configured."
	case evidence.FaultTooLarge:
		r.Title, r.Advice = "The provider’s answer is larger than Landed reads.", "Try a shorter time."
	}
	return r
}

func tryFacts(k clock, v tryView) []web.Fact {
	q, f := v.asked.question, v.asked.facts
	name := "Reference"
	if v.random {
		name = "Reference, which nobody has"
	}
	out := []web.Fact{{Name: name, Value: line(q.Ref), Code: true},
		{Name: "Searched from", At: k.maybe(q.From)}, {Name: "Searched to", At: k.maybe(q.To)}}
	out = append(out, web.Fact{Name: "Took, with its wait", Value: web.Plain(tookText(v.asked.took.Round(time.Millisecond)))})
	if f.Err != nil {
		return out
	}
	pages := "every page was read"
	if !f.Answer.AllPagesRead {
		pages = "not every page was read"
	}
	out = append(out, web.Fact{Name: "Completeness", Value: web.Plain(pages)},
		web.Fact{Name: "Matches", Value: web.Plain(web.Number(len(f.Answer.Matches)))},
		web.Fact{Name: "Rows that were not ours", Value: web.Plain(web.Number(f.Answer.Unrelated))})
	if f.Positive.Ran && q.Canary != nil {
		out = append(out, web.Fact{Name: "The positive control looked for", Value: web.Plain("this committed effect"), URL: web.EffectURL(q.Canary.EffectID)})
	}
	return out
}

package handlers

import (
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/web"
)

// maxDue is where the journal stops counting looks that are due.
const maxDue = 1000

// newProviderListPage counts times from when the journal read them, by its clock:
// this server's may be off.
func newProviderListPage(sh web.Shell, list []providerView, v tryView) web.ProviderListPage {
	p := web.ProviderListPage{Shell: sh, Summary: providersSummary(list)}
	for _, one := range list {
		card := providerCard(clock{one.state.Now}, one, v)
		p.Cards = append(p.Cards, card)
		p.Jumps = append(p.Jumps, web.ProviderJump{Name: card.Name, URL: "#p-" + card.ID, Health: card.Health.Badge})
	}
	return p
}

func providersSummary(list []providerView) string {
	if len(list) == 0 {
		return "Who can be asked whether an effect landed, and what the answers are worth."
	}
	healthy := 0
	for _, one := range list {
		if one.state.Healthy() {
			healthy++
		}
	}
	return fmt.Sprintf("%s can be asked whether an effect landed; %d healthy. Landed only reads there.",
		web.Count(len(list), "provider", "providers"), healthy)
}

func providerCard(k clock, one providerView, v tryView) web.ProviderCard {
	return web.ProviderCard{
		ID: one.name, Name: line(one.name), Kind: line(one.sheet.Kind), Mode: modeBadge(one.sheet.Mode), Looks: lookupSentence(one.sheet.Class),
		Health: providerHealth(k, one), Pace: pacePanel(k, one), Lag: lagPanel(k, one), Sheet: sheetRows(one.sheet), Guide: providerGuide(one.name, one.guide), Try: tryBox(k, one, v),
	}
}

// providerHealth says how the provider does. What stops looks altogether comes
// first.
func providerHealth(k clock, one providerView) web.ProviderHealth {
	st := one.state
	h := web.ProviderHealth{Worth: emptyWorth(one), Facts: healthFacts(k, st)}
	say := func(tone web.Tone, badge, title, detail, said string) {
		h.Badge, h.Title, h.Detail, h.Said = web.Badge{Tone: tone, Text: badge}, title, detail, web.Visible(said, web.ValueLimit)
	}
	faulty := st.LastFaultAt != nil && (st.LastOKAt == nil || st.LastFaultAt.After(*st.LastOKAt))
	switch {
	case st.PausedUntil != nil:
		say(web.ToneWait, "Paused", "It asked to be left alone for a while.", "Landed asks again", st.LastFault)
		h.Until = k.maybe(*st.PausedUntil)
	case faulty:
		say(web.ToneStop, "Failing", "The latest look was not answered properly.",
			"Until one is, effects here stay undecided. None is taken as not found.", st.LastFault)
	case st.LastOKAt == nil:
		say(web.ToneQuiet, "Not asked yet", "It has not been asked yet.", "Landed asks when an effect needs evidence, or when somebody tries a look-up here.", "")
	case st.ControlAt != nil && !st.ControlOK:
		say(web.ToneStop, "Not trusted", "It answers, but a control failed.",
			"A control is a look whose answer is known beforehand. Until both pass, an empty answer proves nothing; a match still counts.", st.ControlWhy)
	case !conclusive(one.sheet):
		say(web.ToneWarn, "Healthy, inconclusive", "It answers, but it can only confirm.",
			"What it shows has landed. What it does not show may have landed all the same.", "")
	case st.ControlAt == nil:
		say(web.ToneInfo, "Healthy, unproven", "It answers. Its search is not proven yet.",
			"The controls run when a look finds nothing. The positive one needs an effect that was committed at this provider lately.", "")
	default:
		say(web.ToneGood, "Healthy", "It answers, and its controls passed.", "", "")
	}
	return h
}

// emptyWorth says what follows if the provider shows nothing.
func emptyWorth(one providerView) string {
	st := one.state
	switch {
	case !conclusive(one.sheet):
		return "Nothing, however healthy it is: " + web.Visible(inconclusive(one.sheet), web.ValueLimit).String()
	case !st.Healthy():
		return "Nothing for now. Only a look that is answered properly, with both controls passed, can show that something is not there."
	case st.ControlAt == nil:
		return "Nothing until a look has run both controls and they passed."
	}
	return fmt.Sprintf("It counts as “not found” from %s after the last moment at which a request could still land, if both controls pass again in that look.",
		lagText(evidence.InForce(one.sheet, st.Lag)))
}

func healthFacts(k clock, st journal.ProviderState) []web.Fact {
	out := []web.Fact{instant(k, "Last proper answer", st.LastOKAt), instant(k, "Last fault", st.LastFaultAt)}
	if st.LastFaultAt != nil {
		out = append(out, web.Fact{Name: "That fault was", Value: web.Visible(st.LastFault, web.ValueLimit)})
	}
	out = append(out, instant(k, "Controls last ran", st.ControlAt))
	if st.ControlAt != nil {
		text := web.Plain("both passed")
		if !st.ControlOK {
			text = web.Visible("failed: "+firstOf(st.ControlWhy, "no reason was given"), web.ValueLimit)
		}
		out = append(out, web.Fact{Name: "Controls", Value: text})
	}
	due := web.Count(st.Due, "look", "looks")
	switch {
	case st.Due == 0:
		due = "none"
	case st.Due >= maxDue:
		due = web.Number(maxDue) + " looks or more"
	}
	return append(out, web.Fact{Name: "Due now", Value: web.Plain(due)})
}

// conclusive reports whether an empty answer can prove anything at all.
func conclusive(sheet evidence.Sheet) bool { return sheet.Conclusive && sheet.Class != evidence.L6 }

// inconclusive says why not.
func inconclusive(sheet evidence.Sheet) string {
	return firstOf(sheet.InconclusiveWhy, "This provider can’t be asked for our reference.")
}

// lagPanel shows the index lag: the one in force, and what it is made of.
func lagPanel(k clock, one providerView) web.LagPanel {
	lag, declared, tripled := one.state.Lag, one.sheet.IndexLag, 3*one.state.Lag.P99
	p := web.LagPanel{InForce: lagText(max(declared, tripled)) + " in force", Facts: []web.Fact{{Name: "Declared by the adapter", Value: web.Plain(lagText(declared))}}}
	switch {
	case lag.Samples == 0:
		p.Why = "The declared one counts: there is no measured one."
		p.Unknown = "Not measured yet. Landed looks for fresh commits, one at a time, and keeps how long each takes to show."
		if one.sheet.Class == evidence.L6 {
			p.Unknown = "It can’t be measured here."
		}
		return p
	case tripled > declared:
		p.Why = fmt.Sprintf("The measured one counts: three times the 99th percentile, %s, is more than the %s that the adapter declares.", lagText(lag.P99), lagText(declared))
	default:
		p.Why = fmt.Sprintf("The declared one counts: three times the measured 99th percentile is %s, which is not more.", lagText(tripled))
	}
	if lag.Lost > 0 {
		p.Lost = fmt.Sprintf("%s of %d never showed within the hour that Landed waits. If that goes on, the search misses what is there.",
			web.Count(lag.Lost, "committed effect", "committed effects"), lag.Samples)
	}
	p.Facts = append(p.Facts,
		web.Fact{Name: "Half showed within (p50)", Value: web.Plain(lagText(lag.P50))},
		web.Fact{Name: "99 of 100 within (p99)", Value: web.Plain(lagText(lag.P99))},
		web.Fact{Name: "Slowest (max)", Value: web.Plain(lagText(lag.Max))},
		web.Fact{Name: "Samples", Value: web.Plain(web.Number(lag.Samples))},
		web.Fact{Name: "Never showed (lost)", Value: web.Plain(web.Number(lag.Lost))})
	if lag.Newest != nil {
		p.Facts = append(p.Facts, instant(k, "Newest sample", lag.Newest))
	}
	return p
}

package handlers

import (
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// newEvidence shows the look that counts in full, and the others in a table. Any
// hit outweighs the misses after it.
func newEvidence(c clock, k *journal.Case, hosts []string, names people) (*web.EvidencePanel, []web.LookRow) {
	if len(k.Evidence) == 0 {
		return nil, nil
	}
	main := mainLook(k)
	var rows []web.LookRow
	for i := range k.Evidence {
		if i != main {
			rows = append(rows, lookRow(c, &k.Evidence[i], names))
		}
	}
	return evidencePanel(c, &k.Evidence[main], hosts, names), rows
}

// mainLook is the index of the look that counts: the newest hit, else the newest.
func mainLook(k *journal.Case) int {
	for i, e := range k.Evidence {
		if e.Verdict.Hit() {
			return i
		}
	}
	return 0
}

// What the two controls ask.
const (
	negativeMeans = "a fresh random reference must not be found"
	positiveMeans = "one that was committed lately must be found"
)

func evidencePanel(c clock, e *journal.Evidence, hosts []string, names people) *web.EvidencePanel {
	p := &web.EvidencePanel{
		Verdict: web.VerdictBadge(e.Verdict, e.Reason), Explanation: web.Visible(e.Explanation, web.ValueLimit),
		Facts: evidenceFacts(c, e, names),
		Controls: []web.ControlRow{
			controlRow("Negative", negativeMeans, e.Negative),
			controlRow("Positive", positiveMeans, e.Positive),
		},
	}
	for _, m := range e.Matches {
		p.Matches = append(p.Matches, matchCard(c, m, hosts))
	}
	p.Scopes, p.Exchanges = scopeRows(e.Scopes), exchangeRows(e.Exchanges)
	return p
}

func scopeRows(scopes []journal.Scope) []web.ScopeRow {
	var out []web.ScopeRow
	for _, s := range scopes {
		b := web.Badge{Tone: web.ToneGood, Text: "Searched"}
		if !s.Seen {
			b = web.Badge{Tone: web.ToneWarn, Text: "Could not be seen"}
		}
		out = append(out, web.ScopeRow{Name: line(s.Name), Badge: b, Detail: web.Visible(s.Detail, web.ValueLimit)})
	}
	return out
}

func exchangeRows(list []journal.Exchange) []web.ExchangeRow {
	var out []web.ExchangeRow
	for i, x := range list {
		out = append(out, web.ExchangeRow{Number: i + 1, Request: web.Visible(x.Request, 20_000),
			Response: web.Visible(x.Response, 20_000), Took: tookText(x.Took)})
	}
	return out
}

func evidenceFacts(c clock, e *journal.Evidence, names people) []web.Fact {
	out := []web.Fact{
		{Name: "Pulled", At: c.maybe(e.StartedAt)},
		{Name: "Asked by", Value: names.who(askedBy(e.RequestedBy))},
		{Name: "Adapter", Value: line(e.Adapter + " (" + e.Kind + ")"), URL: web.ProviderURL(e.Adapter)},
	}
	if !e.WindowFrom.IsZero() {
		out = append(out, web.Fact{Name: "Searched from", At: c.maybe(e.WindowFrom)})
	}
	if !e.WindowTo.IsZero() {
		out = append(out, web.Fact{Name: "Searched to", At: c.maybe(e.WindowTo)})
	}
	if e.Verdict == journal.NotFound {
		out = append(out, web.Fact{Name: "Covers", Value: web.Plain(coversText(e.CoversAttempt))})
	}
	pages := "every page was read"
	if !e.AllPagesRead {
		pages = "not every page was read"
	}
	out = append(out, web.Fact{Name: "Completeness", Value: web.Plain(pages)})
	if e.Unrelated > 0 {
		out = append(out, web.Fact{Name: "Others", Value: web.Plain(web.Count(e.Unrelated, "returned row was not ours", "returned rows were not ours"))})
	}
	if text := waitedText(e); text != "" {
		out = append(out, web.Fact{Name: "Index lag", Value: web.Plain(text)})
	}
	if e.LookAgainAt.After(c.now) {
		out = append(out, web.Fact{Name: "Asking again makes sense", At: c.maybe(e.LookAgainAt)})
	}
	return append(out, web.Fact{Name: "Digest", Value: line(e.Digest), Code: true})
}

// askedBy makes a bare subject an operator.
func askedBy(by string) string {
	if by == "" || by == "schedule" {
		return "schedule"
	}
	return "operator:" + by
}

func coversText(attempt int) string {
	if attempt == 1 {
		return "attempt 1"
	}
	return fmt.Sprintf("attempts 1 to %d", attempt)
}

func controlRow(name, means string, ctl journal.Control) web.ControlRow {
	r := web.ControlRow{Name: name, Means: means, Detail: web.Visible(ctl.Detail, web.ValueLimit)}
	switch {
	case !ctl.Ran:
		r.Badge = web.Badge{Tone: web.ToneQuiet, Text: "Did not run"}
	case ctl.Passed:
		r.Badge = web.Badge{Tone: web.ToneGood, Text: "Passed"}
	default:
		r.Badge = web.Badge{Tone: web.ToneStop, Text: "Failed"}
	}
	return r
}

func matchCard(c clock, m journal.Match, hosts []string) web.MatchCard {
	card := web.MatchCard{ID: line(m.ID), Title: line(firstOf(m.Title, m.ID, "(no title)")), State: web.MatchBadge(m.State), Status: line(m.Status)}
	card.URL, card.Host = safeLink(m.URL, hosts)
	if !m.At.IsZero() {
		card.Facts = append(card.Facts, web.Fact{Name: "Made", At: c.maybe(m.At)})
	}
	add := func(name, value string) {
		if value != "" {
			card.Facts = append(card.Facts, web.Fact{Name: web.Visible(name, 60).String(), Value: web.Visible(value, web.ValueLimit)})
		}
	}
	add("Where", m.Where)
	add("Reference found in", m.Carrier)
	for _, f := range m.Facts {
		add(f.Name, f.Value)
	}
	return card
}

func lookRow(c clock, e *journal.Evidence, names people) web.LookRow {
	r := web.LookRow{At: c.ago(e.StartedAt), Verdict: web.VerdictBadge(e.Verdict, e.Reason),
		Explanation: web.Visible(e.Explanation, web.ValueLimit), Adapter: line(e.Adapter), By: names.who(askedBy(e.RequestedBy))}
	if e.Verdict == journal.NotFound {
		r.Covers = "Covers " + coversText(e.CoversAttempt)
	}
	return r
}

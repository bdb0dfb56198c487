package handlers

import (
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// claimText names a filter by claim; ok is false for one that there is not.
func claimText(claim string) (text string, ok bool) {
	switch journal.ClaimFilter(claim) {
	case "":
		return "Any", true
	case journal.ClaimMine:
		return "Mine", true
	case journal.ClaimNone:
		return "Nobody is on it", true
	}
	return "", false
}

// addTeam puts on the list who is on what, and where the snoozed ones are.
func addTeam(p *web.ListPage, q web.ListQuery, page journal.ListPage, who journal.Actor) {
	k := clock{page.Now}
	marks := make(map[string]journal.TeamMark, len(page.Team))
	for id, m := range page.Team {
		marks[web.EffectURL(id)] = m
	}
	for i := range p.Rows {
		p.Rows[i].Flags = append(p.Rows[i].Flags, teamBadges(k, marks[p.Rows[i].URL], who)...)
	}
	for _, v := range []string{"", string(journal.ClaimMine), string(journal.ClaimNone)} {
		text, _ := claimText(v)
		p.Form.Claims = append(p.Form.Claims, web.Option{Value: v, Text: text, Selected: q.Claim == v})
	}
	if q.Claim != "" {
		p.Form.Open = true
		without := q
		without.Claim, without.After = "", ""
		text, _ := claimText(q.Claim)
		p.Active = append(p.Active, web.ActiveFilter{Name: "On it", Value: web.Plain(text), URL: web.ListURL(without)})
	}
	if !q.Snoozed {
		if page.Snoozed > 0 {
			p.Snoozed = &web.Link{Text: web.Number(page.Snoozed) + " snoozed", URL: web.ListURL(web.ListQuery{Snoozed: true})}
		}
		return
	}
	addSnoozed(p, q, page)
}

// addSnoozed turns the list into that of what is put aside.
func addSnoozed(p *web.ListPage, q web.ListQuery, page journal.ListPage) {
	p.Snoozed = &web.Link{Text: "What needs attention", URL: web.RouteList}
	p.Groups, p.Oldest = nil, nil // those are of what needs attention
	p.Form.Clear = web.ListURL(web.ListQuery{Snoozed: true, Newest: q.Newest})
	p.Form.Kept = append(p.Form.Kept, web.Option{Text: web.ParamSnoozed, Value: web.SnoozedYes})
	verb := " effects are snoozed"
	if page.Total == 1 {
		verb = " effect is snoozed"
	}
	p.Headline = web.Number(page.Total) + verb
	if len(p.Rows) > 0 {
		return
	}
	p.Headline = "Nothing is snoozed"
	if filtered(withoutSnoozed(q)) {
		p.Headline = "No snoozed effect matches"
	}
	p.Empty = &web.Notice{Tone: web.ToneQuiet, Title: p.Headline, Lines: []string{"What was put aside comes back to the list at its time, or as soon as anything about it changes."},
		Links: []web.Link{{Text: "What needs attention", URL: web.RouteList}}}
}

func withoutSnoozed(q web.ListQuery) web.ListQuery {
	q.Snoozed = false
	return q
}

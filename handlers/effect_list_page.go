package handlers

import (
	"sort"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// newListPage builds the list.
func newListPage(sh web.Shell, q web.ListQuery, page journal.ListPage) web.ListPage {
	k := clock{page.Now}
	p := web.ListPage{
		Shell: sh, Headline: headline(page, filtered(q)), Groups: listGroups(k, q, page.Counts),
		Form: listForm(q, page.Counts), Active: activeFilters(q),
	}
	for _, g := range page.Counts {
		if p.Oldest == nil || g.Oldest.UTC().Format(time.RFC3339) < p.Oldest.ISO {
			age := k.age(g.Oldest)
			p.Oldest = &age
		}
	}
	for i := range page.Rows {
		p.Rows = append(p.Rows, listRow(k, &page.Rows[i]))
	}
	if page.Next != "" {
		next := q
		next.After = page.Next
		p.More = web.ListURL(next)
	}
	if q.After != "" {
		first := q
		first.After = ""
		p.First = web.ListURL(first)
	}
	if len(p.Rows) == 0 {
		p.Empty = emptyList(q)
	}
	return p
}

func filtered(q web.ListQuery) bool {
	q.After, q.Newest, q.Group = "", false, ""
	return q != web.ListQuery{}
}

func headline(page journal.ListPage, narrowed bool) string {
	what, verb := "effects", "need"
	if page.Total == 1 {
		what, verb = "effect", "needs"
	}
	n := web.Number(page.Total)
	switch {
	case page.Total >= journal.TotalCap:
		n = "More than " + web.Number(journal.TotalCap-1)
	case page.Total == 0 && narrowed:
		return "No effect matches"
	case page.Total == 0:
		return "Nothing needs attention"
	}
	if narrowed {
		return n + " matching " + what + " " + verb + " attention"
	}
	return n + " " + what + " " + verb + " attention"
}

func listGroups(k clock, q web.ListQuery, counts []journal.ListCount) []web.ListGroup {
	var out []web.ListGroup
	for _, c := range counts {
		out = append(out, web.ListGroup{
			Tool: line(c.Tool), Provider: line(c.Provider), Count: web.Number(c.Count), Oldest: k.age(c.Oldest),
			URL:     web.ListURL(web.ListQuery{Tool: c.Tool, Provider: c.Provider, Newest: q.Newest}),
			Current: q.Tool == c.Tool && q.Provider == c.Provider && c.Tool != "",
		})
	}
	return out
}

func listForm(q web.ListQuery, counts []journal.ListCount) web.ListForm {
	f := web.ListForm{
		Query: q.Query, Namespace: q.Namespace, RootRun: q.RootRun,
		Open:  q.Tool != "" || q.Provider != "" || q.Class != "" || q.State != "" || q.Namespace != "" || q.RootRun != "",
		Clear: web.ListURL(web.ListQuery{Newest: q.Newest}), Self: web.ListURL(q),
		Sorts:  []web.Option{{Value: "", Text: "Oldest first", Selected: !q.Newest}, {Value: web.SortNewest, Text: "Newest first", Selected: q.Newest}},
		States: []web.Option{{Text: "Any"}}, Classes: []web.Option{{Text: "Any"}},
	}
	for _, st := range listStates() {
		f.States = append(f.States, web.Option{Value: string(st), Text: web.StateBadge(st, false).Text, Selected: q.State == string(st)})
	}
	for _, c := range []journal.Class{journal.ClassAtMostOnce, journal.ClassJournalDeduped, journal.ClassProviderIdempotent} {
		f.Classes = append(f.Classes, web.Option{Value: string(c), Text: web.ClassName(c), Selected: q.Class == string(c)})
	}
	f.Kept = keptInForm(q)
	var tools, providers []string
	for _, c := range counts {
		tools, providers = append(tools, c.Tool), append(providers, c.Provider)
	}
	f.Tools, f.Providers = valueOptions(tools, q.Tool), valueOptions(providers, q.Provider)
	return f
}

// valueOptions lists each value once, with the chosen one even if nothing has it now.
func valueOptions(values []string, chosen string) []web.Option {
	all := append([]string{chosen}, values...)
	sort.Strings(all)
	out := []web.Option{{Text: "Any"}}
	for i, v := range all {
		if v != "" && (i == 0 || all[i-1] != v) {
			out = append(out, web.Option{Value: v, Text: line(v).String(), Selected: v == chosen})
		}
	}
	return out
}

func activeFilters(q web.ListQuery) []web.ActiveFilter {
	var out []web.ActiveFilter
	add := func(name, value string, clear func(*web.ListQuery)) {
		if value == "" {
			return
		}
		without := q
		without.After = ""
		clear(&without)
		out = append(out, web.ActiveFilter{Name: name, Value: line(value), URL: web.ListURL(without)})
	}
	add("Search", q.Query, func(q *web.ListQuery) { q.Query = "" })
	add("Tool", q.Tool, func(q *web.ListQuery) { q.Tool = "" })
	add("Provider", q.Provider, func(q *web.ListQuery) { q.Provider = "" })
	add("Class", web.ClassName(journal.Class(q.Class)), func(q *web.ListQuery) { q.Class = "" })
	if q.State != "" {
		add("State", web.StateBadge(journal.State(q.State), false).Text, func(q *web.ListQuery) { q.State = "" })
	}
	add("Cause", burstText(q.Cause), func(q *web.ListQuery) { q.Cause = "" })
	add("Namespace", q.Namespace, func(q *web.ListQuery) { q.Namespace = "" })
	add("Root run", q.RootRun, func(q *web.ListQuery) { q.RootRun = "" })
	return out
}

func emptyList(q web.ListQuery) *web.Notice {
	if q.After != "" {
		return &web.Notice{Tone: web.ToneQuiet, Title: "This page of the list is empty", Lines: []string{"What was here has been settled since."},
			Links: []web.Link{{Text: "First page", URL: web.ListURL(web.ListQuery{Newest: q.Newest})}}}
	}
	if filtered(q) {
		return &web.Notice{Tone: web.ToneQuiet, Title: "No effect matches",
			Lines: []string{"The list holds only what needs attention: effects that are under way or settled are not in it. A whole id, key or reference in the search finds those."},
			Links: []web.Link{{Text: "Remove all filters", URL: web.ListURL(web.ListQuery{})}}}
	}
	return &web.Notice{Tone: web.ToneGood, Title: "Every effect is known",
		Lines: []string{"No effect is stuck, parked or contradicted, and every decision has been picked up.",
			"Something appears here when a worker dies or loses an answer between its call and the provider’s confirmation."}}
}

func listRow(k clock, s *journal.Snapshot) web.ListRow {
	e := &s.Effect
	a := journal.Assess(s)
	r := web.ListRow{
		URL: web.EffectURL(e.ID), Subject: subject(e), Tool: line(e.Tool), Operation: line(e.Operation),
		Money: money(e.Amount, e.Currency), Namespace: line(e.Namespace), Age: k.age(e.CreatedAt),
		State: web.StateBadge(e.State, s.Live()), Class: web.ClassName(e.Class), ClassMeaning: web.ClassMeaning(e.Class),
		Verdict: web.Badge{Tone: web.ToneQuiet, Text: "Not asked yet"}, Recommend: recommendBadge(a), Flags: flags(e),
		Countdowns: countdowns(k, s, a, shortLabels()),
	}
	if s.Proposal.Open(k.now) {
		r.Flags = append(r.Flags, web.Badge{Tone: web.ToneWait, Text: "Waits for a second person"})
	}
	if !s.CanLook && len(s.Looks) == 0 {
		r.Verdict.Text = "Can’t be asked"
	}
	if l, ok := headlineLook(s); ok {
		r.Verdict, r.Looked = web.VerdictBadge(l.Verdict, ""), k.maybe(l.StartedAt)
		if l.Verdict == journal.CannotTell {
			r.VerdictWhy = web.CannotSentence(l.Reason)
		}
	}
	if a.Recommend == journal.RecommendWait && a.Until.After(k.now) {
		r.Until = k.maybe(a.Until)
	}
	return r
}

// headlineLook is the look that counts: any hit outweighs the misses after it.
func headlineLook(s *journal.Snapshot) (journal.Look, bool) {
	if l, ok := s.Hit(); ok {
		return l, true
	}
	return s.LastLook()
}

func recommendBadge(a journal.Assessment) web.Badge {
	switch a.Recommend {
	case journal.RecommendCloseLanded:
		return web.Badge{Tone: web.ToneGood, Text: "Close as landed"}
	case journal.RecommendCloseNotLanded:
		return web.Badge{Tone: web.ToneInfo, Text: "Close as not landed"}
	case journal.RecommendReissue:
		if a.Mode == journal.SameKey {
			return web.Badge{Tone: web.ToneInfo, Text: "Re-issue, same key"}
		}
		return web.Badge{Tone: web.ToneInfo, Text: "Re-issue"}
	case journal.RecommendWait:
		return web.Badge{Tone: web.ToneWait, Text: "Wait"}
	case journal.RecommendInvestigate:
		return web.Badge{Tone: web.ToneWarn, Text: "Investigate"}
	}
	return web.Badge{Tone: web.ToneQuiet, Text: "Nothing to decide"}
}

// labels name what ends; the list has room for a word, the effect page for more.
type labels struct{ key, keyOver, order string }

func shortLabels() labels { return labels{"key", "key over", "order"} }

func longLabels() labels {
	return labels{"The same key is safe to repeat until", "The same key stopped being safe to repeat", "The order expires"}
}

// countdowns are what ends: the provider's key window, and an open order.
func countdowns(k clock, s *journal.Snapshot, a journal.Assessment, l labels) []web.Countdown {
	var out []web.Countdown
	if s.Effect.State == journal.StateReissue && s.Order.Open(k.now) {
		out = append(out, web.Countdown{Label: l.order, At: k.ago(s.Order.ExpiresAt), Tone: urgency(s.Order.ExpiresAt.Sub(k.now))})
	}
	if a.SafeUntil.IsZero() || s.Effect.State.Closed() {
		return out
	}
	c := web.Countdown{Label: l.key, At: k.ago(a.SafeUntil), Tone: urgency(a.SafeUntil.Sub(k.now))}
	if !k.now.Before(a.SafeUntil) {
		c.Label, c.Over, c.Tone = l.keyOver, true, web.ToneStop
	}
	return append(out, c)
}

func urgency(left time.Duration) web.Tone {
	switch {
	case left < time.Hour:
		return web.ToneStop
	case left < 12*time.Hour:
		return web.ToneWarn
	}
	return web.ToneInfo
}

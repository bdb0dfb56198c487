package handlers

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// causeList shows what needs attention with one line per cause.
func (s *server) causeList(c echo.Context, who journal.Actor, q web.ListQuery) error {
	page, err := s.cfg.Journal.Causes(c.Request().Context(), s.viewedFilter(who, q))
	if err != nil {
		return fmt.Errorf("grouping the list: %w", err)
	}
	if err := s.logView(c, who, ""); err != nil {
		return err
	}
	made := clock{page.Now}.ago(page.Now)
	return render(c, http.StatusOK, web.Causes(newCausesPage(s.shell(c, "Effects that need attention, by cause", &made), who, q, page)))
}

func newCausesPage(sh web.Shell, who journal.Actor, q web.ListQuery, page journal.CausePage) web.CausesPage {
	k := clock{page.Now}
	p := web.CausesPage{Shell: sh, Headline: causeHeadline(page), Groups: causeCounts(k, q, page.Counts), Form: listForm(q, page.Counts),
		Active: activeFilters(q), Toggle: byCause(q), Several: newBulkStart(who, q, page.Total)}
	cleared := web.ListQuery{Newest: q.Newest, Group: q.Group}
	p.Form.Clear = web.ListURL(cleared)
	if page.Cut {
		p.Cut = fmt.Sprintf("Only %s effects are grouped, the %s ones first: there are more. Narrow the list to see the causes of the rest.",
			web.Number(page.Read), map[bool]string{false: "oldest", true: "newest"}[q.Newest])
	}
	for i := range page.Groups {
		p.Lines = append(p.Lines, causeLine(k, who, q, &page.Groups[i]))
	}
	if len(p.Lines) == 0 {
		p.Empty = emptyList(q)
	}
	return p
}

func causeHeadline(page journal.CausePage) string {
	if len(page.Groups) == 0 {
		return "Nothing to group"
	}
	return web.Count(len(page.Groups), "cause", "causes") + " behind " + web.Count(page.Read, "effect", "effects")
}

// causeCounts are the header's groups, which lead to grouped lists here.
func causeCounts(k clock, q web.ListQuery, counts []journal.ListCount) []web.ListGroup {
	out := listGroups(k, q, counts)
	for i, c := range counts {
		out[i].URL = web.ListURL(web.ListQuery{Tool: c.Tool, Provider: c.Provider, Newest: q.Newest, Group: web.GroupCause})
	}
	return out
}

func causeLine(k clock, who journal.Actor, q web.ListQuery, g *journal.CauseGroup) web.CauseLine {
	narrow := q
	narrow.Group, narrow.After, narrow.Tool, narrow.Provider, narrow.Cause = "", "", g.Tool, g.Provider, g.Filter().String()
	sample := web.EffectLine{Subject: line(firstOf(strings.TrimSpace(g.Sample.Subject), g.Sample.Operation, g.Tool))}
	l := web.CauseLine{URL: web.ListURL(narrow), Tool: line(g.Tool), Provider: line(firstOf(g.Provider, "no provider")), Error: line(firstOf(g.Error, "No error was reported")),
		Verdict: verdictCount(g.Verdict), Count: web.Count(g.Count, "effect", "effects"), Oldest: k.ago(g.Oldest), Newest: k.ago(g.Newest),
		Sample: sample.Subject, SampleURL: web.EffectURL(g.Sample.ID), Several: newBulkStart(who, narrow, g.Count)}
	if g.Status != 0 {
		l.Status = strconv.Itoa(g.Status)
	}
	for _, r := range g.Recommend {
		l.Recommend = append(l.Recommend, web.BadgeCount{Badge: recommendBadge(journal.Assessment{Recommend: r.Recommend, Mode: r.Mode}), Count: web.Number(r.Count)})
	}
	if l.Several != nil {
		l.Several.Text, l.Several.Label = "Decide these", l.Count+", "+l.Error.String()
	}
	return l
}

// verdictCount is a verdict over many effects.
func verdictCount(v journal.Verdict) web.Badge {
	if v == "" {
		return web.Badge{Tone: web.ToneQuiet, Text: "Not asked yet"}
	}
	return web.VerdictBadge(v, "")
}

// byCause leads from the list to its causes, or back.
func byCause(q web.ListQuery) *web.Link {
	q.After, q.Cause = "", ""
	if q.Group == web.GroupCause {
		q.Group = ""
		return &web.Link{Text: "One by one", URL: web.ListURL(q)}
	}
	q.Group = web.GroupCause
	return &web.Link{Text: "Group by cause", URL: web.ListURL(q)}
}

// keptInForm is what the filter form carries on without a field of its own.
func keptInForm(q web.ListQuery) []web.Option {
	var out []web.Option
	for _, o := range []web.Option{{Text: web.ParamGroup, Value: q.Group}, {Text: web.ParamCause, Value: q.Cause}} {
		if o.Value != "" {
			out = append(out, o)
		}
	}
	return out
}

// burstText names a burst by its time: its cause is behind a hash.
func burstText(cause string) string {
	f := journal.ParseCauseFilter(cause)
	if f.Zero() {
		return ""
	}
	return "one, begun " + f.From.UTC().Format("2 Jan 15:04") + " to " + f.To.Add(-journal.BurstGap).UTC().Format("2 Jan 15:04 UTC")
}

// newBulkStart offers to decide what a filter shows; nil to whoever may not.
func newBulkStart(who journal.Actor, q web.ListQuery, total int) *web.BulkStart {
	if !who.MayDecide() || total == 0 {
		return nil
	}
	q.After, q.Group = "", ""
	_, query, _ := strings.Cut(web.ListURL(q), "?")
	return &web.BulkStart{Filter: query, Text: "Decide several"}
}

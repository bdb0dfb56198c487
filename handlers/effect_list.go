package handlers

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// effectList shows everything that needs attention.
func (s *server) effectList(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	q := parseListQuery(c)
	if q.Group == web.GroupCause {
		return s.causeList(c, who, q)
	}
	f := listFilter(q)
	f.Viewer = who
	page, err := s.cfg.Journal.List(c.Request().Context(), f)
	if err != nil {
		return fmt.Errorf("reading the list: %w", err)
	}
	if err := s.logView(c, who, ""); err != nil {
		return err
	}
	k := clock{page.Now}
	made := k.ago(page.Now)
	p := newListPage(s.shell(c, "Effects that need attention", &made), q, page)
	addTeam(&p, q, page, who)
	p.Toggle, p.Several = byCause(q), newBulkStart(who, q, page.Total)
	return render(c, http.StatusOK, web.List(p))
}

// parseListQuery reads the URL; what it does not know, and what no column could
// hold, narrows nothing.
func parseListQuery(c echo.Context) web.ListQuery { return listQueryOf(c.QueryParams()) }

func listQueryOf(values url.Values) web.ListQuery {
	get := func(name string) string {
		v := values.Get(name)
		if len(v) > 512 {
			return v[:512]
		}
		return v
	}
	q := web.ListQuery{
		Query: get(web.ParamQuery), State: get(web.ParamState), Tool: get(web.ParamTool), Class: get(web.ParamClass),
		Provider: get(web.ParamProvider), Namespace: get(web.ParamNamespace), RootRun: get(web.ParamRootRun),
		After: get(web.ParamAfter), Newest: get(web.ParamSort) == web.SortNewest,
		Claim: get(web.ParamClaim), Snoozed: get(web.ParamSnoozed) == web.SnoozedYes,
	}
	if _, ok := claimText(q.Claim); !ok {
		q.Claim = ""
	}
	q.Cause = journal.ParseCauseFilter(get(web.ParamCause)).String()
	if get(web.ParamGroup) == web.GroupCause {
		q.Group = web.GroupCause
	}
	if !journal.State(q.State).Valid() {
		q.State = ""
	}
	if !journal.Class(q.Class).Valid() {
		q.Class = ""
	}
	return q
}

func listStates() []journal.State {
	return []journal.State{journal.StateParked, journal.StateIntent, journal.StateReissue,
		journal.StateCommitted, journal.StateRejected, journal.StateAbandoned}
}

func listFilter(q web.ListQuery) journal.ListFilter {
	return journal.ListFilter{
		State: journal.State(q.State), Tool: q.Tool, Class: journal.Class(q.Class), Provider: q.Provider,
		Namespace: q.Namespace, RootRun: q.RootRun, Query: q.Query, After: q.After, Newest: q.Newest,
		Cause: journal.ParseCauseFilter(q.Cause),
		Claim: journal.ClaimFilter(q.Claim), Snoozed: q.Snoozed,
	}
}

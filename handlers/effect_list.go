package handlers

import (
	"fmt"
	"net/http"

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
	page, err := s.cfg.Journal.List(c.Request().Context(), listFilter(q))
	if err != nil {
		return fmt.Errorf("reading the list: %w", err)
	}
	if err := s.logView(c, who, ""); err != nil {
		return err
	}
	k := clock{page.Now}
	made := k.ago(page.Now)
	return render(c, http.StatusOK, web.List(newListPage(s.shell(c, "Effects that need attention", &made), q, page)))
}

// parseListQuery reads the URL; what it does not know, and what no column could
// hold, narrows nothing.
func parseListQuery(c echo.Context) web.ListQuery {
	get := func(name string) string {
		v := c.QueryParam(name)
		if len(v) > 512 {
			return v[:512]
		}
		return v
	}
	q := web.ListQuery{
		Query: get(web.ParamQuery), State: get(web.ParamState), Tool: get(web.ParamTool), Class: get(web.ParamClass),
		Provider: get(web.ParamProvider), Namespace: get(web.ParamNamespace), RootRun: get(web.ParamRootRun),
		After: get(web.ParamAfter), Newest: get(web.ParamSort) == web.SortNewest,
	}
	if !knownState(journal.State(q.State)) {
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

func knownState(st journal.State) bool {
	for _, k := range listStates() {
		if st == k {
			return true
		}
	}
	return false
}

func listFilter(q web.ListQuery) journal.ListFilter {
	return journal.ListFilter{
		State: journal.State(q.State), Tool: q.Tool, Class: journal.Class(q.Class), Provider: q.Provider,
		Namespace: q.Namespace, RootRun: q.RootRun, Query: q.Query, After: q.After, Newest: q.Newest,
	}
}

package api

import (
	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// undoable is GET /v1/runs?namespace=&root_run=&after=&limit=: what is left to
// undo of a root run. A run without such effects, and one that nobody knows, are
// an empty page.
func (a *API) undoable(c echo.Context) error {
	limit, err := whole(c, "limit", journal.MaxUndoPage)
	if err != nil {
		return err
	}
	if limit < 1 || limit > journal.MaxUndoPage {
		return &journal.InvalidError{Field: "limit", Detail: "must lie between 1 and 200"}
	}
	q := journal.UndoQuery{Namespace: c.QueryParam("namespace"), RootRun: c.QueryParam("root_run"), After: c.QueryParam("after"), Limit: int(limit)}
	if err := q.Validate(); err != nil {
		return err
	}
	if err := who(c).allow(q.Namespace); err != nil {
		return err
	}
	page, err := a.store.Undoable(c.Request().Context(), q)
	if err != nil {
		return err
	}
	form, err := wire.EncodeUndoPage(page)
	return answer(c, form, err)
}

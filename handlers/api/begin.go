package api

import (
	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// begin is POST /v1/effects. The directives that tell a worker to come back are
// 409, all others 200.
func (a *API) begin(c echo.Context) error {
	b, err := body(c, MaxBeginBytes, "args")
	if err != nil {
		return err
	}
	r, err := wire.DecodeBegin(b)
	if err != nil {
		return err
	}
	w := who(c)
	if err := w.allow(r.Namespace); err != nil {
		return err
	}
	r.Worker = w.name
	out, err := a.store.Begin(c.Request().Context(), r)
	if err != nil {
		return err
	}
	switch out.Directive {
	case journal.DirectiveInProgress, journal.DirectiveRetryLater, journal.DirectiveVerifying:
		return &directiveError{out}
	}
	form, err := wire.EncodeBeginAnswer(out)
	return answer(c, form, err)
}

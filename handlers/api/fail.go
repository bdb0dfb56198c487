package api

import (
	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal/client/wire"
)

// fail is POST /v1/effects/{id}/fail. Every directive is 200: the report was
// taken.
func (a *API) fail(c echo.Context) error {
	b, err := body(c, MaxFailBytes, "error")
	if err != nil {
		return err
	}
	r, err := wire.DecodeFail(c.Param("id"), b)
	if err != nil {
		return err
	}
	w, ctx := who(c), c.Request().Context()
	if r.EffectID, err = a.reported(ctx, w, r.EffectID, r.Namespace, r.Key); err != nil {
		return err
	}
	r.Worker = w.name
	out, err := a.store.Fail(ctx, r)
	if err != nil {
		return err
	}
	form, err := wire.EncodeFailAnswer(out)
	return answer(c, form, err)
}

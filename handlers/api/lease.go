package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal/client/wire"
)

// heartbeat is POST /v1/effects/{id}/heartbeat.
func (a *API) heartbeat(c echo.Context) error {
	b, err := body(c, MaxSmallBytes, "body")
	if err != nil {
		return err
	}
	r, err := wire.DecodeHeartbeat(c.Param("id"), b)
	if err != nil {
		return err
	}
	w, ctx := who(c), c.Request().Context()
	if err := a.visible(ctx, w, r.EffectID); err != nil {
		return err
	}
	r.Worker = w.name
	out, err := a.store.Heartbeat(ctx, r)
	if err != nil {
		return err
	}
	form, err := wire.EncodeHeartbeatAnswer(out)
	return answer(c, form, err)
}

// handle is POST /v1/effects/{id}/handle. A lost lease is said after the handle
// was stored.
func (a *API) handle(c echo.Context) error {
	b, err := body(c, MaxSmallBytes, "value")
	if err != nil {
		return err
	}
	r, err := wire.DecodeHandle(c.Param("id"), b)
	if err != nil {
		return err
	}
	w, ctx := who(c), c.Request().Context()
	if err := a.visible(ctx, w, r.EffectID); err != nil {
		return err
	}
	r.Worker = w.name
	if err := a.store.Handle(ctx, r); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

package api

import (
	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// effect is GET /v1/effects/{id}.
func (a *API) effect(c echo.Context) error { return a.writeEffect(c, c.Param("id")) }

// effectByKey is GET /v1/effects?key=&namespace=. The server's access log must
// not hold queries: keys may be personal.
func (a *API) effectByKey(c echo.Context) error {
	key, namespace := c.QueryParam("key"), c.QueryParam("namespace")
	if err := journal.ValidateKey(key); err != nil {
		return err
	}
	if err := who(c).allow(namespace); err != nil {
		return err
	}
	id, err := a.store.EffectByKey(c.Request().Context(), namespace, key)
	if err != nil {
		return err
	}
	return a.writeEffect(c, id)
}

func (a *API) writeEffect(c echo.Context, id string) error {
	if !journal.ValidID(id) {
		return journal.ErrNotFound
	}
	s, err := a.store.Snapshot(c.Request().Context(), id)
	if err != nil {
		return err
	}
	if !who(c).may(s.Effect.Namespace) {
		return journal.ErrNotFound
	}
	form, err := wire.EncodeEffect(wire.NewEffect(&s))
	return answer(c, form, err)
}

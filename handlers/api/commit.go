package api

import (
	"errors"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// commit is POST /v1/effects/{id}/commit. An unknown id is never refused.
func (a *API) commit(c echo.Context) error {
	b, err := body(c, MaxCommitBytes, "result")
	if err != nil {
		return err
	}
	r, err := wire.DecodeCommit(c.Param("id"), b)
	if err != nil {
		return err
	}
	w, ctx := who(c), c.Request().Context()
	if r.EffectID, err = a.reported(ctx, w, r.EffectID, r.Namespace, r.Key); err != nil {
		return err
	}
	r.Worker = w.name
	out, err := a.store.Commit(ctx, r)
	if err != nil && !errors.Is(err, journal.ErrCommitConflict) {
		return err
	}
	form, encodeErr := wire.EncodeCommitAnswer(out)
	if err != nil && encodeErr == nil {
		return &answeredError{err, form}
	}
	return answer(c, form, encodeErr)
}

package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

var errTooManyWaiting = errors.New("too many long polls wait at this server: ask again, or read the feed")

// decision is the long poll GET /v1/effects/{id}/decision?wait=&after=: 200 with
// the first resolution after the cursor, 204 if there is none yet. It ends when
// the client goes away.
func (a *API) decision(c echo.Context) error {
	after, err := whole(c, "after", 0)
	if err != nil {
		return err
	}
	wait := time.Duration(0)
	if text := c.QueryParam("wait"); text != "" {
		if wait, err = wire.ParseSpan("wait", text); err != nil {
			return err
		}
	}
	if wait < 0 {
		return &journal.InvalidError{Field: "wait", Detail: "is negative"}
	}
	ctx, id := c.Request().Context(), c.Param("id")
	if err := a.visible(ctx, who(c), id); err != nil {
		return err
	}
	r, err := a.await(c, id, after, min(wait, a.maxWait))
	if err != nil {
		return err
	}
	if r == nil {
		return c.NoContent(http.StatusNoContent)
	}
	return c.JSON(http.StatusOK, r)
}

// await looks at once and, if there is nothing, waits in one of the places.
func (a *API) await(c echo.Context, id string, after int64, wait time.Duration) (*journal.Resolution, error) {
	ctx := c.Request().Context()
	r, err := a.store.Decision(ctx, id, after, 0)
	if err != nil || r != nil || wait == 0 {
		return r, err
	}
	select {
	case a.polls <- struct{}{}:
		defer func() { <-a.polls }()
	default:
		return nil, errTooManyWaiting
	}
	// The server's write time-out is meant for answers that are ready; where it
	// can't be moved, it must be longer than MaxWait.
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(wait + 10*time.Second))
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-a.quit:
			stop()
		case <-waiting.Done():
		}
	}()
	r, err = a.store.Decision(waiting, id, after, wait)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil // the server closes: none yet
	}
	return r, err
}

// decisions is the feed GET /v1/decisions?after=&limit=, oldest first. A token
// that is limited to namespaces gets theirs only.
func (a *API) decisions(c echo.Context) error {
	after, err := whole(c, "after", 0)
	if err != nil {
		return err
	}
	limit, err := whole(c, "limit", defaultFeed)
	if err != nil {
		return err
	}
	if limit < 1 || limit > maxFeed {
		return &journal.InvalidError{Field: "limit", Detail: "must lie between 1 and 500"}
	}
	rows, err := a.store.DecisionsIn(c.Request().Context(), who(c).namespaces, after, int(limit))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.NewFeed(rows, after))
}

// Sizes of a page of the feed.
const (
	defaultFeed = 100
	maxFeed     = 500
)

// ack is POST /v1/decisions/{id}/ack; repeatable.
func (a *API) ack(c echo.Context) error {
	id, ctx, w := c.Param("id"), c.Request().Context(), who(c)
	if !journal.ValidID(id) {
		return journal.ErrNotFound
	}
	if err := a.store.AckIn(ctx, w.namespaces, id, "worker:"+w.name); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// whole reads a number of the query.
func whole(c echo.Context, name string, absent int64) (int64, error) {
	text := c.QueryParam(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &journal.InvalidError{Field: name, Detail: "must be a whole number, 0 or more"}
	}
	return n, nil
}

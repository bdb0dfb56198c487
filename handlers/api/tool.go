package api

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// putTool is PUT /v1/tools/{name}. A name may hold slashes, escaped or not.
func (a *API) putTool(c echo.Context) error {
	b, err := body(c, MaxToolBytes, "args_schema")
	if err != nil {
		return err
	}
	name, err := url.PathUnescape(c.Param("*"))
	if err != nil {
		return &journal.InvalidError{Field: "name", Detail: "is not escaped as an address needs it"}
	}
	t, err := wire.DecodeTool(name, b)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if who(c).limited() {
		done, err := a.registered(ctx, t)
		if err != nil {
			return err
		}
		if done {
			return c.NoContent(http.StatusNoContent)
		}
	}
	if err := a.store.RegisterTool(ctx, t); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// registered reports whether t is known just so. A tool that is known otherwise
// is refused: tools have no namespace, and a change would reach all of them.
func (a *API) registered(ctx context.Context, t journal.Tool) (bool, error) {
	if err := t.Validate(); err != nil {
		return false, err
	}
	all, err := a.store.Tools(ctx)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(all, func(o journal.Tool) bool { return o.Name == t.Name })
	switch {
	case i < 0:
		return false, nil
	case sameTool(all[i], t):
		return true, nil
	}
	return false, errSharedTool
}

// sameTool compares what is kept of two tools: durations in milliseconds, no
// list the same as an empty one.
func sameTool(a, b journal.Tool) bool {
	return a.Class == b.Class && a.Provider == b.Provider &&
		a.KeyWindow.Truncate(time.Millisecond) == b.KeyWindow.Truncate(time.Millisecond) &&
		a.ClientTimeout.Truncate(time.Millisecond) == b.ClientTimeout.Truncate(time.Millisecond) &&
		slices.Equal(a.IdentityFields, b.IdentityFields) && slices.Equal(a.DisplayFields, b.DisplayFields) &&
		bytes.Equal(a.ArgsSchema, b.ArgsSchema) && a.CompensatedBy == b.CompensatedBy && a.CompensateRun == b.CompensateRun
}

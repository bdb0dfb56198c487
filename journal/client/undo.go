package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// Undoable lists what is left to undo of a root run, what was completed last
// first.
func (c *Client) Undoable(ctx context.Context, q journal.UndoQuery) (journal.UndoPage, error) {
	if err := q.Validate(); err != nil {
		return journal.UndoPage{}, err
	}
	v := url.Values{"root_run": {q.RootRun}}
	if q.Namespace != "" {
		v.Set("namespace", q.Namespace)
	}
	if q.After != "" {
		v.Set("after", q.After)
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	p, err := do(ctx, c, http.MethodGet, "/runs?"+v.Encode(), nil, wire.DecodeUndoPage)
	return p, doing("listing what is left to undo", err)
}

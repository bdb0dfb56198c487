package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// RegisterTool makes a tool known or changes it for new effects.
func (c *Client) RegisterTool(ctx context.Context, t journal.Tool) error {
	if err := t.Validate(); err != nil {
		return err
	}
	body, err := wire.EncodeTool(t)
	if err == nil {
		err = c.send(ctx, http.MethodPut, "/tools/"+url.PathEscape(t.Name), body)
	}
	return doing("registering tool "+t.Name, err)
}

// Begin asks for permission to execute. While no answer was read it may be sent
// again with the same claim id: the first grant is then repeated.
func (c *Client) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	if err := r.Validate(); err != nil {
		return journal.BeginAnswer{}, err
	}
	body, err := wire.EncodeBegin(r)
	if err != nil {
		return journal.BeginAnswer{}, doing("beginning an effect", err)
	}
	res, err := c.call(ctx, http.MethodPost, "/effects", body, 0)
	if err != nil {
		return journal.BeginAnswer{}, doing("beginning an effect", err)
	}
	if res.status != http.StatusOK && res.status != http.StatusConflict {
		return journal.BeginAnswer{}, doing("beginning an effect", res.failure())
	}
	a, err := wire.DecodeBeginAnswer(res.body)
	switch {
	case err == nil && a.Directive != "": // a 409 may carry one as well
		return a, nil
	case res.status == http.StatusOK && err == nil:
		return journal.BeginAnswer{}, doing("beginning an effect", unreadable(errNoDirective))
	case res.status == http.StatusOK:
		return journal.BeginAnswer{}, doing("beginning an effect", unreadable(err))
	}
	return journal.BeginAnswer{}, doing("beginning an effect", res.failure())
}

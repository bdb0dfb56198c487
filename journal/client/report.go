package client

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// Commit records a confirmation; repeatable, and never refused for being late.
// Beside journal.ErrCommitConflict the answer is filled.
func (c *Client) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if err := r.Validate(); err != nil {
		return journal.CommitAnswer{}, err
	}
	r.ProviderID = plain(r.ProviderID, journal.MaxProviderIDBytes)
	body, err := wire.EncodeCommit(r)
	if err != nil {
		return journal.CommitAnswer{}, doing("committing an effect", err)
	}
	res, err := c.call(ctx, http.MethodPost, effectPath(r.EffectID, "/commit"), body, 0)
	if err != nil {
		return journal.CommitAnswer{}, doing("committing an effect", err)
	}
	if res.status != http.StatusOK {
		if err = res.failure(); !errors.Is(err, journal.ErrCommitConflict) {
			return journal.CommitAnswer{}, doing("committing an effect", err)
		}
	}
	a, unread := wire.DecodeCommitAnswer(res.body)
	if unread == nil && a.State == "" {
		unread = errNoState
	}
	if err == nil {
		err = unreadable(unread)
	}
	return a, doing("committing an effect", err)
}

// Fail records an end without confirmation; it never grants.
func (c *Client) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	if err := r.Validate(); err != nil {
		return journal.FailAnswer{}, err
	}
	r.Error = plain(r.Error, journal.MaxErrorBytes)
	body, err := wire.EncodeFail(r)
	if err != nil {
		return journal.FailAnswer{}, doing("reporting a failed attempt", err)
	}
	a, err := do(ctx, c, http.MethodPost, effectPath(r.EffectID, "/fail"), body, wire.DecodeFailAnswer)
	if err == nil && a.Directive == "" {
		err = unreadable(errNoDirective)
	}
	return a, doing("reporting a failed attempt", err)
}

// Heartbeat renews the lease; *journal.LeaseLostError once that can't be.
func (c *Client) Heartbeat(ctx context.Context, r journal.Report) (journal.HeartbeatAnswer, error) {
	body, err := wire.EncodeHeartbeat(r)
	if err != nil {
		return journal.HeartbeatAnswer{}, doing("renewing a lease", err)
	}
	a, err := do(ctx, c, http.MethodPost, effectPath(r.EffectID, "/heartbeat"), body, wire.DecodeHeartbeatAnswer)
	return a, doing("renewing a lease", err)
}

// Handle records a provider-side id before the effect.
func (c *Client) Handle(ctx context.Context, r journal.HandleRequest) error {
	if err := r.Validate(); err != nil {
		return err
	}
	body, err := wire.EncodeHandle(r)
	if err == nil {
		err = c.send(ctx, http.MethodPost, effectPath(r.EffectID, "/handle"), body)
	}
	return doing("journaling a handle", err)
}

// plain cuts text to what the journal keeps of it, so that a report of what
// happened is never refused for its size.
func plain(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

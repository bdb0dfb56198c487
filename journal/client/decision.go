package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// maxPoll is what one request of a long poll asks for; the server waits 55 s at
// most.
const maxPoll = 50 * time.Second

// Decision waits up to wait for a resolution of the effect after a cursor; nil
// means none yet. A longer wait takes several requests.
func (c *Client) Decision(ctx context.Context, effectID string, after int64, wait time.Duration) (*journal.Resolution, error) {
	end := time.Now().Add(wait)
	for {
		part := min(max(time.Until(end), 0), maxPoll)
		r, err := c.poll(ctx, effectID, after, part)
		if r != nil || err != nil || part <= 0 {
			return r, doing("waiting for a decision", err)
		}
		if time.Until(end) <= 0 {
			return nil, nil
		}
	}
}

func (c *Client) poll(ctx context.Context, effectID string, after int64, wait time.Duration) (*journal.Resolution, error) {
	q := url.Values{"after": {strconv.FormatInt(after, 10)}, "wait": {strconv.FormatInt(wait.Milliseconds(), 10)}}
	r, err := c.call(ctx, http.MethodGet, effectPath(effectID, "/decision?")+q.Encode(), nil, wait)
	switch {
	case err != nil:
		return nil, err
	case r.status == http.StatusNoContent:
		return nil, nil
	case r.status != http.StatusOK:
		return nil, r.failure()
	}
	out, err := wire.DecodeResolution(r.body)
	return out, unreadable(err)
}

// Decisions is the feed of all resolutions after a cursor that the token may
// see, oldest first.
func (c *Client) Decisions(ctx context.Context, after int64, limit int) ([]journal.Resolution, error) {
	q := url.Values{"after": {strconv.FormatInt(after, 10)}}
	if limit > 0 && limit <= 500 {
		q.Set("limit", strconv.Itoa(limit))
	}
	f, err := do(ctx, c, http.MethodGet, "/decisions?"+q.Encode(), nil, func(body []byte) (wire.Feed, error) {
		var f wire.Feed
		err := json.Unmarshal(body, &f)
		return f, err
	})
	return f.Decisions, doing("reading the decision feed", err)
}

// Ack closes the delivery of a resolution; repeatable.
func (c *Client) Ack(ctx context.Context, resolutionID string) error {
	if !journal.ValidID(resolutionID) {
		return fmt.Errorf("acknowledging a decision: %w", journal.ErrNotFound)
	}
	return doing("acknowledging a decision", c.send(ctx, http.MethodPost, "/decisions/"+resolutionID+"/ack", nil))
}

// Effect reads an effect with its attempts.
func (c *Client) Effect(ctx context.Context, id string) (wire.Effect, error) {
	e, err := do(ctx, c, http.MethodGet, effectPath(id, ""), nil, wire.DecodeEffect)
	return e, doing("reading an effect", err)
}

// EffectByKey reads the effect that has a key.
func (c *Client) EffectByKey(ctx context.Context, namespace, key string) (wire.Effect, error) {
	q := url.Values{"key": {key}}
	if namespace != "" {
		q.Set("namespace", namespace)
	}
	e, err := do(ctx, c, http.MethodGet, "/effects?"+q.Encode(), nil, wire.DecodeEffect)
	return e, doing("reading the effect of a key", err)
}

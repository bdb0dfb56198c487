package oauth

import (
	"context"
	"time"
)

// margin is how long before its end a token is not used any more.
const margin = time.Minute

// Token is an access token.
type Token struct {
	Access string
	Life   time.Duration // from when it was given
	// Scope is what the server says that the token may do, blank-separated; empty =
	// what was asked for (RFC 6749, section 5.1).
	Scope string
}

// Cache keeps one token between sessions. It is safe for concurrent use.
type Cache struct {
	turn  chan struct{} // a lock that a cancelled look does not wait for
	token Token
	until time.Time
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{turn: make(chan struct{}, 1)} }

// Get returns the token, with ask getting one if there is none that still holds.
// Of looks at the same time one asks and the others wait for it.
func (c *Cache) Get(ctx context.Context, ask func(context.Context) (Token, error)) (Token, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return Token{}, ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.token.Access != "" && time.Now().Before(c.until) {
		return c.token, nil
	}
	t, err := ask(ctx)
	if err != nil {
		return Token{}, err
	}
	c.token, c.until = t, time.Now().Add(t.Life-margin)
	return t, nil
}

// Drop forgets a token that the provider refused, unless another took its place.
func (c *Cache) Drop(ctx context.Context, access string) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-c.turn }()
	if c.token.Access == access {
		c.token = Token{}
	}
}

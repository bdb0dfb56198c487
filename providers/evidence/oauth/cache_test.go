package oauth_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/providers/evidence/oauth"
)

func TestCacheAsksOnce(t *testing.T) {
	t.Parallel()
	c := oauth.NewCache()
	var asked atomic.Int64
	get := func(life time.Duration) string {
		tok, err := c.Get(t.Context(), func(context.Context) (oauth.Token, error) {
			return oauth.Token{Access: string(rune('a' + asked.Add(1) - 1)), Life: life}, nil
		})
		if err != nil {
			t.Error(err)
		}
		return tok.Access
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := get(time.Hour); got != "a" {
				t.Errorf("token %q", got)
			}
		})
	}
	wg.Wait()
	c.Drop(t.Context(), "another") // of a look that used an older one
	if got := get(time.Hour); got != "a" {
		t.Errorf("token %q after another one was dropped", got)
	}
	c.Drop(t.Context(), "a")
	if got := get(30 * time.Second); got != "b" { // shorter than the margin: good for one use
		t.Errorf("token %q after it was dropped", got)
	}
	if got := get(time.Hour); got != "c" {
		t.Errorf("token %q after it ended", got)
	}
}

func TestCacheDoesNotHoldUpACancelledLook(t *testing.T) {
	t.Parallel()
	c := oauth.NewCache()
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, err := c.Get(context.Background(), func(context.Context) (oauth.Token, error) {
			close(inside)
			<-leave
			return oauth.Token{}, errors.New("no token")
		})
		if err == nil {
			t.Error("the failure is lost")
		}
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	c.Drop(ctx, "x")
	close(leave)
	<-done
	tok, err := c.Get(t.Context(), func(context.Context) (oauth.Token, error) { return oauth.Token{Access: "a", Life: time.Hour}, nil })
	if err != nil || tok.Access != "a" {
		t.Errorf("after a failure: %+v, %v", tok, err)
	}
}

package retried

import (
	"context"
	"net/http"

	retrygo "github.com/avast/retry-go/v4"
	"github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	"github.com/google/uuid"
	"github.com/landedhq/landed/journal/worker"
	"github.com/sethvargo/go-retry"
)

func (s *service) backedOff(ctx context.Context) error {
	_, err := backoff.Retry(ctx, func() (worker.Answer, error) {
		return s.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `the key is minted by uuid.NewString, a new id where the function at line 16 is retried: backoff.Retry calls it again when it fails`
	})
	return err
}

func (s *service) named(ctx context.Context) error {
	send := func() error {
		_, err := s.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `retry.Do calls it again when it fails`
		return err
	}
	return retrygo.Do(send, retrygo.OnRetry(func(uint, error) {}))
}

func (s *service) method(ctx context.Context, b retry.Backoff) error {
	return retry.Do(ctx, b, s.charge)
}

func (s *service) charge(ctx context.Context) error {
	_, err := s.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `service.charge is retried: retry.Do calls it again`
	return err
}

func (s *service) safe(ctx context.Context) error {
	return failsafe.Run(func() error {
		_, err := s.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `failsafe.Run calls it again`
		return err
	})
}

// withRetries is a team's own: the name says it.
func withRetries(f func() error) error { return f() }

func (s *service) byName(ctx context.Context) error {
	return withRetries(func() error {
		_, err := s.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `retried.withRetries calls it again`
		return err
	})
}

// stubborn is a team's own: what it does says it.
func stubborn(f func() error) error {
	for {
		if err := f(); err == nil {
			return nil
		}
	}
}

func (s *service) byDeed(ctx context.Context) error {
	return stubborn(func() error {
		_, err := s.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `retried.stubborn calls again what it is given`
		return err
	})
}

// Plain HTTP, without the journal: the provider's key must survive the retry too.
func plain(ctx context.Context, c *http.Client, url string) error {
	for attempt := 0; attempt < 3; attempt++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", uuid.NewString()) // want `the Idempotency-Key header is minted by uuid.NewString, a new id where the loop at line 74 retries, so that every retry gets a new one. Mint it once outside of the retry and pass it in.`
		if _, err := c.Do(req); err == nil {
			return nil
		}
	}
	return errBusy
}

type chargeInput struct{ IdempotencyKey, Order string }

func literal(ctx context.Context, pay func(chargeInput) error) error {
	return withRetries(func() error {
		return pay(chargeInput{IdempotencyKey: uuid.NewString(), Order: "A1"}) // want `the provider's key \(IdempotencyKey\) is minted`
	})
}

// Package outbox is what everything that Landed sends has in common: alerts
// (providers/alert) and resolutions (providers/resume) lie in the journal's
// database as rows, are claimed, sent at the same time, and recorded.
//
// It owns one round, the retry schedule, and the shape of a failure's text. The
// rows, their claims and their ends are the stores' and the callers'.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
	"unicode"
)

// Bounds of one round.
const (
	claimBatch  = 16
	maxInFlight = 64
)

// RecordWait is how long writing down what came of an attempt may take, also when
// the round is being cancelled: the other side may have taken it.
const RecordWait = 10 * time.Second

// MaxText is how many characters of a failure's text are kept.
const MaxText = 500

// Round claims what is due and does it, all at the same time: one that hangs holds
// up neither the others nor the next claim, and no claim outlives its lease waiting
// for a free slot. It returns when everything has ended; the error joins those of
// claim and do.
func Round[T any](ctx context.Context, claim func(ctx context.Context, limit int) ([]T, error), do func(context.Context, T) error) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	note := func(err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	}
	for taken := 0; taken < maxInFlight; {
		batch, err := claim(ctx, min(claimBatch, maxInFlight-taken))
		if err != nil {
			note(fmt.Errorf("claiming: %w", err))
			break
		}
		for _, one := range batch {
			wg.Go(func() { note(do(ctx, one)) })
		}
		if taken += len(batch); len(batch) == 0 {
			break
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Waits returns the time between attempts: the example retry schedule of Standard
// Webhooks 1.0.0, "Deliverability and reliability". The tenth attempt, 75 hours
// and 35 minutes after the first, is the last.
func Waits() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

// MaxWait bounds what the other side may ask for.
const MaxWait = 24 * time.Hour

// Spread adds up to a fifth to a wait; jitter is in [0,1).
func Spread(wait time.Duration, jitter float64) time.Duration {
	return wait + time.Duration(jitter*float64(wait)/5)
}

// RandomJitter is in [0,1).
func RandomJitter() float64 { return rand.Float64() }

// Text makes a failure's text fit for a row and a page: one line, no control
// characters, MaxText characters at most.
func Text(s string) string {
	out := make([]rune, 0, min(len(s), MaxText))
	for _, r := range s {
		if len(out) == MaxText {
			break
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}

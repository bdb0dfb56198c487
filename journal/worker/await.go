package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// pollFor is how long one look for a decision may wait at the journal.
const pollFor = 30 * time.Second

// Await waits until the effect has a resolution after a cursor; a parked
// answer's Cursor is where to start. Then call Do again: it executes an order,
// or returns the outcome, and either closes the delivery.
func (w *Worker) Await(ctx context.Context, effectID string, after int64) (*journal.Resolution, error) {
	for n := 0; ; n++ {
		asked := w.clock.mark()
		once, cancel := context.WithTimeout(ctx, pollFor+w.opts.JournalTimeout)
		d, err := w.journal.Decision(once, effectID, after, pollFor)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("waiting for a decision on effect %s: %w", effectID, context.Cause(ctx))
		case err == nil && d != nil:
			return d, nil
		case err != nil && !transient(err):
			return nil, fmt.Errorf("waiting for a decision on effect %s: %w", effectID, err)
		case err == nil && w.clock.since(asked) >= pollFor/2:
			n = 0
			continue // the journal did the waiting
		}
		if err := pause(ctx, w.opts.Backoff.Next(n)); err != nil {
			return nil, fmt.Errorf("waiting for a decision on effect %s: %w", effectID, err)
		}
	}
}

// DoUntilSettled is Do for callers that may block for days: it waits out every
// answer that is not the last word, decisions of people included.
func (w *Worker) DoUntilSettled(ctx context.Context, call Call) (Answer, error) {
	for n := 0; ; n++ {
		a, err := w.Do(ctx, call)
		if err != nil || a.Settled() {
			return a, err
		}
		if a.Parked() {
			if _, err := w.Await(ctx, a.EffectID, a.Cursor); err != nil {
				return a, err
			}
			continue
		}
		wait := a.RetryAfter
		if wait <= 0 {
			wait = w.opts.Backoff.Next(n)
		}
		if err := pause(ctx, wait); err != nil {
			return a, fmt.Errorf("waiting for effect %s: %w", a.EffectID, err)
		}
	}
}

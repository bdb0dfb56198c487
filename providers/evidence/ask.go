package evidence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// Question is one look, as the collector puts it.
type Question struct {
	Ref      string
	From, To time.Time // the window, from before the first grant
	Handles  []journal.Handle
	Canary   *journal.Canary // nil: no committed effect is known
}

// Facts are what one look brought; Judge decides what they mean.
type Facts struct {
	Answer   Answer
	Negative journal.Control
	Positive journal.Control
	// Err is set when nothing can be said; the other fields may then be empty.
	Err error
}

// Ask drives one look: the reference first, then the controls through the very
// same query. Controls are skipped where a match already answers: it was
// compared byte for byte.
func Ask(ctx context.Context, a Adapter, q Question) Facts {
	var f Facts
	s, err := a.Session(ctx)
	if err != nil {
		f.Err = err
		return f
	}
	defer func() { _ = s.Close() }()
	query := Query{Ref: q.Ref, From: q.From, To: q.To, Handles: q.Handles}
	if f.Answer, f.Err = s.Find(ctx, query); f.Err != nil || len(f.Answer.Matches) > 0 {
		return f
	}
	f.Negative, f.Err = negative(ctx, s, query)
	if f.Err != nil {
		return f
	}
	f.Positive, f.Err = positive(ctx, s, q)
	return f
}

// negative looks a fresh random reference up: it must give nothing at all.
func negative(ctx context.Context, s Session, q Query) (journal.Control, error) {
	c := journal.Control{Ran: true, Ref: journal.RandomRef()}
	ans, err := s.Find(ctx, Query{Ref: c.Ref, From: q.From, To: q.To})
	if err != nil {
		return c, fmt.Errorf("negative control: %w", err)
	}
	c.Passed = len(ans.Matches) == 0 && ans.Unrelated == 0
	if !c.Passed {
		c.Detail = fmt.Sprintf("a reference that nobody has brought %d rows", len(ans.Matches)+ans.Unrelated)
	}
	return c, nil
}

// positive looks a recently committed reference up: it must give a match.
func positive(ctx context.Context, s Session, q Question) (journal.Control, error) {
	if q.Canary == nil {
		return journal.Control{Detail: "no committed effect of this provider is known yet that could prove the search"}, nil
	}
	c := journal.Control{Ran: true, Ref: q.Canary.Ref}
	ans, err := s.Find(ctx, Query{Ref: c.Ref, From: q.Canary.BegunAt.Add(-windowMargin), To: q.Canary.CommittedAt.Add(windowMargin)})
	if err != nil {
		return c, fmt.Errorf("positive control: %w", err)
	}
	c.Passed = len(ans.Matches) > 0
	if !c.Passed {
		c.Detail = fmt.Sprintf("the effect committed at %s was not found, so the search can't be trusted", q.Canary.CommittedAt.UTC().Format(time.RFC3339))
	}
	return c, nil
}

// windowMargin widens the window to the past: clocks differ.
const windowMargin = 10 * time.Minute

// fault finds the provider error in err; anything else reads as unavailable.
func fault(err error) *ProviderError {
	var p *ProviderError
	if errors.As(err, &p) {
		return p
	}
	detail := "the provider could not be reached"
	if errors.Is(err, context.DeadlineExceeded) {
		detail = "the provider did not answer in time"
	}
	return &ProviderError{Kind: FaultUnavailable, Detail: detail, Err: err}
}

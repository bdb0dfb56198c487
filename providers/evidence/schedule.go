package evidence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/landedhq/landed/journal"
)

// Limits of what is asked of one provider, by one process.
type Limits struct {
	Concurrency    int // looks at a time; 0 = 2
	LooksPerMinute int // 0 = as many as there are
}

// Bounds of a round.
const (
	defaultConcurrency = 2
	claimFor           = 3 * time.Minute // longer than what is claimed at once takes
	roundLimit         = 20              // looks claimed at once
	defaultPause       = 30 * time.Second
	maxPause           = time.Hour
)

// desk is where one provider is asked: its own queue and its own pace, so that
// a slow one holds up no other.
type desk struct {
	adapter Adapter
	limits  Limits
	slots   chan struct{}

	mu   sync.Mutex
	last minute    // turns that were taken lately
	next time.Time // when the next look may begin
	rest time.Time // until when the provider wants to be left alone
}

func newDesk(a Adapter, l Limits) *desk {
	if l.Concurrency <= 0 {
		l.Concurrency = defaultConcurrency
	}
	return &desk{adapter: a, limits: l, slots: make(chan struct{}, l.Concurrency)}
}

// enter waits for a slot and for the pace.
func (d *desk) enter(ctx context.Context) (leave func(), err error) {
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave = func() { <-d.slots }
	wait := time.NewTimer(d.reserve(time.Now()))
	defer wait.Stop()
	select {
	case <-wait.C:
		d.count(time.Now())
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// reserve takes the next place in the pace and says how far off it is.
func (d *desk) reserve(now time.Time) time.Duration {
	if d.limits.LooksPerMinute <= 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next.Before(now) {
		d.next = now
	}
	at := d.next
	d.next = at.Add(time.Minute / time.Duration(d.limits.LooksPerMinute))
	return at.Sub(now)
}

// resting is how much longer the provider wants to be left alone, as far as this
// process heard it itself: it knows before the journal does.
func (d *desk) resting(now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rest.Sub(now)
}

func (d *desk) leaveAlone(until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if until.After(d.rest) {
		d.rest = until
	}
}

// claimable is how many looks can be done before their claim is over, at the
// provider's worst.
func (d *desk) claimable() int {
	n := d.limits.Concurrency * max(int(claimFor/lookTimeout)-1, 1)
	if per := d.limits.LooksPerMinute; per > 0 {
		n = min(n, max(per*int(claimFor/time.Minute)/2, 1))
	}
	return min(n, roundLimit)
}

// Providers lists the configured providers.
func (c *Collector) Providers() []string {
	var out []string
	for name := range c.desks {
		out = append(out, name)
	}
	return out
}

// Round looks at one provider until nothing is due there, it asks for a pause,
// or ctx ends. It returns how many looks it recorded. Faults of the provider are
// evidence, not errors.
func (c *Collector) Round(ctx context.Context, provider string) (int, error) {
	d, ok := c.desks[provider]
	if !ok {
		return 0, ErrNoAdapter
	}
	for done := 0; ; {
		if err := c.measure(ctx, provider, d); err != nil {
			return done, err
		}
		state, err := c.src.ProviderState(ctx, provider)
		if err != nil || state.PausedUntil != nil || state.Due == 0 {
			return done, err
		}
		n := d.claimable()
		if d.adapter.Sheet().Class == L5 {
			n = togetherLimit
		}
		ids, err := c.src.ClaimLooks(ctx, provider, n, claimFor)
		if err != nil || len(ids) == 0 {
			return done, err
		}
		if d.adapter.Sheet().Class == L5 {
			done += c.lookTogether(ctx, d, state, ids)
		} else {
			done += c.lookAt(ctx, ids)
		}
		if ctx.Err() != nil {
			return done, nil // the next round goes on
		}
	}
}

func (c *Collector) lookAt(ctx context.Context, ids []string) int {
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for _, id := range ids {
		wg.Go(func() {
			if _, err := c.look(ctx, id, scheduled); err != nil {
				if ctx.Err() == nil {
					c.log.WarnContext(ctx, "look failed", "effect", id, "error", err)
				}
				return
			}
			mu.Lock()
			done++
			mu.Unlock()
		})
	}
	wg.Wait()
	return done
}

// note remembers how a look went, for all replicas.
func (c *Collector) note(ctx context.Context, provider string, f Facts) {
	n := journal.ProviderNote{Provider: provider}
	var p *ProviderError
	switch {
	case f.Err == nil:
		n.Controls = f.Negative.Ran && f.Positive.Ran
		n.Passed = f.Negative.Passed && f.Positive.Passed
		n.Why = orElse(f.Negative.Detail, f.Positive.Detail)
	case errors.Is(f.Err, context.Canceled):
		return
	default:
		p = fault(f.Err)
		n.Fault = p.Detail
		if p.Kind == FaultRateLimited {
			n.Pause = min(orElse(p.RetryAfter, defaultPause), maxPause)
			c.desks[provider].leaveAlone(time.Now().Add(n.Pause))
		}
	}
	if err := c.src.NoteProvider(context.WithoutCancel(ctx), n); err != nil {
		c.log.WarnContext(ctx, "the state of a provider could not be kept", "provider", provider, "error", err)
	}
}

// Sheet returns the capability sheet of a configured provider.
func (c *Collector) Sheet(provider string) (Sheet, bool) {
	d, ok := c.desks[provider]
	if !ok {
		return Sheet{}, false
	}
	return d.adapter.Sheet(), true
}

// Try looks a reference up with both controls and records no evidence: it shows
// a person what a look asks and gets. The window ends now.
func (c *Collector) Try(ctx context.Context, provider, ref string, since time.Duration) (Facts, Question, error) {
	d, ok := c.desks[provider]
	if !ok {
		return Facts{}, Question{}, fmt.Errorf("looking at provider %q: %w", provider, ErrNoAdapter)
	}
	if !journal.ValidRef(ref) {
		return Facts{}, Question{}, &journal.InvalidError{Field: "ref", Detail: "must be 32 lower-case hex digits, as the effect page shows it"}
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return Facts{}, Question{}, err
	}
	defer leave()
	state, err := c.src.ProviderState(ctx, provider)
	if err != nil {
		return Facts{}, Question{}, err
	}
	now := orElse(state.Now, time.Now()) // the journal's clock, as for every look
	s := journal.Snapshot{Now: now, Effect: journal.Effect{Ref: ref, Provider: provider, CreatedAt: now.Add(-since)}}
	l := newLook(&s, d.adapter.Sheet(), state)
	l.q.To = now.Add(windowMargin)
	f, err := c.ask(ctx, d.adapter, l)
	if err != nil {
		return Facts{}, Question{}, err
	}
	if state.PausedUntil == nil {
		c.note(ctx, provider, f)
	}
	return f, l.q, nil
}

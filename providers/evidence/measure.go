package evidence

import (
	"context"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// How the lag is measured: a fresh commit is looked for at growing intervals
// until it shows, one at a time. The interval is what a sample may be too long
// by, never too short.
const (
	probeFresh = 10 * time.Second // an older commit would measure its own age
	probeEvery = time.Minute
	probeUntil = time.Hour // then it counts as lost
	probeFirst = time.Second
)

// measure takes one step of the provider's lag probe. A fault of the provider
// says nothing about its lag: the probe waits.
func (c *Collector) measure(ctx context.Context, provider string, d *desk) error {
	state, err := c.src.ProviderState(ctx, provider)
	if err != nil || state.PausedUntil != nil || d.adapter.Sheet().Class == L6 {
		return err
	}
	p, err := c.src.ClaimLagProbe(ctx, provider, probeFresh, probeEvery, claimFor)
	if err != nil || p == nil {
		return err
	}
	leave, err := d.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	begun := time.Now()
	f := c.seek(ctx, d.adapter, *p)
	c.note(ctx, provider, f)
	age := p.Now.Sub(p.CommittedAt) + time.Since(begun)
	switch {
	case f.Err == nil && len(f.Answer.Matches) > 0:
		err = c.src.EndLagProbe(ctx, *p, false)
	case f.Err == nil && age > probeUntil:
		err = c.src.EndLagProbe(ctx, *p, true)
	default:
		err = c.src.PostponeLagProbe(ctx, *p, max(age/4, probeFirst))
	}
	if err != nil {
		return fmt.Errorf("measuring the lag of provider %s: %w", provider, err)
	}
	return nil
}

// seek looks for the probe alone: controls would only cost requests.
func (c *Collector) seek(ctx context.Context, a Adapter, p journal.LagProbe) (f Facts) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s, err := a.Session(ctx)
	if err != nil {
		return Facts{Err: err}
	}
	defer func() { _ = s.Close() }()
	f.Answer, f.Err = s.Find(ctx, Query{Ref: p.Ref, From: p.BegunAt.Add(-windowMargin), To: p.CommittedAt.Add(windowMargin)})
	return f
}

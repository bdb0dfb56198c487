package evidence

import (
	"context"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// How the lag is measured: a fresh commit is looked for at growing intervals
// until it shows, one at a time. The interval is what a sample may be too long
// by, never too short. Where the look came later than that, because a server was
// killed, its answer was lost or the provider could not be asked, the probe is
// given up: it would measure the outage, and a look is conclusive only after
// three times the longest of the first hundred samples.
const (
	probeFresh = 10 * time.Second // an older commit would measure its own age
	probeEvery = time.Minute
	probeUntil = time.Hour // then it counts as lost
	probeFirst = time.Second
	probeLate  = 2 * probeFresh // after the last miss, if that is not long ago
)

// vague reports whether a probe that a look shows may have shown long before. The
// look began at the probe's age of asked and took looked.
func vague(p *journal.LagProbe, asked, looked time.Duration) bool {
	missed := time.Duration(0)
	if !p.MissedAt.IsZero() {
		missed = p.MissedAt.Sub(p.CommittedAt)
	}
	return asked-missed > max(probeLate, missed/2) || looked > 2*lookTimeout
}

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
	claimed := time.Now() // at p.Now
	leave, err := d.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	begun := time.Now()
	f := c.seek(ctx, d.adapter, *p)
	c.note(ctx, provider, f)
	asked, looked := p.Now.Sub(p.CommittedAt)+begun.Sub(claimed), time.Since(begun)
	age := asked + looked
	wait := max(age/4, probeFirst)
	switch {
	case f.Err != nil && age > probeUntil:
		err = c.src.EndLagProbe(ctx, *p, nil)
	case f.Err != nil:
		err = c.src.PostponeLagProbe(ctx, *p, wait, time.Time{})
	case len(f.Answer.Matches) > 0 && vague(p, asked, looked):
		err = c.src.EndLagProbe(ctx, *p, nil)
	case len(f.Answer.Matches) > 0:
		err = c.src.EndLagProbe(ctx, *p, &journal.LagSample{Lag: age})
	case age > probeUntil:
		err = c.src.EndLagProbe(ctx, *p, &journal.LagSample{Lag: age, Lost: true})
	default:
		err = c.src.PostponeLagProbe(ctx, *p, wait, p.CommittedAt.Add(asked))
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

package evidence

import (
	"context"
	"slices"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/egress"
)

// Bounds of looks that are made together.
const (
	togetherLimit = 200
	togetherSpan  = 2 * time.Hour // a longer window could be more than a provider shows
)

// lookTogether serves a provider that is read window by window (L5): effects of
// about the same time are looked for in one window, whose pages are fetched once
// for all of them. Every snapshot is read before the first page: no look stands
// on an answer that is older than itself.
func (c *Collector) lookTogether(ctx context.Context, d *desk, state journal.ProviderState, ids []string) int {
	leave, err := d.enter(ctx)
	if err != nil {
		return 0
	}
	defer leave()
	var looks []*aLook
	for _, id := range ids {
		s, err := c.src.Snapshot(ctx, id)
		if err != nil {
			c.log.WarnContext(ctx, "look failed", "effect", id, "error", err)
			continue
		}
		looks = append(looks, newLook(&s, d.adapter.Sheet(), state))
	}
	done := 0
	for _, group := range groups(looks) {
		n, fault := c.lookGroup(ctx, d, group)
		done += n
		if fault != nil {
			c.giveBack(ctx, looks[done:], max(fault.RetryAfter, backoff(0)))
			break
		}
	}
	return done
}

// giveBack lets looks that were claimed come due after a while.
func (c *Collector) giveBack(ctx context.Context, looks []*aLook, wait time.Duration) {
	for _, l := range looks {
		if err := c.src.PostponeLook(ctx, l.s.Effect.ID, l.s.Now.Add(wait)); err != nil {
			c.log.WarnContext(ctx, "a look could not be given back", "effect", l.s.Effect.ID, "error", err)
			return // it comes due again all the same, later
		}
	}
}

// groups puts looks together whose windows lie close to each other, and gives
// each group one window.
func groups(looks []*aLook) [][]*aLook {
	slices.SortStableFunc(looks, func(a, b *aLook) int { return a.q.From.Compare(b.q.From) })
	var out [][]*aLook
	for _, l := range looks {
		if n := len(out); n > 0 {
			first := out[n-1][0]
			end := first.q.To
			if l.q.To.After(end) {
				end = l.q.To
			}
			if end.Sub(first.q.From) <= max(togetherSpan, first.q.To.Sub(first.q.From)) {
				first.q.To = end
				out[n-1] = append(out[n-1], l)
				continue
			}
		}
		out = append(out, []*aLook{l})
	}
	for _, g := range out {
		for _, l := range g {
			l.q.From, l.q.To = g[0].q.From, g[0].q.To
		}
	}
	return out
}

// lookGroup looks for one after the other, so that the first one's pages serve
// the rest. A fault of the provider is the evidence of the one that met it, and
// ends the group.
func (c *Collector) lookGroup(ctx context.Context, d *desk, group []*aLook) (done int, failed *ProviderError) {
	if len(group) > 1 {
		ctx = egress.Share(ctx)
	}
	for _, l := range group {
		f, err := c.ask(ctx, d.adapter, l)
		if err == nil && f.Err == nil && len(f.Answer.Matches) == 0 && !f.Answer.AllPagesRead && len(group) > 1 {
			own := newLook(l.s, l.sheet, l.state) // the common window is too much: its own may not be
			l = own
			f, err = c.ask(ctx, d.adapter, own)
		}
		if err != nil { // the journal's: it comes due again
			c.log.WarnContext(ctx, "look failed", "effect", l.s.Effect.ID, "error", err)
			return done, nil
		}
		if ctx.Err() != nil {
			return done, nil
		}
		if _, err := c.judge(ctx, l, f, scheduled); err != nil {
			c.log.WarnContext(ctx, "look failed", "effect", l.s.Effect.ID, "error", err)
		}
		done++
		if f.Err != nil {
			return done, fault(f.Err)
		}
	}
	return done, nil
}

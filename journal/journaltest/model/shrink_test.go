package model

import (
	"context"
	"slices"
	"time"
)

// shrink cuts a failing story down: ever smaller pieces are left out, then each
// act is made simpler, as long as the story still fails. It returns the
// smallest and how many it tried.
func shrink(ctx context.Context, st *stage, p *player, within time.Duration) (*player, int) {
	end := time.Now().Add(within)
	best, tries := p, 0
	try := func(s story) bool {
		if time.Now().After(end) {
			return false
		}
		tries++
		q := replay(ctx, st, s)
		if q.failure == "" || q.slow() {
			return false
		}
		best = q
		return true
	}
	for size := len(best.s.ops) / 2; size > 0; size /= 2 {
		for at := len(best.s.ops) - size; at >= 0; at-- {
			if at+size <= len(best.s.ops) {
				try(story{tools: best.s.tools, ops: slices.Delete(slices.Clone(best.s.ops), at, at+size)})
			}
		}
	}
	for at := range best.s.ops {
		for _, o := range simpler(best.s.ops, at) {
			ops := slices.Clone(best.s.ops)
			if at < len(ops) {
				ops[at] = o
				try(story{tools: best.s.tools, ops: ops})
			}
		}
	}
	return best, tries
}

// simpler lists simpler forms of one act.
func simpler(ops []op, at int) []op {
	if at >= len(ops) {
		return nil
	}
	o := ops[at]
	if o.kind == doTogether {
		var out []op
		for i := range o.with {
			out = append(out, o.with[i])
			if len(o.with) > 2 {
				fewer := o
				fewer.with = slices.Delete(slices.Clone(o.with), i, i+1)
				out = append(out, fewer)
			}
		}
		return out
	}
	plain := o
	plain.x = 0
	if o.x == 0 {
		return nil
	}
	return []op{plain}
}

package worker

import (
	"context"
	"time"
)

// clock measures elapsed time twice: by the wall, which goes on while the
// machine is suspended but may be set, and by the monotonic clock, which can't
// be set but stands still during a suspend. The larger of the two counts.
type clock struct {
	wall func() time.Time
	mono func() time.Duration // since any fixed moment
}

func systemClock() clock {
	base := time.Now()
	return clock{
		wall: func() time.Time { return time.Now().Round(0) },
		mono: func() time.Duration { return time.Since(base) },
	}
}

// mark is a moment on both clocks.
type mark struct {
	wall time.Time
	mono time.Duration
}

func (c clock) mark() mark { return mark{wall: c.wall(), mono: c.mono()} }

func (c clock) since(m mark) time.Duration {
	return max(c.wall().Sub(m.wall), c.mono()-m.mono)
}

// pause waits for d, or less if ctx ends first: then it returns why.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

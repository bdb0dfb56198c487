package worker

import (
	"math/rand/v2"
	"time"
)

// Backoff shapes the worker's own waits: exponential with full jitter. A wait
// that the journal answers with always wins over it.
type Backoff struct {
	Base time.Duration // upper end of the first wait; default 200 ms
	Cap  time.Duration // upper end of every wait; default 10 s
	// Rand returns a number in [0, 1); nil = math/rand/v2. Tests set it.
	Rand func() float64
}

// minPause keeps full jitter from becoming a busy loop.
const minPause = 5 * time.Millisecond

// Next returns the wait after the n-th failure, counted from 0: a random time
// up to Base·2ⁿ, and never above Cap.
func (b Backoff) Next(n int) time.Duration {
	if b.Base <= 0 {
		b.Base = 200 * time.Millisecond
	}
	if b.Cap <= 0 {
		b.Cap = 10 * time.Second
	}
	random := b.Rand
	if random == nil {
		random = rand.Float64
	}
	ceiling := b.Base
	for ; n > 0 && ceiling < b.Cap; n-- {
		ceiling *= 2
	}
	ceiling = min(ceiling, b.Cap)
	return max(time.Duration(random()*float64(ceiling)), min(minPause, b.Cap))
}

package gmail

import (
	"sync"
	"time"
)

// The first wait after a refusal for too many requests, and the longest. Limits
// are counted by the minute.
const (
	firstWait = 15 * time.Second
	maxWait   = 16 * time.Minute
)

// backoff counts refusals in a row; each doubles the time that Gmail is left
// alone.
type backoff struct {
	mu      sync.Mutex
	strikes int
}

func (b *backoff) strike() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := min(firstWait<<min(b.strikes, 10), maxWait)
	b.strikes++
	return wait
}

func (b *backoff) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.strikes = 0
}

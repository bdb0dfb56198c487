package alert

import (
	"time"

	"github.com/landedhq/landed/providers/outbox"
)

// SendTimeout caps one attempt. Standard Webhooks 1.0.0, "Request timeouts", asks
// for 15 to 30 seconds.
const SendTimeout = 20 * time.Second

// throttleWait is the least wait when the other side is overloaded.
const throttleWait = time.Minute

// nextTry says how long to wait after the given try failed, or that it was the
// last one. jitter is in [0,1) and spreads retries over a fifth of the wait.
func nextTry(tries int, e *SendError, jitter float64) (wait time.Duration, giveUp bool) {
	table := outbox.Waits()
	if tries > len(table) || e != nil && e.Gone {
		return 0, true
	}
	wait = table[max(tries, 1)-1]
	if e != nil && e.Throttle {
		wait = max(wait, throttleWait)
	}
	if e != nil {
		wait = max(wait, min(e.RetryAfter, outbox.MaxWait))
	}
	return outbox.Spread(wait, jitter), false
}

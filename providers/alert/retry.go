package alert

import (
	"math/rand/v2"
	"time"
)

// SendTimeout caps one attempt. Standard Webhooks 1.0.0, "Request timeouts", asks
// for 15 to 30 seconds.
const SendTimeout = 20 * time.Second

// waits returns the time between attempts: the example retry schedule of Standard
// Webhooks 1.0.0, "Deliverability and reliability". The tenth attempt, 75 hours
// and 35 minutes after the first, is the last.
func waits() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

const (
	maxWait      = 24 * time.Hour
	throttleWait = time.Minute // at least, when the other side is overloaded
)

// nextTry says how long to wait after the given try failed, or that it was the
// last one. jitter is in [0,1) and spreads retries over a fifth of the wait.
func nextTry(tries int, e *SendError, jitter float64) (wait time.Duration, giveUp bool) {
	table := waits()
	if tries > len(table) || e != nil && e.Gone {
		return 0, true
	}
	wait = table[max(tries, 1)-1]
	if e != nil && e.Throttle {
		wait = max(wait, throttleWait)
	}
	if e != nil {
		wait = max(wait, min(e.RetryAfter, maxWait))
	}
	return wait + time.Duration(jitter*float64(wait)/5), false
}

func randomJitter() float64 { return rand.Float64() }

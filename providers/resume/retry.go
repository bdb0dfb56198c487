package resume

import (
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/outbox"
)

// SendTimeout caps one try. Standard Webhooks 1.0.0, "Request timeouts", asks for
// 15 to 30 seconds.
const SendTimeout = 20 * time.Second

const (
	// waitForWait is how often a runtime is asked again that does not wait yet, and
	// knownWithin how long one may not know the work at all: a decision can be
	// quicker than the runtime that registers its wait.
	waitForWait = 30 * time.Second
	knownWithin = time.Hour
)

// next says what follows a failed try: wait and try again, or an end. jitter is in
// [0,1) and spreads tries over a fifth of the wait.
func next(h journal.Handover, f *Failure, jitter float64) (state journal.HandoverState, wait time.Duration) {
	age := h.Now.Sub(h.RetryFrom)
	switch f.Outcome {
	case journal.HandoverGone, journal.HandoverTooLarge, journal.HandoverBadAddress:
		return journal.HandoverRefused, 0
	case journal.HandoverUnknown:
		if age >= knownWithin {
			return journal.HandoverRefused, 0
		}
		wait = waitForWait
	case journal.HandoverNotWaiting:
		if age >= total() {
			return journal.HandoverExpired, 0
		}
		wait = max(waitForWait, min(age/4, time.Hour))
	default:
		due, ok := following(age)
		if !ok {
			return journal.HandoverExpired, 0
		}
		wait = due
	}
	wait = max(wait, min(f.RetryAfter, outbox.MaxWait))
	wait = outbox.Spread(wait, jitter)
	if e := h.OrderExpiresAt; e != nil && !h.Now.Add(wait).Before(*e) && h.Now.Before(*e) {
		// One more try while the order can still be used.
		if left := e.Sub(h.Now) / 2; left > time.Second {
			return journal.HandoverPending, left
		}
		return journal.HandoverExpired, 0
	}
	return journal.HandoverPending, wait
}

// following is the wait after a try at an age: by age and not by number, so that
// tries that other causes brought don't use the schedule up.
func following(age time.Duration) (time.Duration, bool) {
	at := time.Duration(0)
	for _, w := range outbox.Waits() {
		// Half the wait of grace: a try that was late still belongs to its place.
		if age < at+w/2 {
			return w, true
		}
		at += w
	}
	return 0, false
}

// total is how long a resolution is handed over.
func total() time.Duration {
	sum := time.Duration(0)
	for _, w := range outbox.Waits() {
		sum += w
	}
	return sum
}

// overdue says why h is not worth a try any more; "" if it is.
func overdue(h journal.Handover) string {
	switch {
	case !h.Latest:
		return "a later resolution of the effect took its place"
	case h.OrderID != "" && !h.OrderOpen:
		return "its order was used, voided or has expired"
	case h.OrderExpiresAt != nil && !h.Now.Before(*h.OrderExpiresAt):
		return fmt.Sprintf("its order expired at %s", h.OrderExpiresAt.UTC().Format(time.RFC3339))
	}
	return ""
}

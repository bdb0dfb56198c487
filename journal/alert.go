package journal

import "time"

// AlertMessage is one notification that waits for its sink: newly stuck or
// parked effects of one tool at one provider. It holds nothing sensitive.
type AlertMessage struct {
	ID            string // UUIDv7; the webhook-id, the same on every retry
	Sink          string
	Tool          string
	Provider      string
	Count         int
	FirstEffectID string // the oldest of them
	Tries         int    // including this one
	CreatedAt     time.Time
}

package journal

import "time"

// AlertKind is what an alert is about.
type AlertKind string

// The kinds.
const (
	AlertAttention   AlertKind = "attention"   // effects that are newly stuck or parked
	AlertUndelivered AlertKind = "undelivered" // resolutions that reached nobody for too long
)

// AlertMessage is one notification that waits for its sink: effects of one tool
// at one provider. It holds nothing sensitive.
type AlertMessage struct {
	ID            string // UUIDv7; the webhook-id, the same on every retry
	Sink          string
	Kind          AlertKind
	Tool          string
	Provider      string
	Count         int
	FirstEffectID string // the oldest of them
	Tries         int    // including this one
	CreatedAt     time.Time
}

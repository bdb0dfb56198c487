package alert

import (
	"context"
	"time"

	"github.com/landedhq/landed/journal"
)

// ClaimLease is how long a claimed message belongs to its claimer; afterwards it
// may be claimed again. Longer than SendTimeout, so that nobody sends what
// somebody else is still sending.
const ClaimLease = 30 * time.Second

// Store is the queue in the journal's database. Every method is a
// compare-and-set: any number of replicas may call it at the same time, and one
// of them wins.
type Store interface {
	// RaiseAlerts adds an alert for every effect that is newly stuck or parked: one
	// per effect and occasion. It returns how many it added.
	RaiseAlerts(ctx context.Context) (int, error)
	// BindAlertMessages binds the waiting alerts of each tool and provider to one
	// message per sink, and returns how many messages it made. A group that got one
	// a moment ago (journal.Policy.AlertInterval) waits, and what comes up meanwhile
	// goes into the next one: an outage that parks thousands of effects over an hour
	// makes a dozen messages. Without sinks the alerts stay as they are.
	BindAlertMessages(ctx context.Context, sinks []string) (int, error)
	// ClaimAlertMessages takes up to limit messages that are due, for ClaimLease, and
	// counts the try.
	ClaimAlertMessages(ctx context.Context, limit int) ([]Outgoing, error)
	// AlertSent ends a message well.
	AlertSent(ctx context.Context, id string) error
	// AlertFailed records why the message could not be sent. It is due again after
	// retryIn, or never (giveUp).
	AlertFailed(ctx context.Context, id, cause string, retryIn time.Duration, giveUp bool) error
}

// Outgoing is a claimed message: one per group and sink. Its ID stays the same in
// every attempt, Tries counts this attempt, FirstEffectID is the oldest effect.
type Outgoing = journal.AlertMessage

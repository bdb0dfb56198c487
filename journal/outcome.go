package journal

import "time"

// Outcome is an effect that was resolved or ordered, and is not done with it: one
// line of the list in which nothing that a person decided can be lost.
type Outcome struct {
	Effect     Sibling
	Newest     Resolution
	Stage      OutcomeStage
	ExpiresAt  time.Time // of an order that is out
	DeliveryAt time.Time // when the newest resolution was recorded
	// Decider is who decided the newest resolution; zero if nobody did.
	Decider Actor
	// Handover is how far the newest resolution got on its way to the runtime: state,
	// target, tries, times and reason.
	Handover Handover
}

// OutcomeStage is how far an outcome got.
type OutcomeStage string

// The stages, the earliest first.
const (
	OutcomeOrdered      OutcomeStage = "ordered"       // the order is out, no worker came yet
	OutcomeUnderWay     OutcomeStage = "under_way"     // a worker is at it, or was and has not reported
	OutcomeUndelivered  OutcomeStage = "undelivered"   // closed, and no runtime has asked
	OutcomeUnknownAgain OutcomeStage = "unknown_again" // it waits for a decision once more
)

// StageOf says how far it got: e's state, the attempt that consumed the open order
// (0 = none), and whether the newest resolution was picked up.
func StageOf(state State, orderOut bool, orderAttempt int) OutcomeStage {
	switch {
	case state == StateParked:
		return OutcomeUnknownAgain
	case orderOut && orderAttempt == 0:
		return OutcomeOrdered
	case state == StateIntent || state == StateReissue:
		return OutcomeUnderWay
	}
	return OutcomeUndelivered
}

package journal

import (
	"encoding/json"
	"time"
)

// HandoverState is how far handing a resolution to its runtime got. Acknowledged
// is none of them: Resolution.AckedAt says so, whichever way the runtime learned
// of it.
type HandoverState string

// The states. What is pulled is never handed over: its runtime asks by itself.
const (
	HandoverPull    HandoverState = "pull"    // nothing to do: the runtime asks
	HandoverPending HandoverState = "pending" // due now or at NextAt
	HandoverSent    HandoverState = "sent"    // the runtime took it, and has not acted on it yet
	HandoverRefused HandoverState = "refused" // the runtime will never take it; a person may try again
	HandoverExpired HandoverState = "expired" // it was not taken in time, or overtaken by a later resolution
)

// HandoverLease is how long a claimed handover belongs to its claimer; afterwards it
// is due again. Longer than one try may take, so that nobody sends what somebody
// else is still sending.
const HandoverLease = 45 * time.Second

// HandoverOutcome is what came of one try: the runtime's typed answer.
type HandoverOutcome string

// The outcomes.
const (
	HandoverAccepted   HandoverOutcome = "accepted"    // taken, perhaps for later
	HandoverResumed    HandoverOutcome = "resumed"     // the runtime says that the work goes on
	HandoverGone       HandoverOutcome = "gone"        // whoever waited has ended: nobody will ever take it
	HandoverUnknown    HandoverOutcome = "unknown"     // the runtime knows nobody by that name, or not yet
	HandoverNotWaiting HandoverOutcome = "not_waiting" // it is there, and does not wait for this yet
	HandoverAuth       HandoverOutcome = "auth"        // the runtime does not let Landed in
	HandoverTooLarge   HandoverOutcome = "too_large"
	HandoverBadAddress HandoverOutcome = "bad_address" // what begin stored as resume names no place
	HandoverTransient  HandoverOutcome = "transient"   // no answer, or one that may be another next time
)

// Handover is a resolution on its way to the runtime that parked the work.
type Handover struct {
	Resolution
	Tool   string
	Resume []byte // begin's word on how the runtime wants to hear, raw JSON; nil = none
	// Target is the configured runtime that it went to last; "" before the first try.
	Target string
	State  HandoverState
	Tries  int // so far, with the one that is under way
	// NextAt is when it is due again; zero if it is not.
	NextAt time.Time
	SentAt time.Time // zero until a runtime took it
	// Reason is the newest failure, in words for people.
	Reason string
	// RetryFrom is where the schedule starts: when it was recorded, or when a
	// person had it handed over again.
	RetryFrom time.Time
	// Latest is whether no later resolution of the effect exists, and OrderOpen
	// whether its order can still be used; true without one.
	Latest, OrderOpen bool
	Now               time.Time // the database's clock
}

// HandoverTry is one try, for people.
type HandoverTry struct {
	ResolutionID string
	Number       int
	At           time.Time
	Took         time.Duration
	Target       string
	Outcome      HandoverOutcome
	Detail       string
}

// HandoverResult is what a try changes. State pending needs NextIn.
type HandoverResult struct {
	State   HandoverState
	Target  string
	Outcome HandoverOutcome // "" = nothing was tried: no row for it
	Detail  string
	Took    time.Duration
	NextIn  time.Duration
	// AckBy closes the delivery as well: the runtime itself said that it goes on.
	AckBy string
}

// Redelivery is a person's order to hand a resolution over once more.
type Redelivery struct {
	ResolutionID string
	Actor        Actor
	Source       string // "page" or "cli"
}

// TargetMark is what is known of a configured runtime's endpoint beyond its
// configuration.
type TargetMark struct {
	Name     string
	Endpoint string // hash of its address: another address knows nothing of this
	// VerifiedAt is when it proved that it is who it should be; zero = not yet.
	VerifiedAt time.Time
	// StoppedAt, StoppedWhy: it wants no more; zero and "" while it does.
	StoppedAt  time.Time
	StoppedWhy string
}

// TargetState is what a page shows of a target: its mark, and what is on its way to
// it or did not arrive.
type TargetState struct {
	Mark                            TargetMark
	Pending, Sent, Refused, Expired int
	// OldestPending is when the oldest that is pending was recorded; zero = none is.
	OldestPending time.Time
	LastTaken     time.Time // zero = nothing was, as far as is kept
}

// ResumeTarget returns the configured runtime that an effect names: the member
// "to" of its resume. "" means that it names none; pulls, that it says so itself:
// {"kind": "pull"}.
func ResumeTarget(resume []byte) (to string, pulls bool) {
	var r struct {
		To   string `json:"to"`
		Kind string `json:"kind"`
	}
	if len(resume) == 0 || json.Unmarshal(resume, &r) != nil {
		return "", false
	}
	return r.To, r.To == "" && r.Kind == "pull"
}

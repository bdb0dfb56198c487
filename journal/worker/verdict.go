package worker

import (
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
)

// Meaning is what the provider's answer means, beyond the phase. Stable, for
// logs and tests.
type Meaning string

// The meanings.
const (
	MeaningConfirmed     Meaning = "confirmed"
	MeaningNoAnswer      Meaning = "no_answer"       // the connection broke or timed out
	MeaningServerError   Meaning = "server_error"    // 5xx and 408: may have been applied
	MeaningUnparsable    Meaning = "unparsable"      // 2xx whose body can't be understood
	MeaningBodySaysNo    Meaning = "body_says_no"    // 2xx whose body reports an error
	MeaningRateLimited   Meaning = "rate_limited"    // not processed, later it may be
	MeaningTooEarly      Meaning = "too_early"       // 425, 421: not processed
	MeaningRefused       Meaning = "refused"         // any other 4xx
	MeaningKeyInProgress Meaning = "key_in_progress" // the same provider key is being worked on
	MeaningSeenBefore    Meaning = "seen_before"     // the provider knows the key and does not tell what came of it
	MeaningExists        Meaning = "exists"          // an object with that identity exists already
	MeaningConflict      Meaning = "conflict"        // the target's state forbids it
	MeaningUnclear       Meaning = "unclear"         // 409 without a code that tells which, 3xx, 1xx
)

// Verdict is what one answer of the provider, or its absence, proves.
type Verdict struct {
	Phase      journal.Phase
	Final      bool          // refused: no retry can help
	RetryAfter time.Duration // what the provider asked for, capped; 0 = nothing
	Replayed   bool          // the provider repeated a stored answer, or knows the key and keeps the answer
	Status     int           // HTTP status, 0 = none
	Meaning    Meaning
	Text       string // for people: from the provider, cut
}

// Err returns the verdict as a *Failure for a tool to return, or nil if the
// provider confirmed. cause may be nil.
func (v Verdict) Err(cause error) error {
	if v.Phase == journal.PhaseConfirmed {
		return nil
	}
	text := string(v.Meaning)
	if v.Status != 0 {
		text = fmt.Sprintf("the provider answered %d (%s)", v.Status, v.Meaning)
	}
	if v.Text != "" {
		text += ": " + v.Text
	}
	if cause == nil {
		return &Failure{Verdict: v, Err: fmt.Errorf("%s", text)}
	}
	return &Failure{Verdict: v, Err: fmt.Errorf("%s: %w", text, cause)}
}

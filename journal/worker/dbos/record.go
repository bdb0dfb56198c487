package dbosworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// What follows a step.
const (
	nextReturn  = "return"
	nextSleep   = "sleep"
	nextReceive = "receive"
)

// record is what a step leaves in DBOS, as JSON text: every serializer of DBOS
// keeps a string. What follows is part of it, so that a replay takes the same way
// whatever the options are by then.
type record struct {
	Next   string        `json:"next"`
	Wait   time.Duration `json:"wait,omitempty"`
	Topic  string        `json:"topic,omitempty"`
	Outage time.Duration `json:"outage,omitempty"` // slept so far because of it
	Answer answer        `json:"answer"`
	// Failed is the text of the error that Do returned; Unavailable and Unrecorded say
	// of which kind it was.
	Failed      string `json:"failed,omitempty"`
	Unavailable bool   `json:"unavailable,omitempty"`
	Unrecorded  bool   `json:"unrecorded,omitempty"`
}

// answer is worker.Answer without its form for models, which leaves things out.
type answer worker.Answer

// judge says what follows an answer.
func (w *Worker) judge(a worker.Answer, err error, topic string, outage time.Duration) record {
	r := record{Next: nextReturn, Answer: answer(a)}
	var unrecorded *journal.DoneUnrecordedError
	switch {
	case errors.As(err, &unrecorded):
		r.Failed, r.Unrecorded = err.Error(), true
	case err != nil && (unavailable(err) || !a.Settled()):
		r.Failed, r.Unavailable = err.Error(), unavailable(err)
		wait := min(max(outage, firstOutageWait), mostOutageWait) // it doubles
		// What may have happened is never given up: only the journal can tell.
		if !a.Settled() || outage+wait <= w.opts.Outage {
			r.Next, r.Wait, r.Outage = nextSleep, wait, outage+wait
		}
	case err != nil:
		r.Failed = err.Error()
	case a.Parked():
		r.Next, r.Wait, r.Topic = nextReceive, w.opts.Recheck, topic
	case !a.Settled():
		r.Next, r.Wait = nextSleep, max(a.RetryAfter, leastWait)
	}
	return r
}

// unavailable: nothing is wrong with the call, and asking again later is right. A
// quarantined journal opens again when an admin says so.
func unavailable(err error) bool {
	return errors.Is(err, journal.ErrUnavailable) || errors.Is(err, journal.ErrConflict) ||
		errors.Is(err, journal.ErrRestored) || errors.Is(err, context.DeadlineExceeded)
}

// outcome is what Do returns for a record that is the last word.
func (r record) outcome() (worker.Answer, error) {
	a := worker.Answer(r.Answer)
	switch {
	case r.Unrecorded:
		return a, &journal.DoneUnrecordedError{EffectID: a.EffectID, Ref: a.Ref, Attempt: a.Attempt, ProviderID: a.ProviderID, Err: journal.ErrUnavailable}
	case a.Status == worker.StatusDone && r.Failed != "":
		return a, fmt.Errorf("effect %s: %w", a.EffectID, journal.ErrCommitConflict) // the one other error beside done
	case a.Status == worker.StatusDone:
		return a, nil
	}
	return a, &NotDoneError{Answer: a, cause: r.Failed, unavailable: r.Unavailable}
}

package dbosworker

import (
	"errors"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// What a *NotDoneError is; match with errors.Is, also on a replay.
var (
	// ErrRefused: the provider said no and did nothing.
	ErrRefused = errors.New("the provider refused")
	// ErrAbandoned: a person closed it as not landed.
	ErrAbandoned = errors.New("closed as not landed")
	// ErrHardStop: not executed, and trying again now won't help.
	ErrHardStop = errors.New("not executed, and no further try is made")
	// ErrReplan: the call itself is wrong.
	ErrReplan = errors.New("the call is wrong and was not executed")
)

// NotDoneError says that the effect was not executed, or is recorded as not
// landed. It is also journal.ErrUnavailable if the journal could not be reached
// within Options.Outage.
type NotDoneError struct {
	Answer      worker.Answer
	cause       string
	unavailable bool
}

func (e *NotDoneError) Error() string {
	text := string(e.Answer.Status)
	for _, more := range append([]string{e.Answer.Reason, e.cause}, e.Answer.Problems...) {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// Is matches the sentinel of the answer's status.
func (e *NotDoneError) Is(target error) bool {
	switch target {
	case journal.ErrUnavailable:
		return e.unavailable
	case ErrRefused:
		return e.Answer.Status == worker.StatusRefused
	case ErrAbandoned:
		return e.Answer.Status == worker.StatusAbandoned
	case ErrHardStop:
		return e.Answer.Status == worker.StatusHardStop
	case ErrReplan:
		return e.Answer.Status == worker.StatusReplan
	}
	return false
}

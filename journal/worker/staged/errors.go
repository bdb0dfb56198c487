package staged

import (
	"errors"
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// ErrIncomplete is returned by Run for Steps that lack a kind or a function.
var ErrIncomplete = errors.New("staged: the steps need a kind, Create, Read and Finish")

// GoneError says that a journaled handle can't be finished any more and shows no
// effect. Nothing was sent by this attempt. The failure is a final refusal: if
// no attempt is exposed the effect is rejected, else a person decides.
type GoneError struct {
	Kind, Value string
	Detail      string // what the provider says of it; may be empty
}

func (e *GoneError) Error() string {
	text := fmt.Sprintf("%s %s, journaled before the effect, is gone: nothing was sent in its place", e.Kind, e.Value)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// PendingError says that the provider accepted the second step of a handle and
// has not said how it ends. The outcome is unknown and left to evidence.
type PendingError struct {
	Kind, Value string
	Detail      string
}

func (e *PendingError) Error() string {
	text := fmt.Sprintf("%s %s was accepted and is not finished at the provider", e.Kind, e.Value)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// unsent classifies an error before the second step: a refusal stays one, and
// whatever else may have happened had no effect. What the provider asked for is
// kept.
func unsent(err error) error {
	var f *worker.Failure
	if !errors.As(err, &f) {
		return worker.NotSent(err)
	}
	if f.Verdict.Phase == journal.PhaseRefused {
		return err
	}
	v := f.Verdict
	v.Phase, v.Final = journal.PhaseNotSent, false
	return &worker.Failure{Verdict: v, Err: err}
}

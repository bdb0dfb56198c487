package temporal

import (
	"errors"
	"fmt"
	"time"

	sdk "go.temporal.io/sdk/temporal"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// The types of the application errors that a journaled activity fails with. All
// but the first two are final: Temporal must not retry them.
const (
	// TypeLater: another attempt runs, or one may follow after the error's delay.
	TypeLater = "landed.Later"
	// TypeUnavailable: the journal can't be reached, so the activity was not called.
	TypeUnavailable = "landed.Unavailable"
	// TypeParked: the outcome is unknown, and a person decides. Execute waits for that.
	TypeParked = "landed.Parked"
	// TypeRefused: the provider said no and did nothing.
	TypeRefused = "landed.Refused"
	// TypeAbandoned: a person closed it as not landed.
	TypeAbandoned = "landed.Abandoned"
	// TypeHardStop: not executed, and no further try will be.
	TypeHardStop = "landed.HardStop"
	// TypeKeyReused: the key belongs to a call with another tool or other arguments.
	TypeKeyReused = "landed.KeyReused"
	// TypeNoResult: it landed, and what the activity would have returned is unknown.
	TypeNoResult = "landed.NoResult"
	// TypeMisuse: the call itself is wrong; nothing was journaled.
	TypeMisuse = "landed.Misuse"
)

// finalTypes go into every retry policy of a journaled activity.
func finalTypes() []string {
	return []string{TypeParked, TypeRefused, TypeAbandoned, TypeHardStop, TypeKeyReused, TypeNoResult, TypeMisuse}
}

// Details is what such an error says beside its message; DetailsOf reads it.
type Details struct {
	Type       string                 `json:"-"`
	EffectID   string                 `json:"effect_id,omitempty"`
	Key        string                 `json:"key,omitempty"`
	Status     worker.Status          `json:"status,omitempty"`
	Reason     string                 `json:"reason,omitempty"`
	Attempt    int                    `json:"attempt,omitempty"`
	Cursor     int64                  `json:"cursor,omitempty"` // parked: where a wait for the decision starts
	RetryAfter time.Duration          `json:"retry_after,omitempty"`
	ProviderID string                 `json:"provider_id,omitempty"`
	SettledBy  string                 `json:"settled_by,omitempty"`
	Resolution journal.ResolutionKind `json:"resolution,omitempty"`
	// Compensate asks to undo what the run completed: the tool's policy says so.
	Compensate bool `json:"compensate,omitempty"`
}

// DetailsOf reads the details of a journaled activity's error, in the workflow or
// in its caller; false if err is none.
func DetailsOf(err error) (Details, bool) {
	for err != nil {
		var app *sdk.ApplicationError
		if !errors.As(err, &app) {
			return Details{}, false
		}
		if known(app.Type()) {
			var d Details
			if app.HasDetails() && app.Details(&d) != nil {
				d = Details{}
			}
			d.Type = app.Type()
			return d, true
		}
		err = errors.Unwrap(app)
	}
	return Details{}, false
}

func known(kind string) bool {
	if kind == TypeLater || kind == TypeUnavailable {
		return true
	}
	for _, t := range finalTypes() {
		if t == kind {
			return true
		}
	}
	return false
}

// failWith makes the error of a journaled activity.
func failWith(kind, message string, d Details, cause error) error {
	retryable := kind == TypeLater || kind == TypeUnavailable
	o := sdk.ApplicationErrorOptions{NonRetryable: !retryable, Cause: cause, Details: []any{d}}
	if retryable {
		o.NextRetryDelay = d.RetryAfter
	}
	return sdk.NewApplicationErrorWithOptions(message, kind, o)
}

func misuse(format string, args ...any) error {
	return failWith(TypeMisuse, fmt.Sprintf(format, args...), Details{Status: worker.StatusReplan}, nil)
}

// errorOf is what an answer other than "done" fails the activity with. cause is
// what the activity itself returned, or why the journal gave no answer.
func errorOf(a worker.Answer, key string, cause error) error {
	d := Details{
		EffectID: a.EffectID, Key: key, Status: a.Status, Reason: a.Reason, Attempt: a.Attempt, Cursor: a.Cursor,
		RetryAfter: a.RetryAfter, ProviderID: a.ProviderID, SettledBy: a.SettledBy,
	}
	if r := a.Decision; r != nil {
		d.Resolution, d.Compensate = r.Kind, r.Compensate
	}
	message := a.Note
	for _, p := range a.Problems {
		message += " " + p
	}
	return failWith(typeOf(a), message, d, cause)
}

func typeOf(a worker.Answer) string {
	switch a.Status {
	case worker.StatusInProgress:
		return TypeLater
	case worker.StatusUnknown:
		if a.Parked() {
			return TypeParked
		}
		return TypeLater
	case worker.StatusRefused:
		return TypeRefused
	case worker.StatusAbandoned:
		return TypeAbandoned
	case worker.StatusReplan:
		if a.Reason == "key_reused" {
			return TypeKeyReused
		}
		return TypeMisuse
	case worker.StatusHardStop:
		if a.Reason == "journal_unavailable" || a.Reason == journal.ReasonRestored {
			return TypeUnavailable
		}
	}
	return TypeHardStop
}

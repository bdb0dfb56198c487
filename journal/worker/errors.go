package worker

import (
	"errors"

	"github.com/landedhq/landed/journal"
)

// Errors of the worker itself. The transport and the context helpers return
// them to tools.
var (
	// ErrNoGrant: the context was not made by Do, so nothing may be called.
	ErrNoGrant = errors.New("no grant in this context: only Do may call a tool, and requests must carry the context that it hands out")
	// ErrGrantOver: the tool's function has returned; nothing may be sent any more.
	ErrGrantOver = errors.New("the attempt is over: nothing may be sent after the tool returned")
	// ErrTooLate: send_by has passed, the lease is over, or the provider's key
	// window ends. The first byte was not written.
	ErrTooLate = errors.New("too late to send: the time in which this attempt may write its first byte is over")
	// ErrEarlierUnknown: an earlier request of the same attempt may have landed.
	// Client libraries must run with their own retries off.
	ErrEarlierUnknown = errors.New("an earlier request of this attempt may have landed: it must not be repeated by the tool or its client library")
	// ErrRedirect: the answer to a request that changes things was a redirect.
	ErrRedirect = errors.New("redirects of requests that change things are not followed")
	// ErrReadingOnly: a request under Reading uses a method that changes things.
	ErrReadingOnly = errors.New("only GET, HEAD and OPTIONS are allowed under Reading")
)

// Failure is a tool's error that says how far the attempt got.
type Failure struct {
	Verdict Verdict
	Err     error
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// NotSent marks err as proof that no byte of the request left. The transport's
// record outweighs it: if that saw a byte go, the outcome stays unknown.
func NotSent(err error) error {
	return &Failure{Verdict: Verdict{Phase: journal.PhaseNotSent}, Err: err}
}

// Refused marks err as the provider's refusal: it did nothing. final says that
// no retry can help.
func Refused(err error, final bool) error {
	return &Failure{Verdict: Verdict{Phase: journal.PhaseRefused, Final: final, Meaning: MeaningRefused}, Err: err}
}

// Unknown marks err as one after which the effect may have happened.
func Unknown(err error) error {
	return &Failure{Verdict: Verdict{Phase: journal.PhaseSent}, Err: err}
}

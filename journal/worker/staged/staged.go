package staged

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// State is what became of a handle at the provider.
type State string

// The states of a handle.
const (
	Open    State = "open"    // it waits: to finish it is the effect
	Done    State = "done"    // it took effect
	Pending State = "pending" // the second step was accepted, its outcome is open
	Gone    State = "gone"    // it is not there, or it ended without effect
)

// Handle names what the first step made.
type Handle struct {
	Value string // of Steps.Kind: what the second step is told
	// Beside are further ids by kind, journaled with it: where to look once Value
	// is used up.
	Beside map[string]string
}

// Reading is what a read of a handle by its id brought.
type Reading struct {
	State   State
	Outcome worker.Outcome // of a Done one
	Detail  string         // one sentence for people; optional
}

// Steps are the two steps at one provider. Errors are those of a worker.RunFunc:
// a *worker.Failure says how far the request got.
type Steps struct {
	// Kind is the handle's kind in the journal: the one that the provider's
	// evidence adapter reads.
	Kind string
	// Create makes the thing. It must have no effect beyond the account.
	Create func(ctx context.Context) (Handle, error)
	// Read tells a handle's state and changes nothing. An error means that it
	// could not be told; "not there" is Gone.
	Read func(ctx context.Context, h Handle) (Reading, error)
	// Finish makes it count, with exactly one request. That request's context must
	// be the given one: its first connection is announced to the worker.
	Finish func(ctx context.Context, h Handle) (worker.Outcome, error)
}

// Run runs the steps of the attempt that ctx belongs to; it is all that a tool's
// function has to do. Its errors are classified: not_sent while nothing that has
// an effect was sent, refused where the provider said no, and unknown once an
// answer of the second step is missing.
func Run(ctx context.Context, s Steps) (worker.Outcome, error) {
	g, err := worker.Effect(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	if s.Kind == "" || s.Create == nil || s.Read == nil || s.Finish == nil {
		return worker.Outcome{}, worker.NotSent(ErrIncomplete)
	}
	if err := worker.Preparing(ctx); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	h, out, err := s.earlier(ctx, g)
	if err != nil || out != nil {
		return value(out), err
	}
	if h == nil {
		if h, err = s.create(ctx, g); err != nil {
			return worker.Outcome{}, err
		}
	}
	return s.finish(ctx, *h)
}

func value(out *worker.Outcome) worker.Outcome {
	if out == nil {
		return worker.Outcome{}
	}
	return *out
}

// create makes the thing and journals its handle, what is beside it first: a
// handle that can be found is whole.
func (s Steps) create(ctx context.Context, g *worker.Grant) (*Handle, error) {
	h, err := s.Create(ctx)
	if err != nil {
		return nil, unsent(fmt.Errorf("creating the %s: %w", s.Kind, err))
	}
	if h.Value == "" {
		return nil, worker.NotSent(fmt.Errorf("creating the %s: the provider gave no id", s.Kind))
	}
	for _, kind := range slices.Sorted(maps.Keys(h.Beside)) {
		if err := g.RecordHandle(ctx, kind, h.Beside[kind]); err != nil {
			return nil, worker.NotSent(err)
		}
	}
	if err := g.RecordHandle(ctx, s.Kind, h.Value); err != nil {
		return nil, worker.NotSent(err)
	}
	return &h, nil
}

// finish sends the second step. A refusal may mean that the handle is used up
// already, by an attempt whose answer was lost or by a person: one read tells.
func (s Steps) finish(ctx context.Context, h Handle) (worker.Outcome, error) {
	if err := context.Cause(ctx); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	if err := worker.Preparing(ctx); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	gate := newGate(ctx)
	out, err := s.Finish(gate.ctx, h)
	gate.close()
	if err == nil {
		return out, nil
	}
	err = gate.judge(err)
	var f *worker.Failure
	if errors.As(err, &f) && f.Verdict.Phase == journal.PhaseRefused && f.Verdict.Final {
		if r, readErr := s.Read(worker.Reading(ctx), h); readErr == nil && r.State != Open {
			return s.settle(h, r)
		}
	}
	return worker.Outcome{}, fmt.Errorf("finishing %s %s: %w", s.Kind, h.Value, err)
}

// settle is what a handle's state other than Open means.
func (s Steps) settle(h Handle, r Reading) (worker.Outcome, error) {
	switch r.State {
	case Done:
		return r.Outcome, nil
	case Pending:
		return worker.Outcome{}, worker.Unknown(&PendingError{Kind: s.Kind, Value: h.Value, Detail: r.Detail})
	case Gone:
		return worker.Outcome{}, worker.Refused(&GoneError{Kind: s.Kind, Value: h.Value, Detail: r.Detail}, true)
	}
	return worker.Outcome{}, worker.NotSent(fmt.Errorf("reading %s %s: %q is no state", s.Kind, h.Value, r.State))
}

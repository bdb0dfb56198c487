package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/argschema"
)

// Do executes a call at most as often as its tool's class allows, or returns
// what is recorded of it. What the agent may see is in the Answer, also beside
// an error. The error is one of package journal's (the key was reused, the
// journal can't be reached, the effect is done but not recorded), or the
// context's. Without the journal nothing is executed.
func (w *Worker) Do(ctx context.Context, call Call) (Answer, error) {
	t, ok := w.registry.lookup(call.Tool)
	if !ok {
		return replan(fmt.Sprintf("there is no tool %q; the tools are: %s", call.Tool, w.registry.names())), nil
	}
	if bad := argschema.Problems(t.schema, call.Args); len(bad) > 0 {
		return replan(bad...), nil
	}
	if t.Class == journal.ClassReadOnly {
		return w.read(ctx, t, call)
	}
	key, err := call.DeriveKey()
	if err != nil {
		return replan(err.Error()), fmt.Errorf("keying the call of %s: %w", t.Name, err)
	}
	w.keys.check(call, key)
	return w.loop(ctx, t, call, key)
}

// step is what one round of the loop came to.
type step struct {
	answer Answer
	again  bool          // the journal allows another begin
	key    string        // under which to begin then; "" = the same
	wait   time.Duration // before it; 0 = the worker's own backoff
	window time.Duration // how much of the provider's key window is left; 0 = none
}

// loop begins and executes until the journal has an answer that no waiting of
// this call can change, or patience ends.
func (w *Worker) loop(ctx context.Context, t *tool, call Call, key string) (Answer, error) {
	patience := w.opts.Patience
	for n := 0; ; n++ {
		s, err := w.round(ctx, t, call, key)
		if err != nil || !s.again {
			return s.answer, err
		}
		if s.key != "" {
			key = s.key
			continue
		}
		wait := s.wait
		if wait <= 0 {
			wait = w.opts.Backoff.Next(n)
		}
		s.answer.RetryAfter = wait
		if wait > patience || s.window > 0 && wait >= s.window || pastDeadline(ctx, wait) {
			return s.answer, nil
		}
		patience -= wait
		if err := pause(ctx, wait); err != nil {
			return s.answer, fmt.Errorf("waiting for effect %s: %w", s.answer.EffectID, err)
		}
	}
}

func pastDeadline(ctx context.Context, wait time.Duration) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) <= wait
}

func (w *Worker) round(ctx context.Context, t *tool, call Call, key string) (step, error) {
	start, b, err := w.begin(ctx, call.beginRequest(key))
	if err != nil {
		return step{answer: w.beginFailed(err)}, fmt.Errorf("beginning %s: %w", t.Name, err)
	}
	switch b.Directive {
	case journal.DirectiveExecute:
		return w.execute(ctx, t, call, key, start, b)
	case journal.DirectiveInProgress, journal.DirectiveRetryLater, journal.DirectiveVerifying:
		return step{answer: answerOf(b), again: true, wait: b.RetryAfter}, nil
	}
	if r := b.Decision; b.Directive == journal.DirectiveAbandoned && r != nil && r.SuccessorKey != "" {
		return step{answer: answerOf(b), again: true, key: r.SuccessorKey}, nil // a person corrected it
	}
	return step{answer: answerOf(b)}, nil
}

// begin asks for permission. The claim id is random, held here only, and sent
// again only while no answer was read: the journal then repeats a lost grant.
// The returned mark is from before the answered request was sent.
func (w *Worker) begin(ctx context.Context, r journal.BeginRequest) (mark, journal.BeginAnswer, error) {
	r.ClaimID = journal.NewToken()
	first := w.clock.mark()
	for n := 0; ; n++ {
		start := w.clock.mark()
		reqCtx, cancel := context.WithTimeout(ctx, w.opts.JournalTimeout)
		b, err := w.journal.Begin(reqCtx, r)
		cancel()
		switch {
		case err == nil:
			return start, b, nil
		case errors.Is(err, journal.ErrClaimUsed):
			r.ClaimID = journal.NewToken() // its attempt was ours, and is over
		case ctx.Err() != nil || !transient(err):
			return start, b, err
		}
		wait := w.opts.Backoff.Next(n)
		if w.clock.since(first)+wait > w.opts.BeginWithin || pastDeadline(ctx, wait) {
			return start, b, err
		}
		if pause(ctx, wait) != nil {
			return start, b, err
		}
	}
}

// transient reports whether the same request may be sent to the journal again.
func transient(err error) bool {
	return errors.Is(err, journal.ErrUnavailable) || errors.Is(err, journal.ErrConflict) ||
		errors.Is(err, context.DeadlineExceeded)
}

// beginFailed says what an error of begin means for the agent: this call
// executed nothing.
func (w *Worker) beginFailed(err error) Answer {
	var reused *journal.KeyReusedError
	var invalid *journal.InvalidError
	switch {
	case errors.As(err, &reused):
		a := Answer{Status: StatusReplan, Note: noteKeyReused, Reason: "key_reused", EffectID: reused.EffectID, Directive: journal.DirectiveReplan}
		for _, f := range reused.Fields {
			a.Problems = append(a.Problems, fmt.Sprintf("%s was %s and is now %s", f.Field, f.Was, f.Now))
		}
		return a
	case errors.As(err, &invalid):
		return replan(err.Error())
	case errors.Is(err, journal.ErrSupersedesOpen), errors.Is(err, journal.ErrNotCompensable), errors.Is(err, journal.ErrUnknownTool), errors.Is(err, journal.ErrNotJournaled):
		return replan(err.Error())
	}
	reason := "journal_unavailable"
	switch {
	case errors.Is(err, journal.ErrExpired):
		reason = "expired"
	case errors.Is(err, journal.ErrRestored):
		reason = journal.ReasonRestored
	}
	return Answer{Status: StatusHardStop, Note: noteHardStop, Reason: reason}
}

// read runs a read_only tool: nothing is journaled, and an error is an error.
func (w *Worker) read(ctx context.Context, t *tool, call Call) (Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := &Grant{tool: t, journal: w.journal, transport: w.transport, clock: w.clock, readOnly: true, ctx: ctx, cancel: cancel}
	defer g.close()
	out, err := runTool(context.WithValue(ctx, grantKey{}, g), t, call)
	if err != nil {
		return Answer{Status: StatusRefused, Note: "The look-up failed and changed nothing.", Reason: errorText(err)},
			fmt.Errorf("running %s: %w", t.Name, err)
	}
	return Answer{Status: StatusDone, Note: "Read.", Result: out.Result, ProviderID: out.ProviderID}, nil
}

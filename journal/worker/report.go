package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/landedhq/landed/journal"
)

// maxLoggedResult bounds the result in the log when the journal has none of it.
const maxLoggedResult = 64 << 10

// commit records a confirmation with a context of its own, again and again for
// a bounded time. What can't be recorded goes to the log in full, and the
// caller gets a *journal.DoneUnrecordedError. The key stays out of the log: the
// effect id and the reference find the row.
func (w *Worker) commit(ctx context.Context, g *Grant, out Outcome) (step, error) {
	req := journal.CommitRequest{Report: g.report, Result: out.Result, ProviderID: out.ProviderID, Replayed: out.Replayed}
	answer := Answer{
		Status: StatusDone, Note: noteDone, EffectID: g.report.EffectID, Ref: g.Ref(), Attempt: g.report.Attempt,
		Result: out.Result, ProviderID: out.ProviderID, Directive: journal.DirectiveReturn,
	}
	got, err := w.offerCommit(ctx, g, req)
	switch {
	case err == nil:
		if got.EffectID != "" && got.EffectID != answer.EffectID {
			w.logger(g.report, g.Ref()).Warn("the journal did not know the effect: the commit was recorded as an orphan", "orphan", got.EffectID)
			answer.EffectID = got.EffectID
		}
		if got.Double {
			answer.Reason = "probably_double"
		}
		return step{answer: answer}, nil
	case errors.Is(err, journal.ErrCommitConflict):
		return step{answer: answer}, fmt.Errorf("committing effect %s: %w", g.report.EffectID, err)
	}
	w.logger(g.report, g.Ref()).Error("the effect is done but not recorded: do not repeat it; record it by hand",
		"issue", g.Issue(), "provider_id", out.ProviderID, "replayed", out.Replayed,
		"result", string(out.Result[:min(len(out.Result), maxLoggedResult)]), "error", err)
	answer.Note, answer.Reason = noteUnrecorded, "done_unrecorded"
	return step{answer: answer}, &journal.DoneUnrecordedError{
		EffectID: g.report.EffectID, Ref: g.Ref(), Attempt: g.report.Attempt, ProviderID: out.ProviderID, Err: err,
	}
}

func (w *Worker) offerCommit(ctx context.Context, g *Grant, req journal.CommitRequest) (journal.CommitAnswer, error) {
	var got journal.CommitAnswer
	stripped := false
	err := w.offer(ctx, func(ctx context.Context) (bool, error) {
		a, err := w.journal.Commit(ctx, req)
		var invalid *journal.InvalidError
		if errors.As(err, &invalid) && !stripped {
			// State first, content second: the confirmation must not be lost over a
			// result that the journal can't hold.
			w.logger(g.report, g.Ref()).Error("the journal refused the result: committing without it", "error", err,
				"provider_id", req.ProviderID, "result", string(req.Result[:min(len(req.Result), maxLoggedResult)]))
			stripped, req.Result, req.ProviderID = true, nil, plainID(req.ProviderID)
			return true, err
		}
		got = a
		return err != nil && !errors.Is(err, journal.ErrCommitConflict) && !invalidError(err), err
	})
	return got, err
}

func invalidError(err error) bool {
	var invalid *journal.InvalidError
	return errors.As(err, &invalid)
}

// plainID cuts a provider id to what every journal holds.
func plainID(id string) string {
	var out []byte
	for i := 0; i < len(id) && len(out) < 255; i++ {
		if id[i] > 0x20 && id[i] < 0x7f {
			out = append(out, id[i])
		}
	}
	return string(out)
}

// offer calls send until it says not to go on, within ReportWithin.
func (w *Worker) offer(ctx context.Context, send func(context.Context) (again bool, err error)) error {
	ctx, cancel := w.reportContext(ctx)
	defer cancel()
	for n := 0; ; n++ {
		once, done := context.WithTimeout(ctx, w.opts.JournalTimeout)
		again, err := send(once)
		done()
		if !again {
			return err
		}
		if wait := w.opts.Backoff.Next(n); pastDeadline(ctx, wait) || pause(ctx, wait) != nil {
			return err
		}
	}
}

// fail reports an attempt that ended without a confirmation. A report that
// can't be recorded is not missed: without one the attempt counts as sent.
func (w *Worker) fail(ctx context.Context, g *Grant, cause error) (step, error) {
	v := g.judge(cause)
	w.logFailure(g, v, cause)
	req := journal.FailRequest{
		Report: g.report, Phase: v.Phase, Final: v.Final, Error: errorText(cause),
		Status: v.Status, RetryAfter: v.RetryAfter, Replayed: v.Replayed,
	}
	var got journal.FailAnswer
	err := w.offer(ctx, func(ctx context.Context) (bool, error) {
		a, err := w.journal.Fail(ctx, req)
		got = a
		return transient(err), err
	})
	answer := Answer{EffectID: g.report.EffectID, Ref: g.Ref(), Attempt: g.report.Attempt}
	if err != nil {
		answer.Status, answer.Note, answer.Reason = StatusUnknown, noteUnknown, "unreported"
		return step{answer: answer}, fmt.Errorf("reporting the failed attempt %d of effect %s (%s): %w", g.report.Attempt, g.report.EffectID, v.Phase, err)
	}
	return w.afterFail(g, v, answer, got, req.Error), nil
}

func (w *Worker) afterFail(g *Grant, v Verdict, answer Answer, got journal.FailAnswer, text string) step {
	if got.EffectID != "" {
		answer.EffectID = got.EffectID
	}
	answer.Directive, answer.Reason, answer.RetryAfter, answer.Cursor = got.Directive, got.Reason, got.RetryAfter, got.Cursor
	answer.Status, answer.Note = describe(got.Directive)
	s := step{wait: got.RetryAfter}
	switch got.Directive {
	case journal.DirectiveRetry:
		s.again = true
		if v.Phase == journal.PhaseSent {
			answer.Status, answer.Note = StatusUnknown, noteRepeating
		}
		if left := g.answer.KeyWindow; left > 0 {
			s.window = max(left-w.clock.since(g.start), 1)
		}
	case journal.DirectiveVerifying:
		s.again = true
	case journal.DirectiveReturn: // settled meanwhile: begin again returns what was recorded
		s.again, s.wait = true, minPause
	}
	if answer.Reason == "" {
		answer.Reason = text
	}
	s.answer = answer
	return s
}

func (w *Worker) logFailure(g *Grant, v Verdict, cause error) {
	log := w.logger(g.report, g.Ref())
	var p *PanicError
	if errors.As(cause, &p) {
		log.Error("the tool panicked", "phase", v.Phase, "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))
		return
	}
	level := slog.LevelInfo
	if v.Phase == journal.PhaseSent {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "the attempt ended without a confirmation",
		"phase", v.Phase, "status", v.Status, "meaning", v.Meaning, "requests", g.Requests(), "error", errorText(cause))
}

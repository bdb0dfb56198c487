package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/argschema"
)

// Done is a completed effect that is to be undone.
type Done = journal.Undoable

// Undo says how a root run is undone. The zero value calls the compensating tool
// of each effect with UndoArgs.
type Undo struct {
	Namespace string
	// Args makes the arguments of the compensating call; nil = UndoArgs. They must
	// depend on d alone: other ones under the same key are refused.
	Args func(d Done) ([]byte, error)
	// Run does it, in place of the compensating tool's own function and under its
	// class; nil = that function. What the provider says is gone already is undone:
	// report it as success.
	Run    func(ctx context.Context, g *Grant, d Done) (Outcome, error)
	Resume []byte // raw JSON, as Call.Resume
}

// Undone is what became of one effect of the run.
type Undone struct {
	Effect Done
	Answer Answer
	Err    error // of Do, or because the call could not be made; nil if the Answer tells all
}

// OK reports whether the effect is undone.
func (u Undone) OK() bool { return u.Err == nil && u.Answer.Status == StatusDone }

// Compensation is what became of a run, in the order in which it was undone.
type Compensation struct{ Effects []Undone }

// Open are the effects that are not undone: a person decides, it is being tried
// again, or the call itself is wrong. Their Answer and Err say which.
func (c Compensation) Open() []Undone {
	var out []Undone
	for _, u := range c.Effects {
		if !u.OK() {
			out = append(out, u)
		}
	}
	return out
}

// Compensate undoes the completed effects of a root run that have a compensating
// tool (journal.Tool.CompensatedBy), the one that was completed last first, each
// as a journaled effect of that tool under a key of its own. One that fails, is
// refused or is parked does not stop the rest: it is in Open, and a person sees it
// like any other effect.
//
// Call it again until nothing is open; what is undone is skipped, whoever undid
// it. The error is the context's, or the journal's if it can't be asked: what was
// done until then is in the Compensation.
//
// Call it once the run does nothing more: an effect that is completed meanwhile
// is found by the next call.
func (w *Worker) Compensate(ctx context.Context, run Run, how Undo) (Compensation, error) {
	var out Compensation
	q := journal.UndoQuery{Namespace: how.Namespace, RootRun: run.RootRun}
	for {
		page, err := w.undoable(ctx, q)
		if err != nil {
			return out, fmt.Errorf("listing what is left to undo of run %s: %w", run.RootRun, err)
		}
		if len(page.Effects) == 0 {
			return out, nil
		}
		for _, d := range page.Effects {
			u := w.undo(ctx, run, how, d)
			out.Effects = append(out.Effects, u)
			if stops(ctx, u.Err) {
				return out, fmt.Errorf("undoing run %s: %w", run.RootRun, u.Err)
			}
		}
		q.After = page.Next
	}
}

// stops: without a journal nothing is executed, so going on only takes time. What
// is done but not recorded is no reason: the next begin finds out.
func stops(ctx context.Context, err error) bool {
	var done *journal.DoneUnrecordedError
	if err == nil || errors.As(err, &done) {
		return false
	}
	return ctx.Err() != nil || errors.Is(err, journal.ErrUnavailable) || errors.Is(err, journal.ErrRestored)
}

// undoable asks the journal as patiently as begin does.
func (w *Worker) undoable(ctx context.Context, q journal.UndoQuery) (journal.UndoPage, error) {
	first := w.clock.mark()
	for n := 0; ; n++ {
		once, cancel := context.WithTimeout(ctx, w.opts.JournalTimeout)
		page, err := w.journal.Undoable(once, q)
		cancel()
		if err == nil || ctx.Err() != nil || !transient(err) {
			return page, err
		}
		wait := w.opts.Backoff.Next(n)
		if w.clock.since(first)+wait > w.opts.BeginWithin || pastDeadline(ctx, wait) || pause(ctx, wait) != nil {
			return page, err
		}
	}
}

// undo runs one compensation through the loop of Do.
func (w *Worker) undo(ctx context.Context, run Run, how Undo, d Done) Undone {
	out := Undone{Effect: d}
	t, ok := w.registry.lookup(d.CompensatedBy)
	if !ok {
		out.Answer = replan(fmt.Sprintf("effect %s of %s is undone by %q, which this worker does not have", d.EffectID, d.Tool, d.CompensatedBy))
		return out
	}
	if t.Class == journal.ClassReadOnly {
		out.Answer, out.Err = replan(fmt.Sprintf("%s is read_only: it undoes nothing", t.Name)), journal.ErrNotJournaled
		return out
	}
	call, err := undoCall(run, how, d)
	if err != nil {
		out.Answer, out.Err = replan(err.Error()), fmt.Errorf("shaping the call that undoes effect %s: %w", d.EffectID, err)
		return out
	}
	if bad := argschema.Problems(t.schema, call.Args); len(bad) > 0 {
		out.Answer = replan(bad...)
		return out
	}
	if how.Run != nil {
		own := *t
		own.Run = func(ctx context.Context, _ Call) (Outcome, error) {
			g, err := Effect(ctx)
			if err != nil {
				return Outcome{}, err
			}
			return how.Run(ctx, g, d)
		}
		t = &own
	}
	out.Answer, out.Err = w.loop(ctx, t, call, call.Key)
	return out
}

// undoCall shapes the compensating call. Its retry budget is its own: the run's
// may be what ran out.
func undoCall(run Run, how Undo, d Done) (Call, error) {
	key, err := journal.UndoKey(run.RootRun, d.EffectID)
	if err != nil {
		return Call{}, err
	}
	shape := how.Args
	if shape == nil {
		shape = UndoArgs
	}
	args, err := shape(d)
	if err != nil {
		return Call{}, err
	}
	run.Turn = "undo/" + d.EffectID
	return Call{Run: run, Tool: d.CompensatedBy, Namespace: how.Namespace, Key: key, Step: "undo", Item: d.EffectID,
		Subject: undoSubject(d), Amount: d.Amount, Currency: d.Currency, Args: args, Resume: how.Resume, Compensates: d.EffectID}, nil
}

// undoSubject is the line for people, cut at a rune.
func undoSubject(d Done) string {
	what := "Undo: " + cmp.Or(d.Subject, d.Operation)
	if len(what) <= journal.MaxTextBytes {
		return what
	}
	return strings.ToValidUTF8(what[:journal.MaxTextBytes-len("…")], "") + "…"
}

// maxUndoPart bounds the args and the result inside of UndoArgs, so that both fit
// into the arguments of one call however they are escaped.
const maxUndoPart = 200 << 10

// UndoArgs are the arguments of a compensating call unless Undo.Args makes others:
//
//	{"effect_id": …, "tool": …, "operation": …, "provider_id": …, "args": …, "result": …}
//
// args and result are what was recorded, and left out where that is not JSON that
// the journal takes as arguments, or has more than 200 KiB.
func UndoArgs(d Done) ([]byte, error) {
	f := struct {
		EffectID   string          `json:"effect_id"`
		Tool       string          `json:"tool"`
		Operation  string          `json:"operation"`
		ProviderID string          `json:"provider_id,omitempty"`
		Args       json.RawMessage `json:"args,omitempty"`
		Result     json.RawMessage `json:"result,omitempty"`
	}{d.EffectID, d.Tool, d.Operation, d.ProviderID, undoPart(d.Args), undoPart(d.Result)}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func undoPart(raw []byte) json.RawMessage {
	if len(raw) == 0 || len(raw) > maxUndoPart || journal.CheckArgs(raw) != nil {
		return nil
	}
	return raw
}

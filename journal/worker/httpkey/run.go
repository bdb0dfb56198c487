package httpkey

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

var (
	errNoExchange = errors.New("the tool was called outside of its middleware")
	errAnswering  = errors.New("the client has part of an earlier attempt's answer: another attempt needs another request")
)

// run is the tool: one attempt of the handler.
func (g *guard) run(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	switch {
	case !ok:
		return worker.Outcome{}, worker.NotSent(errNoExchange)
	case x.rec != nil && x.rec.started():
		return worker.Outcome{}, worker.NotSent(errAnswering)
	}
	grant, err := worker.Effect(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, g.tool.ClientTimeout)
	defer cancel()
	req, err := g.request(ctx, x.r, call.Args, grant)
	if err != nil { // a person corrected it so: nothing can be done with it
		return worker.Outcome{}, worker.Refused(err, true)
	}
	now := time.Now()
	rec := newRecorder(x.w, g.marks(grant.EffectID(), now), g.maxAnswer, g.stall)
	x.begin(rec)
	if !g.tracked {
		if err := worker.Sending(ctx); err != nil {
			return worker.Outcome{}, err
		}
	}
	if err := x.serve(req); err != nil {
		rec.finish(false)
		return worker.Outcome{}, err
	}
	out, v := g.judge(rec, now)
	x.verdict = v
	rec.finish(v.Phase == journal.PhaseConfirmed)
	if v.Phase == journal.PhaseRefused && v.Final {
		code, h, body, total := rec.answer()
		text := g.refusalText(code, h, body, total == int64(len(body)), now)
		return worker.Outcome{}, &worker.Failure{Verdict: v, Err: errors.New(text)}
	}
	return out, v.Err(nil)
}

// request is what the handler gets: the stored request.
func (g *guard) request(ctx context.Context, from *http.Request, args []byte, grant *worker.Grant) (*http.Request, error) {
	stored, body, err := decodeRequest(args)
	if err != nil {
		return nil, err
	}
	req, err := stored.build(ctx, from, body)
	if err != nil {
		return nil, err
	}
	// A replay goes to whoever asks: the recorded body must be one that every
	// client can read.
	req.Header.Set("Accept-Encoding", "identity")
	if g.refHeader != "" {
		req.Header.Set(g.refHeader, grant.Ref())
	}
	return req, nil
}

// judge reads the handler's answer.
func (g *guard) judge(rec *recorder, at time.Time) (worker.Outcome, worker.Verdict) {
	rec.WriteHeader(http.StatusOK) // what net/http says for a handler that says nothing
	code, h, body, total := rec.answer()
	c := g.classifier
	if total > int64(len(body)) { // cut: a parser would not see all of it
		c.Parse = func(worker.Response) (worker.Outcome, error) { return worker.Outcome{}, nil }
	}
	if c.Judge == nil && code == http.StatusSeeOther {
		c.Judge = func(worker.Response) (worker.Verdict, bool) {
			return worker.Verdict{Phase: journal.PhaseConfirmed, Meaning: worker.MeaningConfirmed}, true
		}
	}
	out, v := c.Classify(&worker.Response{Status: code, Header: h, Body: body}, nil, journal.PhaseSent)
	switch {
	case v.Phase == journal.PhaseConfirmed:
		result, err := g.encodeAnswer(code, h, body, total, at)
		if err != nil { // the outcome counts, not its wording
			g.log.Error("an answer can't be recorded", "error", err)
		}
		out.Result = result
	case v.Meaning == worker.MeaningUnclear && code == http.StatusConflict && g.tool.Class != journal.ClassProviderIdempotent:
		// Without a key at the provider a conflict can't be one with ourselves.
		v.Phase, v.Final, v.Meaning = journal.PhaseRefused, true, worker.MeaningConflict
	}
	if v.Phase == journal.PhaseRefused && slices.Contains(g.retryable, code) {
		v.Final = false
	}
	return out, v
}

// parseAnswer is the default parser of a 2xx: JSON must not say that it failed,
// anything else is taken at its status.
func parseAnswer(r worker.Response) (worker.Outcome, error) {
	if !isJSON(r.Header.Get("Content-Type")) {
		return worker.Outcome{}, nil
	}
	out, err := worker.ParseJSON(r)
	if err != nil {
		return worker.Outcome{}, fmt.Errorf("reading the answer: %w", err)
	}
	return out, nil
}

// marks are the headers of every answer about an effect.
func (g *guard) marks(effectID string, since time.Time) http.Header {
	h := http.Header{}
	if effectID != "" {
		h.Set("Landed-Effect", effectID)
	}
	if g.retention > 0 && !since.IsZero() {
		h.Set("Idempotency-Expires", since.Add(g.retention).UTC().Format(http.TimeFormat))
	}
	return h
}

package httpkey

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// answer tells the client what the journal says.
func (g *guard) answer(x *exchange, a worker.Answer, err error) {
	if x.rec != nil && x.rec.end() { // it has the answer, or part of it
		if x.broken {
			panic(http.ErrAbortHandler) // so that it does not take it for whole
		}
		x.rec.trailers()
		return
	}
	var reused *journal.KeyReusedError
	var invalid *journal.InvalidError
	switch {
	case a.Status == worker.StatusDone && !a.Repeated:
		g.done(x, a, err)
	case errors.As(err, &reused):
		g.problem(x.w, g.about(keyReused(reused), reused.EffectID))
	case errors.As(err, &invalid):
		g.problem(x.w, problem{Status: 422, Code: CodeInvalid, Title: "The request can't be journaled", Detail: err.Error() + ". Nothing was executed."})
	case errors.Is(err, journal.ErrExpired):
		g.problem(x.w, problem{Status: 410, Code: CodeExpired, Title: "The key has expired",
			Detail: "The key was used, and what came of it is no longer kept. It is never executed again. A new effect needs a new key."})
	case errors.Is(err, journal.ErrConflict) && a.Status == worker.StatusHardStop: // many at once under one key
		g.later(x, worker.Answer{Directive: journal.DirectiveInProgress, RetryAfter: time.Second})
	case err != nil && a.Status == worker.StatusHardStop:
		g.unavailable(x.w, err)
	case a.Status == worker.StatusDone:
		g.replay(x.w, a)
	case a.Status == worker.StatusRefused:
		g.refused(x, a)
	case a.Status == worker.StatusInProgress:
		g.later(x, a)
	case a.Status == worker.StatusUnknown:
		g.unknown(x.w, a)
	default:
		g.notExecuted(x.w, a)
	}
}

// done answers with what the handler just said. An effect that could not be
// recorded is done all the same.
func (g *guard) done(x *exchange, a worker.Answer, err error) {
	if err != nil {
		x.rec.add.Set("Landed-Recorded", "false")
	}
	code, _, body, total := x.rec.answer()
	if total == int64(len(body)) {
		x.rec.deliver()
		return
	}
	yes := true // a status that only the configuration takes for a confirmation was held to its end
	g.problem(x.w, g.about(problem{Status: 200, Code: CodeAnswerLost, Title: "It was done; its answer is not kept", Executed: &yes, Was: code,
		AnswerSize: total, Detail: "This request was carried out. Its answer was too large to keep."}, a.EffectID))
}

func (g *guard) problem(w http.ResponseWriter, p problem) { p.write(w, g.docsURL) }

func keyReused(e *journal.KeyReusedError) problem {
	p := problem{Status: 422, Code: CodeKeyReused, Title: "Idempotency-Key is already used",
		Detail: "The key belongs to another request of yours to this route, which stands. Nothing was executed. Send the first request again as it was to get its answer; a new effect needs a new key."}
	for _, f := range e.Fields {
		name := f.Field
		if name == "body_sha256" {
			name = "body"
		}
		if slices.Contains(append(identityFields(), "body"), name) && !slices.Contains(p.Fields, name) {
			p.Fields = append(p.Fields, name)
		}
	}
	return p
}

// unavailable: without the journal nothing is executed.
func (g *guard) unavailable(w http.ResponseWriter, err error) {
	g.log.Error("a request was refused: the journal gave no permission", "error", err)
	p := problem{Status: 503, Code: CodeUnavailable, Title: "The journal can't be reached", wait: 2 * time.Second,
		Detail: "Without its journal this operation is not executed, and it was not. Try again later with the same key."}
	if errors.Is(err, journal.ErrRestored) {
		p.Code, p.Title, p.wait = CodeRestored, "The journal was restored and waits for an administrator", time.Minute
	}
	g.problem(w, p)
}

// replay answers with what was recorded.
func (g *guard) replay(w http.ResponseWriter, a worker.Answer) {
	stored, body, ok := decodeAnswer(a.Result)
	h := w.Header()
	for name, v := range g.marks(a.EffectID, stored.At) {
		h[name] = v
	}
	replayed(h)
	if !ok || stored.Bytes > 0 {
		yes := true
		p := problem{Status: 200, Code: CodeAnswerLost, Title: "It was done; its answer is not kept", Executed: &yes, ProviderID: a.ProviderID,
			SettledBy: a.SettledBy, AnswerSize: stored.Bytes, Detail: "This request was carried out before and is not repeated. No answer of it is recorded: a person or the provider's own records settled it."}
		if stored.Bytes > 0 {
			p.Was, p.SettledBy = stored.Status, ""
			p.Detail = "This request was carried out before and is not repeated. Its answer went to the client that asked first, and was too large to keep."
		}
		g.problem(w, g.about(p, a.EffectID))
		return
	}
	for name, v := range stored.Headers {
		h[name] = v
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if bodyless(stored.Status) {
		h.Del("Content-Length")
		body = nil
	}
	w.WriteHeader(stored.Status)
	_, _ = w.Write(body)
}

// bodyless: net/http refuses a body with these.
func bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// replayed marks an answer as recorded. Clients of Stripe and libraries made for
// it look for the second name (https://docs.stripe.com/api/idempotent_requests).
func replayed(h http.Header) {
	h.Set("Idempotency-Replayed", "true")
	h.Set("Idempotent-Replayed", "true")
}

// refused answers with a refusal: the handler's own right now, or the recorded
// one.
func (g *guard) refused(x *exchange, a worker.Answer) {
	if a.Directive == journal.DirectiveRejected && x.rec != nil && !x.broken {
		code, _, body, total := x.rec.answer()
		if total == int64(len(body)) {
			x.rec.deliver()
			return
		}
		g.refusalLost(x.w, a, code)
		return
	}
	r, err := refusalOf(a.Reason)
	h := x.w.Header()
	for name, v := range g.marks(a.EffectID, r.at) {
		h[name] = v
	}
	if a.Directive == journal.DirectiveReturn {
		replayed(h)
	}
	switch {
	case err != nil:
		no := false
		g.problem(x.w, g.about(problem{Status: 422, Code: CodeRefused, Title: "It was refused", Executed: &no, SettledBy: a.SettledBy,
			Detail: "The operation was refused and nothing was done. A changed request needs a new key."}, a.EffectID))
	case !r.kept:
		g.refusalLost(x.w, a, r.status)
	default:
		for name, v := range r.header {
			h[name] = v
		}
		if !bodyless(r.status) {
			h.Set("Content-Length", strconv.Itoa(len(r.body)))
		}
		x.w.WriteHeader(r.status)
		_, _ = x.w.Write(r.body)
	}
}

func (g *guard) refusalLost(w http.ResponseWriter, a worker.Answer, status int) {
	no := false
	g.problem(w, g.about(problem{Status: status, Code: CodeRefused, Title: "It was refused", Executed: &no, Was: status,
		Detail: "The operation was refused with this status and nothing was done. The refusal's text was too large to keep. A changed request needs a new key."}, a.EffectID))
}

// later: nothing is known to have happened, and the same request may be sent
// again.
func (g *guard) later(x *exchange, a worker.Answer) {
	wait := max(a.RetryAfter, time.Second)
	if a.Directive == journal.DirectiveInProgress {
		// The journal tells when the lease ends. Most attempts take less: ask again
		// after as long as this one has run.
		wait = min(wait, max(a.Since, time.Second))
	}
	if a.Directive != journal.DirectiveRetry {
		p := problem{Status: 409, Code: CodeInProgress, Title: "A request is outstanding for this Idempotency-Key", wait: wait,
			Detail: "The first request with this key is still being carried out. Send the same request with the same key later to get its answer. Do not send it under another key."}
		if a.Directive == journal.DirectiveRetryLater {
			p.Code, p.Title = CodeRetryLater, "The last try with this Idempotency-Key ended a moment ago"
			p.Detail = "The last try did nothing, and the next is not due yet. Send the same request with the same key later."
		}
		g.problem(x.w, g.about(p, a.EffectID))
		return
	}
	if x.rec != nil && x.verdict.Phase == journal.PhaseRefused {
		if _, _, body, total := x.rec.answer(); total == int64(len(body)) {
			x.rec.add.Set("Retry-After", strconv.Itoa(seconds(wait)))
			x.rec.deliver()
			return
		}
	}
	no := false
	g.problem(x.w, g.about(problem{Status: 503, Code: CodeNotSent, Title: "The upstream could not be reached", Executed: &no, wait: wait,
		Detail: "Nothing was sent to the upstream, so nothing happened. Send the same request with the same key later."}, a.EffectID))
}

// unknown: it may have happened.
func (g *guard) unknown(w http.ResponseWriter, a worker.Answer) {
	p := problem{Status: 409, Code: CodeUnknown, Title: "The outcome is unknown",
		Detail: "The operation may have been carried out. Do not repeat it, not under another key and not in another way: a person decides. Once that is done, this request with this key answers with the outcome."}
	switch a.Directive {
	case journal.DirectiveVerifying:
		p.Code, p.wait = CodeVerifying, max(a.RetryAfter, time.Second)
		p.Detail = "The operation may have been carried out, and the provider is being asked. Do not repeat it under another key or in another way. Send the same request with the same key later to get the outcome."
	case journal.DirectiveReturn: // settled while this attempt ran
		p.Code, p.wait, p.Title = CodeInProgress, time.Second, "A request is outstanding for this Idempotency-Key"
		p.Detail = "The operation was settled a moment ago. Send the same request with the same key again to get the outcome."
	case journal.DirectiveRetry:
		p.Status, p.Code, p.wait = 503, CodeRepeating, max(a.RetryAfter, time.Second)
		p.Detail = "The operation may have been carried out. The upstream can't carry it out twice under one key: send the same request with the same key later. Do not send it under another key."
	}
	g.problem(w, g.about(p, a.EffectID))
}

// notExecuted: this request did nothing, and sending it again will do nothing.
func (g *guard) notExecuted(w http.ResponseWriter, a worker.Answer) {
	no := false
	p := problem{Status: 503, Code: CodeGaveUp, Title: "It was not done, and is not tried again", Executed: &no,
		Detail: "Every try under this key ended before anything was done, and there were too many. A person was told. A later effect needs a new key."}
	switch a.Status {
	case worker.StatusAbandoned:
		p.Status, p.Code, p.Title, p.SettledBy = 409, CodeAbandoned, "It was closed as not done", a.SettledBy
		p.Detail = "A person closed this operation as not done; under this key it never will be. Do not repeat it by yourself: a new effect needs a new decision and a new key."
	case worker.StatusReplan:
		p.Status, p.Code, p.Title, p.Detail = 422, CodeInvalid, "The request can't be journaled", a.Note
	}
	g.problem(w, g.about(p, a.EffectID))
}

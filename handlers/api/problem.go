package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// answeredError is an error that comes with an answer: its members are added to
// the problem document.
type answeredError struct {
	err  error
	form []byte
}

func (e *answeredError) Error() string { return e.err.Error() }
func (e *answeredError) Unwrap() error { return e.err }

// directiveError is a directive of begin that has a status of its own.
type directiveError struct{ journal.BeginAnswer }

func (e *directiveError) Error() string {
	switch e.Directive {
	case journal.DirectiveInProgress:
		return "another attempt holds the lease: do not execute; begin again after retry_after_ms"
	case journal.DirectiveVerifying:
		return "the provider is being asked whether it landed: do not execute; begin again after retry_after_ms"
	}
	return "the last attempt ended and the next may not begin yet: begin again after retry_after_ms"
}

// kind is one row of the table of errors.
type kind struct {
	is     error
	status int
	code   wire.Code
	title  string
	wait   time.Duration // Retry-After; 0 = none
}

// kinds is the table for sentinels, typed errors follow in shape. Texts of 5xx
// are constants: their cause goes to the log.
func kinds() []kind {
	return []kind{
		{errUnauthorized, 401, wire.CodeUnauthorized, "No valid token", 0},
		{errForbidden, 403, wire.CodeForbidden, "Not with this token", 0},
		{errSharedTool, 403, wire.CodeForbidden, "Not with this token", 0},
		{journal.ErrNotFound, 404, wire.CodeNotFound, "No such thing", 0},
		{errMediaType, 415, wire.CodeUnsupportedMedia, "Not JSON", 0},
		{journal.ErrClaimUsed, 409, wire.CodeClaimUsed, "The claim id was used", 0},
		{journal.ErrCommitConflict, 409, wire.CodeCommitConflict, "Committed with another provider id", 0},
		{journal.ErrSupersedesOpen, 409, wire.CodeSupersedesOpen, "The superseded effect is open", 0},
		{journal.ErrNotCompensable, 409, wire.CodeNotCompensable, "It can't be undone by this", 0},
		{journal.ErrConflict, 409, wire.CodeConflict, "Changed at the same time", time.Second},
		{journal.ErrExpired, 410, wire.CodeExpired, "The key's effect was purged", 0},
		{journal.ErrNotJournaled, 422, wire.CodeNotJournaled, "A read_only tool", 0},
		{journal.ErrUnknownTool, 422, wire.CodeUnknownTool, "The tool is not registered", 0},
		{journal.ErrUnknownAttempt, 422, wire.CodeUnknownAttempt, "No such attempt", 0},
		{errTooManyWaiting, 429, wire.CodeTooManyWaiting, "Too many polls wait", 5 * time.Second},
		{journal.ErrRestored, 503, wire.CodeRestored, "The journal was restored", time.Minute},
		{journal.ErrUnavailable, 503, wire.CodeUnavailable, "The journal can't be reached", 2 * time.Second},
		{errCutShort, 503, wire.CodeUnavailable, "The request was cut short", time.Second},
		{context.DeadlineExceeded, 503, wire.CodeUnavailable, "It took too long", 2 * time.Second},
	}
}

// shape turns an error into a problem document.
func shape(err error) wire.Problem {
	if p, ok := shapeTyped(err); ok {
		return p
	}
	for _, k := range kinds() {
		if !errors.Is(err, k.is) {
			continue
		}
		p := wire.Problem{Status: k.status, Code: k.code, Title: k.title, Detail: k.is.Error()}
		p.SetRetryAfter(k.wait)
		return p
	}
	var he *echo.HTTPError // of the router
	if errors.As(err, &he) && (he.Code == http.StatusNotFound || he.Code == http.StatusMethodNotAllowed) {
		return wire.Problem{Status: 404, Code: wire.CodeNotFound, Title: "No such thing", Detail: "there is no such address for this method"}
	}
	return wire.Problem{Status: 500, Code: wire.CodeInternal, Title: "Something broke", Detail: "the journal failed in a way that was not foreseen; the log says how"}
}

func shapeTyped(err error) (wire.Problem, bool) {
	var (
		directive *directiveError
		invalid   *journal.InvalidError
		reused    *journal.KeyReusedError
		lost      *journal.LeaseLostError
		stale     *journal.StaleError
		blocked   *journal.BlockedError
		large     *tooLargeError
	)
	var p wire.Problem
	switch {
	case errors.As(err, &directive):
		p = wire.Problem{Status: 409, Code: wire.Code(directive.Directive), Title: "Not now"}
		p.SetRetryAfter(directive.RetryAfter)
	case errors.As(err, &invalid):
		p = wire.Problem{Status: 422, Code: wire.CodeInvalid, Title: "Can't be used", Field: invalid.Field, Detail: invalid.Error()}
	case errors.As(err, &large):
		p = wire.Problem{Status: 413, Code: wire.CodeTooLarge, Title: "Too large", Field: large.field}
	case errors.As(err, &reused):
		p = wire.Problem{Status: 422, Code: wire.CodeKeyReused, Title: "The key belongs to another call",
			EffectID: reused.EffectID, Tool: reused.Tool, Fields: reused.Fields, Detail: reused.Error()}
	case errors.As(err, &lost):
		p = wire.Problem{Status: 409, Code: wire.CodeLeaseLost, Title: "The lease is lost",
			EffectID: lost.EffectID, State: lost.State, Decision: lost.Decision, Detail: lost.Error()}
	case errors.As(err, &stale):
		p = wire.Problem{Status: 409, Code: wire.CodeStale, Title: "It changed meanwhile",
			EffectID: stale.EffectID, State: stale.State, Version: stale.Version, Changed: stale.Changed}
	case errors.As(err, &blocked):
		p = wire.Problem{Status: 409, Code: wire.CodeBlocked, Title: "Blocked", Until: blocked.Until, Detail: blocked.Error()}
	default:
		return p, false
	}
	if p.Detail == "" {
		p.Detail = err.Error()
	}
	return p, true
}

// problems writes what the handlers return as errors.
func (a *API) problems(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if err := next(c); err != nil {
			return a.WriteError(c, err)
		}
		return nil
	}
}

// WriteError answers a request of the API with a problem document. The errors
// of its handlers take this way by themselves; the server's error handler hands
// over what the router refuses below /v1.
func (a *API) WriteError(c echo.Context, err error) error {
	if c.Response().Committed || c.Request().Context().Err() != nil {
		return nil // nobody reads it
	}
	p := shape(err)
	h := c.Response().Header()
	p.RequestID = h.Get(echo.HeaderXRequestID)
	if p.Status >= 500 {
		a.log.Error("the worker API failed", "method", c.Request().Method, "route", c.Path(), "request_id", p.RequestID, "code", p.Code, "error", err)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="landed"`)
	}
	if p.RetryAfterMS > 0 {
		h.Set("Retry-After", strconv.FormatInt((p.RetryAfterMS+999)/1000, 10))
	}
	doc, err := p.Encode(carried(err))
	if err != nil {
		return err
	}
	return c.Blob(p.Status, wire.ProblemContentType, bytes.TrimSpace(doc))
}

// carried returns the answer that goes into the problem document, nil if none.
func carried(err error) []byte {
	var d *directiveError
	if errors.As(err, &d) {
		if form, err := wire.EncodeBeginAnswer(d.BeginAnswer); err == nil {
			return form
		}
	}
	var e *answeredError
	if errors.As(err, &e) {
		return e.form
	}
	return nil
}

package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// errFormToken: the form was made for another session.
var errFormToken = errors.New("the form token is not this session's")

// crossSiteError: the request was sent from another site, or does not say from where.
type crossSiteError struct{ cause error }

func (e *crossSiteError) Error() string { return "cross-site request: " + e.cause.Error() }
func (e *crossSiteError) Unwrap() error { return e.cause }

// roleError: the person's roles do not allow it.
type roleError struct {
	what string // "decide"
	need []journal.Role
}

func (e *roleError) Error() string {
	return fmt.Sprintf("to %s needs one of the roles %v", e.what, e.need)
}

// answer is what a caller is told about an error. Everything in it is safe to
// show; a cause is not part of it.
type answer struct {
	status int
	code   string // stable
	title  string
	text   string
	link   web.Link
}

// answerFor is the one table from errors to answers.
func answerFor(err error) answer {
	var (
		le *login.Error
		re *roleError
		ce *crossSiteError
		ie *journal.InvalidError
		se *journal.StaleError
		be *journal.BlockedError
		mb *http.MaxBytesError
		he *echo.HTTPError
	)
	switch {
	case errors.As(err, &le):
		return answer{status: le.Status, code: le.Code, title: le.Title, text: le.WhatToDo, link: wayOn(le.Link)}
	case errors.As(err, &re):
		return answer{status: http.StatusForbidden, code: "role_needed", title: "Your roles do not allow this",
			text: fmt.Sprintf("To %s you need the role %s. Roles come from your groups at the identity provider: ask whoever manages those, then sign in again.", re.what, roleList(re.need))}
	case errors.As(err, &ce):
		return answer{status: http.StatusForbidden, code: "cross_site", title: "This request came from another site",
			text: "Nothing was changed. Open the page in Landed itself and repeat what you did there."}
	case errors.Is(err, errFormToken):
		return answer{status: http.StatusForbidden, code: "form_token", title: "This form belongs to another session",
			text: "Nothing was changed. You signed in again after the page was made: go back, copy your text, reload the page and send it again."}
	case errors.As(err, &ie):
		return answer{status: http.StatusUnprocessableEntity, code: "invalid", title: "Something in the request can’t be used", text: "Nothing was changed. The field " + ie.Error() + "."}
	case errors.As(err, &se):
		return answer{status: http.StatusConflict, code: "stale", title: "It changed since the page was made", text: "Nothing was recorded. Look at the effect as it is now and decide again."}
	case errors.As(err, &be):
		return answer{status: http.StatusConflict, code: "blocked", title: "This is not open now", text: "Nothing was recorded. " + web.BlockSentence(be.Reason)}
	case errors.As(err, &mb):
		return answer{status: http.StatusRequestEntityTooLarge, code: "too_large", title: "The request is too large", text: "Nothing was changed. Shorten the text and send it again."}
	}
	if a, ok := journalAnswer(err); ok {
		return a
	}
	if errors.As(err, &he) {
		return httpAnswer(he.Code)
	}
	return httpAnswer(http.StatusInternalServerError)
}

// journalAnswer covers the journal's sentinels.
func journalAnswer(err error) (answer, bool) {
	for _, row := range []struct {
		is error
		answer
	}{
		{journal.ErrNotFound, answer{http.StatusNotFound, "not_found", "There is no such effect", "The link may be cut short, or the effect was purged after its retention.", web.Link{}}},
		{journal.ErrUnavailable, answer{http.StatusServiceUnavailable, "unavailable", "The journal can’t be reached", "Nothing was changed as far as is known. Workers can’t start new effects meanwhile. Try again in a minute.", web.Link{}}},
		{journal.ErrConflict, answer{http.StatusConflict, "conflict", "It changed at the same time", "Nothing was recorded. Go back and try again.", web.Link{}}},
		{journal.ErrRestored, answer{http.StatusServiceUnavailable, "journal_restored", "The journal is quarantined", "It was restored from a backup and waits for an admin to name the restore point.", web.Link{}}},
		{journal.ErrExpired, answer{http.StatusGone, "expired", "This effect was purged", "Only its key's hash, fingerprint, state and time are left.", web.Link{}}},
		{context.DeadlineExceeded, answer{http.StatusServiceUnavailable, "timeout", "That took too long", "It is not known whether anything was changed. Look at the effect before you try again.", web.Link{}}},
		{context.Canceled, answer{http.StatusServiceUnavailable, "cancelled", "The request was given up", "It is not known whether anything was changed. Look at the effect before you try again.", web.Link{}}},
	} {
		if errors.Is(err, row.is) {
			return row.answer, true
		}
	}
	return answer{}, false
}

// httpAnswer covers what the router and the parsers refuse. 5xx texts are constants.
func httpAnswer(status int) answer {
	a := answer{status: status, code: "http_" + fmt.Sprint(status)}
	switch status {
	case http.StatusNotFound:
		a.code, a.title, a.text = "not_found", "There is no such page", "The link may be cut short or old."
	case http.StatusMethodNotAllowed:
		a.code, a.title, a.text = "method_not_allowed", "This address does not take that", "Open it from the page that it belongs to."
	case http.StatusForbidden:
		a.code, a.title, a.text = "forbidden", "This is not allowed", "Nothing was changed."
	case http.StatusUnauthorized:
		a.code, a.title, a.text = "unauthorized", "You are not signed in", "Nothing was changed. Sign in and repeat what you did."
	case http.StatusRequestEntityTooLarge:
		a.code, a.title, a.text = "too_large", "The request is too large", "Nothing was changed. Shorten the text and send it again."
	case http.StatusServiceUnavailable:
		a.code, a.title, a.text = "unavailable", "Not available right now", "Try again in a minute."
	default:
		if status >= 400 && status < 500 {
			a.title, a.text = "The request can’t be understood", "Nothing was changed. Go back and try again."
			break
		}
		a.status, a.code, a.title = status, "internal", "Something broke in Landed"
		a.text = "It is not known whether anything was changed. Look at the effect before you try again, and give the request number below to whoever runs Landed."
	}
	return a
}

// withoutNote takes the note off a way on: it speaks of what did not happen.
func withoutNote(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return web.RouteList
	}
	q := u.Query()
	if q.Has(web.ParamNote) {
		q.Del(web.ParamNote)
		u.RawQuery = q.Encode()
	}
	return u.String()
}

func wayOn(path string) web.Link {
	switch path {
	case "":
		return web.Link{}
	case web.RouteLogin:
		return web.Link{Text: "Sign in", URL: path}
	}
	return web.Link{Text: "Go on", URL: withoutNote(path)}
}

func roleList(roles []journal.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, " or ")
}

// problem is an error of the worker API, as RFC 9457 has it.
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Code     string `json:"code"`
	Instance string `json:"instance,omitempty"`
}

// handleError answers every error, once. The cause goes to the log only.
func (s *server) handleError(err error, c echo.Context) {
	a := answerFor(err)
	id := c.Response().Header().Get(headerRequestID)
	if ctx := c.Request().Context(); errors.Is(ctx.Err(), context.Canceled) { // nobody reads an answer: a page was left
		s.log.InfoContext(ctx, "the client went away", "request", id, "err", err)
		return
	}
	s.logError(c, a, id, err)
	if c.Response().Committed {
		return
	}
	if a.status == http.StatusServiceUnavailable {
		c.Response().Header().Set("Retry-After", "5")
	}
	path := c.Request().URL.Path
	if path == web.RouteAPI || strings.HasPrefix(path, web.RouteAPI+"/") || strings.HasSuffix(c.Path(), "/version") {
		c.Response().Header().Set(echo.HeaderContentType, "application/problem+json")
		err = c.JSON(a.status, problem{Type: "about:blank", Title: a.title, Status: a.status, Detail: a.text, Code: a.code, Instance: id})
	} else {
		err = s.errorPage(c, a, id)
	}
	if err != nil && !c.Response().Committed {
		s.log.ErrorContext(c.Request().Context(), "the error page failed", "request", id, "err", err)
		_ = c.HTMLBlob(http.StatusInternalServerError, s.lastResort)
	}
}

func (s *server) logError(c echo.Context, a answer, id string, err error) {
	level := s.log.InfoContext
	if a.status >= 500 {
		level = s.log.ErrorContext
	} else if a.status == http.StatusForbidden {
		level = s.log.WarnContext
	}
	r := c.Request()
	level(r.Context(), "request refused", "request", id, "method", r.Method, "route", c.Path(), "status", a.status, "code", a.code, "err", err)
}

func (s *server) errorPage(c echo.Context, a answer, id string) error {
	p := web.MessagePage{
		Shell:     s.shell(c, a.title, nil),
		Notice:    web.Notice{Tone: web.ToneWarn, Title: a.title, Lines: []string{a.text}},
		Status:    fmt.Sprint(a.status),
		RequestID: id,
	}
	if a.status >= 500 {
		p.Notice.Tone = web.ToneStop
	}
	if a.link.URL != "" {
		p.Notice.Links = append(p.Notice.Links, a.link)
	}
	if effect := c.Param("id"); journal.ValidID(effect) && a.code != "not_found" && strings.HasPrefix(c.Path(), "/e/") {
		p.Notice.Links = append(p.Notice.Links, web.Link{Text: "The effect as it is now", URL: web.EffectURL(effect)})
	}
	if a.link.URL != web.RouteList {
		p.Notice.Links = append(p.Notice.Links, web.Link{Text: "All that needs attention", URL: web.RouteList})
	}
	return render(c, a.status, web.Message(p))
}

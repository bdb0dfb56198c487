package jmap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
)

// maxExchanges caps the exchanges kept of one look; the first ones say most.
const maxExchanges = 12

// send sends one request and decodes the JSON object that answers it. body nil =
// GET. Evidence keeps the request, and of the answer what shown says.
func (l *look) send(ctx context.Context, u *url.URL, body []byte, out any, shown func() string) error {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost // JMAP's way to ask; the methods called are get and query
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("jmap: building a request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+l.s.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "landed/"+Kind+"-"+Version)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	asked := method + " " + u.RequestURI() + "\n\n" + string(body)
	start := time.Now()
	resp, err := l.s.a.client.Do(req)
	if err != nil {
		l.record(asked, "no answer", start)
		return transportFault(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil {
		err = checkStatus(resp, answer)
	} else {
		err = transportFault(err)
	}
	if err == nil && json.Unmarshal(answer, out) != nil {
		err = bad("the answer is no JSON of the expected form")
	}
	if err != nil {
		l.record(asked, resp.Status, start)
		return err
	}
	l.record(asked, resp.Status+"\n\n"+shown(), start)
	return nil
}

// record keeps an exchange without headers; a token that a server echoes is taken
// out.
func (l *look) record(asked, text string, start time.Time) {
	if len(l.ans.Exchanges) >= maxExchanges {
		return
	}
	hide := func(s string) string { return strings.ReplaceAll(s, l.s.token, "[token]") }
	l.ans.Exchanges = append(l.ans.Exchanges, journal.Exchange{
		Request: evidence.CapText(hide(asked)), Response: evidence.CapText(hide(text)), Took: time.Since(start),
	})
}

func transportFault(err error) error {
	kind, detail := evidence.FaultUnavailable, "the mail server did not answer"
	switch {
	case errors.Is(err, egress.ErrTooLarge):
		kind, detail = evidence.FaultTooLarge, "the answer is larger than 1 MiB: that is no answer to such a question"
	case errors.Is(err, egress.ErrRedirect):
		kind, detail = evidence.FaultBadAnswer, "the request was sent on to another server: session_url is not the server's own address"
	case errors.Is(err, egress.ErrEncoding):
		kind, detail = evidence.FaultBadAnswer, "the answer is packed although that was not asked for"
	case errors.Is(err, egress.ErrHost):
		kind, detail = evidence.FaultBadAnswer, "the session leads to a host that is not configured: set api_host if that is right"
	case errors.Is(err, egress.ErrAddress):
		detail = "the address is not allowed: private and special addresses need allow_private"
	case errors.Is(err, context.DeadlineExceeded):
		detail = "the mail server did not answer in time"
	case errors.Is(err, context.Canceled):
		detail = "the look was cancelled"
	}
	return &evidence.ProviderError{Kind: kind, Detail: detail, Err: err}
}

// checkStatus takes JSON with status 200 only. Problem details name a limit by
// their type (RFC 8620, section 3.6.1).
func checkStatus(resp *http.Response, body []byte) error {
	var problem struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(body, &problem) // without one the status alone speaks
	pe := &evidence.ProviderError{Err: fmt.Errorf("HTTP status %d", resp.StatusCode)}
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		if mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || mt != "application/json" {
			return bad("the answer is no JSON: it is perhaps a login or maintenance page")
		}
		return nil
	case code == http.StatusUnauthorized:
		pe.Kind, pe.Detail = evidence.FaultAuth, "the token is refused (401): it is wrong, expired or revoked"
	case code == http.StatusForbidden:
		pe.Kind, pe.Detail = evidence.FaultForbidden, "the token lacks a scope (403): it needs to read mail and submissions"
	case code == http.StatusTooManyRequests || problem.Type == "urn:ietf:params:jmap:error:limit":
		pe.Kind, pe.Detail = evidence.FaultRateLimited, fmt.Sprintf("the mail server wants fewer or smaller requests (%d)", code)
	case code == http.StatusRequestTimeout || code >= 500:
		pe.Kind, pe.Detail = evidence.FaultUnavailable, fmt.Sprintf("the mail server is out of order (%d)", code)
	case code >= 400:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("the mail server refuses the request (%d)", code)
	default:
		pe.Kind, pe.Detail = evidence.FaultBadAnswer, fmt.Sprintf("the mail server answers %d, which is no answer to a question", code)
	}
	if secs, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 32); err == nil {
		pe.RetryAfter = min(time.Duration(secs)*time.Second, 24*time.Hour)
	} else if at, err := http.ParseTime(resp.Header.Get("Retry-After")); err == nil {
		pe.RetryAfter = min(max(time.Until(at), 0), 24*time.Hour)
	}
	return pe
}

func bad(detail string) error {
	return &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: detail}
}

// call is one method call; answers come in the same order.
type call struct {
	name string
	args map[string]any
	out  any
}

// methods sends calls in one request and decodes their answers.
func (l *look) methods(ctx context.Context, shown func() string, calls ...call) error {
	list := make([]any, len(calls))
	for i, c := range calls {
		c.args["accountId"] = l.s.account.id
		list[i] = []any{c.name, c.args, strconv.Itoa(i)}
	}
	body, err := json.Marshal(map[string]any{"using": l.s.account.using(), "methodCalls": list})
	if err != nil {
		return fmt.Errorf("jmap: encoding a request: %w", err)
	}
	var out struct {
		Responses []json.RawMessage `json:"methodResponses"`
	}
	var fault error
	err = l.send(ctx, l.s.account.api, body, &out, func() string {
		if fault = decodeAll(out.Responses, calls); fault != nil {
			return fault.Error()
		}
		return shown()
	})
	return errors.Join(err, fault)
}

func decodeAll(responses []json.RawMessage, calls []call) error {
	for i, c := range calls {
		var r []json.RawMessage
		var name, id string
		if i >= len(responses) || json.Unmarshal(responses[i], &r) != nil || len(r) != 3 ||
			json.Unmarshal(r[0], &name) != nil || json.Unmarshal(r[2], &id) != nil || id != strconv.Itoa(i) {
			return bad("the answer has no response to " + c.name)
		}
		if name == "error" {
			return methodFault(c.name, r[1])
		}
		if name != c.name || json.Unmarshal(r[1], c.out) != nil {
			return bad("the response to " + c.name + " has another form")
		}
	}
	return nil
}

// methodFault says what a method's error means (RFC 8620, section 3.6.2).
func methodFault(method string, raw json.RawMessage) error {
	var e struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &e) != nil || len(e.Type) > 40 || strings.Trim(e.Type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		e.Type = "no known reason"
	}
	pe := &evidence.ProviderError{Kind: evidence.FaultRefused, Detail: fmt.Sprintf("the mail server refuses %s: %s", method, e.Type)}
	switch e.Type {
	case "forbidden", "accountReadOnly", "accountNotFound", "accountNotSupportedByMethod":
		pe.Kind, pe.Detail = evidence.FaultForbidden, fmt.Sprintf("the token may not use %s on this account (%s)", method, e.Type)
	case "serverUnavailable", "serverFail", "serverPartialFail":
		pe.Kind, pe.Detail = evidence.FaultUnavailable, fmt.Sprintf("the mail server can't do %s now (%s)", method, e.Type)
	}
	return pe
}

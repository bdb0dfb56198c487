package rt

import (
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

// get sends one GET request below /REST/2.0/ and decodes the JSON object that it
// answers into out. segments are path segments, escaped here.
func (l *look) get(ctx context.Context, query url.Values, out any, segments ...string) error {
	u := l.s.a.base.JoinPath("REST", "2.0")
	for _, seg := range segments {
		u = u.JoinPath(url.PathEscape(seg))
	}
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("rt: building a request: %w", err)
	}
	req.Header.Set("Authorization", "token "+l.s.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "landed/"+Kind+"-"+Version) // RT sends browsers to its login page
	start := time.Now()
	resp, err := l.s.a.client.Do(req)
	if err != nil {
		l.record(u, "no answer", nil, start)
		return transportFault(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	l.record(u, resp.Status+"\nContent-Type: "+resp.Header.Get("Content-Type"), body, start)
	if err != nil {
		return transportFault(err)
	}
	if fault := statusFault(resp); fault != nil {
		return fault
	}
	return decode(resp, body, out)
}

// record keeps the exchange. The request's headers, and with them the token, are
// never part of it; a token that a server echoes is taken out.
func (l *look) record(u *url.URL, status string, body []byte, start time.Time) {
	if len(l.ans.Exchanges) >= maxExchanges {
		return
	}
	text := status
	if len(body) > 0 {
		text += "\n\n" + string(body)
	}
	hide := func(s string) string { return strings.ReplaceAll(s, l.s.token, "[token]") }
	l.ans.Exchanges = append(l.ans.Exchanges, journal.Exchange{
		Request:  evidence.CapText(hide("GET " + u.RequestURI())),
		Response: evidence.CapText(hide(text)),
		Took:     time.Since(start),
	})
}

// transportFault turns "no answer" into a fault. It keeps err, which names the
// URL but no header.
func transportFault(err error) error {
	kind, detail := evidence.FaultUnavailable, "RT did not answer"
	switch {
	case errors.Is(err, egress.ErrTooLarge):
		kind, detail = evidence.FaultTooLarge, "RT's answer is larger than 1 MiB: that is no answer to such a question"
	case errors.Is(err, egress.ErrRedirect):
		kind, detail = evidence.FaultBadAnswer, "RT sends the request to another server: base_url is not RT's own address"
	case errors.Is(err, egress.ErrEncoding):
		kind, detail = evidence.FaultBadAnswer, "RT's answer is packed although that was not asked for"
	case errors.Is(err, egress.ErrAddress):
		detail = "the address of base_url is not allowed: private and special addresses need allow_private"
	case errors.Is(err, context.DeadlineExceeded):
		detail = "RT did not answer in time"
	case errors.Is(err, context.Canceled):
		detail = "the look was cancelled"
	}
	return &evidence.ProviderError{Kind: kind, Detail: detail, Err: err}
}

// statusFault returns nil for 200 only. A 404 here is the answer of a whole
// endpoint: it never means that a ticket isn't there.
func statusFault(resp *http.Response) error {
	pe := &evidence.ProviderError{Err: &statusError{resp.StatusCode}}
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusUnauthorized:
		pe.Kind, pe.Detail = evidence.FaultAuth, "RT refuses the token (401): it is wrong, expired or its account is disabled"
	case code == http.StatusForbidden:
		pe.Kind, pe.Detail = evidence.FaultForbidden, "RT forbids this (403): the account lacks a right"
	case code == http.StatusNotFound || code == http.StatusGone:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("RT has no such endpoint (%d): base_url is wrong, or REST2 was switched off", code)
	case code == http.StatusTooManyRequests:
		pe.Kind, pe.Detail = evidence.FaultRateLimited, "RT wants fewer requests (429)"
	case code == http.StatusRequestTimeout || code >= 500:
		pe.Kind, pe.Detail = evidence.FaultUnavailable, fmt.Sprintf("RT is out of order (%d)", code)
	case code >= 400:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("RT refuses the question (%d)", code)
	default:
		pe.Kind, pe.Detail = evidence.FaultBadAnswer, fmt.Sprintf("RT answers %d, which is no answer to a question", code)
	}
	pe.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return pe
}

// statusError is the status of an answer other than 200.
type statusError struct{ code int }

func (e *statusError) Error() string { return "HTTP status " + strconv.Itoa(e.code) }

// status returns the HTTP status behind err, or 0.
func status(err error) int {
	var se *statusError
	if errors.As(err, &se) {
		return se.code
	}
	return 0
}

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads both forms of the header (RFC 9110, section 10.2.3); 0 =
// nothing usable.
func retryAfter(h string, now time.Time) time.Duration {
	if h == "" {
		return 0
	}
	if secs, err := strconv.ParseUint(h, 10, 32); err == nil {
		return min(time.Duration(secs)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(h)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// decode takes a JSON object only. An HTML page with status 200 is a login page
// or a proxy's, and reads as no answer.
func decode(resp *http.Response, body []byte, out any) error {
	bad := func(detail string, err error) error {
		return &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: detail, Err: err}
	}
	if mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || mt != "application/json" {
		return bad("RT's answer is no JSON but perhaps a login or maintenance page", err)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return bad("RT's answer is no JSON of the expected form", err)
	}
	return nil
}

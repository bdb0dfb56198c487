package stripe

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
const maxExchanges = 16

// get sends one GET request below /v1/ and decodes the answer into out. shown
// says what of it evidence keeps.
func (l *look) get(ctx context.Context, path string, query url.Values, out any, shown func() string) error {
	u := *l.s.a.base
	u.Path, u.RawQuery = "/v1/"+path, query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("stripe: building a request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+l.s.key)
	req.Header.Set("Stripe-Version", APIVersion)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "landed/"+Kind+"-"+Version)
	if l.s.a.cfg.Account != "" {
		req.Header.Set("Stripe-Account", l.s.a.cfg.Account)
	}
	start := time.Now()
	resp, err := l.s.a.client.Do(req)
	if err != nil {
		l.record(&u, "no answer", start)
		return transportFault(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	head := resp.Status + "\nRequest-Id: " + resp.Header.Get("Request-Id")
	if err != nil {
		l.record(&u, head, start)
		return transportFault(err)
	}
	if resp.StatusCode != http.StatusOK {
		fault, text := statusFault(resp, body, l.s.a.kind)
		l.record(&u, head+"\n\n"+text, start)
		return fault
	}
	if err := decode(resp, body, out); err != nil {
		l.record(&u, head+"\n\n(not kept: it can't be understood)", start)
		return err
	}
	l.record(&u, head+"\n\n"+shown(), start)
	return nil
}

// record keeps an exchange without headers and without the answer's own text; a
// key that a server echoes is taken out.
func (l *look) record(u *url.URL, text string, start time.Time) {
	if len(l.ans.Exchanges) >= maxExchanges {
		return
	}
	hide := func(s string) string { return strings.ReplaceAll(s, l.s.key, "[key]") }
	l.ans.Exchanges = append(l.ans.Exchanges, journal.Exchange{
		Request:  evidence.CapText(hide("GET " + u.RequestURI() + "\nStripe-Version: " + APIVersion)),
		Response: evidence.CapText(hide(text)),
		Took:     time.Since(start),
	})
}

// transportFault turns "no answer" into a fault.
func transportFault(err error) error {
	kind, detail := evidence.FaultUnavailable, "Stripe did not answer"
	switch {
	case errors.Is(err, egress.ErrTooLarge):
		kind, detail = evidence.FaultTooLarge, "Stripe's answer is larger than 8 MiB: that is no page of 100 objects"
	case errors.Is(err, egress.ErrRedirect):
		kind, detail = evidence.FaultBadAnswer, "the request was sent on to another server: that is not Stripe's API"
	case errors.Is(err, egress.ErrEncoding):
		kind, detail = evidence.FaultBadAnswer, "the answer is packed although that was not asked for"
	case errors.Is(err, egress.ErrAddress):
		detail = "the address of base_url is not allowed: private and special addresses need allow_private"
	case errors.Is(err, context.DeadlineExceeded):
		detail = "Stripe did not answer in time"
	case errors.Is(err, context.Canceled):
		detail = "the look was cancelled"
	}
	return &evidence.ProviderError{Kind: kind, Detail: detail, Err: err}
}

// statusFault says what an answer other than 200 means, and what of it is shown.
// Its message is Stripe's text and may repeat what was asked, never the whole key.
func statusFault(resp *http.Response, body []byte, k kind) (*evidence.ProviderError, string) {
	var f failure
	if json.Unmarshal(body, &f) != nil {
		f = failure{}
	}
	text := fmt.Sprintf("error type=%.60q code=%.60q message=%.300q", f.Error.Type, f.Error.Code, f.Error.Message)
	pe := &evidence.ProviderError{Err: &statusError{resp.StatusCode, f.Error.Code}}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		pe.Kind, pe.Detail = evidence.FaultAuth, "Stripe refuses the key (401): it is wrong, expired or was rolled"
	case code == http.StatusForbidden:
		pe.Kind, pe.Detail = evidence.FaultForbidden, "the restricted key lacks a permission (403): grant Read on "+k.permission
	case code == http.StatusTooManyRequests && f.Error.Code == "lock_timeout":
		pe.Kind, pe.Detail = evidence.FaultRateLimited, "another request holds the object (429, lock_timeout)"
	case code == http.StatusTooManyRequests:
		pe.Kind, pe.Detail = evidence.FaultRateLimited, "Stripe wants fewer requests (429)"
	case code == http.StatusConflict || code == http.StatusRequestTimeout || code >= 500:
		pe.Kind, pe.Detail = evidence.FaultUnavailable, fmt.Sprintf("Stripe is out of order (%d)", code)
	case code >= 400:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("Stripe refuses the question (%d)", code)
	default:
		pe.Kind, pe.Detail = evidence.FaultBadAnswer, fmt.Sprintf("Stripe answers %d, which is no answer to a question", code)
	}
	pe.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return pe, text
}

// statusError is the status of an answer other than 200, with Stripe's code.
type statusError struct {
	status int
	code   string
}

func (e *statusError) Error() string { return "HTTP status " + strconv.Itoa(e.status) }

// status returns the HTTP status behind err, or 0, and Stripe's code.
func status(err error) (int, string) {
	var se *statusError
	if errors.As(err, &se) {
		return se.status, se.code
	}
	return 0, ""
}

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads both forms of the header (RFC 9110, section 10.2.3); 0 =
// nothing usable.
func retryAfter(h string, now time.Time) time.Duration {
	if secs, err := strconv.ParseUint(h, 10, 32); err == nil {
		return min(time.Duration(secs)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(h)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// decode takes a JSON object only: a page with status 200 is a proxy's.
func decode(resp *http.Response, body []byte, out any) error {
	if mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || mt != "application/json" {
		return bad("the answer is no JSON: it is perhaps a proxy's page")
	}
	if err := json.Unmarshal(body, out); err != nil {
		return bad("the answer is no JSON of the expected form")
	}
	return nil
}

func bad(detail string) error {
	return &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: detail}
}

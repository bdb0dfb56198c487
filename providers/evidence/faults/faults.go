// Package faults words what went wrong between an adapter and an HTTP API: no
// answer, or one with a status that means no answer. It owns the mapping from
// those to *evidence.ProviderError and the sentences for people. What a vendor's
// own error codes mean is the adapter's business.
package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
)

// Transport turns "no answer" into a fault. The address is taken out of err: it
// may hold a key. who is how messages call the provider.
func Transport(err error, who string) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	kind, detail := evidence.FaultUnavailable, who+" did not answer"
	switch {
	case errors.Is(err, egress.ErrTooLarge):
		kind, detail = evidence.FaultTooLarge, "the answer of "+who+" is larger than what a look takes"
	case errors.Is(err, egress.ErrRedirect):
		kind, detail = evidence.FaultBadAnswer, who+" sends the request to another server: the configured address is not its own"
	case errors.Is(err, egress.ErrEncoding):
		kind, detail = evidence.FaultBadAnswer, "the answer of "+who+" is packed although that was not asked for"
	case errors.Is(err, egress.ErrHost):
		kind, detail = evidence.FaultRefused, "the request would go to a host that is not allowed"
	case errors.Is(err, egress.ErrAddress):
		detail = "the address of " + who + " is not allowed: private and special addresses need allow_private"
	case errors.Is(err, context.DeadlineExceeded):
		detail = who + " did not answer in time"
	case errors.Is(err, context.Canceled):
		detail = "the look was cancelled"
	}
	return &evidence.ProviderError{Kind: kind, Detail: detail, Err: err}
}

// Status words a status that no rule of the adapter speaks of. A 404 is the
// answer of a whole endpoint: it never means that an object isn't there.
func Status(resp *http.Response, who string) *evidence.ProviderError {
	code := resp.StatusCode
	pe := &evidence.ProviderError{Err: fmt.Errorf("HTTP status %d", code), RetryAfter: RetryAfter(resp.Header, time.Now())}
	switch {
	case code == http.StatusUnauthorized:
		pe.Kind, pe.Detail = evidence.FaultAuth, who+" refuses the credentials (401): they are wrong, expired or revoked"
	case code == http.StatusForbidden:
		pe.Kind, pe.Detail = evidence.FaultForbidden, who+" forbids this (403): a right or scope is missing"
	case code == http.StatusNotFound || code == http.StatusGone:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("%s has no such endpoint, or hides it from this account (%d)", who, code)
	case code == http.StatusTooManyRequests:
		pe.Kind, pe.Detail = evidence.FaultRateLimited, who+" wants fewer requests (429)"
	case code == http.StatusRequestTimeout || code >= 500:
		pe.Kind, pe.Detail = evidence.FaultUnavailable, fmt.Sprintf("%s is out of order (%d)", who, code)
	case code >= 400:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("%s refuses the question (%d)", who, code)
	default:
		pe.Kind, pe.Detail = evidence.FaultBadAnswer, fmt.Sprintf("%s answers %d, which is no answer to a question", who, code)
	}
	return pe
}

// Bad is an answer that can't be understood; detail is a sentence for people.
func Bad(detail string) error {
	return &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: detail}
}

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 24 * time.Hour

// RetryAfter reads both forms of Retry-After (RFC 9110, section 10.2.3); 0 =
// nothing usable.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if secs, err := strconv.ParseFloat(v, 64); err == nil && secs >= 0 {
		return Bounded(secs)
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// Bounded turns seconds that a server named into a wait of at most a day.
func Bounded(secs float64) time.Duration {
	if secs <= 0 {
		return 0
	}
	if secs > maxRetryAfter.Seconds() {
		return maxRetryAfter
	}
	return time.Duration(secs * float64(time.Second))
}

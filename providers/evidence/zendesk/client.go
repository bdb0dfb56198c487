package zendesk

import (
	"context"
	"encoding/base64"
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
	"github.com/landedhq/landed/providers/evidence/faults"
)

// maxExchanges caps the exchanges kept of one look; the first ones say most.
const maxExchanges = 16

// get sends one GET request below /api/v2/ and decodes the answer into out. shown
// says what of it evidence keeps: the rest is people's mail.
func (l *look) get(ctx context.Context, path string, query url.Values, out any, shown func() string) error {
	u := *l.s.a.base
	u.Path, u.RawQuery = "/api/v2/"+path, query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("zendesk: building a request: %w", err)
	}
	req.Header.Set("Authorization", l.s.authorization())
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "landed/"+Kind+"-"+Version)
	start := time.Now()
	resp, err := l.s.a.client.Do(req)
	if err != nil {
		l.record("GET "+u.RequestURI(), "no answer", start)
		return faults.Transport(err, "Zendesk")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	head := resp.Status + "\nX-Request-Id: " + resp.Header.Get("X-Request-Id")
	if err != nil {
		l.record("GET "+u.RequestURI(), head, start)
		return faults.Transport(err, "Zendesk")
	}
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode == http.StatusUnauthorized {
			l.s.a.tokens.Drop(ctx, l.s.token)
		}
		fault, text := statusFault(resp, body)
		l.record("GET "+u.RequestURI(), head+"\n\n"+text, start)
		return fault
	}
	if err := decode(resp, body, out); err != nil {
		l.record("GET "+u.RequestURI(), head+"\n\n(not kept: it can't be understood)", start)
		return err
	}
	l.record("GET "+u.RequestURI(), head+"\n\n"+shown(), start)
	return nil
}

// authorization is the header's value: a bearer token, or an API token as the
// password of {email}/token.
func (s *session) authorization() string {
	if s.a.cfg.Email == "" {
		return "Bearer " + s.token
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(s.a.cfg.Email+"/token:"+s.token))
}

// record keeps an exchange without headers and without the answer's own text;
// secrets that a server echoes are taken out.
func (l *look) record(asked, text string, start time.Time) {
	if len(l.ans.Exchanges) >= maxExchanges {
		return
	}
	hide := func(s string) string {
		for _, secret := range []string{l.s.authorization(), l.s.token, l.s.secret} {
			if secret != "" {
				s = strings.ReplaceAll(s, secret, "[secret]")
			}
		}
		return s
	}
	l.ans.Exchanges = append(l.ans.Exchanges, journal.Exchange{
		Request: evidence.CapText(hide(asked)), Response: evidence.CapText(hide(text)), Took: time.Since(start),
	})
}

// statusFault says what an answer other than 200 means, and what of it is shown.
func statusFault(resp *http.Response, body []byte) (*evidence.ProviderError, string) {
	reason := failureText(body)
	pe := &evidence.ProviderError{Err: &statusError{resp.StatusCode}}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		pe.Kind, pe.Detail = evidence.FaultAuth, "Zendesk refuses the token (401): it is wrong, expired, revoked or of another account"
	case code == http.StatusForbidden:
		pe.Kind, pe.Detail = evidence.FaultForbidden, "the token lacks a right (403): it needs the scope read and an admin or an agent who sees all tickets"
	case code == http.StatusTooManyRequests:
		pe.Kind, pe.Detail = evidence.FaultRateLimited, "Zendesk wants fewer requests (429)"
	case code == http.StatusConflict || code == http.StatusRequestTimeout || code >= 500:
		pe.Kind, pe.Detail = evidence.FaultUnavailable, fmt.Sprintf("Zendesk is out of order (%d)", code)
	case code == http.StatusNotFound || code == http.StatusGone:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("Zendesk knows no such address (%d): the subdomain is wrong, or the account is no Support account", code)
	case code >= 400:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("Zendesk refuses the question (%d)", code)
	default:
		pe.Kind, pe.Detail = evidence.FaultBadAnswer, fmt.Sprintf("Zendesk answers %d, which is no answer to a question", code)
	}
	pe.RetryAfter = retryAfter(resp.Header, time.Now())
	return pe, reason
}

// failureText is what is kept of an error's body. error is a name or an object.
func failureText(body []byte) string {
	var f struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"description"`
	}
	if json.Unmarshal(body, &f) != nil {
		return "error of an unknown form"
	}
	return fmt.Sprintf("error=%.200s description=%.300q", f.Error, f.Description)
}

// statusError is the status of an answer other than 200.
type statusError struct{ status int }

func (e *statusError) Error() string { return "HTTP status " + strconv.Itoa(e.status) }

// status returns the HTTP status behind err, or 0.
func status(err error) int {
	var se *statusError
	if errors.As(err, &se) {
		return se.status
	}
	return 0
}

// retryAfter reads Retry-After, else the seconds until the limit is renewed; 0 =
// nothing usable.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := faults.RetryAfter(h, now); d > 0 {
		return d
	}
	secs, err := strconv.ParseFloat(h.Get("Ratelimit-Reset"), 64)
	if err != nil {
		return 0
	}
	return faults.Bounded(secs)
}

// decode takes a JSON object only: a page with status 200 is a proxy's.
func decode(resp *http.Response, body []byte, out any) error {
	if mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || mt != "application/json" {
		return faults.Bad("the answer is no JSON: it is perhaps a proxy's page")
	}
	if err := json.Unmarshal(body, out); err != nil {
		return faults.Bad("the answer is no JSON of the expected form")
	}
	return nil
}

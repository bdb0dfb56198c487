package jira

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

// get sends one GET request below /rest/api/3/ and decodes the answer into out.
// shown says what of it evidence keeps.
func (l *look) get(ctx context.Context, path string, query url.Values, out any, shown func() string) error {
	u := *l.s.a.api
	u.Path, u.RawQuery = u.Path+"/rest/api/3/"+path, query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("jira: building a request: %w", err)
	}
	req.Header.Set("Authorization", l.s.authorization())
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "landed/"+Kind+"-"+Version)
	start := time.Now()
	resp, err := l.s.a.client.Do(req)
	if err != nil {
		l.record(&u, "no answer", start)
		return faults.Transport(err, "Jira")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	head := resp.Status + "\nAtl-Traceid: " + resp.Header.Get("Atl-Traceid")
	if err != nil {
		l.record(&u, head, start)
		return faults.Transport(err, "Jira")
	}
	if resp.StatusCode != http.StatusOK {
		fault, text := statusFault(resp, body)
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

// authorization is the header's value: an API token as the account's password, or
// a bearer token.
func (s *session) authorization() string {
	if s.a.cfg.Email == "" {
		return "Bearer " + s.token
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(s.a.cfg.Email+":"+s.token))
}

// record keeps an exchange without headers and without the answer's own text; a
// token that a server echoes is taken out.
func (l *look) record(u *url.URL, text string, start time.Time) {
	if len(l.ans.Exchanges) >= maxExchanges {
		return
	}
	hide := strings.NewReplacer(l.s.token, "[token]", l.s.authorization(), "[token]")
	l.ans.Exchanges = append(l.ans.Exchanges, journal.Exchange{
		Request:  evidence.CapText(hide.Replace("GET " + u.RequestURI())),
		Response: evidence.CapText(hide.Replace(text)),
		Took:     time.Since(start),
	})
}

// statusFault says what an answer other than 200 means, and what of it is shown.
func statusFault(resp *http.Response, body []byte) (*evidence.ProviderError, string) {
	pe := &evidence.ProviderError{Err: &statusError{resp.StatusCode}}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		pe.Kind, pe.Detail = evidence.FaultAuth, "Jira refuses the token (401): it is wrong, expired or revoked, or it has scopes and needs cloud_id"
	case code == http.StatusForbidden:
		pe.Kind, pe.Detail = evidence.FaultForbidden, "the account or token lacks a right (403): it needs access to the site, and the scopes read:jira-work and read:jira-user if it has scopes"
	case code == http.StatusTooManyRequests:
		pe.Kind, pe.Detail = evidence.FaultRateLimited, "Jira wants fewer requests (429)"
	case code == http.StatusConflict || code == http.StatusRequestTimeout || code >= 500:
		pe.Kind, pe.Detail = evidence.FaultUnavailable, fmt.Sprintf("Jira is out of order (%d)", code)
	case code == http.StatusNotFound || code == http.StatusGone:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("Jira knows no such address (%d): site or cloud_id is wrong, or the API was removed", code)
	case code >= 400:
		pe.Kind, pe.Detail = evidence.FaultRefused, fmt.Sprintf("Jira refuses the question (%d)", code)
	default:
		pe.Kind, pe.Detail = evidence.FaultBadAnswer, fmt.Sprintf("Jira answers %d, which is no answer to a question", code)
	}
	pe.RetryAfter = retryAfter(resp.Header, time.Now())
	return pe, failureText(body)
}

// failureText is what is kept of an error's body.
func failureText(body []byte) string {
	var f struct {
		Messages []string        `json:"errorMessages"`
		Errors   json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(body, &f) != nil {
		return "error of an unknown form"
	}
	return fmt.Sprintf("errorMessages=%.300q errors=%.300s", f.Messages, f.Errors)
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

// retryAfter reads Retry-After, else the time at which the limit is renewed (ISO
// 8601, whole minutes); 0 = nothing usable.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := faults.RetryAfter(h, now); d > 0 {
		return d
	}
	for _, layout := range []string{"2006-01-02T15:04Z07:00", time.RFC3339} {
		if at, err := time.Parse(layout, h.Get("X-Ratelimit-Reset")); err == nil {
			return faults.Bounded(at.Sub(now).Seconds())
		}
	}
	return 0
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

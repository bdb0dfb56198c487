package gmail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// maxExchanges caps the exchanges kept of one look; the first ones say most.
const maxExchanges = 12

// errAbsent says that there is no object with the id that was asked for.
var errAbsent = errors.New("gmail: there is no such object")

// get reads one resource of the mailbox. Evidence keeps the request, and of the
// answer what shown says. errAbsent answers 404 to a read by id: elsewhere it is
// the mailbox that isn't there.
func (l *look) get(ctx context.Context, path []string, q url.Values, out any, shown func() string) error {
	if err := l.authorize(ctx); err != nil {
		return err
	}
	u := l.s.a.base.JoinPath("gmail", "v1", "users", url.PathEscape(l.s.a.cfg.Mailbox)).JoinPath(path...)
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("gmail: building a request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "landed/"+Kind+"-"+Version)
	asked, start := http.MethodGet+" "+u.RequestURI(), time.Now()
	resp, err := l.s.a.client.Do(req)
	if err != nil {
		l.record(asked, "no answer", start)
		return faults.Transport(err, who)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		err = faults.Transport(err, who)
	case resp.StatusCode == http.StatusNotFound && len(path) > 1 && reason(body) != "":
		err = errAbsent
	case resp.StatusCode != http.StatusOK:
		err = l.refused(ctx, resp, body)
	default:
		err = decode(resp, body, out)
	}
	if err != nil {
		l.record(asked, resp.Status+" "+reason(body), start)
		return err
	}
	l.s.a.back.clear()
	l.record(asked, resp.Status+"\n\n"+shown(), start)
	return nil
}

func decode(resp *http.Response, body []byte, out any) error {
	if mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || mt != "application/json" {
		return faults.Bad("the answer of Gmail is no JSON: it is perhaps a login or maintenance page")
	}
	if json.Unmarshal(body, out) != nil {
		return faults.Bad("the answer of Gmail is no JSON of the expected form")
	}
	return nil
}

// authorize gets the token of this look.
func (l *look) authorize(ctx context.Context) error {
	if l.token != "" {
		return nil
	}
	t, err := l.s.a.tokens.Get(ctx, func(ctx context.Context) (oauth.Token, error) {
		g, err := l.s.grant()
		if err != nil {
			return oauth.Token{}, fmt.Errorf("gmail: %w", err)
		}
		t, err := g.Ask(ctx, l.s.a.client, whoTokens, func(method string, u *url.URL, status string, start time.Time) {
			l.record(method+" "+u.String(), status+"\n\n"+oauth.NotKept, start)
		})
		if err != nil {
			return oauth.Token{}, err
		}
		return t, checkScope(t.Scope)
	})
	l.token = t.Access
	return err
}

// record keeps an exchange without headers; secrets that a server echoes are
// taken out.
func (l *look) record(asked, text string, start time.Time) {
	if len(l.ans.Exchanges) >= maxExchanges {
		return
	}
	hide := func(s string) string {
		for _, secret := range append([]string{l.token}, l.s.hide...) {
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

// reason is the first reason of an error answer, if it is a plain word: no text of
// the server's.
func reason(body []byte) string {
	var in struct {
		Error struct {
			Status string `json:"status"`
			Errors []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &in) != nil {
		return ""
	}
	word := in.Error.Status
	if len(in.Error.Errors) > 0 {
		word = in.Error.Errors[0].Reason
	}
	if len(word) > 40 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
		return ""
	}
	return word
}

// refused says what a status and its reason mean (guides/handle-errors).
func (l *look) refused(ctx context.Context, resp *http.Response, body []byte) error {
	pe, why := faults.Status(resp, who), reason(body)
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests || code == http.StatusForbidden && limits(why):
		pe.Kind, pe.Detail = evidence.FaultRateLimited, fmt.Sprintf("Gmail wants fewer requests (%d %s)", code, why)
		pe.RetryAfter = max(pe.RetryAfter, l.s.a.back.strike())
		if why == "dailyLimitExceeded" {
			pe.RetryAfter = max(pe.RetryAfter, time.Hour)
		}
	case code == http.StatusUnauthorized:
		l.s.a.tokens.Drop(ctx, l.token)
	case code == http.StatusForbidden:
		pe.Detail = fmt.Sprintf("Gmail lets the token not read this mailbox (403 %s): it is another account's, lacks the scope gmail.readonly, or the organisation forbids it", why)
	case code == http.StatusNotFound:
		pe.Kind, pe.Detail = evidence.FaultForbidden, "Gmail has no such mailbox for this token (404)"
	case code == http.StatusBadRequest:
		pe.Detail = fmt.Sprintf("Gmail refuses the question (400 %s)", why)
	}
	return pe
}

func limits(reason string) bool {
	switch reason {
	case "rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "quotaExceeded", "RESOURCE_EXHAUSTED":
		return true
	}
	return false
}

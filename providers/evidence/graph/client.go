package graph

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
const maxExchanges = 14

// What Exchange answers to a read by id.
var (
	errAbsent    = errors.New("graph: there is no such message")
	errMalformed = errors.New("graph: the id is none of this mailbox")
)

// mailbox is the address of something in the mailbox. Segments are escaped here; a
// slash within one is escaped twice, as Graph wants it.
func (a *Adapter) mailbox(segments []string, query ...string) (*url.URL, error) {
	path := []string{"v1.0", "users", segment(a.cfg.Mailbox)}
	for _, s := range segments {
		path = append(path, segment(s))
	}
	s := strings.TrimSuffix(a.base.String(), "/") + "/" + strings.Join(path, "/")
	var b strings.Builder
	for i := 0; i+1 < len(query); i += 2 {
		b.WriteString("&" + query[i] + "=" + strings.ReplaceAll(url.QueryEscape(query[i+1]), "+", "%20"))
	}
	if b.Len() > 0 {
		s += "?" + b.String()[1:]
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("graph: the request's address can't be built")
	}
	return u, nil
}

func segment(s string) string { return strings.ReplaceAll(url.PathEscape(s), "%2F", "%252F") }

// get reads u. Evidence keeps the request, and of the answer what shown says.
func (l *look) get(ctx context.Context, u *url.URL, out any, shown func() string) error {
	if err := l.authorize(ctx); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("graph: building a request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Prefer", `IdType="ImmutableId"`) // for each request anew, next pages too
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
	case resp.StatusCode != http.StatusOK:
		err = l.refused(ctx, resp, code(body))
	default:
		err = decode(resp, body, out)
	}
	if err != nil {
		l.record(asked, resp.Status+" "+code(body), start)
		return err
	}
	l.record(asked, resp.Status+"\n\n"+shown(), start)
	return nil
}

func decode(resp *http.Response, body []byte, out any) error {
	if mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || mt != "application/json" {
		return faults.Bad("the answer of Microsoft Graph is no JSON: it is perhaps a login or maintenance page")
	}
	if json.Unmarshal(body, out) != nil {
		return faults.Bad("the answer of Microsoft Graph is no JSON of the expected form")
	}
	return nil
}

// authorize gets the token of this look.
func (l *look) authorize(ctx context.Context) error {
	if l.token != "" {
		return nil
	}
	a := l.s.a
	t, err := a.tokens.Get(ctx, func(ctx context.Context) (oauth.Token, error) {
		g := oauth.ClientCredentials(a.token, a.cfg.ClientID, l.s.secret, a.scope, true)
		return g.Ask(ctx, a.client, whoTokens, func(method string, u *url.URL, status string, start time.Time) {
			l.record(method+" "+u.String(), status+"\n\n"+oauth.NotKept, start)
		})
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
		for _, secret := range []string{l.token, l.s.secret} {
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

// code is the code of an error answer, if it is a plain word: no text of the
// server's.
func code(body []byte) string {
	var in struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &in) != nil || !plain(in.Error.Code, "_-.") || len(in.Error.Code) > 60 {
		return ""
	}
	return in.Error.Code
}

// refused says what a status and its code mean (learn.microsoft.com/graph/errors).
func (l *look) refused(ctx context.Context, resp *http.Response, code string) error {
	pe := faults.Status(resp, who)
	switch status := resp.StatusCode; {
	case status == http.StatusNotFound && code == "ErrorItemNotFound":
		return errAbsent
	case status == http.StatusBadRequest && code == "ErrorInvalidIdMalformed":
		return errMalformed
	case status == http.StatusUnauthorized:
		l.s.a.tokens.Drop(ctx, l.token)
	case status == http.StatusForbidden:
		pe.Detail = fmt.Sprintf("the application may not read this mailbox (403 %s): it lacks Mail.Read, or the policy that limits it leaves the mailbox out", code)
	case status == http.StatusNotFound:
		pe.Kind, pe.Detail = evidence.FaultForbidden, fmt.Sprintf("there is no such mailbox for the application (404 %s)", code)
	case status == http.StatusTooManyRequests || status == 509: // bandwidth
		pe.Kind, pe.Detail = evidence.FaultRateLimited, fmt.Sprintf("Microsoft Graph wants fewer requests (%d %s)", status, code)
	case status == http.StatusBadRequest:
		pe.Detail = fmt.Sprintf("Microsoft Graph refuses the question (400 %s)", code)
	}
	return pe
}

package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
)

// Grant is one token request. It holds secrets.
type Grant struct {
	URL  *url.URL
	Form url.Values
	// User and Password are the client's, where they go into a Basic header instead
	// of the form (RFC 6749, section 2.3.1).
	User, Password string
}

// ClientCredentials is the grant of an application that acts for itself. inBody
// puts the client's id and secret into the form. Empty scope = none is named.
func ClientCredentials(u *url.URL, id, secret, scope string, inBody bool) Grant {
	g := Grant{URL: u, Form: url.Values{"grant_type": {"client_credentials"}}}
	if scope != "" {
		g.Form.Set("scope", scope)
	}
	if inBody {
		g.Form.Set("client_id", id)
		g.Form.Set("client_secret", secret)
	} else {
		g.User, g.Password = id, secret
	}
	return g
}

// Refresh is the grant of a refresh token that a person's consent gave. Its scope
// is what was consented to.
func Refresh(u *url.URL, id, secret, token string) Grant {
	f := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {id}}
	if secret != "" {
		f.Set("client_secret", secret)
	}
	return Grant{URL: u, Form: f}
}

// Kept is how a token request is noted in evidence: without its body, which holds
// credentials, and without the answer's.
type Kept func(method string, u *url.URL, status string, start time.Time)

// NotKept stands for the body of an answer to a token request.
const NotKept = "(the answer to a token request is not kept)"

// Ask sends the request through client and reads the token. who is how messages
// call the server. Errors are *evidence.ProviderError but for a request that can't
// be built.
func (g Grant) Ask(ctx context.Context, client *http.Client, who string, keep Kept) (Token, error) {
	req, err := g.request(ctx)
	if err != nil {
		return Token{}, err
	}
	start := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		keep(req.Method, req.URL, "no answer", start)
		return Token{}, faults.Transport(err, who)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	keep(req.Method, req.URL, resp.Status, start)
	if err != nil {
		return Token{}, faults.Transport(err, who)
	}
	return read(resp, body, who)
}

func (g Grant) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL.String(), strings.NewReader(g.Form.Encode()))
	if err != nil {
		return nil, errors.New("the token request can't be built")
	}
	if g.User != "" {
		req.SetBasicAuth(url.QueryEscape(g.User), url.QueryEscape(g.Password))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// read takes a token out of an answer (RFC 6749, sections 5.1 and 5.2).
func read(resp *http.Response, body []byte, who string) (Token, error) {
	switch code := resp.StatusCode; {
	case code == http.StatusBadRequest || code == http.StatusUnauthorized || code == http.StatusForbidden:
		return Token{}, &evidence.ProviderError{Kind: evidence.FaultAuth, Err: fmt.Errorf("HTTP status %d", code),
			Detail: fmt.Sprintf("%s refuses the client's credentials (%d%s): they are wrong, expired or lack the scope", who, code, refusal(body))}
	case code != http.StatusOK:
		return Token{}, faults.Status(resp, who)
	}
	var in struct {
		Access string  `json:"access_token"`
		Life   float64 `json:"expires_in"`
		Scope  string  `json:"scope"`
	}
	if json.Unmarshal(body, &in) != nil || in.Access == "" || strings.ContainsFunc(in.Access, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Token{}, faults.Bad(who + " answers the token request with something else than a token")
	}
	t := Token{Access: in.Access, Life: 5 * time.Minute, Scope: in.Scope}
	if in.Life >= 1 && in.Life < 1<<30 {
		t.Life = time.Duration(in.Life) * time.Second
	}
	return t, nil
}

// refusal is the error code of section 5.2, if it is one: no text of the server's.
func refusal(body []byte) string {
	var in struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &in) != nil || in.Error == "" || len(in.Error) > 40 || strings.Trim(in.Error, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return ", " + in.Error
}

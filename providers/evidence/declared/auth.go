package declared

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/landedhq/landed/providers/evidence"
)

// auth is the compiled way of proving who asks. Only its texts see secrets.
type auth struct {
	kind, name                               string
	value, user, password                    *text
	tokenPath                                []string
	tokenBase, clientID, clientSecret, scope *text
	inBody                                   bool
}

func (c *compiler) compileAuth() *auth {
	b := c.f.Auth
	a := &auth{kind: b.Kind, name: b.Name, inBody: b.InBody}
	need := func(name, src string) *text {
		if src == "" {
			c.src.fail("auth."+name, "is missing: auth of kind %s needs it", b.Kind)
			return nil
		}
		return c.text("auth."+name, c.secret, src, LangText)
	}
	switch b.Kind {
	case "none":
	case "bearer":
		a.value = need("value", b.Value)
	case "basic":
		a.user, a.password = need("user", b.User), c.text("auth.password", c.secret, b.Password, LangText)
	case "header", "query", "body":
		need("name", b.Name)
		a.value = need("value", b.Value)
		if b.Kind == "header" && !headerName(b.Name) {
			c.src.fail("auth.name", "%q is no header's name", b.Name)
		}
	case "oauth2":
		a.clientID, a.clientSecret = need("client_id", b.ClientID), need("client_secret", b.ClientSecret)
		need("token_path", b.TokenPath)
		a.tokenPath = strings.FieldsFunc(b.TokenPath, func(r rune) bool { return r == '/' })
		a.scope = c.text("auth.scope", c.secret, b.Scope, LangText)
		if b.TokenBase != "" {
			a.tokenBase = c.hostText("auth.token_base", b.TokenBase)
		}
	default:
		c.src.fail("auth.kind", "%q is none of none, bearer, basic, header, query, body, oauth2", b.Kind)
	}
	return a
}

// credentials are what one session proves itself with.
type credentials struct {
	header, value string // a header, if any
	query, body   string // names that carry value instead
	hide          []string
}

// open reads the secrets and renders what does not need the provider.
func (a *auth) open(ctx context.Context, v vars, hide []string) (*credentials, error) {
	c := &credentials{hide: hide}
	var err error
	render := func(t *text) string {
		if t == nil || err != nil {
			return ""
		}
		var s string
		s, err = t.render(ctx, v)
		return s
	}
	switch a.kind {
	case "bearer":
		c.header, c.value = "Authorization", "Bearer "+render(a.value)
	case "basic":
		pair := base64.StdEncoding.EncodeToString([]byte(render(a.user) + ":" + render(a.password)))
		c.header, c.value = "Authorization", "Basic "+pair
		c.hide = append(c.hide, pair)
	case "header":
		c.header, c.value = a.name, render(a.value)
	case "query":
		c.query, c.value = a.name, render(a.value)
	case "body":
		c.body, c.value = a.name, render(a.value)
	}
	if err != nil {
		return nil, err
	}
	if a.kind != "none" && a.kind != "oauth2" && !headerValue(c.value) {
		return nil, errors.New("a secret holds characters that no credential has")
	}
	return c, nil
}

// apply puts the credentials on a request. b is left without them: it is what
// evidence keeps.
func (c *credentials) apply(ctx context.Context, b *built) (*http.Request, error) {
	if c.body != "" {
		withKey := *b
		withKey.json = map[string]any{}
		for k, v := range b.json {
			withKey.json[k] = v
		}
		withKey.json[c.body] = c.value
		if err := withKey.encode(); err != nil {
			return nil, err
		}
		withKey.kind = "application/json"
		return withKey.http(ctx)
	}
	req, err := b.http(ctx)
	if err != nil {
		return nil, err
	}
	if c.header != "" {
		req.Header.Set(c.header, c.value)
	}
	if c.query != "" {
		q := req.URL.Query()
		q.Set(c.query, c.value)
		req.URL.RawQuery = q.Encode()
	}
	return req, nil
}

// tokens keeps an OAuth2 access token between sessions.
type tokens struct {
	mu    sync.Mutex
	token string
	until time.Time
}

// tokenMargin is how long before its end a token is not used any more.
const tokenMargin = time.Minute

// get returns a token, asking for one if there is none that still holds.
func (t *tokens) get(ctx context.Context, l *look) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && time.Now().Before(t.until) {
		return t.token, nil
	}
	tok, life, err := l.askToken(ctx)
	if err != nil {
		return "", err
	}
	t.token, t.until = tok, time.Now().Add(life-tokenMargin)
	return tok, nil
}

// drop forgets a token that was refused.
func (t *tokens) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = ""
}

// askToken does the client credentials grant (RFC 6749, section 4.4).
func (l *look) askToken(ctx context.Context) (string, time.Duration, error) {
	a, start := l.s.a, time.Now()
	req, err := l.tokenRequest(ctx)
	if err != nil {
		return "", 0, &unusable{err}
	}
	shown := &built{method: req.Method, url: req.URL} // the body holds credentials or nothing of interest
	resp, err := a.client.Do(req)
	if err != nil {
		l.record(shown, "no answer", "", start)
		return "", 0, transportFault(err, a.title())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	l.record(shown, resp.Status, "(the answer to a token request is not kept)", start)
	if err != nil {
		return "", 0, transportFault(err, a.title())
	}
	return readToken(resp, body, a.title())
}

func (l *look) tokenRequest(ctx context.Context) (*http.Request, error) {
	au, form := l.s.a.def.auth, url.Values{"grant_type": {"client_credentials"}}
	var got [3]string
	for i, t := range []*text{au.clientID, au.clientSecret, au.scope} {
		s, err := t.render(ctx, l.s.secrets)
		if err != nil {
			return nil, err
		}
		got[i] = s
	}
	if got[2] != "" {
		form.Set("scope", got[2])
	}
	if au.inBody {
		form.Set("client_id", got[0])
		form.Set("client_secret", got[1])
	}
	u := l.s.a.tokenURL.JoinPath(au.tokenPath...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the token request can't be built")
	}
	if !au.inBody {
		req.SetBasicAuth(url.QueryEscape(got[0]), url.QueryEscape(got[1])) // RFC 6749, section 2.3.1
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	return req, nil
}

func readToken(resp *http.Response, body []byte, who string) (string, time.Duration, error) {
	switch code := resp.StatusCode; {
	case code == http.StatusBadRequest || code == http.StatusUnauthorized || code == http.StatusForbidden:
		return "", 0, &evidence.ProviderError{Kind: evidence.FaultAuth, Detail: fmt.Sprintf("%s refuses the client's credentials (%d): they are wrong, expired or lack the scope", who, code)}
	case code != http.StatusOK:
		return "", 0, statusFault(resp, who)
	}
	x, err := decodeJSON(body)
	m, _ := x.(map[string]any)
	tok, _ := m["access_token"].(string)
	if err != nil || tok == "" || !headerValue(tok) {
		return "", 0, &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: who + " answers the token request with something else than a token"}
	}
	life := 5 * time.Minute
	if n, ok := m["expires_in"].(int64); ok && n > 0 && n < 1<<30 {
		life = time.Duration(n) * time.Second
	}
	return tok, life, nil
}

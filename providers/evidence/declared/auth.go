package declared

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence/oauth"
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

// token returns an access token, asking for one by the client credentials grant if
// there is none that still holds.
func (l *look) token(ctx context.Context) (string, error) {
	a := l.s.a
	t, err := a.tokens.Get(ctx, func(ctx context.Context) (oauth.Token, error) {
		g, err := l.grant(ctx)
		if err != nil {
			return oauth.Token{}, &unusable{err}
		}
		return g.Ask(ctx, a.client, a.title(), func(method string, u *url.URL, status string, start time.Time) {
			l.record(&built{method: method, url: u}, status, oauth.NotKept, start)
		})
	})
	return t.Access, err
}

func (l *look) grant(ctx context.Context) (oauth.Grant, error) {
	au := l.s.a.def.auth
	var got [3]string
	for i, t := range []*text{au.clientID, au.clientSecret, au.scope} {
		s, err := t.render(ctx, l.s.secrets)
		if err != nil {
			return oauth.Grant{}, err
		}
		got[i] = s
	}
	return oauth.ClientCredentials(l.s.a.tokenURL.JoinPath(au.tokenPath...), got[0], got[1], got[2], au.inBody), nil
}

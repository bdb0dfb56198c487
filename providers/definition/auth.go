package definition

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/landedhq/landed/providers/evidence/oauth"
)

// AuthBlock is a way of proving who asks, as written.
type AuthBlock struct {
	Kind     string `yaml:"kind"` // none, bearer, basic, header, query, path, body, oauth2
	Name     string `yaml:"name"` // header, query parameter, JSON field, or the path's segment that the value stands for
	Value    string `yaml:"value"`
	User     string `yaml:"user"`
	Password string `yaml:"password"`
	// OAuth2 client credentials (RFC 6749, section 4.4).
	TokenPath    string `yaml:"token_path"` // below token_base; may be empty if that is the whole address
	TokenBase    string `yaml:"token_base"` // text over params; empty = base
	ClientID     string `yaml:"client_id"`
	ClientSecret string `yaml:"client_secret"`
	Scope        string `yaml:"scope"`
	Audience     string `yaml:"audience"` // as some servers want it beside or instead of scope
	InBody       bool   `yaml:"in_body"`  // client's credentials in the body, not as Basic
}

// Auth is the compiled way of proving who asks. Only its texts see secrets.
type Auth struct {
	kind, name                                         string
	uses                                               []string
	value, user, password                              *Text
	tokenPath                                          []string
	tokenBase, clientID, clientSecret, scope, audience *Text
	inBody                                             bool
}

// Kind is none, bearer, basic, header, query, path, body or oauth2.
func (a *Auth) Kind() string { return a.kind }

// Uses are the names of the secrets that it needs.
func (a *Auth) Uses() []string { return a.uses }

// Auth compiles a way of proving who asks.
func (c *Compiler) Auth(path string, b *AuthBlock) *Auth {
	a := &Auth{kind: b.Kind, name: b.Name, inBody: b.InBody}
	for _, src := range []string{b.Value, b.User, b.Password, b.ClientID, b.ClientSecret, b.Scope, b.Audience} {
		for _, m := range regexp.MustCompile(`\bsecrets\.([a-z0-9_]+)`).FindAllStringSubmatch(src, -1) {
			if !slices.Contains(a.uses, m[1]) {
				a.uses = append(a.uses, m[1])
			}
		}
	}
	need := func(name, src string) *Text {
		if src == "" {
			c.Src.Fail(path+"."+name, "is missing: auth of kind %s needs it", b.Kind)
			return nil
		}
		return c.Text(path+"."+name, c.Secret, src, LangText)
	}
	switch b.Kind {
	case "none":
	case "bearer":
		a.value = need("value", b.Value)
	case "basic":
		a.user, a.password = need("user", b.User), c.Text(path+".password", c.Secret, b.Password, LangText)
	case "header", "query", "path", "body":
		need("name", b.Name)
		a.value = need("value", b.Value)
		if b.Kind == "header" && !headerName(b.Name) {
			c.Src.Fail(path+".name", "%q is no header's name", b.Name)
		}
	case "oauth2":
		a.clientID, a.clientSecret = need("client_id", b.ClientID), need("client_secret", b.ClientSecret)
		c.tokenAddress(path, b, a)
		a.scope = c.Text(path+".scope", c.Secret, b.Scope, LangText)
		a.audience = c.Text(path+".audience", c.Secret, b.Audience, LangText)
	default:
		c.Src.Fail(path+".kind", "%q is none of none, bearer, basic, header, query, path, body, oauth2", b.Kind)
	}
	return a
}

func (c *Compiler) tokenAddress(path string, b *AuthBlock, a *Auth) {
	if b.TokenPath == "" && b.TokenBase == "" {
		c.Src.Fail(path+".token_path", "is missing: auth of kind oauth2 needs it, or token_base with the whole address")
	}
	a.tokenPath = strings.FieldsFunc(b.TokenPath, func(r rune) bool { return r == '/' })
	if b.TokenBase != "" {
		a.tokenBase = c.Host(path+".token_base", b.TokenBase)
	}
}

// credentials are what one session proves itself with.
type credentials struct {
	header, value     string // a header, if any
	query, path, body string // names that carry value instead
	hide              []string
}

// open renders what does not need the provider. hide are the secrets.
func (a *Auth) open(ctx context.Context, v Vars, hide []string) (*credentials, error) {
	c := &credentials{hide: hide}
	var err error
	render := func(t *Text) string {
		if t == nil || err != nil {
			return ""
		}
		var s string
		s, err = t.Render(ctx, v)
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
	case "path":
		c.path, c.value = a.name, render(a.value)
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
// may be kept.
func (c *credentials) apply(ctx context.Context, b *Built) (*http.Request, error) {
	if c.body != "" {
		withKey := *b
		withKey.JSON = map[string]any{}
		for k, v := range b.JSON {
			withKey.JSON[k] = v
		}
		withKey.JSON[c.body] = c.value
		if err := withKey.Encode(); err != nil {
			return nil, err
		}
		withKey.Kind = "application/json"
		return withKey.HTTP(ctx)
	}
	req, err := b.HTTP(ctx)
	if err != nil {
		return nil, err
	}
	if c.header != "" {
		req.Header.Set(c.header, c.value)
	}
	if c.path != "" {
		if err := c.stand(req.URL); err != nil {
			return nil, err
		}
	}
	if c.query != "" {
		q := req.URL.Query()
		q.Set(c.query, c.value)
		req.URL.RawQuery = q.Encode()
	}
	return req, nil
}

// stand puts the value into the place of the segment that stands for it.
func (c *credentials) stand(u *url.URL) error {
	segs := strings.Split(u.EscapedPath(), "/")
	at := slices.Index(segs, url.PathEscape(c.path))
	if at < 0 || strings.Trim(c.value, ".") == "" {
		return errors.New("the path has no place for the credential, or the credential is none")
	}
	segs[at] = url.PathEscape(c.value)
	raw := strings.Join(segs, "/")
	plain, err := url.PathUnescape(raw)
	u.Path, u.RawPath = plain, raw
	return err
}

// grant is the token request of kind oauth2.
func (a *Auth) grant(ctx context.Context, tokenURL *url.URL, v Vars) (oauth.Grant, error) {
	var got [4]string
	for i, t := range []*Text{a.clientID, a.clientSecret, a.scope, a.audience} {
		s, err := t.Render(ctx, v)
		if err != nil {
			return oauth.Grant{}, err
		}
		got[i] = s
	}
	g := oauth.ClientCredentials(tokenURL.JoinPath(a.tokenPath...), got[0], got[1], got[2], a.inBody)
	if got[3] != "" {
		g.Form.Set("audience", got[3])
	}
	return g, nil
}

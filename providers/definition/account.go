package definition

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// Way says how far requests may go.
type Way struct {
	// BaseURL replaces the definition's address; empty = the definition's. A token
	// is then asked for there as well.
	BaseURL string
	// Timeout caps one request; 0 = egress.DefaultTimeout.
	Timeout time.Duration
	// MaxBody caps one answer in bytes; 0 = egress.DefaultMaxBody.
	MaxBody int64
	// AllowPrivate lets the address lead to loopback and private networks.
	AllowPrivate bool
	// AllowPlainHTTP lets it be http://; only together with AllowPrivate, and then
	// for private addresses only.
	AllowPlainHTTP bool
	// RootCAs replaces the system's certificate authorities; nil = the system's.
	RootCAs *x509.CertPool
	// Agent is the User-Agent.
	Agent string
	// Unfollowed leaves redirects as the answers that they are.
	Unfollowed bool
}

// Account is one account at one service: where requests may go and how they prove
// who sends them. It is safe for concurrent use.
type Account struct {
	Title  string // how messages call the service
	Base   *url.URL
	Hosts  []string // that may be asked
	params Vars
	agent  string

	auth     *Auth
	tokenURL *url.URL
	client   *http.Client
	tokens   *oauth.Cache
}

// Open renders and checks where requests may go. It does no I/O.
func (w Way) Open(title string, base *Text, hosts []*Text, auth *Auth, params Vars) (*Account, error) {
	a := &Account{Title: title, params: params, agent: w.Agent, auth: auth, tokens: oauth.NewCache()}
	if err := a.addresses(w, base, hosts); err != nil {
		return nil, err
	}
	a.client = egress.Client(egress.Config{
		Hosts: a.Hosts, AllowPrivate: w.AllowPrivate, AllowPlainHTTP: w.AllowPlainHTTP, Timeout: w.Timeout, MaxBody: w.MaxBody, RootCAs: w.RootCAs,
	})
	if w.Unfollowed {
		a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return a, nil
}

func (a *Account) addresses(w Way, baseText *Text, hosts []*Text) error {
	ctx := context.Background()
	base := w.BaseURL
	var err error
	if base == "" {
		if base, err = baseText.Render(ctx, a.params); err != nil {
			return err
		}
	}
	if a.Base, err = w.address("the address", base); err != nil {
		return err
	}
	a.Hosts, a.tokenURL = []string{a.Base.Host}, a.Base
	for _, h := range hosts {
		s, err := h.Render(ctx, a.params)
		if err != nil {
			return err
		}
		u, err := w.address("hosts", "https://"+s)
		if err != nil {
			return err
		}
		a.Hosts = append(a.Hosts, u.Host)
	}
	t := a.auth.tokenBase
	if t == nil || w.BaseURL != "" && len(a.auth.tokenPath) > 0 {
		return nil
	}
	s, err := t.Render(ctx, a.params)
	if err != nil {
		return err
	}
	if a.tokenURL, err = w.address("auth.token_base", s); err != nil {
		return err
	}
	if !slices.Contains(a.Hosts, a.tokenURL.Host) {
		a.Hosts = append(a.Hosts, a.tokenURL.Host)
	}
	return nil
}

// address checks one address: https, or http to a private place if that was
// allowed.
func (w Way) address(what, s string) (*url.URL, error) {
	clean, err := ParseBase(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	u, err := url.Parse(clean)
	if err != nil {
		return nil, fmt.Errorf("%s: %q can't be parsed", what, s)
	}
	if u.Scheme == "http" && (!w.AllowPlainHTTP || !w.AllowPrivate) {
		return nil, fmt.Errorf("%s is http://, which would send secrets in the clear: use https://, or set allow_private and allow_plain_http for a private address", what)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !w.AllowPrivate && (ip.IsLoopback() || ip.IsPrivate()) {
		return nil, fmt.Errorf("%s leads to the private address %s: set allow_private if that is meant", what, ip)
	}
	return u, nil
}

// Session holds the secrets of one look or one delivery.
type Session struct {
	a       *Account
	secrets Vars // params and secrets: for auth only
	creds   *credentials
}

// Session reads the secrets. It does no other I/O. who is how messages call the
// definition.
func (a *Account) Session(ctx context.Context, who string, secrets map[string]evidence.Secret) (*Session, error) {
	s := &Session{a: a, secrets: a.params.With(nil)}
	var hide []string
	for _, name := range SortedKeys(secrets) {
		if secrets[name] == nil {
			continue
		}
		v, err := secrets[name]()
		if err != nil {
			return nil, fmt.Errorf("%s: reading the secret %s: %w", who, name, err)
		}
		if v == "" || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, fmt.Errorf("%s: the secret %s is empty or holds characters that no credential has", who, name)
		}
		s.secrets["secrets."+name] = v
		hide = append(hide, v)
	}
	var err error
	if s.creds, err = a.auth.open(ctx, s.secrets, hide); err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	return s, nil
}

// Close forgets the secrets.
func (s *Session) Close() { s.secrets, s.creds = nil, nil }

// Closed reports whether it was closed.
func (s *Session) Closed() bool { return s.creds == nil }

// Unusable is a request that can't be built from what is configured.
type Unusable struct{ Err error }

func (e *Unusable) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Unusable) Unwrap() error { return e.Err }

// Send sends a request with credentials. keep is told of a token request, and
// sent when the request itself goes out. Errors are *evidence.ProviderError of
// the token server, *Unusable, or the client's.
func (s *Session) Send(ctx context.Context, b *Built, keep oauth.Kept, sent func()) (*http.Response, error) {
	if s.Closed() {
		return nil, errors.New("definition: the session is closed")
	}
	if s.a.auth.kind == "oauth2" {
		token, err := s.token(ctx, keep)
		if err != nil {
			return nil, err
		}
		s.creds.header, s.creds.value = "Authorization", "Bearer "+token
		if !slices.Contains(s.creds.hide, token) {
			s.creds.hide = append(s.creds.hide, token)
		}
	}
	req, err := s.creds.apply(ctx, b)
	if err != nil {
		return nil, &Unusable{err}
	}
	req.Header.Set("User-Agent", s.a.agent)
	sent()
	return s.a.client.Do(req)
}

// token returns an access token, asking for one by the client credentials grant if
// there is none that still holds.
func (s *Session) token(ctx context.Context, keep oauth.Kept) (string, error) {
	a := s.a
	t, err := a.tokens.Get(ctx, func(ctx context.Context) (oauth.Token, error) {
		g, err := a.auth.grant(ctx, a.tokenURL, s.secrets)
		if err != nil {
			return oauth.Token{}, &Unusable{err}
		}
		return g.Ask(ctx, a.client, a.Title, keep)
	})
	return t.Access, err
}

// Refused forgets the access token that the service refused, if there is one.
func (s *Session) Refused(ctx context.Context) {
	if !s.Closed() {
		s.a.tokens.Drop(ctx, strings.TrimPrefix(s.creds.value, "Bearer "))
	}
}

// Clean takes secrets that a service echoes out of a text that is kept.
func (s *Session) Clean(text string) string {
	if s.Closed() {
		return text
	}
	for _, secret := range s.creds.hide {
		if secret == "" {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			text = strings.ReplaceAll(text, form, "[secret]")
		}
	}
	return text
}

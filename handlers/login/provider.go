package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Limits of the talk with the identity provider.
const (
	remoteTimeout = 10 * time.Second
	remoteMaxBody = 1 << 20
	// retryAfter keeps a provider that is down from being asked for every visitor.
	retryAfter = 5 * time.Second
)

// remote is what the discovery document said.
type remote struct {
	oauth     oauth2.Config
	verifier  *oidc.IDTokenVerifier
	issuerArg bool // RFC 9207: the callback must carry iss
}

// Check asks the identity provider for its discovery document and says what is
// wrong with it or with the configuration.
func (l *Login) Check(ctx context.Context) error {
	r, err := l.discover(ctx)
	if err != nil {
		return fmt.Errorf("login: identity provider %s: %w", l.cfg.Issuer, err)
	}
	l.remote.Store(r)
	return nil
}

// provider returns the identity provider, discovering it at the first use. One
// caller asks, the others wait for its answer; after a failure nobody asks again
// for a few seconds.
func (l *Login) provider(ctx context.Context) (*remote, error) {
	if r := l.remote.Load(); r != nil {
		return r, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.finding:
	}
	defer func() { l.finding <- struct{}{} }()
	if r := l.remote.Load(); r != nil {
		return r, nil
	}
	now := l.cfg.Clock()
	if l.lastErr != nil && now.Sub(l.lastTry) < retryAfter {
		return nil, l.lastErr
	}
	// A visitor who goes away must not count as the provider's failure.
	r, err := l.discover(context.WithoutCancel(ctx))
	l.lastTry, l.lastErr = now, err
	if err != nil {
		return nil, err
	}
	l.remote.Store(r)
	return r, nil
}

func (l *Login) discover(ctx context.Context) (*remote, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, l.client), remoteTimeout)
	defer cancel()
	p, err := oidc.NewProvider(ctx, l.cfg.Issuer) // refuses another issuer in the document
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	var doc metadata
	if err := p.Claims(&doc); err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	algs, err := l.checkMetadata(doc)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	return &remote{
		oauth: oauth2.Config{
			ClientID: l.cfg.ClientID, ClientSecret: l.cfg.ClientSecret, Endpoint: p.Endpoint(),
			RedirectURL: l.cfg.ExternalURL + PathCallback, Scopes: l.cfg.Scopes,
		},
		verifier:  p.Verifier(&oidc.Config{ClientID: l.cfg.ClientID, SupportedSigningAlgs: algs, Now: l.cfg.Clock}),
		issuerArg: doc.IssuerArg,
	}, nil
}

// metadata is the part of the discovery document that this package checks
// itself (OpenID Connect Discovery 1.0 section 3, RFC 8414, RFC 9207).
type metadata struct {
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Keys          string   `json:"jwks_uri"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	IssuerArg     bool     `json:"authorization_response_iss_parameter_supported"`
}

// algorithms that an ID token may be signed with: asymmetric ones only.
func algorithms() []string {
	return []string{oidc.RS256, oidc.PS256, oidc.ES256, oidc.EdDSA}
}

// checkMetadata returns the signature algorithms that both sides accept.
func (l *Login) checkMetadata(doc metadata) ([]string, error) {
	for name, s := range map[string]string{"authorization_endpoint": doc.Authorization, "token_endpoint": doc.Token, "jwks_uri": doc.Keys} {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("%s %q is no address", name, s)
		}
		if err := checkSecure(name, u, l.cfg.AllowInsecureIssuer); err != nil {
			return nil, err
		}
	}
	if doc.Challenges != nil && !slices.Contains(doc.Challenges, "S256") {
		return nil, errors.New("the provider lists its PKCE methods and S256 is not among them")
	}
	if doc.Algorithms == nil {
		return algorithms(), nil
	}
	var both []string
	for _, a := range algorithms() {
		if slices.Contains(doc.Algorithms, a) {
			both = append(both, a)
		}
	}
	if both == nil {
		return nil, fmt.Errorf("the provider signs with %v: one of %v is needed", doc.Algorithms, algorithms())
	}
	return both, nil
}

// limitedClient caps time and answer size and follows no redirect: the token
// request carries the client secret.
func limitedClient(c *http.Client) *http.Client {
	if c == nil {
		c = &http.Client{}
	}
	out := *c
	if out.Timeout == 0 {
		out.Timeout = remoteTimeout
	}
	if out.CheckRedirect == nil {
		out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	if out.Transport == nil {
		out.Transport = http.DefaultTransport
	}
	out.Transport = limited{out.Transport}
	return &out
}

// limited cuts answers that are too large: the libraries read them whole.
type limited struct{ next http.RoundTripper }

func (t limited) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, remoteMaxBody), res.Body}
	return res, nil
}

package logintest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/landedhq/landed/cmd/landed/demo/idp"
)

// The client that the provider knows.
const (
	ClientID     = "landed-test"
	ClientSecret = "a test secret/with odd+chars"
)

// Fault is one way to break the rules.
type Fault string

// The faults. None keeps to them.
const (
	None           Fault = ""
	WrongNonce     Fault = "wrong nonce"
	NoNonce        Fault = "no nonce"
	WrongAudience  Fault = "wrong aud"
	WrongIssuer    Fault = "wrong iss in the token"
	AlgNone        Fault = "alg none"
	AlgHS256       Fault = "alg HS256 with the client secret"
	OtherKey       Fault = "signed by another key"
	Expired        Fault = "expired"
	StaleIssuedAt  Fault = "iat an hour ago"
	FutureIssuedAt Fault = "iat in an hour"
	NoIssuedAt     Fault = "no iat"
	NoSubject      Fault = "no sub"
	WrongAZP       Fault = "azp of another client"
	TwoAudiences   Fault = "two audiences, no azp"
	LogoutToken    Fault = "typ logout+jwt"
	WrongAtHash    Fault = "at_hash of another token"
	NoGroups       Fault = "no groups"
	NullGroups     Fault = "groups is null"
	NoMatch        Fault = "groups without a role"
	OverageNames   Fault = "_claim_names points to the groups"
	OverageHas     Fault = "hasgroups"
	NoIss          Fault = "no iss in the callback"
	WrongIss       Fault = "iss of another provider in the callback"
	OnlyUsername   Fault = "only sub and preferred_username"
	AppRoles       Fault = "roles instead of groups"
	ManyGroups     Fault = "150 long group names"
	OnlyHS256      Fault = "metadata lists HS256 only"
	OtherIssuer    Fault = "metadata names another issuer"
	NoAuthTime     Fault = "no auth_time"
	StrongLogin    Fault = "acr mfa"
	OldAuthTime    Fault = "auth_time of the morning"
	NoS256         Fault = "metadata lists PKCE plain only"
)

// Provider is the sandbox identity provider on a port of its own.
type Provider struct {
	URL string // the issuer
	*idp.Provider
	fault atomic.Pointer[Fault]
	down  atomic.Bool
	calls atomic.Int64
}

// New starts a provider for the desk at deskURL. now may be nil.
func New(t testing.TB, deskURL string, now func() time.Time) *Provider {
	t.Helper()
	p := &Provider{}
	p.Misbehave(None)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.calls.Add(1)
		if p.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	p.URL = srv.URL
	inner, err := idp.New(idp.Config{
		Issuer: srv.URL, ClientID: ClientID, ClientSecret: ClientSecret, RedirectURI: deskURL + "/login/callback", Clock: now,
		Hooks: idp.Hooks{Metadata: p.metadata, Claims: p.claims, Callback: p.callback, Sign: p.sign},
	})
	if err != nil {
		t.Fatalf("starting the identity provider: %v", err)
	}
	p.Provider = inner
	return p
}

// Misbehave breaks one rule from now on.
func (p *Provider) Misbehave(f Fault) { p.fault.Store(&f) }

// Down makes every request fail.
func (p *Provider) Down(down bool) { p.down.Store(down) }

// Calls counts the requests so far.
func (p *Provider) Calls() int64 { return p.calls.Load() }

func (p *Provider) is(f Fault) bool { return *p.fault.Load() == f }

func (p *Provider) metadata(doc map[string]any) {
	switch *p.fault.Load() {
	case OnlyHS256:
		doc["id_token_signing_alg_values_supported"] = []string{"HS256", "none"}
	case OtherIssuer:
		doc["issuer"] = "https://other.example"
	case NoS256:
		doc["code_challenge_methods_supported"] = []string{"plain"}
	}
}

func (p *Provider) callback(q url.Values) {
	switch *p.fault.Load() {
	case NoIss:
		q.Del("iss")
	case WrongIss:
		q.Set("iss", "https://other.example")
	}
}

func (p *Provider) claims(who idp.Person, c map[string]any) {
	iat, _ := c["iat"].(int64)
	switch *p.fault.Load() {
	case WrongNonce:
		c["nonce"] = "another"
	case NoNonce:
		delete(c, "nonce")
	case WrongAudience:
		c["aud"] = "another-client"
	case WrongIssuer:
		c["iss"] = "https://other.example"
	case Expired:
		c["exp"] = iat - 1
	case StaleIssuedAt:
		c["iat"] = iat - 3600
	case FutureIssuedAt:
		c["iat"] = iat + 3600
		c["exp"] = iat + 7200
	case NoIssuedAt:
		delete(c, "iat")
	case NoSubject:
		delete(c, "sub")
	case WrongAZP:
		c["azp"] = "another-client"
	case TwoAudiences:
		c["aud"] = []string{ClientID, "another-client"}
	case NoAuthTime:
		delete(c, "auth_time")
	case StrongLogin:
		c["acr"] = "mfa"
	case OldAuthTime:
		c["auth_time"] = iat - 3*3600
	case WrongAtHash:
		c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA"
	default:
		p.people(who, c)
	}
}

// people are the faults in what is said about the person.
func (p *Provider) people(who idp.Person, c map[string]any) {
	switch *p.fault.Load() {
	case NoGroups:
		delete(c, "groups")
	case NullGroups:
		c["groups"] = nil
	case NoMatch:
		c["groups"] = []string{"canteen"}
	case OverageNames:
		delete(c, "groups")
		c["_claim_names"] = map[string]string{"groups": "src1"}
		c["_claim_sources"] = map[string]any{"src1": map[string]string{"endpoint": "https://graph.example/users/1/getMemberObjects"}}
	case OverageHas:
		delete(c, "groups")
		c["hasgroups"] = true
	case OnlyUsername:
		delete(c, "name")
		delete(c, "email")
		c["oid"] = "0f6b5a5e"
	case AppRoles:
		delete(c, "groups")
		c["roles"] = who.Groups
	case ManyGroups:
		groups := make([]string, 0, 151)
		for range 150 {
			groups = append(groups, "cn="+rand.Text()+rand.Text()+",ou=groups,dc=example,dc=org")
		}
		c["groups"] = append(groups, who.Groups...)
	}
}

func (p *Provider) sign(c map[string]any, sign func(map[string]any) (string, error)) (string, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	switch {
	case p.is(AlgNone):
		enc := base64.RawURLEncoding.EncodeToString
		return enc([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + enc(body) + ".", nil
	case p.is(AlgHS256):
		return signWith(jose.HS256, append([]byte(ClientSecret), make([]byte, 16)...), body, "JWT")
	case p.is(OtherKey):
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return "", err
		}
		return signWith(jose.RS256, key, body, "JWT")
	}
	if p.is(LogoutToken) {
		return p.SignTyped(c, "logout+jwt")
	}
	return sign(c)
}

func signWith(alg jose.SignatureAlgorithm, key any, body []byte, typ jose.ContentType) (string, error) {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType(typ))
	if err != nil {
		return "", err
	}
	sig, err := s.Sign(body)
	if err != nil {
		return "", err
	}
	return sig.CompactSerialize()
}

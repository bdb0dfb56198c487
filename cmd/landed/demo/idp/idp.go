package idp

import (
	"crypto/rand"
	"crypto/rsa"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

//go:embed pick.html style.css
var files embed.FS

// Lives of what the provider hands out.
const (
	codeLife  = time.Minute
	tokenLife = 5 * time.Minute
	maxCodes  = 10_000
	maxForm   = 64 << 10
)

// Config is one client and the people who may sign in to it.
type Config struct {
	// Issuer is the provider's own address, without a slash at its end. A path is
	// allowed: the handler expects requests below it.
	Issuer string
	// ClientID and ClientSecret of the only client; RedirectURI is compared exactly.
	ClientID, ClientSecret, RedirectURI string
	People                              []Person // nil = DefaultPeople
	// AnyHost lets the issuer be something else than a loopback host. Everybody who
	// reaches it can be anybody.
	AnyHost bool
	Clock   func() time.Time // nil = time.Now
	Hooks   Hooks
}

// Hooks let tests make the provider misbehave. A demo leaves them nil.
type Hooks struct {
	Metadata func(doc map[string]any)              // edits the discovery document
	Claims   func(p Person, claims map[string]any) // edits the claims before they are signed
	Callback func(q url.Values)                    // edits the answer to the client
	// Sign replaces the signature; sign is the regular one.
	Sign func(claims map[string]any, sign func(map[string]any) (string, error)) (string, error)
}

// Provider is the running provider, an http.Handler.
type Provider struct {
	cfg   Config
	base  string // path of the issuer, "" or "/idp"
	key   *rsa.PrivateKey
	keyID string
	page  *template.Template
	mux   *http.ServeMux

	mu    sync.Mutex
	codes map[string]grant
}

// grant is what a code stands for.
type grant struct {
	person    Person
	nonce     string
	challenge string
	at        time.Time
}

// New checks the configuration and makes a signing key.
func New(c Config) (*Provider, error) {
	u, err := checkConfig(c)
	if err != nil {
		return nil, fmt.Errorf("sandbox identity provider: %w", err)
	}
	if c.People == nil {
		c.People = DefaultPeople()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("sandbox identity provider: making a key: %w", err)
	}
	page, err := template.ParseFS(files, "pick.html")
	if err != nil {
		return nil, fmt.Errorf("sandbox identity provider: %w", err)
	}
	p := &Provider{cfg: c, base: u.Path, key: key, keyID: random(8), page: page, mux: http.NewServeMux(), codes: map[string]grant{}}
	p.routes()
	return p, nil
}

func checkConfig(c Config) (*url.URL, error) {
	u, err := url.Parse(c.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.HasSuffix(u.Path, "/") {
		return nil, fmt.Errorf("issuer %q must be an http or https address without a slash at its end", c.Issuer)
	}
	if ip := net.ParseIP(u.Hostname()); !c.AnyHost && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("issuer %q is not on loopback: there are no passwords, whoever reaches it could be anybody", c.Issuer)
	}
	if c.ClientID == "" || c.ClientSecret == "" {
		return nil, errors.New("client id or secret is empty")
	}
	r, err := url.Parse(c.RedirectURI)
	if err != nil || r.Host == "" || r.Fragment != "" {
		return nil, fmt.Errorf("redirect URI %q is no address", c.RedirectURI)
	}
	return u, nil
}

func (p *Provider) routes() {
	p.mux.HandleFunc("GET "+p.base+"/.well-known/openid-configuration", p.discovery)
	p.mux.HandleFunc("GET "+p.base+"/keys", p.keys)
	p.mux.HandleFunc("GET "+p.base+"/style.css", p.style)
	p.mux.HandleFunc("GET "+p.base+"/authorize", p.ask)
	p.mux.Handle("POST "+p.base+"/authorize", http.NewCrossOriginProtection().Handler(http.HandlerFunc(p.picked)))
	p.mux.HandleFunc("POST "+p.base+"/token", p.token)
}

// ServeHTTP serves the provider below the issuer's path.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	p.mux.ServeHTTP(w, r)
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	doc := map[string]any{
		"issuer":                                         p.cfg.Issuer,
		"authorization_endpoint":                         p.cfg.Issuer + "/authorize",
		"token_endpoint":                                 p.cfg.Issuer + "/token",
		"jwks_uri":                                       p.cfg.Issuer + "/keys",
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []string{"RS256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post"},
		"code_challenge_methods_supported":               []string{"S256"},
		"scopes_supported":                               []string{"openid", "profile", "email", "groups"},
		"claims_supported":                               []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "name", "preferred_username", "email", "groups"},
		"authorization_response_iss_parameter_supported": true,
	}
	if p.cfg.Hooks.Metadata != nil {
		p.cfg.Hooks.Metadata(doc)
	}
	writeJSON(w, http.StatusOK, doc)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: p.key.Public(), KeyID: p.keyID, Algorithm: string(jose.RS256), Use: "sig"},
	}})
}

// Sign signs claims as an ID token.
func (p *Provider) Sign(claims map[string]any) (string, error) { return p.SignTyped(claims, "JWT") }

// SignTyped signs claims as a token of another type, which no client may take
// for an ID token.
func (p *Provider) SignTyped(claims map[string]any, typ string) (string, error) {
	opts := (&jose.SignerOptions{}).WithType(jose.ContentType(typ)).WithHeader("kid", p.keyID)
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, opts)
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	sig, err := s.Sign(body)
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	return sig.CompactSerialize()
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "encoding the answer failed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that went away is no fault of ours
}

func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b)
}

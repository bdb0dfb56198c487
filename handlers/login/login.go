package login

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
)

// Paths that the package serves.
const (
	PathLogin    = "/login"
	PathCallback = "/login/callback"
	PathLogout   = "/logout"
)

// ParamFresh asks PathLogin for a fresh proof of identity (step-up).
const ParamFresh = "fresh"

// FreshURL is where a signed-in person proves anew who they are, and comes back.
func FreshURL(to string) string {
	return PathLogin + "?" + ParamFresh + "=1&to=" + url.QueryEscape(to)
}

// SessionStore keeps sessions. Every method may be called by several replicas at
// once. It keeps what it is given: hashes, never tokens.
type SessionStore interface {
	// Save adds a row. It must fail if the hash has one already: an insert, never
	// an upsert (a finished sign-in is marked that way, so that it works once).
	Save(ctx context.Context, tokenHash, data []byte, expires time.Time) error
	// Load returns the row, and nil data without an error if there is none. seenAt
	// is the time of the last Touch, or of Save. Whether an expired row is still
	// returned does not matter.
	Load(ctx context.Context, tokenHash []byte) (data []byte, seenAt, expires time.Time, err error)
	// Touch records that the session was used. A missing row is no error.
	Touch(ctx context.Context, tokenHash []byte, seenAt time.Time) error
	// Delete ends the session. A missing row is no error.
	Delete(ctx context.Context, tokenHash []byte) error
}

// Login signs people in and answers who they are.
type Login struct {
	cfg     Config
	store   SessionStore
	log     *slog.Logger
	secure  bool // cookies: the external address is https
	seal    cipher.AEAD
	origins *http.CrossOriginProtection
	client  *http.Client

	remote  atomic.Pointer[remote] // nil until the identity provider was reached
	finding chan struct{}          // holds one token: who has it may run the discovery
	lastTry time.Time              // guarded by finding
	lastErr error                  // guarded by finding
}

// New checks the configuration. It does not call the identity provider: Landed
// starts while that is down, and asks at the first sign-in (see Check).
func New(c Config, store SessionStore, log *slog.Logger) (*Login, error) {
	c, err := c.checked()
	if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	seal, err := sealer(c)
	if err != nil {
		return nil, fmt.Errorf("login: deriving the key of the flow cookie: %w", err)
	}
	origins := http.NewCrossOriginProtection()
	if err := origins.AddTrustedOrigin(c.ExternalURL); err != nil {
		return nil, fmt.Errorf("login: external_url: %w", err)
	}
	l := &Login{cfg: c, store: store, log: log, seal: seal, origins: origins, client: limitedClient(c.HTTPClient),
		secure: strings.HasPrefix(c.ExternalURL, "https://"), finding: make(chan struct{}, 1)}
	l.finding <- struct{}{}
	return l, nil
}

// sealer derives the key of the flow cookie from the client secret, which all
// replicas share and nobody else but the identity provider knows.
func sealer(c Config) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(c.ClientSecret), []byte(c.Issuer+"\x00"+c.ClientID), "landed sign-in cookie 1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Register adds the login's own routes.
func (l *Login) Register(e *echo.Echo) {
	e.GET(PathLogin, l.start)
	e.HEAD(PathLogin, l.start)
	e.GET(PathCallback, l.callback)
	e.GET(PathLogout, l.signedOut)
	e.HEAD(PathLogout, l.signedOut)
	e.POST(PathLogout, l.logout)
}

// refuse records a refusal, logs its cause once and returns it as the answer.
func (l *Login) refuse(c echo.Context, who journal.Actor, e *Error) error {
	ctx := c.Request().Context()
	l.log.WarnContext(ctx, "sign-in refused", "code", e.Code, "cause", e.Err, "sub", who.Subject)
	l.event(ctx, EventRefused, who, e.Code)
	return e
}

func (l *Login) event(ctx context.Context, kind string, who journal.Actor, why string) {
	if l.cfg.OnEvent != nil {
		l.cfg.OnEvent(ctx, Event{Kind: kind, At: l.cfg.Clock(), Actor: who, Why: why})
	}
}

// noStore keeps answers of the flow out of every cache.
func noStore(c echo.Context) {
	c.Response().Header().Set("Cache-Control", "no-store")
}

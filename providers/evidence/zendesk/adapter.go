package zendesk

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// The adapter's kind and version on its capability sheet. Version changes when
// the way of looking does.
const (
	Kind    = "zendesk"
	Version = "1"
)

// The scopes on the capability sheet.
const (
	scopeTickets   = "tickets that are not archived, by external_id"
	scopeAll       = "every ticket of the account, also those of other groups"
	scopeDeleted   = "tickets that were deleted since the window began"
	scopeSuspended = "tickets that were suspended since the window began"
)

// Adapter asks one account.
type Adapter struct {
	cfg    Config
	base   *url.URL
	client *http.Client
	tokens *oauth.Cache // of the OAuth client, if there is one

	mu       sync.Mutex
	readOnly map[[sha256.Size]byte]bool // tokens that were found to be read-only
}

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet.
func (a *Adapter) Sheet() evidence.Sheet {
	return evidence.Sheet{
		Kind: Kind, Version: Version, Class: evidence.L2,
		ProcessingHorizon: a.cfg.ProcessingHorizon, IndexLag: a.cfg.IndexLag, Retention: a.retention(),
		Native: evidence.NativeIdempotency{Header: "Idempotency-Key", Window: 2 * time.Hour, BodyCompared: true},
		Scopes: []string{scopeTickets, scopeAll, scopeDeleted, scopeSuspended},
		Mode:   a.mode(), Conclusive: true,
	}
}

// Session returns a session. It reads the token, or the client's secret, and does
// no other I/O.
func (a *Adapter) Session(context.Context) (evidence.Session, error) {
	what, read := "token", a.cfg.Token
	if a.cfg.ClientID != "" {
		what, read = "client's secret", a.cfg.ClientSecret
	}
	secret, err := read()
	if err != nil {
		return nil, fmt.Errorf("zendesk: reading the %s: %w", what, err)
	}
	if secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("zendesk: the %s is empty or holds characters that none has", what)
	}
	s := &session{a: a, secret: secret}
	if a.cfg.ClientID == "" {
		s.token = secret
	}
	return s, nil
}

// retention is how long an empty list can be believed: as long as deleted tickets
// are listed, which is shorter than the 120 days after which closed ones are
// archived; a sandbox archives after three days.
func (a *Adapter) retention() time.Duration {
	if a.cfg.Sandbox {
		return 3 * 24 * time.Hour
	}
	return 30 * 24 * time.Hour
}

func (a *Adapter) mode() string {
	if a.cfg.Sandbox {
		return "test"
	}
	return "live"
}

// place is where a match was found, for people.
func (a *Adapter) place() string {
	if a.cfg.Sandbox {
		return "Zendesk sandbox " + a.cfg.Subdomain
	}
	return "Zendesk " + a.cfg.Subdomain
}

// ticketURL is the agents' page of a ticket, built from the configured address.
func (a *Adapter) ticketURL(id int64) string {
	u := *a.base
	u.Path = "/agent/tickets/" + strconv.FormatInt(id, 10)
	return u.String()
}

// maxRemembered bounds the tokens that are remembered: one that is renewed every
// half an hour is a new one each time.
const maxRemembered = 16

// isReadOnly reports whether a token was found to be read-only before.
func (a *Adapter) isReadOnly(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.readOnly[sha256.Sum256([]byte(token))]
}

func (a *Adapter) rememberReadOnly(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.readOnly == nil || len(a.readOnly) >= maxRemembered {
		a.readOnly = map[[sha256.Size]byte]bool{}
	}
	a.readOnly[sha256.Sum256([]byte(token))] = true
}

package zendesk_test

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/zendesk"
	"github.com/landedhq/landed/providers/evidence/zendesk/zendeskfake"
)

const (
	readToken       = "read-0123456789abcdef"
	writeToken      = "write-0123456789abcdef"
	narrowToken     = "narrow-0123456789abcdef" // tickets:read alone
	apiToken        = "api-0123456789abcdef"
	restrictedToken = "restricted-0123456789abcdef"
	groupToken      = "group-0123456789abcdef"
	endUserToken    = "enduser-0123456789abcdef"
	suspendedToken  = "suspended-0123456789abcdef"
	noShadowToken   = "noshadow-0123456789abcdef"
	silentToken     = "silent-0123456789abcdef"
	bareToken       = "bare-0123456789abcdef" // has no scopes at all
	apiUser         = "landed@example.com"
	clientSecret    = "client-0123456789abcdef"
)

func newAccount() *zendeskfake.Account {
	read := []string{"read"}
	return zendeskfake.New(map[string]zendeskfake.Token{
		readToken:       {Scopes: read},
		bareToken:       {Scopes: []string{}},
		writeToken:      {Scopes: []string{"read", "write"}},
		narrowToken:     {Scopes: []string{"tickets:read"}},
		apiToken:        {Email: apiUser},
		restrictedToken: {Scopes: read, Role: "agent", Restricted: true},
		groupToken:      {Scopes: read, Role: "agent", Restriction: "groups"},
		endUserToken:    {Scopes: read, Role: "end-user"},
		suspendedToken:  {Scopes: read, Suspended: true},
		noShadowToken:   {Scopes: read, Role: "agent", NoShadows: true},
		silentToken:     {Scopes: read, NoTokenInfo: true},
	}, map[string]zendeskfake.Client{
		"landed": {Secret: clientSecret, Allows: read},
		"crm":    {Secret: clientSecret, Allows: []string{"write"}},
		"brief":  {Secret: clientSecret, Allows: read, Life: 30}, // less than what is kept back
	})
}

// serve starts a TLS server over h and returns a configuration for it.
func serve(t *testing.T, h http.Handler) zendesk.Config {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return zendesk.Config{Subdomain: "acme", BaseURL: s.URL, Token: evidence.Fixed(readToken), AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
}

func open(t *testing.T, c zendesk.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// look opens a session, asks once and closes it.
func look(t *testing.T, c zendesk.Config, q evidence.Query) (evidence.Answer, error) {
	t.Helper()
	s, err := open(t, c).Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	defer s.Close()
	return s.Find(t.Context(), q)
}

func query(ref string, handles ...journal.Handle) evidence.Query {
	now := time.Now()
	return evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Minute), Handles: handles}
}

func mustLook(t *testing.T, c zendesk.Config, q evidence.Query) evidence.Answer {
	t.Helper()
	a, err := look(t, c, q)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return a
}

// unseen returns the scopes that were not seen, with their details.
func unseen(a evidence.Answer) string {
	var out []string
	for _, s := range a.Scopes {
		if !s.Seen {
			out = append(out, s.Name+": "+s.Detail)
		}
	}
	return strings.Join(out, "; ")
}

// fault returns the provider error inside err, or ends the test.
func fault(t *testing.T, err error) *evidence.ProviderError {
	t.Helper()
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) {
		t.Fatalf("error %v, want a ProviderError", err)
	}
	return pe
}

// asClient lets c use an OAuth client.
func asClient(c zendesk.Config, id, secret string) zendesk.Config {
	c.Token, c.ClientID, c.ClientSecret = nil, id, evidence.Fixed(secret)
	return c
}

// trust says what an empty answer is worth, all times being over, as the check
// command does; committed is the positive control's reference, "" = none.
func trust(t *testing.T, c zendesk.Config, committed string) (believed bool, reason, why string) {
	t.Helper()
	a := open(t, c)
	now := time.Now()
	q := evidence.Question{Ref: journal.RandomRef(), From: now.Add(-time.Hour), To: now}
	if committed != "" {
		q.Canary = &journal.Canary{Ref: committed, BegunAt: now.Add(-time.Minute), CommittedAt: now}
	}
	return evidence.Trust(evidence.Ask(t.Context(), a, q), a.Sheet())
}

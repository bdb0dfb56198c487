package jira_test

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
	"github.com/landedhq/landed/providers/evidence/jira"
	"github.com/landedhq/landed/providers/evidence/jira/jirafake"
)

const (
	apiToken   = "api-0123456789abcdef"
	scopeToken = "scoped-0123456789abcdef" // of an account that could write
	oauthToken = "oauth-0123456789abcdef"
	blindToken = "blind-0123456789abcdef" // may not browse the project
	gateToken  = "gate-0123456789abcdef"  // has the security level too
	offToken   = "off-0123456789abcdef"   // of an account that is not active
	email      = "landed@example.com"
	cloudID    = "11223344-a1b2-3b33-c444-def123456789"
)

func newSite() *jirafake.Site {
	both := []string{"OPS", "ENG"}
	return jirafake.New(map[string]jirafake.Token{
		apiToken:   {Email: email, Projects: both},
		scopeToken: {Email: email, Projects: both, Write: true},
		oauthToken: {Projects: both},
		blindToken: {Email: email, Projects: []string{"ENG"}},
		gateToken:  {Email: email, Projects: both, Level: "staff"},
		offToken:   {Email: email, Projects: both, Inactive: true},
	})
}

// serve starts a TLS server over h and returns a configuration for it.
func serve(t *testing.T, h http.Handler) jira.Config {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return jira.Config{Site: "https://acme.atlassian.net", APIURL: s.URL, Email: email, Token: evidence.Fixed(apiToken), Project: "OPS",
		AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
}

func open(t *testing.T, c jira.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// look opens a session, asks once and closes it.
func look(t *testing.T, c jira.Config, ref string, handles ...journal.Handle) (evidence.Answer, error) {
	t.Helper()
	s, err := open(t, c).Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	defer s.Close()
	return s.Find(t.Context(), query(ref, handles...))
}

func query(ref string, handles ...journal.Handle) evidence.Query {
	now := time.Now()
	return evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Minute), Handles: handles}
}

func mustLook(t *testing.T, c jira.Config, ref string, handles ...journal.Handle) evidence.Answer {
	t.Helper()
	a, err := look(t, c, ref, handles...)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return a
}

func label(ref string) []string { return []string{"landed-" + ref} }

func property(ref string) map[string]any { return map[string]any{"landed": map[string]any{"ref": ref}} }

func handle(value string) journal.Handle { return journal.Handle{Kind: "issue", Value: value} }

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

// trust says what an empty answer is worth, all times being over, as the check
// command does; committed is the positive control's reference, "" = none.
func trust(t *testing.T, c jira.Config, committed string) (believed bool, reason, why string) {
	t.Helper()
	a := open(t, c)
	now := time.Now()
	q := evidence.Question{Ref: journal.RandomRef(), From: now.Add(-time.Hour), To: now}
	if committed != "" {
		q.Canary = &journal.Canary{Ref: committed, BegunAt: now.Add(-time.Minute), CommittedAt: now}
	}
	return evidence.Trust(evidence.Ask(t.Context(), a, q), a.Sheet())
}

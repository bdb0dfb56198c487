package graph_test

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
	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/graph/graphfake"
)

const user = "orders@contoso.example"

// serve starts a TLS server over box and returns a configuration for it.
func serve(t *testing.T, box *graphfake.Mailbox) graph.Config {
	t.Helper()
	s, pool := listen(t, box)
	return graph.Config{Tenant: box.Tenant, ClientID: box.Client, ClientSecret: evidence.Fixed(box.Secret), Mailbox: user, CopyKept: true,
		BaseURL: s, LoginURL: s, AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
}

func listen(t *testing.T, h http.Handler) (string, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s.URL, pool
}

func open(t *testing.T, c graph.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// ask opens a session, asks once and closes it.
func ask(t *testing.T, c graph.Config, q evidence.Query) (evidence.Answer, error) {
	t.Helper()
	s, err := open(t, c).Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	defer s.Close()
	return s.Find(t.Context(), q)
}

// find asks in a window that is still open.
func find(t *testing.T, c graph.Config, ref string, handles ...journal.Handle) (evidence.Answer, error) {
	t.Helper()
	now := time.Now()
	return ask(t, c, evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Hour), Handles: handles})
}

func mustFind(t *testing.T, c graph.Config, ref string, handles ...journal.Handle) evidence.Answer {
	t.Helper()
	a, err := find(t, c, ref, handles...)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return a
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

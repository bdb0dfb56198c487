package gmail_test

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/gmail"
	"github.com/landedhq/landed/providers/evidence/gmail/gmailfake"
)

const mailbox = "orders@shop.example"

// serve starts a TLS server over account and returns a configuration for it.
func serve(t *testing.T, account *gmailfake.Account) gmail.Config {
	t.Helper()
	s, pool := listen(t, account)
	return gmail.Config{Mailbox: mailbox, ClientID: "app", ClientSecret: evidence.Fixed(account.Secret), RefreshToken: evidence.Fixed(account.Refresh),
		RefInBody: true, BaseURL: s, TokenURL: s + "/token", AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
}

func listen(t *testing.T, h http.Handler) (string, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s.URL, pool
}

func open(t *testing.T, c gmail.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// find asks in a window that is still open.
func find(t *testing.T, a evidence.Adapter, ref string, handles ...journal.Handle) (evidence.Answer, error) {
	t.Helper()
	now := time.Now()
	return ask(t, a, evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Hour), Handles: handles})
}

// ask opens a session, asks once and closes it.
func ask(t *testing.T, a evidence.Adapter, q evidence.Query) (evidence.Answer, error) {
	t.Helper()
	s, err := a.Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	defer s.Close()
	return s.Find(t.Context(), q)
}

func mustFind(t *testing.T, c gmail.Config, ref string, handles ...journal.Handle) evidence.Answer {
	t.Helper()
	a, err := find(t, open(t, c), ref, handles...)
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

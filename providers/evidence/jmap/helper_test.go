package jmap_test

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
	"github.com/landedhq/landed/providers/evidence/jmap"
)

const token = "fmu1-5ec7e75ec7e7-0-5ec7e75ec7e7"

// serve starts a TLS server over h and returns a configuration for it.
func serve(t *testing.T, h http.Handler) jmap.Config {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return jmap.Config{SessionURL: s.URL + "/jmap/session", Token: evidence.Fixed(token), CopyKept: true,
		AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
}

func open(t *testing.T, c jmap.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// look opens a session, asks once and closes it.
func look(t *testing.T, c jmap.Config, ref string, handles ...journal.Handle) (evidence.Answer, error) {
	t.Helper()
	s, err := open(t, c).Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	defer s.Close()
	now := time.Now()
	return s.Find(t.Context(), evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Hour), Handles: handles})
}

func mustLook(t *testing.T, c jmap.Config, ref string, handles ...journal.Handle) evidence.Answer {
	t.Helper()
	a, err := look(t, c, ref, handles...)
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

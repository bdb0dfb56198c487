package rt_test

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/rt/rtdesk"
)

const (
	workerToken = "1-10-c0ffee00c0ffee00c0ffee00c0ffee00"
	readerToken = "1-11-5ec7e75ec7e75ec7e75ec7e75ec7e75e"
)

// newDesk returns an empty sandbox desk. extra accounts are added by token.
func newDesk(extra map[string]rtdesk.Account) *rtdesk.Desk {
	accounts := map[string]rtdesk.Account{workerToken: rtdesk.Worker("worker"), readerToken: rtdesk.Reader("reader")}
	for token, a := range extra {
		accounts[token] = a
	}
	return rtdesk.New(rtdesk.Config{Accounts: accounts})
}

// serve starts a TLS server over h and returns a configuration for it.
func serve(t *testing.T, h http.Handler) rt.Config {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return rt.Config{BaseURL: s.URL, Token: evidence.Fixed(readerToken), Queue: "Desk", AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
}

func open(t *testing.T, c rt.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// look opens a session, asks once and closes it.
func look(t *testing.T, c rt.Config, ref string) (evidence.Answer, error) {
	t.Helper()
	s, err := open(t, c).Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	defer s.Close()
	now := time.Now()
	return s.Find(t.Context(), evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Hour)})
}

func mustLook(t *testing.T, c rt.Config, ref string) evidence.Answer {
	t.Helper()
	a, err := look(t, c, ref)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return a
}

// unseen returns the details of the scopes that were not seen.
func unseen(a evidence.Answer) []string {
	var out []string
	for _, s := range a.Scopes {
		if !s.Seen {
			out = append(out, s.Name+": "+s.Detail)
		}
	}
	return out
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

// facts returns a match's facts by name.
func facts(m journal.Match) map[string]string {
	out := map[string]string{}
	for _, f := range m.Facts {
		out[f.Name] = f.Value
	}
	return out
}

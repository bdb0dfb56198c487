package stripe_test

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
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/stripe/stripefake"
)

// Keys are put together so that no scanner takes them for real ones.
const (
	readerKey = "rk_" + "test_51readerreaderreaderreader"
	liveKey   = "rk_" + "live_51readerreaderreaderreader"
	workerKey = "rk_" + "test_51workerworkerworkerworker"
)

func everything() []string {
	return []string{"payment_intent", "charge", "refund", "transfer", "checkout.session", "event"}
}

// newAccount returns an empty account with a reader of each mode and a worker.
func newAccount() *stripefake.Account {
	return stripefake.New(map[string]stripefake.Key{
		readerKey: {Read: everything()},
		liveKey:   {Read: everything(), Live: true},
		workerKey: {Read: everything(), Create: true},
	})
}

// serve starts a TLS server over h and returns a configuration for it.
func serve(t *testing.T, h http.Handler) stripe.Config {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return stripe.Config{BaseURL: s.URL, Key: evidence.Fixed(readerKey), Mode: stripe.Test, Object: stripe.PaymentIntents,
		AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
}

func open(t *testing.T, c stripe.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// look opens a session, asks once and closes it.
func look(t *testing.T, c stripe.Config, ref string, handles ...journal.Handle) (evidence.Answer, error) {
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

func mustLook(t *testing.T, c stripe.Config, ref string, handles ...journal.Handle) evidence.Answer {
	t.Helper()
	a, err := look(t, c, ref, handles...)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return a
}

func marked(ref string) map[string]string { return map[string]string{"landed_ref": ref} }

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

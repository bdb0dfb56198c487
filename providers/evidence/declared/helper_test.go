package declared_test

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/declared"
)

const secret = "s3cret-Value-9"

// base is a small definition that works; tests replace parts of it.
const base = `adapter: test.thing
version: "1"
title: the desk
sheet:
  class: L2
  index_lag: 10s
  processing_horizon: 5m
params:
  url: {type: url, about: "the address"}
  place: {type: string, default: main, about: "the place"}
  token: {type: string, secret: true, about: "the token"}
base: "${params.url}"
auth: {kind: bearer, value: "${secrets.token}"}
steps:
  - id: list
    request:
      method: GET
      path: [things]
      query: {ref: "${ref}"}
    items: body.things
    pages: {kind: whole}
    scopes: [{name: "things in ${params.place}"}]
    match: {carrier: field, value: item.ref}
    facts: {id: item.id, state: '"effective"'}
writer:
  about: It sets the field.
  fields: [{place: json, name: ref, value: "${ref}", why: "it is looked for"}]
`

// edited replaces one part of base by another; it must be there once.
func edited(t testing.TB, pairs ...string) string {
	t.Helper()
	s := base
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(s, pairs[i]) != 1 {
			t.Fatalf("%q is there %d times", pairs[i], strings.Count(s, pairs[i]))
		}
		s = strings.Replace(s, pairs[i], pairs[i+1], 1)
	}
	return s
}

// serve starts a provider and returns an adapter for a definition that asks it.
func serve(t testing.TB, definition string, h http.HandlerFunc) *declared.Adapter {
	t.Helper()
	a, err := config(t, definition, h).OpenDeclared()
	if err != nil {
		t.Fatalf("OpenDeclared: %v", err)
	}
	return a
}

func config(t testing.TB, definition string, h http.HandlerFunc) declared.Config {
	t.Helper()
	d, err := declared.Parse("test.yaml", []byte(definition))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return declared.Config{
		Definition: d, Params: map[string]string{"url": s.URL}, Secrets: map[string]evidence.Secret{"token": evidence.Fixed(secret)},
		AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second,
	}
}

// find asks once.
func find(t testing.TB, a *declared.Adapter, ref string, handles ...journal.Handle) (evidence.Answer, error) {
	t.Helper()
	s, err := a.Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	defer s.Close()
	now := time.Now()
	return s.Find(t.Context(), evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(10 * time.Minute), Handles: handles})
}

func mustFind(t testing.TB, a *declared.Adapter, ref string, handles ...journal.Handle) evidence.Answer {
	t.Helper()
	ans, err := find(t, a, ref, handles...)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return ans
}

func fault(t testing.TB, err error) *evidence.ProviderError {
	t.Helper()
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) {
		t.Fatalf("error %v, want a ProviderError", err)
	}
	return pe
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

type m = map[string]any

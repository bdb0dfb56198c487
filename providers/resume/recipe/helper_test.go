package recipe_test

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
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/recipe"
)

const secret = "s3cret-Value-9"

// base is a small recipe that works; tests replace parts of it.
const base = `adapter: test.runtime
version: "1"
title: the runtime
about: It tells it.
params:
  url: {type: url, about: "the address"}
  place: {type: string, default: main, about: "the place"}
  token: {type: string, secret: true, about: "the token"}
base: "${params.url}"
auth:
  - {kind: bearer, value: "${secrets.token}"}
address:
  run: {type: string, about: "the run"}
  step: {type: int, default: "1", about: "the step"}
example: {run: r1}
setup: [It waits.]
says: '${body.?error.orValue("")}'
checks:
  - id: state
    request: {method: GET, path: [runs, "${address.run}"]}
    rules:
      - {when: body.state == "done", outcome: gone, detail: it is over}
    save: {token: body.token}
deliver:
  request:
    method: POST
    path: [runs, "${address.run}", wake]
    query: {step: "${address.step}"}
    headers: {X-Key: "${id}"}
    json: {token: "${saved.token}", payload: "${payload}"}
  rules:
    - {when: 'status == 409', outcome: not_waiting, detail: it does not wait, retry_after: "int(headers['x-wait'])"}
  proof: body.ok == true
dedupe: {place: header, name: X-Key, about: "a repeat is ignored for a day"}
buffers: false
confirms: false
residual: Nothing.
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

func config(t testing.TB, text string, h http.HandlerFunc) recipe.Config {
	t.Helper()
	d, err := recipe.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return recipe.Config{Name: "mine", Definition: d, Params: map[string]string{"url": s.URL}, Secrets: map[string]evidence.Secret{"token": evidence.Fixed(secret)},
		AllowPrivate: true, RootCAs: pool, Timeout: 10 * time.Second}
}

func open(t testing.TB, text string, h http.HandlerFunc) *recipe.Target {
	t.Helper()
	target, err := config(t, text, h).Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return target
}

func message(address string) resume.Message {
	at := time.Date(2026, 11, 29, 10, 15, 0, 0, time.UTC)
	const id = "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	return resume.Message{ID: id, At: at, Try: 1, Resume: []byte(address), Data: resume.Data{ResolutionID: id, Cursor: 9007199254740993,
		EffectID: "0199a1b2-0000-7e5f-8a9b-0c1d2e3f4a5b", Key: "k", Tool: "charge", Resolution: journal.ResolutionKind("committed"), At: at, URL: "https://desk.example.com/e/x"}}
}

func failure(t testing.TB, err error) *resume.Failure {
	t.Helper()
	var f *resume.Failure
	if !errors.As(err, &f) {
		t.Fatalf("error %v, want a Failure", err)
	}
	return f
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// runtime answers the check with one thing and the delivery with another.
func runtime(check, wake http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			check(w, r)
			return
		}
		wake(w, r)
	}
}

func says(status int, body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, status, body) }
}

type m = map[string]any

func waits() http.HandlerFunc { return says(200, m{"state": "waits", "token": "t-1"}) }

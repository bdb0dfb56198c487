package workertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Provider is a fake HTTP provider that counts what it did. Handle decides how
// it answers; it is called after the request was counted as done.
type Provider struct {
	*httptest.Server

	mu       sync.Mutex
	requests []Seen
}

// Seen is one request as the provider got it.
type Seen struct {
	Method, Path, Body string
	Header             http.Header
}

// NewProvider starts a provider; nil = it answers 200 {"id":"p-1"}.
func NewProvider(t *testing.T, answer http.HandlerFunc) *Provider {
	t.Helper()
	if answer == nil {
		answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":"p-1"}`) }
	}
	p := &Provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.requests = append(p.requests, Seen{r.Method, r.URL.Path, string(body), r.Header.Clone()})
		p.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Requests returns what arrived so far.
func (p *Provider) Requests() []Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Seen(nil), p.requests...)
}

// Count returns how many requests arrived.
func (p *Provider) Count() int { return len(p.Requests()) }

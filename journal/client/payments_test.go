package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// charge is what the payment provider got, and what it took from a customer.
type charge struct {
	Key       string `json:"-"` // the header Idempotency-Key
	Reference string
	Order     string
	Amount    int64
	Currency  string
	Note      string
}

// payments is a payment provider that counts charges. It honours idempotency
// keys if it is told to, and its answers can be scripted or held back.
type payments struct {
	*httptest.Server
	honours  bool
	scripted []int         // a status for each request, 201 once they are used up; 0 cuts the connection
	hold     chan struct{} // closed: answers go out

	mu       sync.Mutex
	requests int
	charges  []charge
	made     chan struct{} // one element per request that was carried out or refused
}

// newPayments starts a provider; change may script it.
func newPayments(t *testing.T, change ...func(*payments)) *payments {
	t.Helper()
	p := &payments{hold: make(chan struct{}), made: make(chan struct{}, 100)}
	close(p.hold)
	for _, f := range change {
		f(p)
	}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func held(p *payments)    { p.hold = make(chan struct{}) }
func honours(p *payments) { p.honours = true }

func (p *payments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c charge
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.Key = r.Header.Get("Idempotency-Key")
	status, id, replayed := p.take(c)
	p.made <- struct{}{}
	select {
	case <-p.hold:
	case <-r.Context().Done():
		return
	}
	if status == 0 {
		panic(http.ErrAbortHandler) // it is charged, and the answer is lost
	}
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "{\"id\": %q, \"paid\": 12.50}\n", id)
}

// take carries a request out unless its status says that it was refused.
func (p *payments) take(c charge) (status int, id string, replayed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	status = http.StatusCreated
	if p.requests < len(p.scripted) {
		status = p.scripted[p.requests]
	}
	p.requests++
	if status >= 400 && status < 500 {
		return status, "", false
	}
	if at := slices.IndexFunc(p.charges, func(x charge) bool { return p.honours && x.Key == c.Key }); at >= 0 {
		return status, fmt.Sprintf("ch_%d", at+1), true
	}
	p.charges = append(p.charges, c)
	return status, fmt.Sprintf("ch_%d", len(p.charges)), false
}

func (p *payments) list() []charge {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.charges)
}

func (p *payments) count() (requests, charges int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests, len(p.charges)
}

// wire stands between a worker and the journal. Each call is a method and a
// path without ids: "POST /v1/effects", "POST /commit".
type wire struct {
	*httptest.Server
	held chan struct{} // one element per call that is held

	mu    sync.Mutex
	cuts  map[string]bool
	stops map[string]bool
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	x := &wire{held: make(chan struct{}, 10), cuts: map[string]bool{}, stops: map[string]bool{}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			return x.pass("answer of "+callOf(r.Request), r.Request)
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read first: the server notices that a client is gone once it has its body.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if x.pass(callOf(r), r) != nil {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(x.Close)
	return x
}

// cut loses a call, or "answer of" one, from now on.
func (x *wire) cut(call string) { x.set(x.cuts, call, true) }

// mend undoes cut.
func (x *wire) mend(call string) { x.set(x.cuts, call, false) }

// stop holds the next such call, or "answer of" one, until the worker is gone.
func (x *wire) stop(call string) { x.set(x.stops, call, true) }

func (x *wire) set(m map[string]bool, call string, to bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	m[call] = to
}

func (x *wire) pass(call string, r *http.Request) error {
	x.mu.Lock()
	cut, stop := x.cuts[call], x.stops[call]
	delete(x.stops, call)
	x.mu.Unlock()
	if stop {
		x.held <- struct{}{}
		<-r.Context().Done()
	}
	if cut || stop {
		return http.ErrAbortHandler
	}
	return nil
}

// callOf names a call without its effect's id.
func callOf(r *http.Request) string {
	const id = len("/v1/effects/00000000-0000-0000-0000-000000000000")
	if path := r.URL.Path; len(path) > id {
		return r.Method + " " + path[id:]
	}
	return r.Method + " " + r.URL.Path
}

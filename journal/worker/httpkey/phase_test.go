package httpkey_test

import (
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/httpkey"
)

// TestR02_GatewayTimeoutIsUnknown: 5xx and 408 say nothing about what happened.
// The client does not see them, as it would try again; nothing is repeated.
func TestR02_GatewayTimeoutIsUnknown(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for _, code := range []int{408, 500, 502, 503, 504} {
		u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(code)
			_, _ = w.Write(make([]byte, 200_000)) // more than is ever held of a good answer
		})
		front := proxy(t, config(s), u.URL)
		var id string
		for range 3 {
			g := post(t, front.URL+"/mail", "k-"+http.StatusText(code), `{}`)
			g.is(t, 409, "outcome_unknown", false)
			id = g.problem(t).EffectID
		}
		if got := state(t, s, id); got != journal.StateParked || u.count() != 1 {
			t.Errorf("%d: %s after %d requests", code, got, u.count())
		}
	}
}

// TestR04_AnswerTellsNotToRepeat: what the client gets after a time-out is a
// structured "unknown" that says who decides, not an error that invites a retry.
func TestR04_AnswerTellsNotToRepeat(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	u := newUpstream(t, func(http.ResponseWriter, *http.Request) { <-release })
	c := config(openStore(t))
	c.Tool.ClientTimeout = 100 * time.Millisecond
	front := proxy(t, c, u.URL)
	g := post(t, front.URL+"/mail", "k-4", `{}`)
	g.is(t, 409, "outcome_unknown", false)
	p := g.problem(t)
	for _, want := range []string{"Do not repeat it", "a person decides", "this request with this key answers with the outcome"} {
		if !strings.Contains(p.Detail, want) {
			t.Errorf("%q lacks %q", p.Detail, want)
		}
	}
	if p.EffectID == "" || p.Desk != "https://desk.example.com/e/"+p.EffectID || p.Executed != nil {
		t.Errorf("problem %s", g.body)
	}
}

// cutter is a server that reads requests whole, applies them, and cuts the
// connection from request number `from` on.
type cutter struct {
	net.Listener
	mu      sync.Mutex
	applied int
}

func newCutter(t *testing.T, from int, before string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c.mu.Lock()
		c.applied++
		n := c.applied
		c.mu.Unlock()
		if n < from {
			_, _ = io.WriteString(w, `{"id":"1"}`)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, before)
		_ = conn.Close()
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return c
}

func (c *cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied
}

// TestR05_AppliedAndReset: the upstream applies and cuts the connection, before
// or within its answer. The outcome is unknown, also if half a good answer came.
func TestR05_AppliedAndReset(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for name, before := range map[string]string{
		"no answer": "", "half a header": "HTTP/1.1 200 OK\r\nContent-", "half a body": "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"id\":",
		"half a chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo",
	} {
		c := newCutter(t, 1, before)
		front := proxy(t, config(s), "http://"+c.Addr().String())
		for range 2 {
			post(t, front.URL+"/refunds", "k-5 "+name, `{}`).is(t, 409, "outcome_unknown", false)
		}
		if c.count() != 1 {
			t.Errorf("%s: applied %d times", name, c.count())
		}
	}
}

// TestR05_WithoutAServer: net/http/httputil hides that a body broke off where no
// server of net/http is around it. The outcome is unknown all the same.
func TestR05_WithoutAServer(t *testing.T) {
	t.Parallel()
	c := newCutter(t, 1, "HTTP/1.1 201 Created\r\nContent-Length: 20\r\n\r\nhalf")
	u, err := url.Parse("http://" + c.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpkey.Forward(u, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(openStore(t))
	cfg.Tracked = true
	guard, err := httpkey.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/refunds", strings.NewReader("{}"))
	r.Header.Set("Idempotency-Key", "k")
	guard(h).ServeHTTP(w, r)
	got{w.Code, w.Result().Header, w.Body.String(), nil}.is(t, 409, "outcome_unknown", false)
}

// TestR05_NotSentMayBeTriedAgain: an upstream that can't be reached got nothing:
// the same key is tried again, and done once it can.
func TestR05_NotSentMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	front := proxy(t, config(openStore(t)), "http://"+address)
	g := post(t, front.URL+"/refunds", "k-5", `{}`)
	g.is(t, 503, "not_sent", true)
	if p := g.problem(t); p.Executed == nil || *p.Executed {
		t.Errorf("problem %s", g.body)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("somebody took the address meanwhile: %v", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(created), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	eventually(t, "an answer", func() bool { return post(t, front.URL+"/refunds", "k-5", `{}`).status == 201 })
}

// TestR06_TransportRepeatsNothing: a request on a connection that was used
// before, applied and cut: Go's own transport would send it again, as it carries
// a key. Neither a guarded request nor one that goes past the guard is.
func TestR06_TransportRepeatsNothing(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for _, path := range []string{"/guarded", "/past"} {
		for _, body := range []string{"", `{"a":1}`} {
			c := newCutter(t, 2, "")
			cfg := config(s)
			cfg.Routes = []string{"POST /guarded"}
			front := proxy(t, cfg, "http://"+c.Addr().String())
			for i, want := range []int{200, 409} {
				g := post(t, front.URL+path, "k-6"+body+path+string(rune('a'+i)), body, header("X-Idempotency-Key", "k"))
				if path == "/past" && i == 1 {
					want = 502
				}
				if g.status != want {
					t.Errorf("%s %q: answered %d %s", path, body, g.status, g.body)
				}
			}
			if c.count() != 2 {
				t.Errorf("%s %q: the upstream saw %d requests, want 2", path, body, c.count())
			}
		}
	}
}

// TestR09_TwoHundredThatMeansFailure: JSON that says it failed confirms nothing;
// other content is taken at its status.
func TestR09_TwoHundredThatMeansFailure(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for _, tt := range []struct {
		name, kind, body string
		want             int
	}{
		{"not ok", "application/json", `{"ok":false,"error":"invalid_auth"}`, 409},
		{"errors", "application/graphql-response+json", `{"errors":[{"message":"no"}]}`, 409},
		{"no JSON", "application/json", `<html>`, 409},
		{"text", "text/html", `<html>`, 200},
		{"nothing", "application/json", ``, 200},
		{"fine", "application/json", `{"id":1,"errors":[]}`, 200},
	} {
		u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			_, _ = io.WriteString(w, tt.body)
		})
		front := proxy(t, config(s), u.URL)
		for range 2 {
			g := post(t, front.URL+"/x", "k-9 "+tt.name, `{}`)
			if g.status != tt.want || tt.want == 200 && g.body != tt.body {
				t.Errorf("%s: %d %s", tt.name, g.status, g.body)
			}
		}
		if u.count() != 1 {
			t.Errorf("%s: %d requests", tt.name, u.count())
		}
	}
}

// TestR16_RateLimitIsSafe: 429, then 503, then it would answer 200. The first may
// be tried again with the same key and is shown as it came; the second stops.
func TestR16_RateLimitIsSafe(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "0.05")
			status(429, `{"error":"slow down"}`)(w, r)
		case 2:
			status(503, `{}`)(w, r)
		default:
			created(w, r)
		}
	})
	front := proxy(t, config(openStore(t)), u.URL)
	g := post(t, front.URL+"/hook", "k-16", `{}`)
	if g.status != 429 || g.body != `{"error":"slow down"}` || g.header.Get("Retry-After") != "1" || g.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("answered %+v", g)
	}
	eventually(t, "the second try", func() bool {
		g = post(t, front.URL+"/hook", "k-16", `{}`)
		return g.problem(t).Code != "retry_later"
	})
	g.is(t, 409, "outcome_unknown", false)
	post(t, front.URL+"/hook", "k-16", `{}`).is(t, 409, "outcome_unknown", false)
	if u.count() != 2 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
}

// TestRefusals: which refusals are final and which may be tried again.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for _, tt := range []struct {
		code  int
		final bool
	}{{400, true}, {401, false}, {403, true}, {404, true}, {407, false}, {409, true}, {410, true}, {421, false}, {425, false}, {308, true}, {451, true}} {
		var n atomic.Int32
		u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) > 1 {
				created(w, r)
				return
			}
			w.Header().Set("Location", "/elsewhere")
			status(tt.code, `{"no":1}`)(w, r)
		})
		front := proxy(t, config(s), u.URL)
		key := "refusal-" + http.StatusText(tt.code)
		if g := post(t, front.URL+"/x", key, `{}`); g.status != tt.code || g.body != `{"no":1}` {
			t.Errorf("%d: answered %+v", tt.code, g)
		}
		want := 201
		if tt.final {
			want = tt.code
		}
		var g got
		eventually(t, "the next answer", func() bool {
			g = post(t, front.URL+"/x", key, `{}`)
			return !strings.Contains(g.body, "retry_later")
		})
		if g.status != want {
			t.Errorf("%d: then answered %d %s", tt.code, g.status, g.body)
		}
	}
}

// TestSeeOther: 303 sends to where the outcome is; 302 may as well send to a login.
func TestSeeOther(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for code, want := range map[int]int{303: 303, 302: 409} {
		u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/done", code) })
		front := proxy(t, config(s), u.URL)
		for range 2 {
			if g := post(t, front.URL+"/form", http.StatusText(code), `{}`); g.status != want || want == 303 && g.header.Get("Location") != "/done" {
				t.Errorf("%d: answered %+v", code, g)
			}
		}
		if u.count() != 1 {
			t.Errorf("%d: %d requests", code, u.count())
		}
	}
}

// TestProviderIdempotent: a 503 of an upstream that honours keys is asked again
// under the same provider key, which is not the client's.
func TestProviderIdempotent(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			status(503, `{}`)(w, r)
			return
		}
		created(w, r)
	})
	c := config(openStore(t))
	c.Tool.Class, c.Tool.KeyWindow, c.KeyHeader = journal.ClassProviderIdempotent, time.Hour, "X-Request-Key"
	front := proxy(t, c, u.URL)
	post(t, front.URL+"/pay", "k-1", `{}`).is(t, 503, "outcome_unknown_repeating", true)
	eventually(t, "an answer", func() bool { return post(t, front.URL+"/pay", "k-1", `{}`).status == 201 })
	var keys []string
	for _, r := range u.seen {
		keys = append(keys, r.Header.Get("X-Request-Key"))
	}
	if len(keys) != 2 || keys[0] != keys[1] || !journal.ValidRef(keys[0]) {
		t.Errorf("the upstream got the keys %q", keys)
	}
}

// TestInProcess: a handler of this process counts as sent from its first line on;
// it knows its effect's reference, and may say by Fail that it was refused.
func TestInProcess(t *testing.T) {
	t.Parallel()
	var refs []string
	front := guarded(t, config(openStore(t)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ref, err := worker.RefFrom(r.Context())
		if err != nil || ref != r.Header.Get("Landed-Reference") {
			t.Errorf("reference %q, %v", ref, err)
		}
		refs = append(refs, ref)
		switch r.URL.Path {
		case "/silent":
		case "/failed":
			httpkey.Fail(r.Context(), worker.NotSent(io.ErrUnexpectedEOF)) // it can't know: it may have happened
		case "/refused":
			httpkey.Fail(r.Context(), worker.Refused(io.ErrUnexpectedEOF, true))
		case "/aborted":
			panic(http.ErrAbortHandler)
		}
	}))
	for range 2 {
		if g := post(t, front.URL+"/silent", "k", ``); g.status != 200 || g.body != "" {
			t.Errorf("answered %+v", g)
		}
		post(t, front.URL+"/failed", "k", ``).is(t, 409, "outcome_unknown", false)
		post(t, front.URL+"/refused", "k", ``).is(t, 422, "refused", false)
		post(t, front.URL+"/aborted", "k", ``).is(t, 409, "outcome_unknown", false)
	}
	slices.Sort(refs)
	if len(slices.Compact(refs)) != 4 {
		t.Errorf("references %q", refs)
	}
	if httpkey.Fail(t.Context(), io.EOF) {
		t.Error("Fail works outside of a guarded request")
	}
}

// TestClientUnknown: a credential that will have changed by the retry is refused
// by default, before anything happens.
func TestClientUnknown(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	front := proxy(t, config(openStore(t)), u.URL)
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"a","exp":1}`)) + ".sig"
	post(t, front.URL+"/x", "k", ``, header("Authorization", "Bearer "+token)).is(t, 400, "client_unknown", false)
	post(t, front.URL+"/x", "k", ``, func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Set("Cookie", "s=1") }).is(t, 400, "client_unknown", false)
	if u.count() != 0 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
}

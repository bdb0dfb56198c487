package httpkey_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker/httpkey"
)

// TestJ06_ReplayIsByteForByte: the answer comes back as it was, from the journal
// and marked, whenever the same request comes again; cookies do not.
func TestJ06_ReplayIsByteForByte(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	c := config(openStore(t))
	c.Retention = 24 * time.Hour
	front := proxy(t, c, u.URL)
	first := post(t, front.URL+"/refunds?dry=no", "k-6", `{"amount":500}`)
	again := post(t, front.URL+"/refunds?dry=no", `"k-6"`, `{"amount":500}`) // the draft's form of the same key
	if first.status != 201 || first.header.Get("Idempotency-Replayed") != "" || first.header.Get("Set-Cookie") == "" {
		t.Errorf("first: %+v", first)
	}
	if again.status != 201 || again.body != first.body || again.header.Get("Set-Cookie") != "" {
		t.Errorf("again: %+v", again)
	}
	for _, name := range []string{"Content-Type", "Location", "Landed-Effect"} {
		if again.header.Get(name) != first.header.Get(name) || again.header.Get(name) == "" {
			t.Errorf("%s: %q, then %q", name, first.header.Get(name), again.header.Get(name))
		}
	}
	for _, name := range []string{"Idempotency-Replayed", "Idempotent-Replayed"} {
		if again.header.Get(name) != "true" {
			t.Errorf("%s: %q", name, again.header.Get(name))
		}
	}
	for _, g := range []got{first, again} {
		at, err := http.ParseTime(g.header.Get("Idempotency-Expires"))
		if err != nil || time.Until(at) < 23*time.Hour || time.Until(at) > 24*time.Hour {
			t.Errorf("expires %q", g.header.Get("Idempotency-Expires"))
		}
	}
	if u.count() != 1 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
	r := u.last()
	if r.URL.RequestURI() != "/refunds?dry=no" || r.Header.Get("Idempotency-Key") != "" || !journal.ValidRef(r.Header.Get("Landed-Reference")) {
		t.Errorf("the upstream got %s with %v", r.URL, r.Header)
	}
}

// TestJ11_NoKeyIsNoCall: a missing, empty, blank, doubled or overlong key is an
// error before any write, and says what to do.
func TestJ11_NoKeyIsNoCall(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	for _, tt := range []struct {
		name, code, says string
		change           func(*http.Request)
	}{
		{"missing", "key_missing", "Send a header Idempotency-Key", func(*http.Request) {}},
		{"empty", "key_invalid", "is empty", header("Idempotency-Key", "")},
		{"blank string", "key_invalid", "blank", header("Idempotency-Key", `"   "`)},
		{"twice", "key_invalid", "more than once", func(r *http.Request) { r.Header["Idempotency-Key"] = []string{"a", "b"} }},
		{"too long", "key_invalid", "at most 255", header("Idempotency-Key", strings.Repeat("k", 256))},
		{"in the arguments", "key_missing", "Send a header", func(r *http.Request) { r.URL.RawQuery = "idempotency_key=k" }},
	} {
		g := post(t, front.URL+"/refunds", "", `{"idempotency_key":"k"}`, tt.change)
		g.is(t, 400, tt.code, false)
		if p := g.problem(t); !strings.Contains(p.Detail, tt.says) {
			t.Errorf("%s: %s", tt.name, p.Detail)
		}
	}
	if u.count() != 0 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
}

// TestJ09_OtherPayloadIsRefused: one key, another body, query, content type:
// 422 that names what differs, and the first stands.
func TestJ09_OtherPayloadIsRefused(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	front := proxy(t, config(openStore(t)), u.URL)
	first := post(t, front.URL+"/refunds", "k-9", `{"amount":500}`)
	for _, tt := range []struct {
		name, path, body string
		change           func(*http.Request)
		want             []string
	}{
		{"body", "/refunds", `{"amount":600}`, func(*http.Request) {}, []string{"body"}},
		{"white space in the body", "/refunds", `{"amount": 500}`, func(*http.Request) {}, []string{"body"}},
		{"query", "/refunds?x=1", `{"amount":500}`, func(*http.Request) {}, []string{"query"}},
		{"content type", "/refunds", `{"amount":500}`, header("Content-Type", "text/plain"), []string{"content_type"}},
	} {
		g := post(t, front.URL+tt.path, "k-9", tt.body, tt.change)
		g.is(t, 422, "key_reused", false)
		p := g.problem(t)
		if diff := cmp.Diff(tt.want, p.Fields); diff != "" || p.EffectID != first.header.Get("Landed-Effect") {
			t.Errorf("%s: %s, effect %s", tt.name, diff, p.EffectID)
		}
		if strings.Contains(g.body, "500") {
			t.Errorf("%s: the refusal shows the first request: %s", tt.name, g.body)
		}
	}
	if g := post(t, front.URL+"/refunds", "k-9", `{"amount":500}`); g.body != first.body || u.count() != 1 {
		t.Errorf("the first does not stand: %+v, %d requests", g, u.count())
	}
}

// TestJ10_KeysOfClientsAndRoutesNeverMeet: one key of two clients, or on two
// routes, is two effects, each with its own answer.
func TestJ10_KeysOfClientsAndRoutesNeverMeet(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+r.URL.Path+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
	})
	front := proxy(t, config(openStore(t)), u.URL)
	ways := []struct {
		path   string
		change func(*http.Request)
		want   string
	}{
		{"/invoices", func(*http.Request) {}, "POST/invoicesBearer sk_1"},
		{"/invoices/pay", func(*http.Request) {}, "POST/invoices/payBearer sk_1"},
		{"/invoices", func(r *http.Request) { r.Method = http.MethodPatch }, "PATCH/invoicesBearer sk_1"},
		{"/invoices", header("Authorization", "Bearer sk_2"), "POST/invoicesBearer sk_2"},
		{"/invoices", func(r *http.Request) { r.Header.Del("Authorization") }, "POST/invoices"},
		{"/invoices", func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Set("X-Api-Key", "sk_1") }, "POST/invoicessk_1"},
	}
	for range 2 {
		for _, w := range ways {
			if g := post(t, front.URL+w.path, "order-1", `{}`, w.change); g.body != w.want {
				t.Errorf("%q, want %q", g.body, w.want)
			}
		}
	}
	if u.count() != len(ways) {
		t.Errorf("the upstream saw %d requests, want %d", u.count(), len(ways))
	}
}

// TestJ14_FiftyAtOnce: one key, fifty goroutines, two guards on one journal: one
// effect; everybody else is told to come back, and then gets its answer.
func TestJ14_FiftyAtOnce(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		created(w, r)
	})
	s := openStore(t)
	fronts := []string{proxy(t, config(s), u.URL).URL, proxy(t, config(s), u.URL).URL}
	var turnedAway atomic.Int32
	var once sync.Once
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for {
				g, err := postTo(context.WithoutCancel(t.Context()), fronts[i%2]+"/refunds", "k-14", `{"amount":500}`)
				switch {
				case err != nil:
					t.Error(err)
					return
				case g.status == 201:
					if g.body != `{"id":"re_1", "amount": 500}`+"\n" {
						t.Errorf("answered %q", g.body)
					}
					return
				case g.status != 409 || g.header.Get("Retry-After") == "":
					t.Errorf("answered %d %s", g.status, g.body)
					return
				}
				if turnedAway.Add(1) >= 49 {
					once.Do(func() { close(release) })
				}
				<-time.After(5 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	if u.count() != 1 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
}

// TestWait: a request that comes while the first runs waits for its answer, if it
// may; one whose upstream could not be reached is tried again.
func TestWait(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		created(w, r)
	})
	l := &lossy{Store: openStore(t)}
	c := config(l)
	c.Wait = 10 * time.Second
	front := proxy(t, c, u.URL)
	answers := make(chan got, 2)
	send := func() {
		g, err := postTo(context.WithoutCancel(t.Context()), front.URL+"/refunds", "k", `{}`)
		if err != nil {
			t.Error(err)
		}
		answers <- g
	}
	go send()
	<-arrived
	before := l.count("begin")
	go send()
	eventually(t, "a second look", func() bool { return l.count("begin") > before+1 })
	close(release)
	if a, b := <-answers, <-answers; a.status != 201 || b.status != 201 || a.body != b.body || u.count() != 1 {
		t.Errorf("answered %+v and %+v, %d requests", a, b, u.count())
	}

	address := freeAddress(t)
	c.Namespace = "other"
	front = proxy(t, c, "http://"+address)
	before = l.count("fail")
	go send()
	eventually(t, "a failed try", func() bool { return l.count("fail") > before })
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("somebody took the address meanwhile: %v", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(created), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close() })
	if g := <-answers; g.status != 201 {
		t.Errorf("answered %+v", g)
	}
}

// TestJ16_PanicIsNotAFailure: a handler that did its work and then panicked may
// have had its effect: nothing is repeated.
func TestJ16_PanicIsNotAFailure(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	s := openStore(t)
	front := guarded(t, config(s), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		effects.Add(1)
		panic("reading the answer")
	}))
	for range 3 {
		post(t, front.URL+"/refunds", "k-16", `{}`).is(t, 409, "outcome_unknown", false)
	}
	if effects.Load() != 1 {
		t.Errorf("%d effects", effects.Load())
	}
}

// TestJ17_RefusalIsReplayed: a refusal has a final state and comes back as it
// was, also one that is not text; one that is too large comes back as a problem.
func TestJ17_RefusalIsReplayed(t *testing.T) {
	t.Parallel()
	large := `{"error":"` + strings.Repeat("x", 3000) + `"}`
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			status(404, large)(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(422)
		_, _ = io.WriteString(w, "{\"detail\":\"amount < 1\"}\n\nand more\r\n")
	})
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	first := post(t, front.URL+"/refunds", "k-17", `{}`)
	again := post(t, front.URL+"/refunds", "k-17", `{}`)
	if first.status != 422 || again.status != 422 || first.body != again.body || !strings.HasSuffix(again.body, "and more\r\n") ||
		again.header.Get("Content-Type") != "application/problem+json" || again.header.Get("Idempotency-Replayed") != "true" || again.header.Get("Set-Cookie") != "" {
		t.Errorf("first %+v\nagain %+v", first, again)
	}
	if got := state(t, s, again.header.Get("Landed-Effect")); got != journal.StateRejected {
		t.Errorf("state %s", got)
	}
	if g := post(t, front.URL+"/large", "k-17", `{}`); g.status != 404 || g.body != large {
		t.Errorf("large: %d %.50q", g.status, g.body)
	}
	g := post(t, front.URL+"/large", "k-17", `{}`)
	g.is(t, 404, "refused", false)
	if p := g.problem(t); p.Executed == nil || *p.Executed {
		t.Errorf("large again: %s", g.body)
	}
	if u.count() != 2 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
}

// TestJ19_ClientGoneAway: the client gives up while the upstream works; the
// outcome is recorded all the same, and the next request gets it.
func TestJ19_ClientGoneAway(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		created(w, r)
	})
	front := proxy(t, config(openStore(t)), u.URL)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := postTo(ctx, front.URL+"/refunds", "k-19", `{}`)
		gone <- err
	}()
	<-arrived
	cancel()
	if err := <-gone; err == nil {
		t.Fatal("the client did not go away")
	}
	post(t, front.URL+"/refunds", "k-19", `{}`).is(t, 409, "in_progress", true)
	close(release)
	var g got
	eventually(t, "a replay", func() bool {
		g = post(t, front.URL+"/refunds", "k-19", `{}`)
		return g.status == 201
	})
	if g.header.Get("Idempotency-Replayed") != "true" || u.count() != 1 {
		t.Errorf("answered %+v, %d requests", g, u.count())
	}
}

// TestJ20_JournalDown: before the effect nothing is called; after it the client
// hears that it was done, and nothing repeats it.
func TestJ20_JournalDown(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	l := &lossy{Store: openStore(t)}
	c := config(l)
	c.Worker.ReportWithin = 300 * time.Millisecond
	front := proxy(t, c, u.URL)

	l.set(true, "register", "begin")
	post(t, front.URL+"/refunds", "k-20", `{}`).is(t, 503, "journal_unavailable", true)
	l.set(false, "register")
	eventually(t, "a registration", func() bool { // of what was refused a moment ago
		post(t, front.URL+"/refunds", "k-20", `{}`).is(t, 503, "journal_unavailable", true)
		return l.tried("begin")
	})
	if u.count() != 0 {
		t.Fatalf("the upstream was called %d times without an intent", u.count())
	}

	l.set(false, "begin")
	l.set(true, "commit")
	g := post(t, front.URL+"/refunds", "k-20", `{}`)
	if g.status != 201 || g.header.Get("Landed-Recorded") != "false" {
		t.Errorf("answered %+v", g)
	}
	l.set(false, "commit")
	again := post(t, front.URL+"/refunds", "k-20", `{}`)
	if again.status != 409 || u.count() != 1 {
		t.Errorf("answered %+v, %d requests", again, u.count())
	}
}

// TestJ01_NotRecordedGetsStuck: the process dies between the upstream's answer
// and the record. Nothing repeats it: once the lease is over, a person decides.
func TestJ01_NotRecordedGetsStuck(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	l := &lossy{Store: openStore(t)}
	c := config(l)
	c.Lease, c.Tool.ClientTimeout, c.Worker.ReportWithin = time.Second, time.Second, 300*time.Millisecond
	front := proxy(t, c, u.URL)
	l.set(true, "commit", "fail")
	first := post(t, front.URL+"/refunds", "k-1", `{}`)
	l.set(false, "commit", "fail")
	var g got
	eventually(t, "a parked effect", func() bool {
		g = post(t, front.URL+"/refunds", "k-1", `{}`)
		return g.problem(t).Code == "outcome_unknown"
	})
	p := g.problem(t)
	if id := first.header.Get("Landed-Effect"); p.EffectID != id || p.Desk != "https://desk.example.com/e/"+id {
		t.Errorf("problem %+v", p)
	}
	decide(t, l.Store, p.EffectID, func(d *journal.Decision) { d.Verb, d.ProviderID = journal.VerbCloseLanded, "re_1" })
	g = post(t, front.URL+"/refunds", "k-1", `{}`)
	g.is(t, 200, "answer_not_kept", false)
	if p := g.problem(t); p.Executed == nil || !*p.Executed || !strings.Contains(g.body, `"provider_id":"re_1"`) {
		t.Errorf("after the decision: %s", g.body)
	}
	if u.count() != 1 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
}

// TestJ28_PurgedKeyIsGone: a key whose effect was purged is 410 and is never
// executed again.
func TestJ28_PurgedKeyIsGone(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, created)
	s := openStore(t)
	front := proxy(t, config(s), u.URL)
	post(t, front.URL+"/refunds", "k-28", `{}`)
	eventually(t, "a purge", func() bool {
		n, err := s.Purge(t.Context(), time.Millisecond, 10)
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
	post(t, front.URL+"/refunds", "k-28", `{}`).is(t, 410, "expired", false)
	if u.count() != 1 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
}

// TestUnguarded: other methods and routes go past the guard.
func TestUnguarded(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Method, r.Header.Get("Idempotency-Key"))
	})
	c := config(openStore(t))
	c.Routes = []string{"POST /refunds/{id}", "PUT /x"}
	front := proxy(t, c, u.URL)
	method := func(m string) func(*http.Request) { return func(r *http.Request) { r.Method = m } }
	for range 2 {
		for path, m := range map[string]string{"/a": "GET", "/b": "DELETE", "/refunds": "POST", "/c": "PATCH"} {
			if g := post(t, front.URL+path, "k", "{}", method(m)); g.body != m+"k" {
				t.Errorf("%s %s: %+v", m, path, g)
			}
		}
	}
	post(t, front.URL+"/refunds/1", "", "{}").is(t, 400, "key_missing", false)
	post(t, front.URL+"//refunds/1", "", "{}").is(t, 400, "key_missing", false)
	post(t, front.URL+"/x", "", "{}", method("PUT")).is(t, 400, "key_missing", false)
	if u.count() != 8 {
		t.Errorf("the upstream saw %d requests", u.count())
	}
}

// TestNew_Refuses: what can't work is refused at start, in words.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, says string
		change     func(*httpkey.Config)
	}{
		{"no journal", "a journal is needed", func(c *httpkey.Config) { c.Journal = nil }},
		{"no name", "name", func(c *httpkey.Config) { c.Tool.Name = "" }},
		{"read only", "read_only", func(c *httpkey.Config) { c.Tool.Class = journal.ClassReadOnly }},
		{"no key window", "key_window", func(c *httpkey.Config) { c.Tool.Class = journal.ClassProviderIdempotent }},
		{"route without method", "must begin with a method", func(c *httpkey.Config) { c.Routes = []string{"/refunds"} }},
		{"safe route", "must begin with a method", func(c *httpkey.Config) { c.Routes = []string{"GET /refunds"} }},
		{"broken route", "can't be used", func(c *httpkey.Config) { c.Routes = []string{"POST /{"} }},
		{"large body", "largest body", func(c *httpkey.Config) { c.MaxBody = 1 << 20 }},
		{"large answer", "largest answer", func(c *httpkey.Config) { c.MaxAnswer = 8 << 20 }},
		{"retry of an open question", "503 is no refusal", func(c *httpkey.Config) { c.Retryable = []int{503} }},
		{"desk", "desk's address", func(c *httpkey.Config) { c.DeskURL = "desk.example.com" }},
		{"namespace", "namespace", func(c *httpkey.Config) { c.Namespace = "a b" }},
	} {
		c := config(&lossy{})
		tt.change(&c)
		if _, err := httpkey.New(c); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

package worker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// probe runs one attempt of f and returns what was recorded of it, and the
// error that f saw.
func probe(t *testing.T, class journal.Class, o worker.Options, f func(ctx context.Context) error) (journal.Attempt, error) {
	t.Helper()
	j := workertest.NewMemory()
	var seen error
	s := spec("probe", class, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
		seen = f(ctx)
		return worker.Outcome{}, seen
	})
	o.Patience = -1
	w := newFixtureWith(t, j, s, o)
	_, _ = w.Do(t.Context(), on("probe", "k"))
	_, attempts, ok := j.Effect("k")
	if !ok || len(attempts) != 1 {
		t.Fatalf("%d attempts recorded, want 1", len(attempts))
	}
	return attempts[0], seen
}

func post(ctx context.Context, url string) error {
	client, err := worker.Client(ctx)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"n":1}`))
	if err != nil {
		return err
	}
	_, err = worker.Classifier{}.Send(client, req)
	return err
}

// reset answers by closing the connection after the request was counted.
func reset(w http.ResponseWriter, _ *http.Request) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

func TestR05_PhaseOfTransportFailures(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	tls := httptest.NewTLSServer(http.NotFoundHandler()) // its certificate is not trusted
	t.Cleanup(tls.Close)
	tls.Config.ErrorLog = nil
	resets := workertest.NewProvider(t, reset)
	proxy := workertest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	proxyURL, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, url string
		base      *http.Transport
		want      journal.Phase
	}{
		{"dial refused", "http://" + closed.Addr().String(), nil, journal.PhaseNotSent},
		{"no such host", "http://nowhere.invalid", nil, journal.PhaseNotSent},
		{"TLS refused", tls.URL, nil, journal.PhaseNotSent},
		{"proxy refused the tunnel", "https://provider.invalid", &http.Transport{Proxy: http.ProxyURL(proxyURL)}, journal.PhaseNotSent},
		{"proxy answers for the provider", "http://provider.invalid", &http.Transport{Proxy: http.ProxyURL(proxyURL)}, journal.PhaseSent},
		{"applied, then reset", resets.URL, nil, journal.PhaseSent},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a, err := probe(t, journal.ClassAtMostOnce, worker.Options{Base: row.base}, func(ctx context.Context) error { return post(ctx, row.url) })
			if a.Phase != row.want {
				t.Errorf("phase %q after %v, want %s", a.Phase, err, row.want)
			}
		})
	}
}

func TestR05_ClientLibraryCannotRetryAPost(t *testing.T) {
	t.Parallel()
	unavailable := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	for _, row := range []struct {
		class  journal.Class
		answer http.HandlerFunc
		want   int
	}{
		{journal.ClassAtMostOnce, reset, 1},
		{journal.ClassAtMostOnce, unavailable, 1},
		{journal.ClassJournalDeduped, reset, 1},
		{journal.ClassProviderIdempotent, reset, 3},
	} {
		p := workertest.NewProvider(t, row.answer)
		a, err := probe(t, row.class, worker.Options{}, func(ctx context.Context) error {
			var err error
			for range 3 {
				err = post(ctx, p.URL)
			}
			return err
		})
		if p.Count() != row.want || a.Phase != journal.PhaseSent {
			t.Errorf("%s: %d requests, phase %s; want %d, sent", row.class, p.Count(), a.Phase, row.want)
		}
		if row.want == 1 && !errors.Is(err, worker.ErrEarlierUnknown) {
			t.Errorf("%s: the repeat failed with %v, want ErrEarlierUnknown", row.class, err)
		}
	}
}

func TestR05_RefusalAfterAnUnknownRequestStaysUnknown(t *testing.T) {
	t.Parallel()
	n := 0
	p := workertest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			reset(w, r)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
	})
	a, _ := probe(t, journal.ClassProviderIdempotent, worker.Options{}, func(ctx context.Context) error {
		_ = post(ctx, p.URL)
		return post(ctx, p.URL)
	})
	if a.Phase != journal.PhaseSent {
		t.Errorf("phase %s, want sent: the first request may have landed", a.Phase)
	}
}

// dropSecond applies every request and drops the connection of the second.
func dropSecond(t *testing.T) *workertest.Provider {
	var mu sync.Mutex
	n := 0
	return workertest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		drop := n == 2
		mu.Unlock()
		if drop {
			reset(w, r)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	})
}

func TestR06_GoTransportReplaysKeyedPosts(t *testing.T) {
	t.Parallel()
	send := func(ctx context.Context, rt http.RoundTripper, url, body string) error {
		var r io.Reader
		if body != "" {
			r = strings.NewReader(body)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, r)
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", "x")
		resp, err := rt.RoundTrip(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Body.Close()
	}
	for name, body := range map[string]string{"with a body": "x", "without a body": ""} {
		t.Run("net/http alone sends twice and reports success, "+name, func(t *testing.T) {
			t.Parallel()
			p, rt := dropSecond(t), &http.Transport{}
			t.Cleanup(rt.CloseIdleConnections)
			if err := errors.Join(send(t.Context(), rt, p.URL, body), send(t.Context(), rt, p.URL, body)); err != nil || p.Count() != 3 {
				t.Errorf("%d requests, %v; want 3 (one more than sent) and no error: has Go changed?", p.Count(), err)
			}
		})
		t.Run("the worker's transport sends once, "+name, func(t *testing.T) {
			t.Parallel()
			p, rt := dropSecond(t), worker.NewTransport(nil)
			requests := 0
			a, err := probe(t, journal.ClassProviderIdempotent, worker.Options{}, func(ctx context.Context) error {
				if err := send(ctx, rt, p.URL, body); err != nil {
					return err
				}
				err := send(ctx, rt, p.URL, body)
				g, _ := worker.Effect(ctx)
				requests = g.Requests()
				return err
			})
			if p.Count() != 2 || requests != 2 || err == nil || a.Phase != journal.PhaseSent {
				t.Errorf("provider got %d, counted %d, error %v, phase %s; want 2, 2, an error, sent", p.Count(), requests, err, a.Phase)
			}
		})
	}
}

func TestTransport_HTTP2ServerGetsOneHTTP1Request(t *testing.T) {
	t.Parallel()
	var proto string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proto = r.Proto; _, _ = io.WriteString(w, `{}`) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	base, _ := s.Client().Transport.(*http.Transport)
	_, err := probe(t, journal.ClassAtMostOnce, worker.Options{Base: base}, func(ctx context.Context) error { return post(ctx, s.URL) })
	if err != nil || proto != "HTTP/1.1" {
		t.Errorf("protocol %q, error %v; want HTTP/1.1", proto, err)
	}
}

func TestTransport_RefusesWithoutGrant(t *testing.T) {
	t.Parallel()
	p := workertest.NewProvider(t, nil)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL, strings.NewReader("x"))
	if _, err := worker.NewTransport(nil).RoundTrip(req); !errors.Is(err, worker.ErrNoGrant) {
		t.Errorf("RoundTrip = %v, want ErrNoGrant", err)
	}
	if _, err := worker.Client(t.Context()); !errors.Is(err, worker.ErrNoGrant) {
		t.Errorf("Client = %v, want ErrNoGrant", err)
	}
	if _, err := worker.RefFrom(t.Context()); !errors.Is(err, worker.ErrNoGrant) {
		t.Errorf("RefFrom = %v, want ErrNoGrant", err)
	}
	if err := worker.Sending(t.Context()); !errors.Is(err, worker.ErrNoGrant) {
		t.Errorf("Sending = %v, want ErrNoGrant", err)
	}
	if p.Count() != 0 {
		t.Error("the provider was called")
	}
}

func TestTransport_NothingLeavesAfterTheToolReturned(t *testing.T) {
	t.Parallel()
	p := workertest.NewProvider(t, nil)
	var kept context.Context
	a, _ := probe(t, journal.ClassAtMostOnce, worker.Options{}, func(ctx context.Context) error {
		kept = context.WithoutCancel(ctx) // a goroutine that was left behind
		return errors.New("gave up")
	})
	if err := post(kept, p.URL); !errors.Is(err, worker.ErrGrantOver) {
		t.Errorf("a late request: %v, want ErrGrantOver", err)
	}
	if a.Phase != journal.PhaseNotSent || p.Count() != 0 {
		t.Errorf("phase %s with %d requests, want not_sent with none", a.Phase, p.Count())
	}
}

func TestTransport_RefusesAfterSendBy(t *testing.T) {
	t.Parallel()
	p := workertest.NewProvider(t, nil)
	late := worker.Options{Base: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		<-time.After(1300 * time.Millisecond) // the dial outlasts send_by; the check is at the first byte
		return c, err
	}}}
	j := workertest.NewMemory()
	j.Fault(func(call string) error {
		if call == "heartbeat" {
			return journal.ErrUnavailable
		}
		return nil
	})
	var seen error
	s := spec("slow", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
		seen = post(ctx, p.URL)
		return worker.Outcome{}, seen
	})
	late.Patience = -1
	w := newFixtureWith(t, j, s, late)
	c := on("slow", "k")
	c.Lease = time.Second
	a, _ := w.Do(t.Context(), c)
	_, attempts, _ := j.Effect("k")
	if !errors.Is(seen, worker.ErrTooLate) || p.Count() != 0 || attempts[0].Phase != journal.PhaseNotSent {
		t.Errorf("error %v, %d requests, phase %s (%s); want ErrTooLate, none, not_sent", seen, p.Count(), attempts[0].Phase, a.Status)
	}
}

func TestTransport_ProviderKeyHeader(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		header string
		dashed bool
		preset string
		want   func(g *worker.Grant) string
	}{
		{"none unless the tool says so", "", false, "", func(*worker.Grant) string { return "" }},
		{"set", "Idempotency-Key", false, "", (*worker.Grant).ProviderKey},
		{"dashed", "Idempotency-Key", true, "", func(g *worker.Grant) string { return journal.Dashed(g.ProviderKey()) }},
		{"a library's random key is replaced", "Idempotency-Key", false, "random", (*worker.Grant).ProviderKey},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := workertest.NewProvider(t, nil)
			var want string
			s := spec("pay", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
				g, _ := worker.Effect(ctx)
				want = row.want(g)
				client, _ := worker.Client(ctx)
				req, _ := http.NewRequest(http.MethodPost, p.URL, strings.NewReader("x")) // without the context: Client lends its grant
				if row.preset != "" {
					req.Header.Set(row.header, row.preset)
				}
				return worker.Classifier{}.Send(client, req)
			})
			s.KeyHeader, s.KeyDashed = row.header, row.dashed
			if a, err := newFixture(t, workertest.NewMemory(), s).Do(t.Context(), on("pay", "k")); err != nil || a.Status != worker.StatusDone {
				t.Fatalf("Do = %s, %v", a.Status, err)
			}
			if got := p.Requests()[0].Header.Get("Idempotency-Key"); got != want {
				t.Errorf("Idempotency-Key = %q, want %q", got, want)
			}
		})
	}
}

func TestTransport_RedirectsOfChangesAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, code := range []int{302, 303, 307, 308} {
		p := workertest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/elsewhere", code)
			}
		})
		for name, f := range map[string]func(ctx context.Context) error{
			"own client": func(ctx context.Context) error { return post(ctx, p.URL+"/") },
			"a library's client": func(ctx context.Context) error {
				c := &http.Client{Transport: worker.NewTransport(nil)}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/", strings.NewReader("x"))
				_, err := worker.Classifier{}.Send(c, req)
				return err
			},
		} {
			before := p.Count()
			_, err := probe(t, journal.ClassAtMostOnce, worker.Options{}, f)
			if got := p.Count() - before; got != 1 || err == nil {
				t.Errorf("%d, %s: %d requests, error %v; want 1 and an error", code, name, got, err)
			}
			var f *worker.Failure
			if name == "own client" && (!errors.As(err, &f) || f.Verdict.Status != code) {
				t.Errorf("%d: the redirect itself is the answer to judge, got %v", code, err)
			}
		}
	}
}

func TestReading_DoesNotCountAsSent(t *testing.T) {
	t.Parallel()
	p := workertest.NewProvider(t, nil)
	a, err := probe(t, journal.ClassAtMostOnce, worker.Options{}, func(ctx context.Context) error {
		client, _ := worker.Client(worker.Reading(ctx))
		resp, err := client.Get(p.URL)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		return post(worker.Reading(ctx), p.URL)
	})
	if !errors.Is(err, worker.ErrReadingOnly) || p.Count() != 1 || a.Phase != journal.PhaseNotSent {
		t.Errorf("error %v, %d requests, phase %s; want ErrReadingOnly, 1, not_sent", err, p.Count(), a.Phase)
	}
	a, _ = probe(t, journal.ClassAtMostOnce, worker.Options{}, func(ctx context.Context) error {
		client, _ := worker.Client(ctx)
		resp, err := client.Get(p.URL)
		if err == nil {
			_ = resp.Body.Close()
		}
		return errors.New("gave up")
	})
	if a.Phase != journal.PhaseSent {
		t.Errorf("a GET that is not marked: phase %s, want sent", a.Phase)
	}
}

func TestUntrackedTool_AnErrorProvesNothing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		err  error
		want journal.Phase
	}{
		{"plain error", errors.New("x"), journal.PhaseSent},
		{"the tool's word", worker.NotSent(errors.New("x")), journal.PhaseNotSent},
	} {
		j := workertest.NewMemory()
		s := spec("t", journal.ClassAtMostOnce, func(context.Context, worker.Call) (worker.Outcome, error) { return worker.Outcome{}, row.err })
		s.Tracked = false
		_, _ = newFixtureWith(t, j, s, worker.Options{Patience: -1}).Do(t.Context(), on("t", "k"))
		if _, attempts, _ := j.Effect("k"); attempts[0].Phase != row.want {
			t.Errorf("%s: phase %s, want %s", row.name, attempts[0].Phase, row.want)
		}
	}
}

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

// plainService is a service without idempotency.
type plainService struct {
	*httptest.Server
	n atomic.Int32
	r atomic.Pointer[http.Request]
}

func newPlainService(t *testing.T, before func()) *plainService {
	t.Helper()
	c := &plainService{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.n.Add(1)
		c.r.Store(r.Clone(context.WithoutCancel(r.Context())))
		if before != nil {
			before()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"p-1"}`)
	}))
	t.Cleanup(c.Close)
	return c
}

// runProxy runs the command until the test ends and returns its address and what
// ends it.
func runProxy(t *testing.T, args ...string) (address string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var out output
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"--log-level", "error", "proxy", "--listen", "127.0.0.1:0"}, args...), stdio{strings.NewReader(""), &out, &out})
	}()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	ready := regexp.MustCompile(`landed: proxy ready at (http://\S+)`)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); ; {
		if m := ready.FindStringSubmatch(out.String()); m != nil {
			return m[1], stop
		}
		select {
		case <-end:
			t.Fatalf("the proxy did not get ready: %s", out.String())
		case err := <-ended:
			ended <- err
			t.Fatalf("the proxy ended: %v, %s", err, out.String())
		case <-tick.C:
		}
	}
}

// send may be called by any goroutine of a test.
func send(t *testing.T, address, key string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, address, strings.NewReader(`{"amount":500}`))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	r.Header.Set("Idempotency-Key", key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	return res.StatusCode, string(b)
}

func secretFile(t *testing.T, secret string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file:" + path
}

// TestProxy_OverHTTP: in front of a service, with the journal behind the worker
// API: one effect per key, and what the upstream sees of the client.
func TestProxy_OverHTTP(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	service := newPlainService(t, nil)
	address, stop := runProxy(t, "--upstream", service.URL+"/base", "--journal", apitest.Serve(t, store), "--token", secretFile(t, apitest.Token(t, store, "proxy")),
		"--tool-name", "refund", "--route", "POST /refunds/{id}", "--client", "header:X-Client")
	for range 2 {
		if code, body := send(t, address+"/refunds/a%2Fb?x=1;y", "k", "X-Client", "a", "X-Forwarded-For", "6.6.6.6", "X-Forwarded-Host", "evil", "Connection", "X-Hop", "X-Hop", "1"); code != 200 || body != `{"id":"p-1"}` {
			t.Fatalf("answered %d %s", code, body)
		}
	}
	r := service.r.Load()
	if r.RequestURI != "/base/refunds/a%2Fb?x=1;y" || r.Header.Get("X-Forwarded-For") != "127.0.0.1" || r.Header.Get("X-Forwarded-Host") == "evil" ||
		r.Header.Get("X-Hop") != "" || r.Host != strings.TrimPrefix(service.URL, "http://") || r.Header.Get("Idempotency-Key") != "" {
		t.Errorf("the service got %s %s %v", r.Host, r.RequestURI, r.Header)
	}
	if code, body := send(t, address+"/refunds/1", "k"); code != 400 || !strings.Contains(body, "client_unknown") {
		t.Errorf("without a client: %d %s", code, body)
	}
	page, err := store.List(t.Context(), journal.ListFilter{State: journal.StateCommitted, Limit: 10})
	if service.n.Load() != 1 || err != nil {
		t.Errorf("%d effects, %+v, %v", service.n.Load(), page, err)
	}
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestProxy_OnTheDatabase: with a configuration and no server between; a request
// that is under way when it is stopped is answered and recorded.
func TestProxy_OnTheDatabase(t *testing.T) {
	t.Parallel()
	dsn := journaltest.Database(t, postgres.Migrate)
	arrived, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	service := newPlainService(t, func() { once.Do(func() { close(arrived) }); <-release })
	path := filepath.Join(t.TempDir(), "landed.yaml")
	yaml := "external_url: https://desk.example.com\ndatabase: " + secretFile(t, dsn) + "\nretention: 720h\nlogin: {issuer: https://id.example.com, client_id: landed, client_secret: env:NOT_READ, roles: {operator: [oncall]}}\n"
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	address, stop := runProxy(t, "--upstream", service.URL, "--config", path, "--client", "one")
	answered := make(chan string, 1)
	go func() {
		_, body := send(t, address+"/refunds", "k")
		answered <- body
	}()
	<-arrived
	if code, body := send(t, address+"/refunds", "k"); code != 409 || !strings.Contains(body, `"desk":"https://desk.example.com/e/`) {
		t.Errorf("answered %d %s", code, body)
	}
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	close(release)
	if body := <-answered; body != `{"id":"p-1"}` {
		t.Errorf("answered %s", body)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	again, _ := runProxy(t, "--upstream", service.URL, "--config", path, "--client", "one")
	if code, body := send(t, again+"/refunds", "k"); code != 200 || body != `{"id":"p-1"}` || service.n.Load() != 1 {
		t.Errorf("after a restart: %d %s, %d effects", code, body, service.n.Load())
	}
}

// TestProxy_Refuses: a command line that can't work is refused with what to do.
func TestProxy_Refuses(t *testing.T) {
	t.Parallel()
	base := []string{"--upstream", "http://127.0.0.1:1", "--journal", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"}
	token := secretFile(t, "secret")
	for _, tt := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"no journal", []string{"--upstream", "http://x"}, exitUsage, "--journal"},
		{"no upstream", []string{"--journal", "http://x"}, exitUsage, "--upstream"},
		{"both journals", append(base, "--config", "main.go"), exitUsage, "--config"},
		{"no token", base, exitUsage, "--journal needs --token"},
		{"token on the command line", append(base, "--token", "s3cret"), exitUsage, "env:NAME or file:/path"},
		{"unknown class", append(base, "--token", token, "--class", "read_only"), exitUsage, "--class"},
		{"unknown client", append(base, "--token", token, "--client", "cookie"), exitUsage, "none of credential"},
		{"upstream with a query", append(base[2:], "--token", token, "--upstream", "http://x/?a=b"), exitFailed, "must be an http or https URL"},
		{"no key window", append(base, "--token", token, "--class", "provider_idempotent"), exitFailed, "key_window"},
		{"route", append(base, "--token", token, "--route", "/refunds"), exitFailed, "must begin with a method"},
	} {
		var out output
		err := run(t.Context(), append([]string{"proxy"}, tt.args...), stdio{strings.NewReader(""), &out, &out})
		if got := exitStatus(err); got != tt.want || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: exit status %d, it printed %q", tt.name, got, out.String())
		}
	}
}

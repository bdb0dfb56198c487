package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/postgres"
)

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for _, c := range []client.Config{
		{Token: "x"}, {BaseURL: "landed:8080", Token: "x"}, {BaseURL: "ftp://h", Token: "x"}, {BaseURL: "http://h/?a=b", Token: "x"},
		{BaseURL: "http://u:p@h", Token: "x"}, {BaseURL: "http://h"}, {BaseURL: "http://h", Token: "a b"}, {BaseURL: "http://h", Token: "a\n"},
	} {
		if _, err := client.New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func ask(t *testing.T, h http.HandlerFunc, change ...func(*client.Config)) error {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	cfg := client.Config{BaseURL: s.URL, Token: "secret"}
	for _, f := range change {
		f(&cfg)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Begin(t.Context(), request("k"))
	return err
}

func request(key string) journal.BeginRequest {
	return journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: "mail.send", RootRun: "r", Operation: "send", Args: []byte(`{}`), Lease: 30 * time.Second}
}

func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	page := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "https://elsewhere.test/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const problem = "application/problem+json"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error // nil = a *client.StatusError
	}{
		"a proxy's 502":            {page(502, "text/html", "<html>"), journal.ErrUnavailable},
		"a proxy's 503":            {page(503, "text/html", "<html>"), journal.ErrUnavailable},
		"a proxy's 504":            {page(504, "text/html", "<html>"), journal.ErrUnavailable},
		"a gateway's 429":          {page(429, "application/json", "{}"), journal.ErrUnavailable},
		"journal 503":              {page(503, problem, `{"code":"unavailable"}`), journal.ErrUnavailable},
		"journal restored":         {page(503, problem, `{"code":"journal_restored"}`), journal.ErrRestored},
		"a 409 of a conflict":      {page(409, problem, `{"code":"conflict"}`), journal.ErrConflict},
		"a garbled 200":            {page(200, "application/json", `{"directive":`), journal.ErrUnavailable},
		"a 200 without directive":  {page(200, "application/json", `{}`), journal.ErrUnavailable},
		"a page with 200":          {page(200, "text/html", `<html>`), journal.ErrUnavailable},
		"no valid token":           {page(401, problem, `{"code":"unauthorized"}`), nil},
		"another namespace":        {page(403, problem, `{"code":"forbidden"}`), nil},
		"a fault":                  {page(500, problem, `{"code":"internal","request_id":"r7"}`), nil},
		"a code of a newer server": {page(418, problem, `{"code":"teapot"}`), nil},
		"no journal":               {page(404, "text/html", "<html>"), nil},
		"a redirect":               {page(307, "text/html", ""), nil},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"directive":"execute"`)
		}, journal.ErrUnavailable},
		"hung up": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, journal.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ask(t, c.answer)
			var status *client.StatusError
			if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !errors.As(err, &status) {
				t.Errorf("got %v (%T), want %v", err, err, c.want)
			}
			if c.want == nil && errors.Is(err, journal.ErrUnavailable) {
				t.Errorf("%v counts as unavailable: it would be tried again in vain", err)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	c, err := client.New(client.Config{BaseURL: "http://" + addr, Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.EffectByKey(t.Context(), "", "anna@example.test"); !errors.Is(err, journal.ErrUnavailable) || strings.Contains(err.Error(), "anna") {
		t.Errorf("a refused connection is %v: want unavailable, and no key", err)
	}
}

// A report that something other than a journal answered was not taken.
func TestReports_AnsweredByOthers(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer s.Close()
	c, err := client.New(client.Config{BaseURL: s.URL, Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	rep := journal.Report{EffectID: journal.NewID(time.Now()), Attempt: 1, LeaseToken: journal.NewToken(), Key: "k", Tool: "mail.send"}
	if _, err := c.Commit(t.Context(), journal.CommitRequest{Report: rep}); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("commit: %v", err)
	}
	if _, err := c.Fail(t.Context(), journal.FailRequest{Report: rep, Phase: journal.PhaseSent}); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("fail: %v", err)
	}
	if err := c.Ack(t.Context(), rep.EffectID); err == nil {
		t.Error("ack: a 200 is taken for a 204")
	}
}

// The client's own time-out is a failing journal, the caller's is the caller's.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	err := ask(t, hang, func(c *client.Config) { c.Timeout = 30 * time.Millisecond })
	if !errors.Is(err, journal.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the client's time-out is %v", err)
	}
	s := httptest.NewServer(http.HandlerFunc(hang))
	defer s.Close()
	c, err := client.New(client.Config{BaseURL: s.URL, Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := c.Begin(ctx, request("k")); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("the caller's deadline is %v", err)
	}
}

func TestToken_StaysWithTheJournal(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, with token %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	var seen atomic.Value
	err := ask(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"))
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}, func(c *client.Config) {
		c.HTTPClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	})
	if err == nil || seen.Load() != "Bearer secret" || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, token %v", err, seen.Load())
	}
}

// lossy drops the answer of the first request after the server has carried it
// out: failed, but applied.
type lossy struct {
	http.RoundTripper
	lost atomic.Int32
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	if err == nil && l.lost.Add(1) == 1 {
		_ = res.Body.Close()
		return nil, errors.New("connection reset by peer")
	}
	return res, err
}

func lossyClient(t *testing.T, s *postgres.Store) *client.Client {
	t.Helper()
	hc := &http.Client{Transport: &lossy{RoundTripper: http.DefaultTransport}}
	c, err := client.New(client.Config{BaseURL: apitest.Serve(t, s), Token: apitest.Token(t, s, "w1"), HTTPClient: hc})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	if err := s.RegisterTool(t.Context(), journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	r := request("k")
	c := lossyClient(t, s)
	if _, err := c.Begin(t.Context(), r); !errors.Is(err, journal.ErrUnavailable) {
		t.Fatalf("the lost grant is %v", err)
	}
	a, err := c.Begin(t.Context(), r)
	if err != nil || a.Directive != journal.DirectiveExecute || a.Attempt != 1 {
		t.Fatalf("begin with the same claim answered %+v, %v", a, err)
	}
	commit := journal.CommitRequest{Report: journal.Report{EffectID: a.EffectID, Attempt: 1, LeaseToken: a.LeaseToken, Key: "k", Tool: "mail.send"}, ProviderID: "m1"}
	c = lossyClient(t, s)
	if _, err := c.Commit(t.Context(), commit); !errors.Is(err, journal.ErrUnavailable) {
		t.Fatalf("the lost commit is %v", err)
	}
	if got, err := c.Commit(t.Context(), commit); err != nil || got.State != journal.StateCommitted || got.Double {
		t.Errorf("the repeated commit answered %+v, %v", got, err)
	}
}

func TestEffect(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	c := overHTTP(t, s)
	if err := c.RegisterTool(t.Context(), journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	r := request("k")
	r.Args = []byte("{ } ")
	a, err := c.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Effect(t.Context(), a.EffectID)
	if err != nil || e.ID != a.EffectID || string(e.Args) != "{ } " || len(e.Attempts) != 1 || !e.Live || e.Attempts[0].Worker != "w1" {
		t.Errorf("the effect is %+v, %v", e, err)
	}
	if e, err = c.EffectByKey(t.Context(), "", "k"); err != nil || e.ID != a.EffectID {
		t.Errorf("by key: %+v, %v", e, err)
	}
	if _, err = c.EffectByKey(t.Context(), "", "none"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err = c.Effect(t.Context(), "x"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a malformed id: %v", err)
	}
}

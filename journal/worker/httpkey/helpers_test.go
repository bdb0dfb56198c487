package httpkey_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/httpkey"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

func openStore(t *testing.T) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// upstream is a server without any idempotency: it counts what it did.
type upstream struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request // bodies in Body
}

func newUpstream(t *testing.T, answer http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		kept := r.Clone(context.WithoutCancel(r.Context()))
		kept.Body = io.NopCloser(bytes.NewReader(body))
		u.mu.Lock()
		u.seen = append(u.seen, kept)
		u.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u
}

func (u *upstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.seen)
}

func (u *upstream) last() *http.Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen[len(u.seen)-1]
}

func created(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/refunds/re_1")
	w.Header().Set("Set-Cookie", "session=s3cret")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id":"re_1", "amount": 500}`+"\n")
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// config is a guard on a journal, quick to give up on it.
func config(j worker.Journal) httpkey.Config {
	return httpkey.Config{
		Journal: j, Tool: journal.Tool{Name: "refund", ClientTimeout: 10 * time.Second}, DeskURL: "https://desk.example.com/",
		Worker: worker.Options{Logger: slog.New(slog.DiscardHandler), BeginWithin: 50 * time.Millisecond,
			Backoff: worker.Backoff{Base: 2 * time.Millisecond, Cap: 10 * time.Millisecond}},
	}
}

// guarded serves a handler behind a guard.
func guarded(t *testing.T, c httpkey.Config, h http.Handler) *httptest.Server {
	t.Helper()
	guard, err := httpkey.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(guard(h))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// proxy serves a guarded proxy in front of an address.
func proxy(t *testing.T, c httpkey.Config, address string) *httptest.Server {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpkey.Forward(u, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c.Tracked = true
	return guarded(t, c, h)
}

// got is an answer that was read to its end.
type got struct {
	status int
	header http.Header
	body   string
	err    error // the body broke off
}

// problem is a problem document's members.
func (g got) problem(t *testing.T) (p struct {
	Code, Title, Detail, Desk string
	EffectID                  string   `json:"effect_id"`
	RetryAfter                int      `json:"retry_after_s"`
	Fields                    []string `json:"fields"`
	Executed                  *bool
},
) {
	t.Helper()
	if g.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("answered %d %s %q, not a problem document", g.status, g.header.Get("Content-Type"), g.body)
	}
	if err := json.Unmarshal([]byte(g.body), &p); err != nil {
		t.Fatalf("%q: %v", g.body, err)
	}
	return p
}

// is asserts a problem's status and code, and whether it tells when to come back.
func (g got) is(t *testing.T, status int, code string, comeBack bool) {
	t.Helper()
	p := g.problem(t)
	if g.status != status || p.Code != code {
		t.Fatalf("answered %d %s (%s), want %d %s", g.status, p.Code, p.Detail, status, code)
	}
	if have := g.header.Get("Retry-After") != ""; have != comeBack {
		t.Errorf("%s: Retry-After %q, wanted one: %v", code, g.header.Get("Retry-After"), comeBack)
	}
}

func post(t *testing.T, address, key, body string, change ...func(*http.Request)) got {
	t.Helper()
	g, err := postTo(t.Context(), address, key, body, change...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func postTo(ctx context.Context, address, key, body string, change ...func(*http.Request)) (got, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return got{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk_1")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	for _, f := range change {
		f(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		return got{}, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return got{res.StatusCode, res.Header, string(b), err}, nil
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); ; {
		if ok() {
			return
		}
		select {
		case <-end:
			t.Fatalf("it never came to: %s", what)
		case <-tick.C:
		}
	}
}

// state reads an effect's state.
func state(t *testing.T, s *postgres.Store, id string) journal.State {
	t.Helper()
	snap, err := s.Snapshot(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return snap.Effect.State
}

// decide lets an operator decide on an effect.
func decide(t *testing.T, s *postgres.Store, id string, change func(*journal.Decision)) {
	t.Helper()
	snap, err := s.Snapshot(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d := journal.Decision{
		EffectID: id, Expected: snap.Effect.Version, Digest: snap.EvidenceDigest(), Source: "page", ReasonCode: "confirmed_by_person",
		Reason: "asked the customer by phone", Actor: journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga Operator", Roles: []journal.Role{journal.RoleOperator}},
	}
	change(&d)
	if _, err := s.Decide(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// lossy is a journal whose calls can be made to fail.
type lossy struct {
	*postgres.Store
	mu   sync.Mutex
	down map[string]bool
	came map[string]int
}

// count returns how often a call came.
func (l *lossy) count(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.came[call]
}

func (l *lossy) tried(call string) bool { return l.count(call) > 0 }

func (l *lossy) set(down bool, calls ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down == nil {
		l.down = map[string]bool{}
	}
	for _, c := range calls {
		l.down[c] = down
	}
}

func (l *lossy) lost(call string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.came == nil {
		l.came = map[string]int{}
	}
	l.came[call]++
	if l.down[call] {
		return journal.ErrUnavailable
	}
	return nil
}

func (l *lossy) RegisterTool(ctx context.Context, t journal.Tool) error {
	return errors.Join(l.lost("register"), l.Store.RegisterTool(ctx, t))
}

func (l *lossy) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	if err := l.lost("begin"); err != nil {
		return journal.BeginAnswer{}, err
	}
	return l.Store.Begin(ctx, r)
}

func (l *lossy) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if err := l.lost("commit"); err != nil {
		return journal.CommitAnswer{}, err
	}
	return l.Store.Commit(ctx, r)
}

func (l *lossy) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	if err := l.lost("fail"); err != nil {
		return journal.FailAnswer{}, err
	}
	return l.Store.Fail(ctx, r)
}

// freeAddress is an address on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

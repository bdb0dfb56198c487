package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/guide"
	"github.com/landedhq/landed/web"
)

// fakeJournal answers from fixtures and records what was written.
type fakeJournal struct {
	mu      sync.Mutex
	cases   []journal.Case
	audit   []journal.AuditRecord
	readErr error
	viewErr error
	views   []string
	writes  []string
	// decide stands for the use case.
	decide func(journal.Decision) (DecideResult, error)
	last   journal.Decision
	// answer is what approvals, rejections and reviews get.
	answer    error
	draft     []byte
	proposals []journal.ProposalItem
	outcomes  []journal.Outcome
	reviews   []journal.ReviewItem
	settled   []journal.PolicySettled
	bulks     fakeBulks
	team      fakeTeam
	// configured are the providers, asked at try.
	configured map[string]providerView
	guides     map[string]guide.Guide
	try        func(ref string, since time.Duration) (evidence.Facts, evidence.Question, error)
}

func (f *fakeJournal) List(_ context.Context, filter journal.ListFilter) (journal.ListPage, error) {
	f.mu.Lock()
	f.team.filter = filter
	f.mu.Unlock()
	p := journal.ListPage{Now: testNow(), Total: len(f.cases), Team: f.team.marks, Snoozed: f.team.asleep}
	for _, k := range f.cases {
		p.Rows = append(p.Rows, k.Snapshot)
		p.Counts = append(p.Counts, journal.ListCount{Tool: k.Effect.Tool, Provider: k.Effect.Provider, Count: 1, Oldest: k.Effect.CreatedAt})
	}
	return p, f.readErr
}

func (f *fakeJournal) Case(_ context.Context, id string) (journal.Case, error) {
	for _, k := range f.cases {
		if k.Effect.ID == id {
			return k, f.readErr
		}
	}
	return journal.Case{}, journal.ErrNotFound
}

func (f *fakeJournal) AuditRows(_ context.Context, before int64, limit int) ([]journal.AuditRecord, error) {
	var out []journal.AuditRecord
	for _, r := range f.audit {
		if (before == 0 || r.Seq < before) && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, f.readErr
}

func (f *fakeJournal) LogView(_ context.Context, _ journal.Actor, path, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.views = append(f.views, path)
	return f.viewErr
}

func (f *fakeJournal) wrote(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, what)
}

func (f *fakeJournal) Acknowledge(_ context.Context, id string, who journal.Actor, reason string) error {
	f.wrote("acknowledge " + id + " " + who.Subject + ": " + reason)
	return nil
}

func (f *fakeJournal) TargetStates(context.Context) (map[string]journal.TargetState, error) {
	return map[string]journal.TargetState{"flow": {Mark: journal.TargetMark{Name: "flow", StoppedAt: testNow(), StoppedWhy: "410"}, Pending: 2, Refused: 1, OldestPending: testNow()}}, nil
}

func (f *fakeJournal) Redeliver(_ context.Context, id string, r journal.Redelivery) error {
	f.wrote("redeliver " + id + " " + r.Actor.Subject + ": " + r.ResolutionID)
	return nil
}

func (f *fakeJournal) LookNow(_ context.Context, id, by string) error {
	f.wrote("look " + id + " " + by)
	return nil
}

func (f *fakeJournal) Decide(_ context.Context, d journal.Decision) (DecideResult, error) {
	f.wrote("decide " + d.EffectID)
	f.last = d
	if f.decide == nil {
		return DecideResult{Decision: d}, nil
	}
	return f.decide(d)
}

func (f *fakeJournal) Approve(_ context.Context, a journal.Approval) (DecideResult, error) {
	f.wrote("approve " + a.ProposalID + " by " + a.Actor.Subject + ": " + a.Reason)
	if f.answer != nil {
		return DecideResult{}, f.answer
	}
	return DecideResult{}, nil
}

func (f *fakeJournal) Reject(_ context.Context, a journal.Approval) error {
	f.wrote("reject " + a.ProposalID + " by " + a.Actor.Subject + ": " + a.Reason)
	return f.answer
}

func (f *fakeJournal) SaveDraft(_ context.Context, who journal.Actor, id string, form []byte) error {
	f.wrote("draft " + id + " of " + who.Subject)
	f.draft = form
	return nil
}

func (f *fakeJournal) Draft(context.Context, journal.Actor, string) ([]byte, error) {
	return f.draft, nil
}

func (f *fakeJournal) DropDraft(context.Context, journal.Actor, string) error {
	f.draft = nil
	return nil
}

func (f *fakeJournal) Outcomes(context.Context, int) ([]journal.Outcome, time.Time, error) {
	return f.outcomes, testNow(), f.readErr
}

func (f *fakeJournal) Proposals(context.Context, int) ([]journal.ProposalItem, error) {
	return f.proposals, f.readErr
}
func (f *fakeJournal) Reviews(context.Context, int) ([]journal.ReviewItem, error) {
	return f.reviews, f.readErr
}
func (f *fakeJournal) SettledByPolicy(context.Context, int64, int) ([]journal.PolicySettled, error) {
	return f.settled, f.readErr
}

func (f *fakeJournal) CloseReview(_ context.Context, r journal.ReviewClose) error {
	f.wrote(fmt.Sprintf("review %s by %s: %t %s", r.ID, r.Actor.Subject, r.Agreed, r.Reason))
	return f.answer
}

// session stands for the login: everybody is signed in as who, unless nobody is.
type session struct {
	who    journal.Actor
	nobody bool
}

func (session) Register(*echo.Echo) {}

func (s session) Middleware() echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
}

const testToken = "form-token-of-this-session"

type site struct {
	e *echo.Echo
	f *fakeJournal
}

func newSite(t *testing.T, f *fakeJournal, roles ...journal.Role) site {
	t.Helper()
	who := operator()
	if len(roles) > 0 {
		who.Roles = roles
	}
	return newSiteAs(t, f, session{who: who}, "https://landed.example.org")
}

func newSiteAs(t *testing.T, f *fakeJournal, s session, external string) site {
	t.Helper()
	e, err := New(Config{
		Journal: f, Decider: f, Looker: f, Providers: f, Guides: f.guides, Login: s, ExternalURL: external,
		Actor:      func(echo.Context) (journal.Actor, bool) { return s.who, !s.nobody },
		FormToken:  func(echo.Context) string { return testToken },
		FreshLogin: func(to string) string { return "/login?fresh=1&to=" + url.QueryEscape(to) },
		Log:        slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return site{e, f}
}

func everything() *fakeJournal {
	f := &fakeJournal{configured: everyProvider()}
	for _, n := range allCases() {
		f.cases = append(f.cases, n.k)
	}
	f.audit = []journal.AuditRecord{{Seq: 2, At: testNow(), Kind: "decision", EffectID: caseID(1), Actor: "operator:u-17", Name: "Grace Hopper", Source: "page",
		Was: "PARKED", State: "COMMITTED", Tool: "mail.send", Code: "test", Reason: "a reason", Result: "done", Hash: []byte{1, 2}, Body: []byte(`{"seq":2}`)}}
	return f
}

func (s site) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.e.ServeHTTP(w, r)
	return w
}

func (s site) get(path string) *httptest.ResponseRecorder {
	return s.do(httptest.NewRequest(http.MethodGet, path, nil))
}

// post sends a form as a browser on the same site does.
func (s site) post(path string, fields ...string) *httptest.ResponseRecorder {
	return s.do(formRequest(path, append([]string{web.FieldToken, testToken}, fields...)...))
}

func formRequest(path string, fields ...string) *http.Request {
	v := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		v.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func parse(t *testing.T, w *httptest.ResponseRecorder) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(w.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// squash makes text comparable: white space is the browser's business.
func squash(s string) string { return strings.Join(strings.Fields(s), " ") }

func wantText(t *testing.T, doc *goquery.Document, selector, want string) {
	t.Helper()
	if got := squash(doc.Find(selector).First().Text()); !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want it to hold %q", selector, got, want)
	}
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Fatalf("status %d, want %d:\n%s", w.Code, want, squash(w.Body.String()))
	}
}

// concrete fills a route's parameters.
func concrete(s site, path string) string {
	css, _ := url.Parse(firstAsset(s))
	path = strings.ReplaceAll(path, ":id", caseID(1))
	if strings.HasPrefix(path, "/static/") {
		return css.Path
	}
	return path
}

func firstAsset(s site) string {
	doc, err := goquery.NewDocumentFromReader(s.get("/").Body)
	if err != nil {
		return ""
	}
	href, _ := doc.Find(`link[rel=stylesheet]`).Attr("href")
	return href
}

func TestW01_NoGETWrites(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything(), journal.RoleOperator, journal.RoleAdmin)
	seen := 0
	for _, route := range s.e.Routes() {
		if route.Method != http.MethodGet && route.Method != http.MethodHead {
			continue
		}
		seen++
		for _, header := range []string{"", "Sec-Purpose: prefetch", "User-Agent: Slackbot-LinkExpanding 1.0"} {
			for range 10 {
				r := httptest.NewRequest(route.Method, concrete(s, route.Path)+"?choice=reissue/new_key&reason_code=test&reason=aaaaaaaaaa&args=all", nil)
				if name, value, ok := strings.Cut(header, ": "); ok {
					r.Header.Set(name, value)
				}
				if w := s.do(r); w.Code != http.StatusOK {
					t.Errorf("%s %s with %q: status %d", route.Method, route.Path, header, w.Code)
				}
			}
		}
	}
	if seen < 16 {
		t.Fatalf("only %d routes were seen", seen)
	}
	if len(s.f.writes) > 0 {
		t.Errorf("GET wrote: %v", s.f.writes)
	}
}

func TestHeadIsNoView(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	wantStatus(t, s.do(httptest.NewRequest(http.MethodHead, web.EffectURL(caseID(1)), nil)), http.StatusOK)
	wantStatus(t, s.get(web.VersionURL(caseID(1))), http.StatusOK)
	if len(s.f.views) > 0 {
		t.Errorf("recorded as views: %v", s.f.views)
	}
	wantStatus(t, s.get(web.EffectURL(caseID(1))), http.StatusOK)
	if diff := cmp.Diff([]string{web.EffectURL(caseID(1))}, s.f.views); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeRecordedIsNotShown(t *testing.T) {
	t.Parallel()
	f := everything()
	f.viewErr = journal.ErrUnavailable
	s := newSite(t, f, journal.RoleAdmin)
	for _, path := range []string{"/", web.EffectURL(caseID(1)), web.RouteAudit, web.RouteProviders} {
		w := s.get(path)
		wantStatus(t, w, http.StatusServiceUnavailable)
		if strings.Contains(w.Body.String(), "northwind") || strings.Contains(w.Body.String(), "sent-mail") {
			t.Errorf("%s shows data", path)
		}
	}
}

func TestStaticFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	path := firstAsset(s)
	w := s.get(path)
	wantStatus(t, w, http.StatusOK)
	if got := w.Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("Cache-Control is %q", got)
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", "gzip")
	if z := s.do(r); z.Header().Get("Content-Encoding") != "gzip" || z.Body.Len() >= w.Body.Len() {
		t.Errorf("not compressed: %v", z.Header())
	}
	wantStatus(t, s.get("/static/00000000000000000000000000000000/app.css"), http.StatusNotFound)
	wantStatus(t, s.get(strings.Replace(path, "app.css", "..%2fstatic.go", 1)), http.StatusNotFound)
}

func TestPanicBecomesAPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	s.e.GET("/panic", func(echo.Context) error { panic("secret detail") })
	w := s.get("/panic")
	wantStatus(t, w, http.StatusInternalServerError)
	doc := parse(t, w)
	wantText(t, doc, "h1", "Something broke in Landed")
	wantText(t, doc, ".message", w.Header().Get(headerRequestID))
	if strings.Contains(w.Body.String(), "secret") {
		t.Error("the page tells the cause")
	}
}

func TestErrorTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		status int
		code   string
	}{
		{"wrapped not found", errors.Join(errors.New("x"), journal.ErrNotFound), 404, "not_found"},
		{"wrapped echo error", wrap(echo.NewHTTPError(405, "secret")), 405, "method_not_allowed"},
		{"unavailable", wrap(journal.ErrUnavailable), 503, "unavailable"},
		{"stale", wrap(&journal.StaleError{}), 409, "stale"},
		{"blocked", wrap(&journal.BlockedError{Reason: journal.WhyFound}), 409, "blocked"},
		{"invalid", wrap(&journal.InvalidError{Field: "reason", Detail: "is short"}), 422, "invalid"},
		{"role", &roleError{what: "decide", need: []journal.Role{journal.RoleOperator}}, 403, "role_needed"},
		{"unknown", errors.New("pgx: secret"), 500, "internal"},
		{"unknown 5xx of the router", echo.NewHTTPError(502, "secret"), 502, "internal"},
		{"odd 4xx", echo.NewHTTPError(418, "secret"), 418, "http_418"},
		{"deadline", wrap(context.DeadlineExceeded), 503, "timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := answerFor(tt.err)
			if a.status != tt.status || a.code != tt.code || a.title == "" || a.text == "" {
				t.Errorf("got %+v", a)
			}
			if strings.Contains(a.title+a.text, "secret") {
				t.Errorf("tells the cause: %+v", a)
			}
		})
	}
}

func wrap(err error) error { return errors.Join(errors.New("while doing it"), err) }

func TestAPIErrorsAreProblems(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.get("/v1/nope")
	wantStatus(t, w, http.StatusNotFound)
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type is %q", got)
	}
	if !strings.Contains(w.Body.String(), `"code":"not_found"`) {
		t.Errorf("body %s", w.Body)
	}
}

func TestNobodyIsShownNothing(t *testing.T) {
	t.Parallel()
	s := newSiteAs(t, everything(), session{nobody: true}, "https://landed.example.org")
	for _, path := range []string{"/", web.EffectURL(caseID(1)), web.EffectURL(caseID(99)), web.VersionURL(caseID(1)), web.RouteAudit, web.RouteProviders} {
		wantStatus(t, s.get(path), http.StatusUnauthorized)
	}
	noRole := newSiteAs(t, everything(), session{who: journal.Actor{Subject: "u-1", Name: "New"}}, "https://landed.example.org")
	w := noRole.get("/")
	wantStatus(t, w, http.StatusForbidden)
	wantText(t, parse(t, w), ".message", "role viewer")
}

func TestSignedOut(t *testing.T) {
	t.Parallel()
	page, err := SignedOut()
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	e.GET("/logout", page)
	w := site{e: e}.get("/logout")
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	wantText(t, doc, "h1", "You are signed out")
	if doc.Find("a[href='/login']").Length() != 1 {
		t.Error("no way back in")
	}
}

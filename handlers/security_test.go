package handlers

import (
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	f := everything()
	s := newSite(t, f, journal.RoleAdmin)
	for _, path := range []string{"/", web.EffectURL(caseID(1)), web.RouteAudit, web.RouteProviders, "/nope", web.EffectURL("x"), web.RouteHealth, web.RouteReady, web.RouteKeys, web.VersionURL(caseID(1)), "/v1/nope"} {
		h := s.get(path).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store", "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if h.Get("Permissions-Policy") == "" || h.Get(headerRequestID) == "" {
			t.Errorf("%s: no permissions policy or request id", path)
		}
	}
	plain := newSiteAs(t, f, session{who: operator()}, "http://127.0.0.1:8080")
	if got := plain.get("/").Header().Get("Strict-Transport-Security"); got != "" {
		t.Errorf("HSTS over plain http: %q", got)
	}
	for _, word := range []string{"unsafe", "data:", "*", "http:", "https:"} {
		if strings.Contains(contentPolicy, word) {
			t.Errorf("the policy allows %s", word)
		}
	}
}

func TestUnsafeRequests(t *testing.T) {
	t.Parallel()
	paths := []string{web.LookURL(caseID(1)), web.AcknowledgeURL(caseID(13)), web.ConfirmURL(caseID(1)), web.DecideURL(caseID(1)), web.RouteProviders}
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		token  string
		want   string
	}{
		{"another site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, testToken, "came from another site"},
		{"a sister site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, testToken, "came from another site"},
		{"old browser, other origin", func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "https://evil.example")
		}, testToken, "came from another site"},
		{"cookie but no word of where from", func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Cookie", "__Host-s=abc")
		}, testToken, "came from another site"},
		{"no token", func(*http.Request) {}, "", "belongs to another session"},
		{"another session's token", func(*http.Request) {}, "form-token-of-another-one", "belongs to another session"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, everything())
			for _, path := range paths {
				r := formRequest(path, web.FieldToken, tt.token, web.FieldReason, "long enough a reason", web.FieldTryProvider, "sent-mail", web.FieldTrySince, "1h")
				tt.change(r)
				w := s.do(r)
				wantStatus(t, w, http.StatusForbidden)
				wantText(t, parse(t, w), "h1", tt.want)
			}
			if len(s.f.writes) > 0 {
				t.Errorf("wrote %v", s.f.writes)
			}
		})
	}
}

func TestTooLargeForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	wantStatus(t, s.post(web.ConfirmURL(caseID(1)), web.FieldReason, strings.Repeat("x", maxFormBytes)), http.StatusRequestEntityTooLarge)
}

func TestForwardedHeadersAreNotBelieved(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	if s.e.IPExtractor == nil {
		t.Fatal("who the peer is is left to the framework's default")
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "192.0.2.7:1234"
	r.Header.Set("X-Forwarded-For", "10.0.0.1")
	r.Header.Set("X-Real-Ip", "10.0.0.2")
	if got := s.e.NewContext(r, httptest.NewRecorder()).RealIP(); got != "192.0.2.7" {
		t.Errorf("the peer is %s, want 192.0.2.7", got)
	}
	r.Header.Set(headerRequestID, "chosen by the caller")
	if got := s.do(r).Header().Get(headerRequestID); len(got) != 16 || strings.Contains(got, " ") {
		t.Errorf("request id %q", got)
	}
}

// TestNoFrameworkMiddleware: the framework's middleware package holds a proxy with
// an open advisory, and Timeout and Logger that are deprecated. None of it is used.
func TestNoFrameworkMiddleware(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if strings.HasPrefix(i.Path.Value, `"github.com/labstack/echo/v4/`) {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
}

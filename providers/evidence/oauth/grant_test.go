package oauth_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// ask sends g to a server that answers with code and body.
func ask(t *testing.T, g func(*url.URL) oauth.Grant, code int, body string) (oauth.Token, *http.Request, string, error) {
	t.Helper()
	var got *http.Request
	var form string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, form = r, string(b)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body) // the client may be gone
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/token")
	if err != nil {
		t.Fatal(err)
	}
	kept := ""
	tok, err := g(u).Ask(t.Context(), s.Client(), "the server", func(method string, u *url.URL, status string, _ time.Time) {
		kept = method + " " + u.Path + " " + status
	})
	if !strings.HasPrefix(kept, "POST /token ") {
		t.Errorf("kept %q", kept)
	}
	return tok, got, form, err
}

func TestGrants(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name           string
		grant          func(*url.URL) oauth.Grant
		form           string
		user, password string
	}{
		{"client in a header", func(u *url.URL) oauth.Grant { return oauth.ClientCredentials(u, "a b", "s:t", "", false) },
			"grant_type=client_credentials", "a+b", "s%3At"},
		{"client in the form", func(u *url.URL) oauth.Grant { return oauth.ClientCredentials(u, "app", "s&t", "read all", true) },
			"client_id=app&client_secret=s%26t&grant_type=client_credentials&scope=read+all", "", ""},
		{"refresh token", func(u *url.URL) oauth.Grant { return oauth.Refresh(u, "app", "s", "1//r") },
			"client_id=app&client_secret=s&grant_type=refresh_token&refresh_token=1%2F%2Fr", "", ""},
		{"refresh token of a public client", func(u *url.URL) oauth.Grant { return oauth.Refresh(u, "app", "", "r") },
			"client_id=app&grant_type=refresh_token&refresh_token=r", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			tok, req, form, err := ask(t, row.grant, http.StatusOK, `{"access_token":"acc","expires_in":3599,"scope":"read","token_type":"Bearer"}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(oauth.Token{Access: "acc", Life: 3599 * time.Second, Scope: "read"}, tok); diff != "" {
				t.Error(diff)
			}
			user, password, _ := req.BasicAuth()
			if form != row.form || user != row.user || password != row.password || req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
				t.Errorf("form %q by %q %q", form, user, password)
			}
		})
	}
}

func TestAnswersThatHoldNoToken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, body string
		code       int
		want       evidence.FaultKind
		detail     string
	}{
		{"refused", `{"error":"invalid_grant","error_description":"s3cret"}`, 400, evidence.FaultAuth, "(400, invalid_grant)"},
		{"refused in other words", `{"error":"S3cret words"}`, 401, evidence.FaultAuth, "(401)"},
		{"forbidden", `<html>`, 403, evidence.FaultAuth, "(403)"},
		{"not there", `{}`, 404, evidence.FaultRefused, "404"},
		{"too many", `{}`, 429, evidence.FaultRateLimited, "429"},
		{"out of order", `{}`, 502, evidence.FaultUnavailable, "502"},
		{"no JSON", `<html>`, 200, evidence.FaultBadAnswer, "something else"},
		{"no token", `{"expires_in":3600}`, 200, evidence.FaultBadAnswer, "something else"},
		{"token that breaks a header", `{"access_token":"a\r\nX: 1"}`, 200, evidence.FaultBadAnswer, "something else"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, _, _, err := ask(t, func(u *url.URL) oauth.Grant { return oauth.Refresh(u, "a", "s", "r") }, row.code, row.body)
			var pe *evidence.ProviderError
			if !errors.As(err, &pe) || pe.Kind != row.want || !strings.Contains(pe.Detail, row.detail) || strings.Contains(pe.Detail, "3cret") {
				t.Errorf("error %v, want %s with %q", err, row.want, row.detail)
			}
		})
	}
}

func TestLifeThatCannotBeIsAShortOne(t *testing.T) {
	t.Parallel()
	for _, life := range []string{`0`, `-5`, `1e300`} {
		tok, _, _, err := ask(t, func(u *url.URL) oauth.Grant { return oauth.Refresh(u, "a", "s", "r") }, 200, `{"access_token":"a","expires_in":`+life+`}`)
		if err != nil || tok.Life != 5*time.Minute {
			t.Errorf("expires_in %s: %v, %v", life, tok.Life, err)
		}
	}
}

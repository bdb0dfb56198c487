package login_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/handlers/login/logintest"
)

func TestSessionFixation(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	planted := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	b.Client.Jar.SetCookies(mustURL(t, d.URL), []*http.Cookie{{Name: "landed", Value: planted, Path: "/"}})
	p := b.SignIn(d.URL+"/e/42", "p-olivia")
	if p.Status != http.StatusOK || sessionCookie(t, b, p) == planted {
		t.Fatalf("the planted token became the session: %d %q", p.Status, p.Body)
	}
	attacker := logintest.NewBrowser(t)
	attacker.Header.Set("Cookie", "landed="+planted)
	if p := attacker.Get(d.URL + "/e/42"); p.Status != http.StatusSeeOther {
		t.Errorf("the planted token opens a page: %d", p.Status)
	}
}

func TestSecondLoginKillsTheFirstToken(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	tabs := twoTabs(d, b)
	first := sessionCookie(t, b, b.Follow(b.Pick(b.Get(tabs[0].Location), "p-olivia")))
	second := b.Follow(b.Pick(b.Get(tabs[1].Location), "p-dario"))
	if field(t, second.Body, "actor") != "p-dario" || sessionCookie(t, b, second) == first {
		t.Fatalf("second login: %q", second.Body)
	}
	old := logintest.NewBrowser(t)
	old.Header.Set("Cookie", "landed="+first)
	if p := old.Get(d.URL + "/e/42"); p.Status != http.StatusSeeOther {
		t.Errorf("the first token still works: %d", p.Status)
	}
}

func TestTokenIsRandomAndStoredHashed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	token := sessionCookie(t, b, b.SignIn(d.URL+"/e/1", "p-olivia"))
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 32 {
		t.Fatalf("token %q is not 256 bits", token)
	}
	sum := sha256.Sum256([]byte(token))
	data, _, expires, err := d.Sessions.Load(t.Context(), sum[:])
	if err != nil || data == nil || !expires.Equal(d.Clock.Now().Add(12*time.Hour)) {
		t.Errorf("stored under its SHA-256: %q until %s, %v", data, expires, err)
	}
}

// A row that is no session opens nothing, whoever wrote it.
func TestOtherRowsAreNoSessions(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	token := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	sum := sha256.Sum256([]byte(token))
	created := strconv.FormatInt(d.Clock.Now().Unix(), 10)
	for _, data := range []string{`{"kind":"used","sub":"x","created":` + created + `}`, `{"created":` + created + `}`, `not json`, ``} {
		if err := d.Sessions.Delete(t.Context(), sum[:]); err != nil {
			t.Fatal(err)
		}
		if err := d.Sessions.Save(t.Context(), sum[:], []byte(data), d.Clock.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		b := logintest.NewBrowser(t)
		b.Header.Set("Cookie", "landed="+token)
		if p := b.Get(d.URL + "/e/42"); p.Status != http.StatusSeeOther {
			t.Errorf("%q opened a page: %d %q", data, p.Status, p.Body)
		}
	}
}

func TestSessionLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		use  func(d *desk, b *logintest.Browser) // what happens before the last request
		want int
	}{
		{"idle just below the limit", func(d *desk, _ *logintest.Browser) { d.Clock.Add(30*time.Minute - time.Second) }, http.StatusOK},
		{"idle for 30 minutes", func(d *desk, _ *logintest.Browser) { d.Clock.Add(30 * time.Minute) }, http.StatusSeeOther},
		{"used now and then", func(d *desk, b *logintest.Browser) {
			for range 10 {
				d.Clock.Add(20 * time.Minute)
				b.Get(d.URL + "/e/42")
			}
		}, http.StatusOK},
		{"busy for 12 hours", func(d *desk, b *logintest.Browser) {
			for range 36 {
				d.Clock.Add(20 * time.Minute)
				b.Get(d.URL + "/e/42")
			}
		}, http.StatusSeeOther},
		{"only an event stream", func(d *desk, b *logintest.Browser) {
			b.Header.Set("Accept", "text/event-stream")
			for range 2 {
				d.Clock.Add(15 * time.Minute)
				b.Get(d.URL + "/e/42")
			}
			b.Header.Del("Accept")
		}, http.StatusSeeOther},
		{"only refreshes by the page itself", func(d *desk, b *logintest.Browser) {
			b.Header.Set(login.HeaderBackground, "1")
			for range 2 {
				d.Clock.Add(15 * time.Minute)
				b.Get(d.URL + "/e/42")
			}
			b.Header.Del(login.HeaderBackground)
		}, http.StatusSeeOther},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			b := logintest.NewBrowser(t)
			b.SignIn(d.URL+"/e/42", "p-olivia")
			c.use(d, b)
			if p := b.Get(d.URL + "/e/42"); p.Status != c.want {
				t.Errorf("got %d, want %d", p.Status, c.want)
			}
		})
	}
}

func TestStoreDownIsNoLogout(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	b.SignIn(d.URL+"/e/42", "p-olivia")
	d.Sessions.Fail(errors.New("no connection to 10.0.0.7"))
	p := b.Get(d.URL + "/e/42")
	if p.Status != http.StatusServiceUnavailable || !strings.HasPrefix(p.Body, login.CodeStore) || strings.Contains(p.Body, "10.0.0.7") {
		t.Errorf("store down: %d %q", p.Status, p.Body)
	}
	d.Sessions.Fail(nil)
	if p := b.Get(d.URL + "/e/42"); p.Status != http.StatusOK {
		t.Errorf("store back: %d", p.Status)
	}
}

func TestDenyByDefault(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	for _, c := range []struct {
		method, path string
		status       int
		location     string
	}{
		{"GET", "/e/42", 303, "/login?to=%2Fe%2F42"},
		{"GET", "/e/missing", 303, "/login?to=%2Fe%2Fmissing"},
		{"GET", "/no/such/route", 303, "/login?to=%2Fno%2Fsuch%2Froute"},
		{"HEAD", "/e/42", 303, "/login?to=%2Fe%2F42"},
		{"HEAD", "/no/such/route", 303, "/login?to=%2Fno%2Fsuch%2Froute"},
		{"GET", "/", 303, "/login"},
		{"POST", "/e/42/decision", 401, ""},
		{"POST", "/no/such/route", 401, ""},
		{"DELETE", "/e/42", 401, ""},
		{"OPTIONS", "/e/42", 401, ""},
		{"GET", "/healthz", 200, ""},
		{"GET", "/readyz", 200, ""},
		{"GET", "/static/app.css", 200, ""},
		{"GET", "/v1/effects", 200, ""},
		{"POST", "/v1/effects", 200, ""},
		{"GET", "/healthz/../e/42", 303, "/login"},
		{"GET", "/static%2f..%2fe/42", 303, "/login"},
		{"GET", "/%76%31/effects", 303, "/login"},
		{"GET", "/v1", 303, "/login"},
	} {
		p := b.Do(c.method, d.URL+c.path, nil)
		if p.Status != c.status || p.Header.Get("Location") != c.location {
			t.Errorf("%s %s: %d to %q, want %d to %q", c.method, c.path, p.Status, p.Header.Get("Location"), c.status, c.location)
		}
	}
	if n := d.Sessions.Writes(); n != 0 {
		t.Errorf("visitors without a session wrote %d rows", n)
	}
}

func TestW01_LinkPreviewsWriteNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	signedIn := logintest.NewBrowser(t)
	signedIn.SignIn(d.URL+"/e/42", "p-olivia")
	before := d.Sessions.Writes()
	anonymous := logintest.NewBrowser(t)
	for range 10 {
		for _, path := range []string{"/", "/e/42", "/login", "/login?to=/e/42", "/logout", "/login/callback?code=1&state=1", "/e/42/decision"} {
			for _, method := range []string{"GET", "HEAD"} {
				for _, b := range []*logintest.Browser{anonymous, signedIn} {
					b.Header.Set("Purpose", "prefetch")
					b.Do(method, d.URL+path, nil)
				}
			}
		}
	}
	if after := d.Sessions.Writes(); after != before {
		t.Errorf("%d writes by GET and HEAD", after-before)
	}
	if p := signedIn.Get(d.URL + "/e/42"); p.Status != http.StatusOK || d.decided != 0 {
		t.Errorf("previews ended the session or decided: %d, %d", p.Status, d.decided)
	}
}

func TestUnsafeRequestsOfASession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	token := field(t, b.SignIn(d.URL+"/e/42", "p-olivia").Body, "token")
	for _, c := range []struct {
		name   string
		header map[string]string
		query  string
		form   url.Values
		status int
		code   string
	}{
		{"the page's own form", nil, "", url.Values{login.FormField: {token}}, 200, "decided"},
		{"a script of the page", map[string]string{login.FormHeader: token}, "", url.Values{}, 200, "decided"},
		{"older browser with Origin", map[string]string{"Sec-Fetch-Site": "", "Origin": d.URL}, "", url.Values{login.FormField: {token}}, 200, "decided"},
		{"no form token", nil, "", url.Values{}, 403, login.CodeFormToken},
		{"form token in the address", nil, "?" + login.FormField + "=" + token, url.Values{}, 403, login.CodeFormToken},
		{"wrong form token", nil, "", url.Values{login.FormField: {token + "x"}}, 403, login.CodeFormToken},
		{"neither header", map[string]string{"Sec-Fetch-Site": ""}, "", url.Values{login.FormField: {token}}, 403, login.CodeCrossOrigin},
		{"cross site", map[string]string{"Sec-Fetch-Site": "cross-site"}, "", url.Values{login.FormField: {token}}, 403, login.CodeCrossOrigin},
		{"same site, other host", map[string]string{"Sec-Fetch-Site": "same-site"}, "", url.Values{login.FormField: {token}}, 403, login.CodeCrossOrigin},
		{"foreign Origin", map[string]string{"Sec-Fetch-Site": "", "Origin": "https://evil.test"}, "", url.Values{login.FormField: {token}}, 403, login.CodeCrossOrigin},
		{"opaque Origin", map[string]string{"Sec-Fetch-Site": "", "Origin": "null"}, "", url.Values{login.FormField: {token}}, 403, login.CodeCrossOrigin},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Header = http.Header{}
			for k, v := range c.header {
				b.Header[k] = []string{v}
			}
			p := b.Post(d.URL+"/e/42/decision"+c.query, c.form)
			if p.Status != c.status || !strings.HasPrefix(p.Body, c.code) {
				t.Errorf("got %d %q, want %d %s", p.Status, p.Body, c.status, c.code)
			}
		})
	}
	b.Header = http.Header{}
	b.Header.Set("Sec-Fetch-Site", "cross-site")
	if p := b.Post(d.URL+"/logout", url.Values{login.FormField: {token}}); p.Status != http.StatusForbidden {
		t.Errorf("logout from another site: %d", p.Status)
	}
	if p := b.Get(d.URL + "/e/42"); p.Status != http.StatusOK {
		t.Errorf("another site ended the session: %d", p.Status)
	}
}

func TestFormTokenChangesWithTheSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	one := field(t, b.SignIn(d.URL+"/e/1", "p-olivia").Body, "token")
	b.Post(d.URL+"/logout", url.Values{login.FormField: {one}})
	two := field(t, b.SignIn(d.URL+"/e/1", "p-olivia").Body, "token")
	if one == two || len(one) != 43 {
		t.Errorf("form tokens %q and %q", one, two)
	}
	if p := b.Post(d.URL+"/e/1/decision", url.Values{login.FormField: {one}}); p.Status != http.StatusForbidden {
		t.Errorf("a form of the former session: %d", p.Status)
	}
}

// The worker API takes bearer tokens only: a cookie makes nobody of it.
func TestAPIIgnoresCookies(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	b.SignIn(d.URL+"/e/42", "p-olivia")
	if p := b.Post(d.URL+"/v1/effects", url.Values{}); p.Body != "nobody" {
		t.Errorf("the API sees %q", p.Body)
	}
}

package login_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/handlers/login/logintest"
)

func TestSignInFromDeepLinkAndOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)

	first := b.Get(d.URL + "/e/42?tab=evidence")
	if first.Status != http.StatusSeeOther || first.Location != d.URL+"/login?to=%2Fe%2F42%3Ftab%3Devidence" {
		t.Fatalf("without a session: %d to %q", first.Status, first.Location)
	}
	start := b.Get(first.Location)
	q := mustURL(t, start.Location).Query()
	for k, want := range map[string]string{"response_type": "code", "client_id": logintest.ClientID,
		"redirect_uri": d.URL + "/login/callback", "code_challenge_method": "S256", "scope": "openid profile email"} {
		if q.Get(k) != want {
			t.Errorf("authorization request has %s=%q, want %q", k, q.Get(k), want)
		}
	}
	if len(q.Get("state")) < 43 || len(q.Get("nonce")) < 43 || strings.Contains(start.Location, "e%2F42") {
		t.Errorf("authorization request %q: short state or nonce, or the return path travels through the provider", start.Location)
	}
	page := b.Follow(b.Pick(b.Get(start.Location), "p-olivia"))
	if page.Status != http.StatusOK || !strings.HasPrefix(page.Body, "page /e/42?tab=evidence\nactor p-olivia\nname Olivia Marsh\n") {
		t.Fatalf("after signing in: %d %q", page.Status, page.Body)
	}
	token := sessionCookie(t, b, page)
	for _, k := range b.Client.Jar.Cookies(page.URL) {
		if k.Name != "landed" {
			t.Errorf("once a page was seen, the cookie %s is still there", k.Name)
		}
	}
	if d.Sessions.Holds(token) {
		t.Error("the store holds the session token itself")
	}
	if again := b.Follow(b.Get(d.URL + "/login?to=/e/7")); !strings.HasPrefix(again.Body, "page /e/7\n") {
		t.Errorf("signed in already, /login led to %q", again.Body)
	}

	if p := b.Post(d.URL+"/logout", url.Values{}); p.Status != http.StatusForbidden || !strings.HasPrefix(p.Body, login.CodeFormToken) {
		t.Errorf("logout without form token: %d %q", p.Status, p.Body)
	}
	out := b.Post(d.URL+"/logout", url.Values{login.FormField: {field(t, page.Body, "token")}})
	if out.Status != http.StatusSeeOther || out.Header.Get("Clear-Site-Data") != `"cache", "storage"` || out.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("logout: %d %v", out.Status, out.Header)
	}
	bye := b.Follow(out)
	if bye.Status != http.StatusOK || !strings.Contains(bye.Body, `<a href="/login">Sign in</a>`) {
		t.Errorf("after logout: %d %q", bye.Status, bye.Body)
	}
	thief := logintest.NewBrowser(t)
	thief.Header.Set("Cookie", "landed="+token)
	if p := thief.Get(d.URL + "/e/42"); p.Status != http.StatusSeeOther {
		t.Errorf("the token still works after logout: %d", p.Status)
	}
	want := []string{"login p-olivia", "refused p-olivia form_token", "logout p-olivia"}
	if diff := cmp.Diff(want, d.seen()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestPlainSignInLeadsToTheList(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	if p := logintest.NewBrowser(t).SignIn(d.URL+"/login", "p-mei"); !strings.HasPrefix(p.Body, "page /\nactor p-mei\n") {
		t.Errorf("got %d %q", p.Status, p.Body)
	}
}

func TestSignInsThatEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(t *testing.T, d *desk, b *logintest.Browser, back logintest.Page) logintest.Page
		want string
	}{
		{"expired state", func(_ *testing.T, d *desk, b *logintest.Browser, back logintest.Page) logintest.Page {
			d.Clock.Add(10 * time.Minute)
			return b.Get(back.Location)
		}, login.CodeExpired},
		{"another browser", func(t *testing.T, _ *desk, _ *logintest.Browser, back logintest.Page) logintest.Page {
			return logintest.NewBrowser(t).Get(back.Location)
		}, login.CodeExpired},
		{"no state", func(_ *testing.T, d *desk, b *logintest.Browser, _ logintest.Page) logintest.Page {
			return b.Get(d.URL + "/login/callback?code=1")
		}, login.CodeExpired},
		{"changed state", func(_ *testing.T, _ *desk, b *logintest.Browser, back logintest.Page) logintest.Page {
			return b.Get(strings.Replace(back.Location, "state=", "state=0", 1))
		}, login.CodeExpired},
		{"second use of the address", func(_ *testing.T, _ *desk, b *logintest.Browser, back logintest.Page) logintest.Page {
			b.Get(back.Location)
			return b.Get(back.Location)
		}, login.CodeExpired},
		{"invented code", func(t *testing.T, _ *desk, b *logintest.Browser, back logintest.Page) logintest.Page {
			u := mustURL(t, back.Location)
			q := u.Query()
			q.Set("code", "invented")
			u.RawQuery = q.Encode()
			return b.Get(u.String())
		}, login.CodeProviderWrong},
		{"provider down at the exchange", func(_ *testing.T, d *desk, b *logintest.Browser, back logintest.Page) logintest.Page {
			d.Provider.Down(true)
			return b.Get(back.Location)
		}, login.CodeProviderDown},
		{"store down", func(_ *testing.T, d *desk, b *logintest.Browser, back logintest.Page) logintest.Page {
			d.Sessions.Fail(http.ErrServerClosed)
			return b.Get(back.Location)
		}, login.CodeStore},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			b := logintest.NewBrowser(t)
			back := b.Pick(b.Follow(b.Get(d.URL+"/e/42")), "p-olivia")
			p := c.do(t, d, b, back)
			if p.Status < 400 || !strings.HasPrefix(p.Body, c.want+"\n") {
				t.Errorf("got %d %q, want %s", p.Status, p.Body, c.want)
			}
		})
	}
}

// Cookie and address of a finished sign-in, both sent again: as a thief of the
// browser's history and cookies would, or a second replica would see.
func TestReplayedStateIsRefusedWithItsCookie(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	back := b.Pick(b.Follow(b.Get(d.URL+"/e/42")), "p-olivia")
	var cookies []string
	for _, k := range b.Client.Jar.Cookies(mustURL(t, d.URL)) {
		cookies = append(cookies, k.Name+"="+k.Value)
	}
	if p := b.Get(back.Location); p.Status != http.StatusSeeOther {
		t.Fatalf("first use: %d %q", p.Status, p.Body)
	}
	again := logintest.NewBrowser(t)
	again.Header.Set("Cookie", strings.Join(cookies, "; "))
	if p := again.Get(back.Location); p.Status != http.StatusBadRequest || !strings.HasPrefix(p.Body, login.CodeReplayed) {
		t.Errorf("second use: %d %q", p.Status, p.Body)
	}
}

func TestSealedCookieCannotBeChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	back := b.Pick(b.Follow(b.Get(d.URL+"/e/42")), "p-olivia")
	k := b.Client.Jar.Cookies(mustURL(t, d.URL))[0]
	flip := []byte(k.Value)
	flip[len(flip)/2] ^= 1
	forger := logintest.NewBrowser(t)
	forger.Header.Set("Cookie", k.Name+"="+string(flip))
	if p := forger.Get(back.Location); !strings.HasPrefix(p.Body, login.CodeExpired) {
		t.Errorf("changed flow cookie: %d %q", p.Status, p.Body)
	}
	if strings.Contains(k.Value, "/e/42") {
		t.Error("the flow cookie shows the return path")
	}
}

func TestCancelIsNotALogin(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	p := logintest.NewBrowser(t).SignIn(d.URL+"/e/42", "")
	if p.Status != http.StatusForbidden || !strings.HasPrefix(p.Body, login.CodeCancelled) {
		t.Errorf("got %d %q", p.Status, p.Body)
	}
	if d.Sessions.Len() != 1 { // the marker of the used sign-in
		t.Errorf("%d rows after a cancelled sign-in", d.Sessions.Len())
	}
}

// twoTabs starts a sign-in for /e/1 and one for /e/2 that do not share a cookie.
func twoTabs(d *desk, b *logintest.Browser) [2]logintest.Page {
	for {
		one, two := b.Get(d.URL+"/login?to=/e/1"), b.Get(d.URL+"/login?to=/e/2")
		slot := func(p logintest.Page) byte { return p.Location[strings.Index(p.Location, "&state=")+len("&state=")] }
		if slot(one) != slot(two) { // else drawn by chance: again
			return [2]logintest.Page{one, two}
		}
	}
}

// Tabs that finish one after the other are no loop: only the first sign-in found
// no session.
func TestTabsAreNoLoop(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	for _, tab := range twoTabs(d, b) {
		b.Get(b.Pick(b.Get(tab.Location), "p-olivia").Location)
	}
	for _, k := range b.Client.Jar.Cookies(mustURL(t, d.URL)) {
		if k.Name == "landed-hops" && k.Value != "1" {
			t.Errorf("two tabs counted as %s rounds", k.Value)
		}
	}
}

// Two tabs start a sign-in each before either finishes.
func TestTabsSignInAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	tabs := twoTabs(d, b)
	for i, tab := range tabs {
		p := b.Follow(b.Pick(b.Get(tab.Location), "p-olivia"))
		if want := "page /e/" + string('1'+rune(i)); !strings.HasPrefix(p.Body, want) {
			t.Errorf("tab %d ended at %d %q", i, p.Status, p.Body)
		}
	}
}

func TestW04_DeepLinkAndHostileReturnPaths(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	long := "/e/42?q=" + strings.Repeat("x", 600)
	for _, c := range []struct{ to, want string }{
		{"/e/42?tab=evidence", "/e/42?tab=evidence"},
		{"/e/42", "/e/42"},
		{"/?tool=a&provider=b%20c", "/?tool=a&provider=b%20c"},
		{"/audit/", "/audit/"},
		{"/e/42#top", "/e/42"},
		{long, "/e/42"},
		{"", "/"},
		{"/", "/"},
		{"//evil.test", "/"},
		{"///evil.test", "/"},
		{`/\evil.test`, "/"},
		{`\\evil.test`, "/"},
		{"/..//evil.test", "/"},
		{"/./e", "/"},
		{"/e/../login", "/"},
		{"/%2e%2e//evil.test", "/"},
		{"/%2f%2fevil.test", "/"},
		{"/%5cevil.test", "/"},
		{"/e//evil.test", "/"},
		{"javascript:alert(1)", "/"},
		{"https://evil.test/e/42", "/"},
		{"https:/evil.test", "/"},
		{"evil.test", "/"},
		{"/\t/evil.test", "/"},
		{"/e\r\nSet-Cookie: a=b", "/"},
		{"/e%0d%0aX: y", "/"},
		{"/login", "/"},
		{"/login?to=/login", "/"},
		{"/login/callback?code=1", "/"},
		{"/logout", "/"},
		{"/v1/effects", "/"},
		{"/healthz", "/"},
		{"/" + strings.Repeat("x", 600), "/"},
	} {
		b := logintest.NewBrowser(t)
		start := b.Get(d.URL + "/login?to=" + url.QueryEscape(c.to))
		back := b.Get(b.Pick(b.Get(start.Location), "p-olivia").Location)
		if got := back.Header.Get("Location"); got != c.want || back.Status != http.StatusSeeOther {
			t.Errorf("to=%q returned to %q (%d), want %q", c.to, got, back.Status, c.want)
		}
	}
}

func TestW03_CrossSiteLinkKeepsTheSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	start := b.Get(d.URL + "/login?to=/e/42")
	back := b.Get(b.Pick(b.Get(start.Location), "p-olivia").Location)
	for _, p := range []logintest.Page{start, back} {
		for _, line := range p.Header.Values("Set-Cookie") {
			if !strings.Contains(line, "SameSite=Lax") || !strings.Contains(line, "HttpOnly") || !strings.Contains(line, "Path=/") {
				t.Errorf("cookie %q must be Lax, HttpOnly and for the whole site", line)
			}
		}
	}
	b.Header.Set("Sec-Fetch-Site", "cross-site")
	b.Header.Set("Sec-Fetch-Mode", "navigate")
	b.Header.Set("Referer", "https://chat.example/")
	if p := b.Get(d.URL + "/e/42"); p.Status != http.StatusOK || !strings.HasPrefix(p.Body, "page /e/42\nactor p-olivia") {
		t.Errorf("following a link from a chat: %d %q", p.Status, p.Body)
	}
	if p := b.Post(d.URL+"/e/42/decision", url.Values{login.FormField: {"x"}}); p.Status != http.StatusForbidden || !strings.HasPrefix(p.Body, login.CodeCrossOrigin) {
		t.Errorf("a post from another site: %d %q", p.Status, p.Body)
	}
}

// The browser never sends the session cookie back (blocked, or Strict by some
// proxy): the third round ends in a page.
func TestW03_LoopGuard(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	b := logintest.NewBrowser(t)
	rounds := 0
	p := b.Get(d.URL + "/e/42")
	for ; rounds < 6; rounds++ {
		p = b.Get(p.Location) // /login
		if p.Status != http.StatusSeeOther {
			break
		}
		p = b.Get(b.Pick(b.Get(p.Location), "p-olivia").Location)
		u := mustURL(t, d.URL)
		b.Client.Jar.SetCookies(u, []*http.Cookie{{Name: "landed", Path: "/", MaxAge: -1}})
		p = b.Get(p.Location)
	}
	if rounds != 2 || p.Status != http.StatusForbidden || !strings.HasPrefix(p.Body, login.CodeLoop) {
		t.Fatalf("after %d rounds: %d %q", rounds, p.Status, p.Body)
	}
	if p := b.SignIn(d.URL+"/e/42", "p-olivia"); p.Status != http.StatusOK {
		t.Errorf("trying again once cookies work: %d %q", p.Status, p.Body)
	}
	for range 4 { // changing the person often is no loop
		page := b.Get(d.URL + "/e/42")
		b.Post(d.URL+"/logout", url.Values{login.FormField: {field(t, page.Body, "token")}})
		if p := b.SignIn(d.URL+"/e/42", "p-dario"); p.Status != http.StatusOK {
			t.Fatalf("signing in after a logout: %d %q", p.Status, p.Body)
		}
	}
}

func TestW09_RedirectURIComesFromTheConfiguration(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for _, c := range []struct {
		name   string
		header http.Header
	}{
		{"absent", http.Header{}},
		{"present", http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"landed.example.com"}}},
		{"forged", http.Header{"X-Forwarded-Proto": {"javascript"}, "X-Forwarded-Host": {"evil.test"}, "Forwarded": {"proto=https;host=evil.test"}, "X-Forwarded-Ssl": {"on"}, "X-Url-Scheme": {"https"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := logintest.NewBrowser(t)
			b.Header = c.header
			p := b.Get(d.URL + "/login?to=/e/42")
			if got := mustURL(t, p.Location).Query().Get("redirect_uri"); got != d.URL+"/login/callback" {
				t.Errorf("redirect_uri %q", got)
			}
			for _, line := range p.Header.Values("Set-Cookie") {
				if strings.Contains(line, "Secure") || strings.Contains(line, "__Host-") {
					t.Errorf("a header of the request changed the cookie: %q", line)
				}
			}
			if p := b.Follow(b.Pick(b.Get(p.Location), "p-olivia")); p.Status != http.StatusOK {
				t.Errorf("signing in: %d %q", p.Status, p.Body)
			}
		})
	}
}

package login_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/handlers/login/logintest"
)

// TestFreshLogin: a signed-in person is asked again, comes back to the page, and
// the session knows when they proved who they are.
func TestFreshLogin(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *login.Config) { c.KeepGroups = []string{"landed-operators", "elsewhere"} })
	b := logintest.NewBrowser(t)
	page := b.Follow(b.Pick(b.Get(b.Get(d.URL+"/login?to=/e/1").Location), "p-olivia"))
	before := sessionCookie(t, b, page)
	if got := field(t, page.Body, "groups"); got != "landed-operators" {
		t.Errorf("the session keeps the groups %q", got)
	}
	d.Clock.Add(time.Hour / 4)
	start := b.Get(d.URL + login.FreshURL("/e/7?tab=a"))
	q := mustURL(t, start.Location).Query()
	if start.Status != http.StatusSeeOther || q.Get("prompt") != "login" || q.Get("max_age") != "0" {
		t.Fatalf("a fresh login asks %d %q", start.Status, start.Location)
	}
	page = b.Follow(b.Pick(b.Get(start.Location), "p-olivia"))
	if !strings.HasPrefix(page.Body, "page /e/7?tab=a\nactor p-olivia\n") {
		t.Fatalf("afterwards: %q", page.Body)
	}
	if got, want := field(t, page.Body, "proved"), strconv.FormatInt(d.Clock.Now().Unix(), 10); got != want {
		t.Errorf("proved at %s, want %s", got, want)
	}
	if sessionCookie(t, b, page) == before || d.Sessions.Holds(before) {
		t.Error("the session from before is still one")
	}
}

// TestFreshLogin_NotProved: an answer that shows no fresh login is none; the old
// session stays as it was.
func TestFreshLogin_NotProved(t *testing.T) {
	t.Parallel()
	for _, fault := range []logintest.Fault{logintest.NoAuthTime, logintest.OldAuthTime} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			b := logintest.NewBrowser(t)
			b.Follow(b.Pick(b.Get(b.Get(d.URL+"/login?to=/e/1").Location), "p-olivia"))
			d.Provider.Misbehave(fault)
			page := b.Follow(b.Pick(b.Get(b.Get(d.URL+login.FreshURL("/e/7")).Location), "p-olivia"))
			if page.Status != http.StatusForbidden || !strings.HasPrefix(page.Body, login.CodeNotFresh) {
				t.Fatalf("%d %q", page.Status, page.Body)
			}
			if again := b.Get(d.URL + "/e/7"); again.Status != http.StatusOK {
				t.Errorf("the session from before is lost: %d", again.Status)
			}
		})
	}
}

// TestFreshLogin_TrustPrompt: a provider without auth_time, trusted to ask.
func TestFreshLogin_TrustPrompt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *login.Config) { c.TrustPrompt = true })
	d.Provider.Misbehave(logintest.NoAuthTime)
	b := logintest.NewBrowser(t)
	page := b.Follow(b.Pick(b.Get(b.Get(d.URL+"/login?to=/e/1").Location), "p-olivia"))
	if got := field(t, page.Body, "proved"); got != "0" {
		t.Errorf("an ordinary sign-in proved it at %s", got)
	}
	page = b.Follow(b.Pick(b.Get(b.Get(d.URL+login.FreshURL("/e/7")).Location), "p-olivia"))
	if got, want := field(t, page.Body, "proved"), strconv.FormatInt(d.Clock.Now().Unix(), 10); got != want {
		t.Errorf("proved at %s, want %s", got, want)
	}
}

// TestFreshLogin_ACR: a login of another kind proves nothing for a fresh one, and
// does not count as fresh by itself either.
func TestFreshLogin_ACR(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *login.Config) { c.StepUpACR = "mfa" })
	b := logintest.NewBrowser(t)
	page := b.Follow(b.Pick(b.Get(b.Get(d.URL+"/login?to=/e/1").Location), "p-olivia"))
	if got := field(t, page.Body, "proved"); got != "0" {
		t.Errorf("an ordinary login proved it at %s", got)
	}
	start := b.Get(d.URL + login.FreshURL("/e/7"))
	if q := mustURL(t, start.Location).Query(); q.Get("acr_values") != "mfa" {
		t.Errorf("asked for %q", start.Location)
	}
	if weak := b.Follow(b.Pick(b.Get(start.Location), "p-olivia")); weak.Status != http.StatusForbidden || !strings.HasPrefix(weak.Body, login.CodeNotFresh) {
		t.Fatalf("a weak login: %d %q", weak.Status, weak.Body)
	}
	d.Provider.Misbehave(logintest.StrongLogin)
	page = b.Follow(b.Pick(b.Get(b.Get(d.URL+login.FreshURL("/e/7")).Location), "p-olivia"))
	if got := field(t, page.Body, "proved"); got == "0" {
		t.Errorf("a strong one proved nothing")
	}
}

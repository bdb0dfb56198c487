package login_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/landedhq/landed/handlers/login"
	"github.com/landedhq/landed/handlers/login/logintest"
)

func TestBrokenProviderAnswersAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault logintest.Fault
		want  string
		log   string // part of the logged cause
	}{
		{logintest.WrongNonce, login.CodeProviderWrong, "nonce"},
		{logintest.NoNonce, login.CodeProviderWrong, "nonce"},
		{logintest.WrongAudience, login.CodeProviderWrong, "audience"},
		{logintest.WrongIssuer, login.CodeProviderWrong, "different provider"},
		{logintest.AlgNone, login.CodeProviderWrong, "malformed jwt"},
		{logintest.AlgHS256, login.CodeProviderWrong, "malformed jwt"},
		{logintest.OtherKey, login.CodeProviderWrong, "signature"},
		{logintest.Expired, login.CodeProviderWrong, "expired"},
		{logintest.StaleIssuedAt, login.CodeProviderWrong, "iat"},
		{logintest.FutureIssuedAt, login.CodeProviderWrong, "iat"},
		{logintest.NoIssuedAt, login.CodeProviderWrong, "iat"},
		{logintest.NoSubject, login.CodeProviderWrong, "sub is missing"},
		{logintest.WrongAZP, login.CodeProviderWrong, "azp"},
		{logintest.TwoAudiences, login.CodeProviderWrong, "azp"},
		{logintest.LogoutToken, login.CodeProviderWrong, "typ"},
		{logintest.WrongAtHash, login.CodeProviderWrong, "access token"},
		{logintest.NoIss, login.CodeProviderWrong, "no iss"},
		{logintest.WrongIss, login.CodeProviderWrong, "another provider"},
		{logintest.NoGroups, login.CodeGroupsMissing, ""},
		{logintest.NullGroups, login.CodeGroupsMissing, ""},
		{logintest.NoMatch, login.CodeNoRole, ""},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			d.Provider.Misbehave(c.fault)
			b := logintest.NewBrowser(t)
			p := b.SignIn(d.URL+"/e/42", "p-olivia")
			if p.Status != http.StatusForbidden || !strings.HasPrefix(p.Body, c.want+"\n") {
				t.Errorf("got %d %q, want %s", p.Status, p.Body, c.want)
			}
			if log := d.log(); !strings.Contains(log, c.want) || !strings.Contains(log, c.log) {
				t.Errorf("log %q does not say %q", log, c.log)
			}
			if again := b.Get(d.URL + "/e/42"); again.Status != http.StatusSeeOther {
				t.Errorf("there is a session all the same: %d %q", again.Status, again.Body)
			}
			if e := d.seen(); len(e) != 1 || !strings.HasSuffix(e[0], c.want) || !strings.HasPrefix(e[0], "refused") {
				t.Errorf("events %q", e)
			}
		})
	}
}

func TestW05_GroupsOverageIsExplainedAndDenied(t *testing.T) {
	t.Parallel()
	for _, fault := range []logintest.Fault{logintest.OverageNames, logintest.OverageHas} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			d.Provider.Misbehave(fault)
			p := logintest.NewBrowser(t).SignIn(d.URL+"/e/42", "p-olivia")
			if p.Status != http.StatusForbidden || !strings.HasPrefix(p.Body, login.CodeGroupsOverage+"\nYour group list is too long") || !strings.Contains(p.Body, "app roles") {
				t.Errorf("got %d %q", p.Status, p.Body)
			}
			if !strings.Contains(d.log(), login.CodeGroupsOverage) || !strings.Contains(d.log(), "p-olivia") {
				t.Errorf("log %q", d.log())
			}
		})
	}
}

func TestW05_RolesClaim(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *login.Config) { c.GroupsClaim = "roles" })
	d.Provider.Misbehave(logintest.AppRoles)
	if p := logintest.NewBrowser(t).SignIn(d.URL+"/e/42", "p-olivia"); p.Status != http.StatusOK {
		t.Errorf("got %d %q", p.Status, p.Body)
	}
	d.Provider.Misbehave(logintest.OverageHas) // says nothing about the claim roles
	p := logintest.NewBrowser(t).SignIn(d.URL+"/e/42", "p-olivia")
	if !strings.HasPrefix(p.Body, login.CodeGroupsMissing) || !strings.Contains(p.Body, `"roles"`) {
		t.Errorf("the missing claim is not named: %q", p.Body)
	}
}

func TestW06_NoMailAddressNeeded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.Provider.Misbehave(logintest.OnlyUsername)
	p := logintest.NewBrowser(t).SignIn(d.URL+"/e/42", "p-olivia")
	if p.Status != http.StatusOK || field(t, p.Body, "actor") != "p-olivia" || field(t, p.Body, "name") != "olivia" {
		t.Errorf("got %d %q", p.Status, p.Body)
	}
	if d.Sessions.Holds("sandbox.example") {
		t.Error("the session keeps the mail address")
	}
}

func TestW06_NameClaim(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(c *login.Config) { c.NameClaim = "preferred_username" })
	if p := logintest.NewBrowser(t).SignIn(d.URL+"/e/42", "p-olivia"); field(t, p.Body, "name") != "olivia" {
		t.Errorf("got %q", p.Body)
	}
}

func TestW10_CookiesStaySmall(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.Provider.Misbehave(logintest.ManyGroups)
	b := logintest.NewBrowser(t)
	p := b.Get(d.URL + "/e/42?" + strings.Repeat("q=%C3%A4&", 60))
	for range 10 {
		total := 0
		for _, line := range p.Header.Values("Set-Cookie") {
			total += len("Set-Cookie: \r\n") + len(line)
		}
		if total >= 1000 {
			t.Errorf("%s sets %d bytes of cookies", p.URL, total)
		}
		if strings.Contains(p.Body, "<form") {
			p = b.Pick(p, "p-olivia")
		}
		if p.Location == "" {
			break
		}
		p = b.Get(p.Location)
	}
	if p.Status != http.StatusOK || !strings.HasPrefix(p.Body, "page /e/42") {
		t.Errorf("ended at %d %q", p.Status, p.Body)
	}
	if d.Sessions.Holds("ou=groups") {
		t.Error("the session keeps the groups: roles are enough")
	}
}

func TestProviderDownAtStart(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.Provider.Down(true)
	b := logintest.NewBrowser(t)
	for range 5 {
		if p := b.Follow(b.Get(d.URL + "/e/42")); p.Status != http.StatusServiceUnavailable || !strings.HasPrefix(p.Body, login.CodeProviderDown) {
			t.Fatalf("while down: %d %q", p.Status, p.Body)
		}
	}
	if n := d.Provider.Calls(); n != 1 {
		t.Errorf("a provider that is down was asked %d times within a second", n)
	}
	if err := d.Login.Check(t.Context()); err == nil || !strings.Contains(err.Error(), d.Provider.URL) {
		t.Errorf("Check says %v", err)
	}
	d.Provider.Down(false)
	d.Clock.Add(6e9)
	if p := b.SignIn(d.URL+"/e/42", "p-olivia"); p.Status != http.StatusOK {
		t.Errorf("once it is back: %d %q", p.Status, p.Body)
	}
	if err := d.Login.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
}

func TestUnfitMetadata(t *testing.T) {
	t.Parallel()
	for fault, want := range map[logintest.Fault]string{
		logintest.OnlyHS256: "RS256", logintest.OtherIssuer: "https://other.example", logintest.NoS256: "S256",
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, nil)
			d.Provider.Misbehave(fault)
			if err := d.Login.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Check says %v, want something about %s", err, want)
			}
			if p := logintest.NewBrowser(t).Get(d.URL + "/login"); p.Status != http.StatusServiceUnavailable {
				t.Errorf("signing in: %d", p.Status)
			}
		})
	}
}

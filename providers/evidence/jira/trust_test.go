package jira_test

import (
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/jira"
	"github.com/landedhq/landed/providers/evidence/jira/jirafake"
)

// What the check command says of a token and a project: it is how a blind spot is
// found before it makes a wrong miss.
func TestTrustDependsOnTheAccount(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		token  string
		edit   func(*jira.Config)
		reason string // "" = an empty answer is believed
		why    string
	}{
		{"account that may browse only", apiToken, nil, "", ""},
		{"OAuth", oauthToken, func(c *jira.Config) { c.Email, c.CloudID = "", cloudID }, "", ""},
		{"account that could write", scopeToken, nil, journal.CannotProvider, "may also write in project OPS (CREATE_ISSUES, EDIT_ISSUES"},
		{"account that could write, permitted", scopeToken, func(c *jira.Config) { c.AllowUnverified = true }, "", ""},
		{"expired token, searching as nobody", "expired-0123456789", nil, journal.CannotProvider, "refuses the token"},
		{"token of another account", apiToken, func(c *jira.Config) { c.Email = "b@example.com" }, journal.CannotProvider, "refuses the token"},
		{"expired token, public project", "expired-0123456789", func(c *jira.Config) { c.Project = "PUBLIC" }, journal.CannotProvider, "refuses the token"},
		{"project that it may not browse", blindToken, nil, journal.CannotScope, "grant it Browse Projects"},
		{"project that there is not", apiToken, func(c *jira.Config) { c.Project = "NONE" }, journal.CannotScope, "there is no project NONE"},
		{"account that is not active", offToken, nil, journal.CannotProvider, "not active"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			site := newSite()
			committed := journal.RandomRef()
			site.Add(jirafake.Issue{Labels: label(committed), Project: "ENG"}) // visible to all of them
			c := serve(t, site)
			c.Token = evidence.Fixed(row.token)
			if row.edit != nil {
				row.edit(&c)
			}
			believed, reason, why := trust(t, c, committed)
			if believed != (row.reason == "") || reason != row.reason || !strings.Contains(why, row.why) {
				t.Errorf("believed %v, %s: %s; want %s: %s", believed, reason, why, row.reason, row.why)
			}
		})
	}
}

// An issue at a security level that the account lacks is hidden without a word. The
// positive control finds that out where the issues of the tool have the level.
func TestSecurityLevelIsFoundOutByThePositiveControl(t *testing.T) {
	t.Parallel()
	site := newSite()
	committed := journal.RandomRef()
	site.Add(jirafake.Issue{Labels: label(committed), Level: "staff"})
	c := serve(t, site)
	if believed, reason, _ := trust(t, c, committed); believed || reason != journal.CannotControl {
		t.Errorf("without the level: believed %v, %s", believed, reason)
	}
	c.Token = evidence.Fixed(gateToken)
	if believed, reason, why := trust(t, c, committed); !believed {
		t.Errorf("with the level: %s: %s", reason, why)
	}
}

func TestTrustNeedsThePositiveControl(t *testing.T) {
	t.Parallel()
	c := serve(t, newSite())
	for name, committed := range map[string]string{"none": "", "not found": journal.RandomRef()} {
		if believed, reason, _ := trust(t, c, committed); believed || reason != journal.CannotControl {
			t.Errorf("%s: believed %v, %s", name, believed, reason)
		}
	}
}

// One look asks who the token is once: account, permissions, three searches and one
// reading.
func TestLookIsFrugal(t *testing.T) {
	t.Parallel()
	site := newSite()
	committed := journal.RandomRef()
	site.Add(jirafake.Issue{Labels: label(committed)})
	if believed, reason, why := trust(t, serve(t, site), committed); !believed {
		t.Fatalf("not believed: %s %s", reason, why)
	}
	if n := site.Requests(); n != 6 {
		t.Errorf("%d requests, want 6", n)
	}
}

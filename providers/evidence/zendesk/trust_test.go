package zendesk_test

import (
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/zendesk"
	"github.com/landedhq/landed/providers/evidence/zendesk/zendeskfake"
)

// What the check command says of a token: it is how a missing right is found
// before it makes a wrong miss.
func TestTrustDependsOnTheToken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		token  string
		edit   func(*zendesk.Config)
		reason string // "" = an empty answer is believed
		why    string
	}{
		{"scope read of an admin", readToken, nil, "", ""},
		{"scope write too", writeToken, nil, journal.CannotProvider, "the token may write"},
		{"scope write too, permitted", writeToken, func(c *zendesk.Config) { c.AllowUnverified = true }, "", ""},
		{"no scopes at all", bareToken, nil, journal.CannotProvider, "the token may write"},
		{"scopes that are not told", silentToken, nil, journal.CannotProvider, "does not tell what the token may do"},
		{"scopes that are not told, permitted", silentToken, func(c *zendesk.Config) { c.AllowUnverified = true }, "", ""},
		{"scope tickets:read alone", narrowToken, nil, journal.CannotProvider, "needs the scope read"},
		{"API token", apiToken, func(c *zendesk.Config) { c.Email, c.AllowUnverified = apiUser, true }, "", ""},
		{"API token of another user", apiToken, func(c *zendesk.Config) { c.Email, c.AllowUnverified = "b@example.com", true }, journal.CannotProvider, "nobody's"},
		{"unknown token", "expired-0123456789", nil, journal.CannotProvider, "refuses the token"},
		{"unknown token, taken for nobody's", "expired-0123456789", func(c *zendesk.Config) { c.AllowUnverified = true }, journal.CannotProvider, "nobody's"},
		{"OAuth client", "", func(c *zendesk.Config) { *c = asClient(*c, "landed", clientSecret) }, "", ""},
		{"OAuth client with a wrong secret", "", func(c *zendesk.Config) { *c = asClient(*c, "landed", "wrong") }, journal.CannotProvider, "(401, invalid_client)"},
		{"OAuth client that may not read", "", func(c *zendesk.Config) { *c = asClient(*c, "crm", clientSecret) }, journal.CannotProvider, "(400, invalid_scope)"},
		{"restricted agent", restrictedToken, nil, journal.CannotScope, "restricted agent"},
		{"agent of some groups", groupToken, nil, journal.CannotScope, "only some tickets (groups)"},
		{"end user", endUserToken, nil, journal.CannotProvider, "no agent"},
		{"suspended user", suspendedToken, nil, journal.CannotProvider, "suspended"},
		{"agent without the list of deleted tickets", noShadowToken, nil, journal.CannotScope, "not readable"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			committed := journal.RandomRef()
			account.Add(zendeskfake.Ticket{ExternalID: committed, Group: 1})
			c := serve(t, account)
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

// Without a committed effect the search is unproved, and a committed one that is
// not found disproves it.
func TestTrustNeedsThePositiveControl(t *testing.T) {
	t.Parallel()
	c := serve(t, newAccount())
	for name, committed := range map[string]string{"none": "", "not found": journal.RandomRef()} {
		if believed, reason, _ := trust(t, c, committed); believed || reason != journal.CannotControl {
			t.Errorf("%s: believed %v, %s", name, believed, reason)
		}
	}
}

// A hit is a hit although the account does not see everything.
func TestRestrictedAgentStillFinds(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref, hidden := journal.RandomRef(), journal.RandomRef()
	account.Add(zendeskfake.Ticket{ExternalID: ref, Group: 1})
	account.Add(zendeskfake.Ticket{ExternalID: hidden, Group: 2})
	c := serve(t, account)
	c.Token = evidence.Fixed(restrictedToken)
	if a := mustLook(t, c, query(ref)); len(a.Matches) != 1 {
		t.Errorf("matches %+v", a.Matches)
	}
	if a := mustLook(t, c, query(hidden)); len(a.Matches) != 0 || !strings.Contains(unseen(a), "restricted agent") {
		t.Errorf("a ticket of another group: %+v, unseen %q", a.Matches, unseen(a))
	}
}

// One token serves many sessions, one that ends soon serves one, and one that was
// refused is not used again.
func TestClientsTokenIsKept(t *testing.T) {
	t.Parallel()
	account := newAccount()
	c := serve(t, account)
	ask := func(a evidence.Adapter) error {
		s, err := a.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Find(t.Context(), query(journal.RandomRef()))
		return err
	}
	kept, brief := open(t, asClient(c, "landed", clientSecret)), open(t, asClient(c, "brief", clientSecret))
	for range 3 {
		if err := ask(kept); err != nil {
			t.Fatal(err)
		}
	}
	if n := account.Issued(); n != 1 {
		t.Errorf("%d tokens for three sessions, want 1", n)
	}
	account.Revoke()
	if pe := fault(t, ask(kept)); pe.Kind != evidence.FaultAuth {
		t.Errorf("a revoked token: %+v", pe)
	}
	if err := ask(kept); err != nil {
		t.Errorf("after it a new one is asked for: %v", err)
	}
	before := account.Issued()
	for range 2 {
		if err := ask(brief); err != nil {
			t.Fatal(err)
		}
	}
	if n := account.Issued() - before; n != 2 {
		t.Errorf("%d tokens that end at once for two sessions, want 2", n)
	}
}

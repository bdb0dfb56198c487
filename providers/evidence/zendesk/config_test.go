package zendesk_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/zendesk"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*zendesk.Config)
		want string // part of the error; empty = accepted
	}{
		{"good", func(*zendesk.Config) {}, ""},
		{"sandbox", func(c *zendesk.Config) { c.Subdomain, c.Sandbox = "acme1700000000", true }, ""},
		{"no subdomain", func(c *zendesk.Config) { c.Subdomain = "" }, "subdomain is not set"},
		{"whole host", func(c *zendesk.Config) { c.Subdomain = "acme.zendesk.com" }, "give its first part alone"},
		{"address", func(c *zendesk.Config) { c.Subdomain = "https://acme" }, "give its first part alone"},
		{"upper case", func(c *zendesk.Config) { c.Subdomain = "Acme" }, "lower-case"},
		{"hyphen at the end", func(c *zendesk.Config) { c.Subdomain = "acme-" }, "lower-case"},
		{"no credentials", func(c *zendesk.Config) { c.Token = nil }, "scope read"},
		{"OAuth client", func(c *zendesk.Config) { *c = asClient(*c, "landed", "s") }, ""},
		{"OAuth client without its secret", func(c *zendesk.Config) { c.Token, c.ClientID = nil, "landed" }, "only good together"},
		{"secret without its client", func(c *zendesk.Config) { c.ClientSecret = evidence.Fixed("s") }, "only good together"},
		{"OAuth client and token", func(c *zendesk.Config) { c.ClientID, c.ClientSecret = "landed", evidence.Fixed("s") }, "two sorts"},
		{"OAuth client with a space", func(c *zendesk.Config) { *c = asClient(*c, "my client", "s") }, "no identifier"},
		{"API token", func(c *zendesk.Config) { c.Email = apiUser }, "30 April 2027"},
		{"API token, permitted", func(c *zendesk.Config) { c.Email, c.AllowUnverified = apiUser, true }, ""},
		{"API token of nobody", func(c *zendesk.Config) { c.Email, c.AllowUnverified = "landed", true }, "no mail address"},
		{"user name as for curl", func(c *zendesk.Config) { c.Email, c.AllowUnverified = apiUser+"/token", true }, "added here"},
		{"user name with a colon", func(c *zendesk.Config) { c.Email, c.AllowUnverified = "a:b@example.com", true }, "no mail address"},
		{"status", func(c *zendesk.Config) { c.NotEffective = []string{" solved"} }, "no status"},
		{"pages", func(c *zendesk.Config) { c.MaxPages = 101 }, "max_pages"},
		{"negative lag", func(c *zendesk.Config) { c.IndexLag = -1 }, "negative"},
		{"plain HTTP", func(c *zendesk.Config) { c.BaseURL = "http://127.0.0.1:1" }, "in the clear"},
		{"base with a path", func(c *zendesk.Config) { c.BaseURL = "https://127.0.0.1:1/api/v2" }, "no address of an API"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := zendesk.Config{Subdomain: "acme", Token: evidence.Fixed(readToken)}
			c.edit(&cfg)
			_, err := cfg.Open()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("Open: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("Open: %v, want something about %q", err, c.want)
			}
		})
	}
}

func TestConfigNamesEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := zendesk.Config{MaxPages: -1, Timeout: -1}.Open()
	for _, want := range []string{"subdomain", "credentials", "max_pages", "negative"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
}

func TestTokenIsReadAnewForEverySession(t *testing.T) {
	t.Parallel()
	c := zendesk.Config{Subdomain: "acme"}
	token, fail := readToken, error(nil)
	c.Token = func() (string, error) { return token, fail }
	a := open(t, c)
	for _, token = range []string{"", "a b", "a\r\nX: 1", "ü"} {
		if _, err := a.Session(t.Context()); err == nil {
			t.Errorf("token %q was taken", token)
		}
	}
	fail = errors.New("vault is sealed")
	if _, err := a.Session(t.Context()); err == nil || !strings.Contains(err.Error(), "vault is sealed") {
		t.Errorf("Session: %v", err)
	}
}

func TestSheet(t *testing.T) {
	t.Parallel()
	want := evidence.Sheet{
		Kind: "zendesk", Version: "1", Class: evidence.L2, ProcessingHorizon: 5 * time.Minute, IndexLag: time.Minute, Retention: 30 * 24 * time.Hour,
		Native: evidence.NativeIdempotency{Header: "Idempotency-Key", Window: 2 * time.Hour, BodyCompared: true},
		Scopes: []string{"tickets that are not archived, by external_id", "every ticket of the account, also those of other groups",
			"tickets that were deleted since the window began", "tickets that were suspended since the window began"},
		Mode: "live", Conclusive: true,
	}
	c := zendesk.Config{Subdomain: "acme", Token: evidence.Fixed(readToken)}
	if diff := cmp.Diff(want, open(t, c).Sheet()); diff != "" {
		t.Error(diff)
	}
	c.Sandbox = true // archives closed tickets after three days
	want.Mode, want.Retention = "test", 3*24*time.Hour
	if diff := cmp.Diff(want, open(t, c).Sheet()); diff != "" {
		t.Error(diff)
	}
}

// What CreateBody and Header give makes a ticket that the adapter finds, and sent
// twice under one key it makes one ticket.
func TestWriterGuidance(t *testing.T) {
	t.Parallel()
	account := newAccount()
	c := serve(t, account)
	ref := journal.RandomRef()
	send := func(subject string) (status int, replayed string) {
		t.Helper()
		body, err := zendesk.CreateBody(map[string]any{"subject": subject, "comment": map[string]any{"body": "Hello"}}, ref)
		if err != nil {
			t.Fatal(err)
		}
		header, err := zendesk.Header(journal.ProviderKey(ref, 1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.BaseURL+"/api/v2/tickets", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		r.Header.Set("Authorization", "Bearer "+writeToken)
		resp, err := client(c).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("X-Idempotency-Lookup")
	}
	if code, lookup := send("A"); code != http.StatusCreated || lookup != "miss" {
		t.Fatalf("first: %d %q", code, lookup)
	}
	if code, lookup := send("A"); code != http.StatusCreated || lookup != "hit" {
		t.Errorf("again: %d %q", code, lookup)
	}
	if code, _ := send("B"); code != http.StatusBadRequest {
		t.Errorf("another body under the same key: %d", code)
	}
	if a := mustLook(t, c, query(ref)); len(a.Matches) != 1 || a.Matches[0].Title != "A" {
		t.Errorf("matches %+v", a.Matches)
	}
}

func TestWriterRefusesWhatCannotBeFound(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	if _, err := zendesk.CreateBody(nil, strings.ToUpper(ref)); err == nil {
		t.Error("a reference in upper case was taken")
	}
	if _, err := zendesk.CreateBody(map[string]any{"external_id": "crm-1"}, ref); err == nil || !strings.Contains(err.Error(), "external_id already") {
		t.Errorf("an external_id was overwritten: %v", err)
	}
	given := map[string]any{"subject": "x"}
	if _, err := zendesk.CreateBody(given, ref); err != nil || len(given) != 1 {
		t.Errorf("the caller's ticket was altered: %v, %v", given, err)
	}
	if _, err := zendesk.Header("short"); err == nil {
		t.Error("a short provider key was taken")
	}
	if _, _, err := zendesk.HandleOf(0); err == nil {
		t.Error("id 0 was taken")
	}
	if kind, value, err := zendesk.HandleOf(35436); err != nil || kind != "ticket" || value != "35436" {
		t.Errorf("handle %q %q %v", kind, value, err)
	}
}

// T-04: references that would end a query's text are refused, never stripped, and
// before anything is asked.
func TestT04_ReferencesThatBreakAQuery(t *testing.T) {
	t.Parallel()
	account := newAccount()
	c := serve(t, account)
	for _, ref := range []string{`x" OR project = SECRET OR "`, "50%", "a:b -status:open", "名前", `a\b`, "a,b", journal.RandomRef() + `" OR "`} {
		if _, err := look(t, c, query(ref)); err == nil {
			t.Errorf("%q was looked up", ref)
		}
		if _, err := zendesk.CreateBody(nil, ref); err == nil {
			t.Errorf("%q was written", ref)
		}
	}
	if n := account.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

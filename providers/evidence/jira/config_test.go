package jira_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/jira"
)

func goodConfig() jira.Config {
	return jira.Config{Site: "https://acme.atlassian.net", Email: email, Token: evidence.Fixed(apiToken), Project: "OPS"}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*jira.Config)
		want string // part of the error; empty = accepted
	}{
		{"good", func(*jira.Config) {}, ""},
		{"slash at the end", func(c *jira.Config) { c.Site += "/" }, ""},
		{"own domain", func(c *jira.Config) { c.Site = "https://jira.example.com" }, ""},
		{"token with scopes", func(c *jira.Config) { c.CloudID = cloudID }, ""},
		{"OAuth", func(c *jira.Config) { c.CloudID, c.Email = cloudID, "" }, ""},
		{"no site", func(c *jira.Config) { c.Site = "" }, "site is not set"},
		{"site without a scheme", func(c *jira.Config) { c.Site = "acme.atlassian.net" }, "no address of a Jira Cloud site"},
		{"site with a path", func(c *jira.Config) { c.Site += "/jira" }, "no address of a Jira Cloud site"},
		{"plain HTTP", func(c *jira.Config) { c.Site = "http://acme.atlassian.net" }, "in the clear"},
		{"credentials in the address", func(c *jira.Config) { c.Site = "https://a:b@acme.atlassian.net" }, "no address of a Jira Cloud site"},
		{"the API's address", func(c *jira.Config) { c.Site = "https://api.atlassian.com" }, "cloud_id"},
		{"cloud id", func(c *jira.Config) { c.CloudID = "acme/../x" }, "cloud_id"},
		{"no token", func(c *jira.Config) { c.Token = nil }, "Browse Projects"},
		{"neither email nor cloud id", func(c *jira.Config) { c.Email = "" }, "needs cloud_id"},
		{"no mail address", func(c *jira.Config) { c.Email = "landed" }, "no mail address"},
		{"mail address with a colon", func(c *jira.Config) { c.Email = "a:b@example.com" }, "no mail address"},
		{"no project", func(c *jira.Config) { c.Project = "" }, "project is not set"},
		{"project in lower case", func(c *jira.Config) { c.Project = "ops" }, "no key"},
		{"project by name", func(c *jira.Config) { c.Project = "My Project" }, "no key"},
		{"project by id", func(c *jira.Config) { c.Project = "10000" }, "no key"},
		{"project that breaks a query", func(c *jira.Config) { c.Project = `OPS" OR project = "X` }, "no key"},
		{"carrier", func(c *jira.Config) { c.Carrier = "remotelink" }, "say label or property"},
		{"property", func(c *jira.Config) { c.Carrier = jira.Property }, ""},
		{"label with a space", func(c *jira.Config) { c.LabelPrefix = "my label " }, "label_prefix"},
		{"property that breaks a query", func(c *jira.Config) { c.PropertyKey = "a].b" }, "property_key"},
		{"status", func(c *jira.Config) { c.NotEffective = []string{""} }, "no name of a status"},
		{"pages", func(c *jira.Config) { c.MaxPages = 101 }, "max_pages"},
		{"negative lag", func(c *jira.Config) { c.IndexLag = -1 }, "negative"},
		{"plain API", func(c *jira.Config) { c.APIURL = "http://127.0.0.1:1" }, "in the clear"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := goodConfig()
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
	_, err := jira.Config{MaxPages: -1, Timeout: -1}.Open()
	for _, want := range []string{"site", "token", "project", "max_pages", "negative"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
}

func TestTokenIsReadAnewForEverySession(t *testing.T) {
	t.Parallel()
	c := goodConfig()
	token, fail := apiToken, error(nil)
	c.Token = func() (string, error) { return token, fail }
	a := open(t, c)
	for _, token = range []string{"", "a b", "a\r\nX: 1"} {
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
		Kind: "jira", Version: "1", Class: evidence.L3, ProcessingHorizon: 5 * time.Minute, IndexLag: 10 * time.Minute,
		Scopes: []string{"issues that the account may browse, by label", "project OPS"}, Mode: "live", Conclusive: true,
	}
	c := goodConfig()
	if diff := cmp.Diff(want, open(t, c).Sheet()); diff != "" {
		t.Error(diff)
	}
	c.Carrier, c.TestMode = jira.Property, true
	want.Scopes[0], want.Mode = "issues that the account may browse, by the issue property landed", "test"
	if diff := cmp.Diff(want, open(t, c).Sheet()); diff != "" {
		t.Error(diff)
	}
}

// What CreateBody gives makes an issue that either carrier finds.
func TestWriterGuidance(t *testing.T) {
	t.Parallel()
	site := newSite()
	site.IndexProperty()
	c := serve(t, site)
	ref := journal.RandomRef()
	body, err := jira.CreateBody(map[string]any{"project": map[string]any{"key": "OPS"}, "summary": "Order", "labels": []string{"shop"}}, jira.Marks{}, ref)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.APIURL+"/rest/api/3/issue", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(email, scopeToken)
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}}}
	resp, err := hc.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("status %d", resp.StatusCode)
	}
	for _, carrier := range []jira.Carrier{jira.Label, jira.Property} {
		c.Carrier = carrier
		if a := mustLook(t, c, ref); len(a.Matches) != 1 || a.Matches[0].Title != "Order" {
			t.Errorf("by %s: %+v", carrier, a.Matches)
		}
	}
}

func TestWriterRefusesWhatCannotBeFound(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for name, f := range map[string]func() error{
		"reference in upper case": func() error { _, err := jira.CreateBody(nil, jira.Marks{}, strings.ToUpper(ref)); return err },
		"label with a space":      func() error { _, err := jira.CreateBody(nil, jira.Marks{LabelPrefix: "a b"}, ref); return err },
		"labels that are no list": func() error { _, err := jira.CreateBody(map[string]any{"labels": "x"}, jira.Marks{}, ref); return err },
		"handle that is a path":   func() error { _, _, err := jira.HandleOf("OPS-1/../2"); return err },
		"handle without a number": func() error { _, _, err := jira.HandleOf("OPS-"); return err },
		"handle in lower case":    func() error { _, _, err := jira.HandleOf("ops-1"); return err },
	} {
		if err := f(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	given := map[string]any{"labels": []any{"shop"}}
	if _, err := jira.CreateBody(given, jira.Marks{}, ref); err != nil || len(given["labels"].([]any)) != 1 {
		t.Errorf("the caller's fields were altered: %v, %v", given, err)
	}
	for _, id := range []string{"OPS-12", "10012"} {
		if kind, value, err := jira.HandleOf(id); err != nil || kind != "issue" || value != id {
			t.Errorf("handle %q %q %v", kind, value, err)
		}
	}
}

// T-04: references that would end a query's text are refused, never stripped, and
// before anything is asked.
func TestT04_ReferencesThatBreakAQuery(t *testing.T) {
	t.Parallel()
	site := newSite()
	c := serve(t, site)
	for _, ref := range []string{`x" OR project = SECRET OR "`, "50%", "a:b -status:open", "名前", `a\b`, "a,b", journal.RandomRef() + `" OR "`} {
		if _, err := look(t, c, ref); err == nil {
			t.Errorf("%q was looked up", ref)
		}
		if _, err := jira.CreateBody(nil, jira.Marks{}, ref); err == nil {
			t.Errorf("%q was written", ref)
		}
	}
	if n := site.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

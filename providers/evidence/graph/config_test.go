package graph_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

func good() graph.Config {
	return graph.Config{Tenant: "contoso.example", ClientID: "535fb089-9ff3-47b6-9bfb-4f1264799865", ClientSecret: evidence.Fixed("s"), Mailbox: user, CopyKept: true}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*graph.Config)
		want string // part of the error; empty = accepted
	}{
		{"good", func(*graph.Config) {}, ""},
		{"mailbox by its id", func(c *graph.Config) { c.Mailbox = "bb8775a4-4d8c-42cf-a1d4-4d58c2bb668f" }, ""},
		{"apostrophe in the name", func(c *graph.Config) { c.Mailbox = "o'brien@contoso.example" }, ""},
		{"government", func(c *graph.Config) { c.Cloud = graph.CloudUSGov }, ""},
		{"government, level 5", func(c *graph.Config) { c.Cloud = graph.CloudUSDoD }, ""},
		{"China", func(c *graph.Config) { c.Cloud = graph.CloudChina }, ""},
		{"cloud that there is not", func(c *graph.Config) { c.Cloud = "germany" }, "none of global"},
		{"no tenant", func(c *graph.Config) { c.Tenant = "" }, "tenant"},
		{"any tenant", func(c *graph.Config) { c.Tenant = "common" }, "names no organisation"},
		{"tenant with a path", func(c *graph.Config) { c.Tenant = "a/../b" }, "tenant"},
		{"no client", func(c *graph.Config) { c.ClientID = "" }, "client_id"},
		{"no secret", func(c *graph.Config) { c.ClientSecret = nil }, "client_secret is not set"},
		{"no mailbox", func(c *graph.Config) { c.Mailbox = "" }, "mailbox"},
		{"whoever the token is", func(c *graph.Config) { c.Mailbox = "me" }, "mailbox"},
		{"mailbox with a path", func(c *graph.Config) { c.Mailbox = "a@b/messages" }, "mailbox"},
		{"mailbox that goes up", func(c *graph.Config) { c.Mailbox = ".." }, "mailbox"},
		{"header of somebody else", func(c *graph.Config) { c.Carrier.Header = "Subject" }, "header of our own"},
		{"domain that ends the filter", func(c *graph.Config) { c.Carrier.Domain = "a' or true or '" }, "domain name"},
		{"pages", func(c *graph.Config) { c.MaxPages = 21 }, "max_pages"},
		{"negative lag", func(c *graph.Config) { c.IndexLag = -1 }, "negative"},
		{"plain HTTP", func(c *graph.Config) { c.LoginURL = "http://127.0.0.1" }, "login_url"},
		{"query in the address", func(c *graph.Config) { c.BaseURL = "https://graph.example/?a=b" }, "base_url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := good()
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

func TestSecretIsReadPerSession(t *testing.T) {
	t.Parallel()
	for _, bad := range []evidence.Secret{evidence.Fixed(" "), func() (string, error) { return "", errors.New("sealed") }} {
		c := good()
		c.ClientSecret = bad
		if _, err := open(t, c).Session(t.Context()); err == nil {
			t.Error("a session without a secret")
		}
	}
}

// M-13: without a copy an empty answer proves nothing, and the sheet says so.
func TestM13_SheetSaysWhetherACopyIsKept(t *testing.T) {
	t.Parallel()
	want := evidence.Sheet{Kind: "graph", Version: "1", Class: evidence.L2, ProcessingHorizon: 10 * time.Minute, IndexLag: 5 * time.Minute,
		Scopes: []string{"every folder of the mailbox", "deleted messages that can still be recovered"}, Mode: "live", Conclusive: true}
	if diff := cmp.Diff(want, open(t, good()).Sheet()); diff != "" {
		t.Error(diff)
	}
	c := good()
	c.CopyKept = false
	if s := open(t, c).Sheet(); s.Conclusive || !strings.Contains(s.InconclusiveWhy, "copy_kept") {
		t.Errorf("sheet %+v", s)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	got, err := graph.Properties(mailref.Carrier{}, ref)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"singleValueExtendedProperties": []map[string]string{{"id": "String {6f0a8c52-3c1d-4b7e-9a51-2f8e4d7c0b13} Name LandedRef", "value": ref}},
		"internetMessageHeaders":        []map[string]string{{"name": "x-landed-ref", "value": ref}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", strings.ToUpper(ref), ref + "0"} {
		if _, err := graph.Properties(mailref.Carrier{}, bad); err == nil {
			t.Errorf("reference %q was taken", bad)
		}
	}
	if _, err := graph.Properties(mailref.Carrier{Header: "Subject"}, ref); err == nil {
		t.Error("a header of somebody else was taken")
	}
}

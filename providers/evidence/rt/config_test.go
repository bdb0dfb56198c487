package rt_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/rt"
)

func goodConfig() rt.Config {
	return rt.Config{BaseURL: "https://desk.example.com/rt/", Token: evidence.Fixed("1-2-abc"), Queue: "Desk"}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*rt.Config)
		want string // part of the error; empty = accepted
	}{
		{"good", func(*rt.Config) {}, ""},
		{"no address", func(c *rt.Config) { c.BaseURL = "" }, "base_url is not set"},
		{"no host", func(c *rt.Config) { c.BaseURL = "https:///rt" }, "has no host"},
		{"plain HTTP", func(c *rt.Config) { c.BaseURL = "http://desk.example.com" }, "in the clear"},
		{"plain HTTP needs both switches", func(c *rt.Config) { c.BaseURL, c.AllowPlainHTTP = "http://127.0.0.1", true }, "in the clear"},
		{"plain HTTP allowed", func(c *rt.Config) {
			c.BaseURL, c.AllowPlainHTTP, c.AllowPrivate = "http://127.0.0.1:8081", true, true
		}, ""},
		{"private address", func(c *rt.Config) { c.BaseURL = "https://10.1.2.3" }, "allow_private"},
		{"other scheme", func(c *rt.Config) { c.BaseURL = "ftp://desk.example.com" }, `scheme "ftp"`},
		{"credentials in the address", func(c *rt.Config) { c.BaseURL = "https://u:p@desk.example.com" }, "credentials"},
		{"query in the address", func(c *rt.Config) { c.BaseURL = "https://desk.example.com/?a=b" }, "query"},
		{"address of the API", func(c *rt.Config) { c.BaseURL = "https://desk.example.com/REST/2.0" }, "without /REST/2.0"},
		{"no token", func(c *rt.Config) { c.Token = nil }, "token is not set"},
		{"no queue", func(c *rt.Config) { c.Queue = "" }, "queue is not set"},
		{"queue with slash", func(c *rt.Config) { c.Queue = "a/b" }, "numeric id"},
		{"queue beyond ASCII", func(c *rt.Config) { c.Queue = "Größe" }, "numeric id"},
		{"queue of dots", func(c *rt.Config) { c.Queue = ".." }, "numeric id"},
		{"queue by id", func(c *rt.Config) { c.Queue = "3" }, ""},
		{"queue with control character", func(c *rt.Config) { c.Queue = "a\r\nb" }, "control characters"},
		{"queue with space at its end", func(c *rt.Config) { c.Queue = "Desk " }, "space"},
		{"queue with a quote (P-08: never stripped)", func(c *rt.Config) { c.Queue = "O'Brien & Co" }, ""},
		{"field beyond ASCII", func(c *rt.Config) { c.Field = "名前" }, ""},
		{"field with NUL", func(c *rt.Config) { c.Field = "a\x00" }, "control characters"},
		{"status with control character", func(c *rt.Config) { c.NotEffective = []string{"a\n"} }, "not_effective"},
		{"pages", func(c *rt.Config) { c.MaxPages = 101 }, "max_pages"},
		{"negative lag", func(c *rt.Config) { c.IndexLag = -time.Second }, "index_lag"},
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

func TestConfigReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := rt.Config{}.Open()
	for _, want := range []string{"base_url", "token", "queue"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

func TestSheet(t *testing.T) {
	t.Parallel()
	c := goodConfig()
	c.IndexLag = 90 * time.Second // T-01: the lag is the configuration's
	want := evidence.Sheet{
		Kind: "rt", Version: "1", Class: evidence.L2,
		ProcessingHorizon: 5 * time.Minute, IndexLag: 90 * time.Second,
		Scopes: []string{
			"tickets of queue Desk, merged ones, and tickets of every other queue that the account sees",
			"deleted tickets of queue Desk that were created in the window",
		},
		Mode: "live", Conclusive: true,
	}
	if diff := cmp.Diff(want, open(t, c).Sheet()); diff != "" {
		t.Error(diff)
	}
}

func TestCreateBody(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	b, err := rt.CreateBody(rt.NewTicket{Queue: "O'Brien", Subject: `say "hi"`, Content: "x", Requestor: "kim@customer.example"}, "", ref)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"Queue": "O'Brien", "Subject": `say "hi"`, "Content": "x", "Requestor": "kim@customer.example",
		"CustomFields": map[string]any{"Landed Ref": ref},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", strings.ToUpper(ref), ref + "0", `x" OR project = SECRET OR "`} {
		if _, err := rt.CreateBody(rt.NewTicket{Queue: "Desk"}, "", bad); err == nil {
			t.Errorf("reference %q was accepted", bad)
		}
	}
}

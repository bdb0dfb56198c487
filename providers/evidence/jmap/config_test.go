package jmap_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/jmap"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*jmap.Config)
		want string // part of the error; empty = accepted
	}{
		{"good", func(*jmap.Config) {}, ""},
		{"no token", func(c *jmap.Config) { c.Token = nil }, "token is not set"},
		{"plain HTTP", func(c *jmap.Config) { c.SessionURL = "http://127.0.0.1/jmap" }, "in the clear"},
		{"credentials in the address", func(c *jmap.Config) { c.SessionURL = "https://u:p@mail.example/jmap" }, "no address"},
		{"no host", func(c *jmap.Config) { c.SessionURL = "https:///jmap" }, "no address"},
		{"host with a path", func(c *jmap.Config) { c.APIHost = "mail.example/x" }, "api_host"},
		{"account", func(c *jmap.Config) { c.AccountID = "u1f5e6a" }, ""},
		{"no id", func(c *jmap.Config) { c.AccountID = `a","x` }, "no JMAP id"},
		{"header of somebody else", func(c *jmap.Config) { c.RefHeader = "Subject" }, "header of our own"},
		{"header with a line break", func(c *jmap.Config) { c.RefHeader = "X-A\r\nB" }, "header of our own"},
		{"domain with a blank", func(c *jmap.Config) { c.Domain = "a b" }, "domain name"},
		{"pages", func(c *jmap.Config) { c.MaxPages = 101 }, "max_pages"},
		{"negative lag", func(c *jmap.Config) { c.IndexLag = -1 }, "negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := jmap.Config{Token: evidence.Fixed(token)}
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

func TestTokenIsReadPerSession(t *testing.T) {
	t.Parallel()
	for _, bad := range []evidence.Secret{evidence.Fixed(""), evidence.Fixed("a\r\nX: 1"), func() (string, error) { return "", errors.New("sealed") }} {
		if _, err := open(t, jmap.Config{Token: bad}).Session(t.Context()); err == nil || strings.Contains(err.Error(), "X: 1") {
			t.Errorf("Session: %v", err)
		}
	}
}

// M-13: without a copy an empty answer proves nothing, and the sheet says so.
func TestM13_SheetSaysWhetherACopyIsKept(t *testing.T) {
	t.Parallel()
	want := evidence.Sheet{
		Kind: "jmap", Version: "1", Class: evidence.L2, ProcessingHorizon: 10 * time.Minute, IndexLag: time.Minute,
		Scopes: []string{"every message of the account, in all mailboxes"}, Mode: "live", Conclusive: true,
	}
	if diff := cmp.Diff(want, open(t, jmap.Config{Token: evidence.Fixed(token), CopyKept: true}).Sheet()); diff != "" {
		t.Error(diff)
	}
	if s := open(t, jmap.Config{Token: evidence.Fixed(token)}).Sheet(); s.Conclusive || !strings.Contains(s.InconclusiveWhy, "copy_kept") {
		t.Errorf("sheet %+v", s)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	got, err := jmap.Properties("", "", ref)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"messageId": []string{ref + "@effects.landed"}, "header:X-Landed-Ref:asText": ref}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", strings.ToUpper(ref), ref + "0"} {
		if _, err := jmap.Properties("", "", bad); err == nil {
			t.Errorf("reference %q was taken", bad)
		}
	}
	if _, err := jmap.Properties("Subject", "", ref); err == nil {
		t.Error("a header of somebody else was taken")
	}
}

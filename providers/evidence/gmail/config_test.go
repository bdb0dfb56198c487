package gmail_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/gmail"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(*gmail.Config)
		want string // part of the error; empty = accepted
	}{
		{"refresh token", func(*gmail.Config) {}, ""},
		{"service account", func(c *gmail.Config) {
			*c = gmail.Config{Mailbox: mailbox, ServiceAccount: evidence.Fixed("{}")}
		}, ""},
		{"no credentials", func(c *gmail.Config) { *c = gmail.Config{Mailbox: mailbox} }, "no credentials"},
		{"both sorts", func(c *gmail.Config) { c.ServiceAccount = evidence.Fixed("{}") }, "two sorts"},
		{"half a consent", func(c *gmail.Config) { c.RefreshToken = nil }, "only good together"},
		{"no mailbox", func(c *gmail.Config) { c.Mailbox = "" }, "no mail address"},
		{"whoever the token is", func(c *gmail.Config) { c.Mailbox = "me" }, "no mail address"},
		{"mailbox with a path", func(c *gmail.Config) { c.Mailbox = "a@b/../c" }, "no mail address"},
		{"header of somebody else", func(c *gmail.Config) { c.Carrier.Header = "Subject" }, "header of our own"},
		{"header with a line break", func(c *gmail.Config) { c.Carrier.Header = "X-A\r\nB" }, "header of our own"},
		{"domain that ends the query", func(c *gmail.Config) { c.Carrier.Domain = "a OR in:inbox" }, "domain name"},
		{"pages", func(c *gmail.Config) { c.MaxPages = 21 }, "max_pages"},
		{"negative retention", func(c *gmail.Config) { c.Retention = -1 }, "negative"},
		{"plain HTTP", func(c *gmail.Config) { c.BaseURL = "http://127.0.0.1" }, "base_url"},
		{"credentials in the address", func(c *gmail.Config) { c.TokenURL = "https://u:p@tokens.example" }, "token_url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := gmail.Config{Mailbox: mailbox, ClientID: "app", ClientSecret: evidence.Fixed("s"), RefreshToken: evidence.Fixed("r")}
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

func TestSecretsAreReadPerSession(t *testing.T) {
	t.Parallel()
	for _, bad := range []evidence.Secret{evidence.Fixed(""), func() (string, error) { return "", errors.New("sealed") }} {
		for _, c := range []gmail.Config{
			{Mailbox: mailbox, ClientID: "app", ClientSecret: evidence.Fixed("s"), RefreshToken: bad},
			{Mailbox: mailbox, ClientID: "app", ClientSecret: bad, RefreshToken: evidence.Fixed("r")},
			{Mailbox: mailbox, ServiceAccount: bad},
		} {
			if _, err := open(t, c).Session(t.Context()); err == nil {
				t.Error("a session without a secret")
			}
		}
	}
}

func TestSheet(t *testing.T) {
	t.Parallel()
	want := evidence.Sheet{Kind: "gmail", Version: "1", Class: evidence.L3, ProcessingHorizon: 10 * time.Minute, IndexLag: 10 * time.Minute,
		Retention: 720 * time.Hour, Scopes: []string{"every message of the mailbox, with Spam and Trash"}, Mode: "test", Conclusive: true}
	c := gmail.Config{Mailbox: mailbox, ServiceAccount: evidence.Fixed("{}"), MessageIDKept: true, Retention: 720 * time.Hour, TestMode: true}
	if diff := cmp.Diff(want, open(t, c).Sheet()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAWorkerWrites(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	got, err := gmail.Fields(mailref.Carrier{}, ref)
	if diff := cmp.Diff([]mailref.Field{{Name: "Message-ID", Value: "<" + ref + "@effects.landed>"}, {Name: "X-Landed-Ref", Value: ref}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if line, err := gmail.BodyLine(ref); line != "Ref: "+ref || err != nil {
		t.Errorf("line %q, %v", line, err)
	}
	for _, bad := range []string{"", strings.ToUpper(ref), ref + "0"} {
		if _, err := gmail.Fields(mailref.Carrier{}, bad); err == nil {
			t.Errorf("reference %q was taken", bad)
		}
		if _, err := gmail.BodyLine(bad); err == nil {
			t.Errorf("reference %q was taken", bad)
		}
	}
	if _, err := gmail.Fields(mailref.Carrier{Header: "Subject"}, ref); err == nil {
		t.Error("a header of somebody else was taken")
	}
}

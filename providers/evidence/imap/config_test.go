package imap_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

func TestOpenRefusesBadConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(*imap.Config)
		want string // part of the error
	}{
		{"no port", func(c *imap.Config) { c.Address = "imap.example.org" }, "host:port"},
		{"no host", func(c *imap.Config) { c.Address = ":993" }, "host:port"},
		{"port 0", func(c *imap.Config) { c.Address = "h:0" }, "port"},
		{"named port", func(c *imap.Config) { c.Address = "h:imaps" }, "port"},
		{"space in host", func(c *imap.Config) { c.Address = "a b:993" }, "space"},
		{"unknown tls", func(c *imap.Config) { c.TLS = "ssl" }, "implicit, starttls or none"},
		{"tls none to a public address", func(c *imap.Config) { c.Address = "93.184.215.14:143" }, "loopback and private"},
		{"no username", func(c *imap.Config) { c.Username = "" }, "username is missing"},
		{"no password", func(c *imap.Config) { c.Password = nil }, "password is missing"},
		{"standard header", func(c *imap.Config) { c.Carrier.RefHeader = "In-Reply-To" }, "must begin with X-"},
		{"long header", func(c *imap.Config) { c.Carrier.RefHeader = "X-" + strings.Repeat("a", 80) }, "header name"},
		{"domain with a path", func(c *imap.Config) { c.Carrier.Domain = "a.test/b" }, "domain name"},
		{"domain with an empty label", func(c *imap.Config) { c.Carrier.Domain = "a..test" }, "domain name"},
		{"scan too large", func(c *imap.Config) { c.MaxScan = 1 << 20 }, "max scan"},
		{"scan negative", func(c *imap.Config) { c.MaxScan = -1 }, "max scan"},
		{"negative timeout", func(c *imap.Config) { c.Timeout = -1 }, "timeout is negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := config("127.0.0.1:143")
			c.set(&cfg)
			_, err := cfg.Open()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Quoting can't make a line break safe, so Open refuses every control character.
func TestM14_ControlCharactersAreRefusedInEverySetting(t *testing.T) {
	t.Parallel()
	settings := map[string]func(*imap.Config, string){
		"address":  func(c *imap.Config, v string) { c.Address = v },
		"username": func(c *imap.Config, v string) { c.Username = v },
		"mailbox":  func(c *imap.Config, v string) { c.Mailbox = v },
		"header":   func(c *imap.Config, v string) { c.Carrier.RefHeader = v },
		"domain":   func(c *imap.Config, v string) { c.Carrier.Domain = v },
	}
	for name, set := range settings {
		for _, hostile := range []string{
			"INBOX\r\nA1 DELETE X", "x\"\r\nX1 STORE 1:* +FLAGS (\\Deleted)\r\nX2 EXPUNGE", "a\nb", "a\rb", "a\x00b", "a\x7fb", "a\u0085b", "\xff",
		} {
			cfg := config("127.0.0.1:143")
			set(&cfg, hostile)
			if _, err := cfg.Open(); err == nil {
				t.Errorf("%s %q was accepted", name, hostile)
			}
		}
	}
}

func TestM14_HostilePasswordNeverReachesTheWire(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, nil)
	cfg := config(srv.Addr())
	cfg.Password = evidence.Fixed("x\"\r\nX1 STORE 1:* +FLAGS (\\Deleted)\r\nX2 EXPUNGE")
	_, err := open(t, cfg).Session(t.Context())
	if err == nil || strings.Contains(err.Error(), "STORE") {
		t.Errorf("error %v, want one that does not quote the password", err)
	}
	if got := srv.Commands(); len(got) != 0 {
		t.Errorf("commands %v, want none", got)
	}
}

// Values that Open can't refuse stay inside their command.
func TestM14_OddNamesStayInsideOneCommand(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{
		`Sent" (STATUS)`, `a\" BODY[]`, `{5}`, `{5+}`, `a b) (c`, `*`, `%`, "Отправленные", "gelöscht & weg", `01-Jan-2026 ALL`, "x} EXPUNGE",
	} {
		t.Run(odd, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, nil)
			cfg := config(srv.Addr())
			cfg.Mailbox = odd
			s := session(t, cfg)
			a, err := s.Find(t.Context(), query(journal.RandomRef()))
			if err != nil {
				t.Fatalf("Find: %v", err)
			}
			if len(a.Scopes) != 1 || a.Scopes[0].Seen || len(a.Matches) != 0 {
				t.Errorf("answer %+v, want one scope that was not seen", a)
			}
			var verbs []string
			for _, c := range srv.Commands() {
				if c.Verb != "CAPABILITY" { // the library asks when it likes
					verbs = append(verbs, c.Verb)
				}
			}
			if diff := cmp.Diff([]string{"LOGIN", "EXAMINE"}, verbs); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadersAreWhatTheAdapterFinds(t *testing.T) {
	t.Parallel()
	const ref = "0123456789ab4def8123456789abcdef"
	got, err := imap.Carrier{}.Headers(ref)
	if err != nil {
		t.Fatalf("Headers: %v", err)
	}
	want := []imap.Header{{Name: "Message-ID", Value: "<" + ref + "@effects.landed>"}, {Name: "X-Landed-Ref", Value: ref}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	own := imap.Carrier{RefHeader: "X-Shop-Effect", Domain: "mail.shop.example"}
	if got, err = own.Headers(ref); err != nil || got[0].Value != "<"+ref+"@mail.shop.example>" || got[1].Name != "X-Shop-Effect" {
		t.Errorf("headers %v, %v", got, err)
	}
	for _, bad := range []string{"", strings.ToUpper(ref), ref + "\r\nBcc: all@example.org", "order/1"} {
		if h, err := own.Headers(bad); err == nil {
			t.Errorf("Headers(%q) = %v, want an error", bad, h)
		}
	}
	if _, err := (imap.Carrier{RefHeader: "Subject"}).Headers(ref); err == nil {
		t.Error("a standard header was accepted")
	}
}

func TestM13_WithoutAppendingTheSheetIsInconclusive(t *testing.T) {
	t.Parallel()
	cfg := config("127.0.0.1:143")
	cfg.SentAppended = false
	sh := open(t, cfg).Sheet()
	if sh.Conclusive || !strings.Contains(sh.InconclusiveWhy, "without a copy") {
		t.Errorf("sheet %+v, want inconclusive with the reason", sh)
	}
	cfg.SentAppended = true
	want := evidence.Sheet{
		Kind: "imap", Version: open(t, cfg).Sheet().Version, Class: evidence.L2,
		ProcessingHorizon: 10 * time.Minute, IndexLag: 30 * time.Second,
		Scopes: []string{"Sent folder of ann at 127.0.0.1"}, Mode: "live", Conclusive: true,
	}
	if diff := cmp.Diff(want, open(t, cfg).Sheet()); diff != "" {
		t.Errorf("sheet (-want +got):\n%s", diff)
	}
	if sh.Version == want.Version {
		t.Error("the version did not change with the configuration")
	}
}

func TestSecretDoesNotPrintAndItsErrorIsReported(t *testing.T) {
	t.Parallel()
	cfg := config("127.0.0.1:143")
	if text := fmt.Sprintf("%v %+v", cfg, cfg); strings.Contains(text, imaptest.Password) {
		t.Error("the password prints")
	}
	gone := errors.New("file is gone")
	cfg.Password = func() (string, error) { return "", gone }
	if _, err := open(t, cfg).Session(t.Context()); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
}

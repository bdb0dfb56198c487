package imap_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// config is for a server on loopback.
func config(addr string) imap.Config {
	return imap.Config{
		Address: addr, TLS: imap.TLSNone, Username: imaptest.User, Password: evidence.Fixed(imaptest.Password),
		SentAppended: true, Timeout: 2 * time.Minute,
	}
}

func open(t *testing.T, c imap.Config) evidence.Adapter {
	t.Helper()
	a, err := c.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return a
}

// carry is a mail whose carriers both say carrier.
func carry(carrier string) []byte {
	return imaptest.Mail(
		imaptest.Field{Name: "Message-ID", Value: "<" + carrier + "@effects.landed>"},
		imaptest.Field{Name: "X-Landed-Ref", Value: carrier},
	)
}

// broken starts a server that fails in this way.
func broken(t *testing.T, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	var script imaptest.Script
	c := config("")
	switch b {
	case evidencetest.BreakAuth:
		c.Username = "mallory"
	case evidencetest.BreakDown:
		script = imaptest.DropMidway("EXAMINE", "* FLAGS (\\Se")
	case evidencetest.BreakHang:
		script = imaptest.At("EXAMINE", imaptest.Hang)
	case evidencetest.BreakGarbage:
		script = imaptest.Answer("EXAMINE", "* \x00\xff{{]] nonsense\r\n$TAG WHAT?\r\n")
	}
	c.Address = imaptest.NewServer(t, script).Addr()
	return open(t, c)
}

// readOnlyVerbs are the commands that this adapter may ever send.
var readOnlyVerbs = regexp.MustCompile(`^[TL]\d+ (CAPABILITY|ID|XLIST|ENABLE|NOOP|STARTTLS|AUTHENTICATE PLAIN|LOGIN|LIST|EXAMINE|UID SEARCH|UID FETCH|FETCH|LOGOUT)( |$)`)

func checkReadOnly(t *testing.T, sent string) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(sent) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "T") && !strings.HasPrefix(line, "L") { // SASL's response line
			continue
		}
		lines++
		if !readOnlyVerbs.MatchString(line) || strings.Contains(line, "BODY[") || strings.Contains(line, "CHARSET") || strings.Contains(line, "RETURN") {
			t.Errorf("a command that must not be sent: %q", line)
		}
	}
	if lines == 0 {
		t.Error("no command was recorded: the check proves nothing")
	}
}

func TestConformanceOnDovecot(t *testing.T) {
	t.Parallel()
	d := imaptest.StartDovecot(t)
	tap := evidencetest.NewTap(t, d.Addr)
	adapter := open(t, config(tap.Addr()))
	var last string // what the folder looked like after the last Put
	put := func(t *testing.T, carrier string) {
		d.Append(t, imaptest.User, imaptest.SentFolder, carry(carrier))
		last = d.Snapshot(t, imaptest.User, imaptest.SentFolder)
	}
	evidencetest.Conformance(t, evidencetest.Fixture{
		Open:     func(*testing.T) evidence.Adapter { return adapter },
		Put:      put,
		Break:    broken,
		Requests: tap.Bytes,
		Secrets:  []string{imaptest.Password},
		ReadOnly: func(t *testing.T) {
			checkReadOnly(t, tap.Sent())
			if now := d.Snapshot(t, imaptest.User, imaptest.SentFolder); now != last {
				t.Errorf("the folder changed:\n%s\nwas\n%s", now, last)
			}
		},
	})
}

// The same suite on a server whose header search finds nothing: every answer
// comes from the scan.
func TestM11_ConformanceWhenHeaderSearchIsAlwaysEmpty(t *testing.T) {
	t.Parallel()
	conformOnScript(t, imaptest.AnswerHeaderSearch("* SEARCH\r\n$TAG OK done\r\n"))
}

func TestM11_ConformanceWhenHeaderSearchIsRefused(t *testing.T) {
	t.Parallel()
	conformOnScript(t, imaptest.AnswerHeaderSearch("$TAG NO not here\r\n"))
}

func TestConformanceOnScriptedServer(t *testing.T) {
	t.Parallel()
	conformOnScript(t, nil)
}

func conformOnScript(t *testing.T, script imaptest.Script) {
	conformOn(t, imaptest.NewServer(t, script))
}

func conformOn(t *testing.T, srv *imaptest.Server) {
	tap := evidencetest.NewTap(t, srv.Addr())
	evidencetest.Conformance(t, evidencetest.Fixture{
		Open:     func(t *testing.T) evidence.Adapter { return open(t, config(tap.Addr())) },
		Put:      func(_ *testing.T, carrier string) { srv.Add(time.Now(), `\Seen`, carry(carrier)) },
		Break:    broken,
		Requests: tap.Bytes,
		Secrets:  []string{imaptest.Password},
		ReadOnly: func(t *testing.T) { checkReadOnly(t, tap.Sent()) },
	})
}

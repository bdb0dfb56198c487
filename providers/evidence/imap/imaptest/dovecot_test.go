package imaptest_test

import (
	"strings"
	"testing"

	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

func TestDovecotStartsAppendsAndShows(t *testing.T) {
	t.Parallel()
	d := imaptest.StartDovecot(t)
	uid := d.Append(t, "ann", imaptest.SentFolder, imaptest.Mail())
	if uid == 0 {
		t.Error("no UID came back")
	}
	if s := d.Snapshot(t, "ann", imaptest.SentFolder); !strings.HasPrefix(s, "1 messages") {
		t.Errorf("snapshot %q, want one message", s)
	}
	if s := d.Snapshot(t, "bob", imaptest.SentFolder); !strings.HasPrefix(s, "0 messages") {
		t.Errorf("bob sees %q, want his own empty folder", s)
	}
}

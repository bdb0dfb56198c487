package imap_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// What servers may answer to a command that runs beside the library. Nothing of it
// loses the mail, and none takes the connection's other answers away.
func TestAsideAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"NO":                          "$TAG NO no\r\n",
		"another ending":              "$TAG MAYBE\r\n",
		"BAD":                         "$TAG BAD what?\r\n",
		"nothing":                     "$TAG OK done\r\n",
		"unasked lines before":        "* 2 EXISTS\r\n* OK (still (here\r\n* 1 FETCH (FLAGS (\\Seen) UID 100)\r\n$TAG OK done\r\n",
		"another message's identity":  "* 9 FETCH (UID 999 X-GM-MSGID 5)\r\n$TAG OK done\r\n",
		"unasked lines after":         "$TAG OK done\r\n* 2 EXISTS\r\n* 1 FETCH (FLAGS (\\Seen))\r\n",
		"half a line after":           "$TAG OK done\r\n* 2 EXI",
		"an id of odd bytes":          "* 1 FETCH (UID 100 X-GM-MSGID \"a b\\\"\" X-GM-LABELS NIL)\r\n$TAG OK done\r\n",
		"a literal with a line break": "* 1 FETCH (UID 100 X-GM-MSGID 5 X-GM-LABELS ({9}\r\na)\r\nL1 OK))\r\n$TAG OK done\r\n",
		"bare line feeds":             "* 1 FETCH (UID 100 X-GM-MSGID 5)\n$TAG OK done\n",
		"a bracket too many":          "* 1 FETCH (UID 100))\r\n$TAG OK done\r\n",
		"deep brackets":               "* 1 FETCH " + strings.Repeat("(", 300) + strings.Repeat(")", 300) + "\r\n$TAG OK done\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest := ""
			if name == "half a line after" {
				rest = "STS\r\n"
			}
			srv := imaptest.NewServer(t, func(w io.Writer, cmd imaptest.Command) imaptest.Action {
				if cmd.Verb == "UID FETCH" && strings.Contains(cmd.Args, "X-GM-MSGID") {
					fmt.Fprint(w, strings.ReplaceAll(answer, "$TAG", cmd.Tag))
					return imaptest.Done
				}
				if rest != "" && cmd.Verb == "EXAMINE" && strings.Contains(cmd.Args, allMail) {
					fmt.Fprint(w, rest)
				}
				return imaptest.Default
			}, gmail)
			ref := journal.RandomRef()
			srv.Put(imaptest.Message{Date: time.Now(), Raw: header(ref)})
			s := session(t, config(srv.Addr()))
			a, err := s.Find(t.Context(), query(ref))
			if err != nil || len(a.Matches) != 1 || len(a.Scopes) != 2 {
				t.Errorf("answer %+v, %v, want one match", a, err)
			}
		})
	}
}

// Whatever happens to the connection during such a command ends the look, in time.
func TestAsideFaults(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		script imaptest.Script
		want   evidence.FaultKind
	}{
		"dropped":            {imaptest.At("ID", imaptest.Drop), evidence.FaultUnavailable},
		"dropped midway":     {imaptest.DropMidway("ID", "* ID (\"name"), evidence.FaultUnavailable},
		"dropped in literal": {imaptest.DropMidway("ID", "* ID ({10}\r\nabc"), evidence.FaultUnavailable},
		"hangs":              {imaptest.At("ID", imaptest.Hang), evidence.FaultUnavailable},
		"endless line":       {imaptest.Endless("ID", "* ID (", "x "), evidence.FaultBadAnswer},
		"endless literal":    {imaptest.Endless("ID", "* ID ({2000000000}\r\n", "x "), evidence.FaultBadAnswer},
		"huge literal":       {imaptest.Endless("ID", "* ID ({99999999999}\r\n", "x "), evidence.FaultBadAnswer},
		"endless lines":      {imaptest.Endless("ID", "", "* ID NIL\r\n"), evidence.FaultTooLarge},
		"another tag":        {imaptest.Answer("ID", "X9 OK done\r\n"), evidence.FaultBadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, row.script, gmail)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if name == "hangs" {
				ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
			}
			_, err := open(t, config(srv.Addr())).Session(ctx)
			wantFault(t, err, row.want)
		})
	}
}

package imap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// The whole way from the mailbox to the verdict: an attempt of an hour ago, a
// canary that was committed before it.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	const always, never = "* SEARCH\r\n$TAG OK done\r\n", "$TAG NO no\r\n"
	for _, c := range []struct {
		name     string
		script   imaptest.Script
		special  bool
		set      func(*imap.Config)
		put      int // mails with the reference
		noCanary bool
		verdict  journal.Verdict
		reason   string
		explain  string
	}{
		{name: "there", special: true, put: 1, verdict: journal.Found},
		{name: "there twice", special: true, put: 2, verdict: journal.Duplicate},
		{name: "not there", special: true, verdict: journal.NotFound},
		{name: "not there, by scan", script: imaptest.AnswerHeaderSearch(always), special: true, verdict: journal.NotFound},
		{name: "T-05 filter ignored", script: imaptest.AnswerHeaderSearch("* SEARCH 100 101\r\n$TAG OK done\r\n"), special: true,
			verdict: journal.CannotTell, reason: journal.CannotFilter},
		{name: "M-11 scan out of bounds", script: imaptest.AnswerHeaderSearch(never), special: true,
			set: func(c *imap.Config) { c.MaxScan = 1 }, verdict: journal.CannotTell, reason: journal.CannotTruncated},
		{name: "M-13 nobody appends", special: true, set: func(c *imap.Config) { c.SentAppended = false },
			verdict: journal.CannotTell, reason: journal.CannotScope, explain: "without a copy"},
		{name: "no Sent folder", verdict: journal.CannotTell, reason: journal.CannotScope, explain: `setting "mailbox"`},
		{name: "no such folder", special: true, set: func(c *imap.Config) { c.Mailbox = "Sent" },
			verdict: journal.CannotTell, reason: journal.CannotScope, explain: "refused to open it"},
		{name: "canary is gone", special: true, noCanary: true, verdict: journal.CannotTell, reason: journal.CannotControl},
		{name: "server is gone", script: imaptest.At("EXAMINE", imaptest.Drop), special: true,
			verdict: journal.CannotTell, reason: journal.CannotProvider},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, c.script, func(s *imaptest.Server) { s.SpecialUse = c.special })
			begun := time.Now().Add(-time.Hour)
			canary, ref := journal.RandomRef(), journal.RandomRef()
			if c.noCanary {
				srv.Add(begun, "", carry(journal.RandomRef()))
			} else {
				srv.Add(begun, "", carry(canary))
			}
			srv.Add(begun, "", carry(journal.RandomRef()))
			for range c.put {
				srv.Add(begun, "", carry(ref))
			}
			cfg := config(srv.Addr())
			if c.set != nil {
				c.set(&cfg)
			}
			a := open(t, cfg)
			facts := evidence.Ask(t.Context(), a, evidence.Question{
				Ref: ref, From: begun, To: time.Now(), Canary: &journal.Canary{Ref: canary, BegunAt: begun, CommittedAt: begun},
			})
			got := evidence.Judge(facts, a.Sheet(), evidence.Timing{
				StartedAt: time.Now(), FirstGrant: begun, FencedAt: begun, SendBy: begun, Attempt: 1, Attempts: 1,
			})
			if got.Verdict != c.verdict || got.Reason != c.reason || !strings.Contains(got.Explanation, c.explain) {
				t.Errorf("judgement %+v, want %s %s with %q", got, c.verdict, c.reason, c.explain)
			}
		})
	}
}

package imap_test

import (
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// answers of servers whose header search can't be used.
func badSearches() map[string]string {
	return map[string]string{
		"always empty":       "* SEARCH\r\n$TAG OK done\r\n",
		"no answer line":     "$TAG OK done\r\n",
		"NO":                 "$TAG NO not supported\r\n",
		"BAD":                "$TAG BAD parse error\r\n",
		"BADCHARSET":         "$TAG NO [BADCHARSET (US-ASCII)] no\r\n",
		"one unrelated hit":  "* SEARCH 100\r\n$TAG OK done\r\n",
		"vanished message":   "* SEARCH 4000000000\r\n$TAG OK done\r\n",
		"number 0":           "* SEARCH 0\r\n$TAG OK done\r\n",
		"count only":         "* ESEARCH (TAG \"$TAG\") UID COUNT 1\r\n$TAG OK done\r\n",
		"extended and empty": "* ESEARCH (TAG \"$TAG\") UID\r\n$TAG OK done\r\n",
	}
}

func TestM11_ScanFindsWhatHeaderSearchDoesNot(t *testing.T) {
	t.Parallel()
	for name, answer := range badSearches() {
		if name == "one unrelated hit" || name == "vanished message" {
			continue // such a server claims that the search works
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, imaptest.AnswerHeaderSearch(answer))
			ref := journal.RandomRef()
			srv.Add(time.Now(), "", carry(ref))
			for range 3 {
				srv.Add(time.Now(), "", carry(journal.RandomRef()))
			}
			a := find(t, config(srv.Addr()), ref)
			if len(a.Matches) != 1 || !a.AllPagesRead || a.Unrelated != 0 {
				t.Errorf("answer %+v, want one match", a)
			}
			if !strings.Contains(a.Scopes[0].Detail, "all 4 messages were read") {
				t.Errorf("scope %+v does not say how it was read", a.Scopes[0])
			}
			if a = find(t, config(srv.Addr()), journal.RandomRef()); len(a.Matches) != 0 || !a.AllPagesRead || a.Unrelated != 0 {
				t.Errorf("unknown reference: %+v, want none", a)
			}
		})
	}
}

// Nothing that a broken search says may end in a complete, clean, empty answer
// while the mail is there.
func TestM11_NoBrokenSearchHidesAMail(t *testing.T) {
	t.Parallel()
	for name, answer := range badSearches() {
		srv := imaptest.NewServer(t, imaptest.AnswerHeaderSearch(answer))
		srv.Add(time.Now(), "", imaptest.Mail())
		ref := journal.RandomRef()
		srv.Add(time.Now(), "", carry(ref))
		a := find(t, config(srv.Addr()), ref)
		if len(a.Matches) == 0 && a.AllPagesRead && a.Unrelated == 0 {
			t.Errorf("%s: answer %+v reads as not there", name, a)
		}
	}
}

// A newest message without headers to search for proves nothing about the search.
func TestM11_ProbeWithoutOwnHeadersDoesNotCount(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.AnswerHeaderSearch("* SEARCH\r\n$TAG OK done\r\n"))
	ref := journal.RandomRef()
	srv.Add(time.Now(), "", carry(ref))
	srv.Add(time.Now(), "", imaptest.Mail()) // no Message-ID
	if a := find(t, config(srv.Addr()), ref); len(a.Matches) != 1 {
		t.Errorf("answer %+v, want one match", a)
	}
}

// One header that can't be searched is enough to read the folder: the mail may
// carry the reference only there.
func TestM11_OneRefusedHeaderSearchIsNotMadeUpByTheOther(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.AnswerIf("UID SEARCH", "X-Landed-Ref", "$TAG NO only known headers\r\n"))
	ref := journal.RandomRef()
	srv.Add(time.Now(), "", imaptest.Mail(field("Message-ID", "<replaced@relay.test>"), field("X-Landed-Ref", ref)))
	srv.Add(time.Now(), "", imaptest.Mail(field("Message-ID", "<newest1@relay.test>")))
	if a := find(t, config(srv.Addr()), ref); len(a.Matches) != 1 || !a.AllPagesRead {
		t.Errorf("answer %+v, want one match", a)
	}
}

// Exchange refuses CHARSET: no search ever names one, so it works at once.
func TestM09_BadCharsetIsNeverProvoked(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.RefuseCharset)
	ref := journal.RandomRef()
	srv.Add(time.Now(), "", carry(ref))
	if a := find(t, config(srv.Addr()), ref); len(a.Matches) != 1 || !strings.Contains(a.Scopes[0].Detail, "searched by header") {
		t.Errorf("answer %+v, want one match by header search", a)
	}
}

// A server that ignores the filter brings everything: none of it is a match,
// and the number shows.
func TestT05_IgnoredFilterShowsAsUnrelatedRows(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.AnswerHeaderSearch("* SEARCH 100 101 102 103 104\r\n$TAG OK done\r\n"))
	for range 5 {
		srv.Add(time.Now(), "", carry(journal.RandomRef()))
	}
	if a := find(t, config(srv.Addr()), journal.RandomRef()); len(a.Matches) != 0 || a.Unrelated != 5 {
		t.Errorf("answer %+v, want no match and 5 unrelated rows", a)
	}
}

// A hostile range must not be expanded.
func TestHugeRangeIsCountedNotRead(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.AnswerHeaderSearch("* ESEARCH (TAG \"$TAG\") UID ALL 1:4294967294\r\n$TAG OK done\r\n"))
	srv.Add(time.Now(), "", carry(journal.RandomRef()))
	a := find(t, config(srv.Addr()), journal.RandomRef())
	if len(a.Matches) != 0 || a.AllPagesRead || a.Unrelated < 1000 {
		t.Errorf("answer %+v, want incomplete with many unrelated rows", a)
	}
}

// Beyond MaxScan the newest messages are read and the answer is incomplete.
func TestScanIsBounded(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.AnswerHeaderSearch("$TAG NO no\r\n"))
	oldest, newest := journal.RandomRef(), journal.RandomRef()
	srv.Add(time.Now(), "", carry(oldest))
	for range 3 {
		srv.Add(time.Now(), "", imaptest.Mail())
	}
	srv.Add(time.Now(), "", carry(newest))
	cfg := config(srv.Addr())
	cfg.MaxScan = 3
	if a := find(t, cfg, newest); len(a.Matches) != 1 || a.AllPagesRead {
		t.Errorf("newest: %+v, want found, incomplete", a)
	}
	if a := find(t, cfg, oldest); len(a.Matches) != 0 || a.AllPagesRead {
		t.Errorf("oldest: %+v, want not found, incomplete", a)
	}
	cfg.MaxScan = 5
	if a := find(t, cfg, oldest); len(a.Matches) != 1 || !a.AllPagesRead {
		t.Errorf("within the bound: %+v, want found, complete", a)
	}
}

// A large folder: only what is of the window counts against the bound.
func TestScanReadsTheWindowOfALargeFolder(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.AnswerHeaderSearch("$TAG NO no\r\n"))
	for range 300 {
		srv.Add(time.Now().AddDate(0, 0, -30), "", imaptest.Mail())
	}
	ref := journal.RandomRef()
	srv.Add(time.Now(), "", carry(ref))
	cfg := config(srv.Addr())
	cfg.MaxScan = 10
	if a := find(t, cfg, ref); len(a.Matches) != 1 || !a.AllPagesRead {
		t.Errorf("answer %+v, want found, complete", a)
	}
}

// A server whose whole SEARCH is always empty, dates too.
func TestM11_EmptyDateSearchIsNotBelieved(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.Answer("UID SEARCH", "* SEARCH\r\n$TAG OK done\r\n"))
	for range 5 {
		srv.Add(time.Now(), "", carry(journal.RandomRef()))
	}
	cfg := config(srv.Addr())
	cfg.MaxScan = 3
	if a := find(t, cfg, journal.RandomRef()); a.AllPagesRead {
		t.Errorf("answer %+v, want incomplete", a)
	}
}

// A server that keeps messages back in a scan makes the answer incomplete.
func TestScanThatMissesMessagesIsIncomplete(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]imaptest.Script{
		"none fetched":  imaptest.Answer("FETCH", "$TAG OK done\r\n"),
		"no body":       imaptest.Answer("FETCH", "* 1 FETCH (UID 100 FLAGS ())\r\n$TAG OK done\r\n"),
		"NIL body":      imaptest.Answer("FETCH", "* 1 FETCH (UID 100 BODY[HEADER.FIELDS (MESSAGE-ID)] NIL)\r\n$TAG OK done\r\n"),
		"no uid":        imaptest.Answer("FETCH", "* 1 FETCH (BODY[HEADER.FIELDS (MESSAGE-ID)] {2}\r\n\r\n)\r\n$TAG OK done\r\n"),
		"huge header":   imaptest.Answer("FETCH", "* 1 FETCH (UID 100 BODY[HEADER.FIELDS (MESSAGE-ID)] {70000}\r\nX: "+strings.Repeat("a", 69997)+")\r\n$TAG OK done\r\n"),
		"other message": imaptest.Answer("FETCH", "* 9 FETCH (UID 900 BODY[HEADER.FIELDS (MESSAGE-ID)] {2}\r\n\r\n)\r\n$TAG OK done\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, imaptest.Both(imaptest.AnswerHeaderSearch("$TAG NO no\r\n"), script))
			ref := journal.RandomRef()
			srv.Add(time.Now(), "", carry(ref))
			if a := find(t, config(srv.Addr()), ref); a.AllPagesRead || len(a.Matches) != 0 {
				t.Errorf("answer %+v, want incomplete", a)
			}
		})
	}
}

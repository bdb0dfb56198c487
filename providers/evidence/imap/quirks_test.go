package imap_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

const (
	allMail   = "[Gmail]/All Mail"
	gmailCaps = "IMAP4rev1 UNSELECT IDLE NAMESPACE QUOTA ID XLIST CHILDREN X-GM-EXT-1 UIDPLUS ENABLE MOVE CONDSTORE ESEARCH UTF8=ACCEPT LIST-EXTENDED LITERAL- SPECIAL-USE"
)

// gmail is a server with Gmail's extensions, under a name that says nothing.
func gmail(s *imaptest.Server) {
	s.Caps, s.Also = gmailCaps, []imaptest.Folder{{Name: allMail, Mark: `\All`}}
}

// objectID is a server that knows RFC 8474, with two folders marked \Sent.
func objectID(s *imaptest.Server) {
	s.Caps, s.Also = "IMAP4rev1 SPECIAL-USE OBJECTID ESEARCH SEARCHRES", []imaptest.Folder{{Name: "Sent 2", Mark: `\Sent`}}
}

func header(ref string, more ...imaptest.Field) []byte {
	return imaptest.Mail(append([]imaptest.Field{field("Message-ID", "<"+ref+"@effects.landed>"), field("X-Landed-Ref", ref),
		field("Date", "Mon, 30 Nov 2026 10:00:00 +0100")}, more...)...)
}

func received() imaptest.Field {
	return field("Received", "from worker by smtp.example.org; Mon, 30 Nov 2026 10:00:01 +0100")
}

func verdictOf(a evidence.Answer) journal.Verdict {
	return evidence.Judge(evidence.Facts{Answer: a}, evidence.Sheet{}, evidence.Timing{Attempt: 1, Attempts: 1}).Verdict
}

func facts(m journal.Match) string {
	var out []string
	for _, f := range m.Facts {
		out = append(out, f.Name+": "+f.Value)
	}
	return strings.Join(out, "\n")
}

// What shows a mail in several places, or has two copies of it, and what really is
// two mails.
func TestOneMailInSeveralPlaces(t *testing.T) {
	t.Parallel()
	both, now := []string{"Gesendet", allMail}, time.Now()
	for _, row := range []struct {
		name   string
		server func(*imaptest.Server)
		put    func(ref string) []imaptest.Message
		want   journal.Verdict
		n      int // matches
		says   string
	}{
		{"Gmail: in Sent and All Mail, with labels", gmail, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: both, ID: "1278455344230334865", Labels: []string{`\Sent`, "Muy Importante", `\Inbox`}, Raw: header(ref)}}
		}, journal.Found, 1, "Also in: " + allMail},
		{"Gmail: two mails", gmail, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: both, ID: "1", Labels: []string{`\Sent`}, Raw: header(ref, received())},
				{In: both, ID: "2", Labels: []string{`\Sent`}, Raw: header(ref, received(), field("Subject", "again"))}}
		}, journal.Duplicate, 2, ""},
		{"Gmail: a copy came back", gmail, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: both, ID: "1", Labels: []string{`\Sent`}, Raw: header(ref)},
				{In: []string{allMail}, ID: "2", Labels: []string{`\Inbox`}, Raw: header(ref, received())}}
		}, journal.Found, 1, "delivered copy"},
		{"Gmail: in All Mail only, with the label Sent, and a copy came back", gmail, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: []string{allMail}, ID: "1", Labels: []string{`\Sent`}, Raw: header(ref)},
				{In: []string{allMail}, ID: "2", Labels: []string{`\Inbox`}, Raw: header(ref, received())}}
		}, journal.Found, 1, "delivered copy"},
		{"Gmail: only a copy that came back", gmail, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: []string{allMail}, ID: "2", Labels: []string{`\Inbox`}, Raw: header(ref, received())}}
		}, journal.Found, 1, ""},
		{"Gmail: a draft in All Mail while a request may be in flight", gmail, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: []string{allMail}, ID: "2", Flags: `\Draft`, Labels: []string{`\Draft`}, Raw: header(ref)}}
		}, journal.FoundPending, 1, "Draft"},
		{"Gmail: it refuses to say which message it is", gmail, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: []string{"Gesendet"}, Raw: header(ref)}}
		}, journal.Found, 1, ""},
		{"appended beside the server's own copy", nil, func(ref string) []imaptest.Message {
			return []imaptest.Message{{Raw: header(ref)}, {Raw: header(ref, received())}}
		}, journal.Found, 1, "Appended copy"},
		{"sent twice, each saved by the server", nil, func(ref string) []imaptest.Message {
			return []imaptest.Message{{Raw: header(ref, received())}, {Raw: header(ref, received())}}
		}, journal.Duplicate, 2, ""},
		{"sent twice, each appended", nil, func(ref string) []imaptest.Message {
			return []imaptest.Message{{Raw: header(ref)}, {Raw: header(ref)}}
		}, journal.Duplicate, 2, ""},
		{"sent twice, with one appended copy", nil, func(ref string) []imaptest.Message {
			return []imaptest.Message{{Raw: header(ref)}, {Raw: header(ref, received())}, {Raw: header(ref, received())}}
		}, journal.Duplicate, 3, ""},
		{"appended and saved, at other times", nil, func(ref string) []imaptest.Message {
			return []imaptest.Message{{Raw: header(ref)}, {Raw: slices.Concat(imaptest.Mail(received(), field("X-Landed-Ref", ref),
				field("Message-ID", "<"+ref+"@effects.landed>"), field("Date", "Mon, 30 Nov 2026 10:00:09 +0100")))}}
		}, journal.Duplicate, 2, ""},
		{"an appended draft beside the server's copy", nil, func(ref string) []imaptest.Message {
			return []imaptest.Message{{Flags: `\Draft`, Raw: header(ref)}, {Raw: header(ref, received())}}
		}, journal.Found, 2, ""},
		{"OBJECTID: the same mail in two folders", objectID, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: []string{"Gesendet", "Sent 2"}, ID: "M6d99ac3275bb4e", Raw: header(ref)}}
		}, journal.Found, 1, "Also in: Sent 2"},
		{"OBJECTID: two mails in two folders", objectID, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: []string{"Gesendet"}, ID: "M1", Raw: header(ref)}, {In: []string{"Sent 2"}, ID: "M2", Raw: header(ref)}}
		}, journal.Duplicate, 2, ""},
		{"OBJECTID by content: two mails in one folder", objectID, func(ref string) []imaptest.Message {
			return []imaptest.Message{{ID: "M1", Raw: header(ref)}, {ID: "M1", Raw: header(ref)}}
		}, journal.Duplicate, 2, ""},
		{"OBJECTID by content: two mails in each of two folders", objectID, func(ref string) []imaptest.Message {
			in := []string{"Gesendet", "Sent 2"}
			return []imaptest.Message{{In: in, ID: "M1", Raw: header(ref)}, {In: in, ID: "M1", Raw: header(ref)}}
		}, journal.Duplicate, 2, "Also in: Sent 2"},
		{"OBJECTID by content: one mail in one folder, two in the other", objectID, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: []string{"Gesendet", "Sent 2"}, ID: "M1", Raw: header(ref)}, {In: []string{"Sent 2"}, ID: "M1", Raw: header(ref)}}
		}, journal.Duplicate, 2, "Also in: Sent 2"},
		{"OBJECTID: it refuses to say", objectID, func(ref string) []imaptest.Message {
			return []imaptest.Message{{In: []string{"Gesendet", "Sent 2"}, Raw: header(ref)}}
		}, journal.Duplicate, 2, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, nil)
			if row.server != nil {
				srv = imaptest.NewServer(t, nil, row.server)
			}
			ref := journal.RandomRef()
			for _, m := range row.put(ref) {
				m.Date = now
				srv.Put(m)
			}
			a := find(t, config(srv.Addr()), ref)
			if got := verdictOf(a); got != row.want || len(a.Matches) != row.n || !a.AllPagesRead {
				t.Fatalf("%s (complete %t), want %s with %d matches:\n%+v", got, a.AllPagesRead, row.want, row.n, a.Matches)
			}
			if !strings.Contains(facts(a.Matches[0]), row.says) {
				t.Errorf("the match says\n%s\nwant %q", facts(a.Matches[0]), row.says)
			}
			if again := find(t, config(srv.Addr()), journal.RandomRef()); len(again.Matches) != 0 || again.Unrelated != 0 {
				t.Errorf("a reference that nobody has: %+v", again)
			}
		})
	}
}

// The whole conformance suite on servers that have extensions, each alone and all
// together: none may be needed, none may harm.
func TestConformanceWithExtensions(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*imaptest.Server){
		"Gmail": gmail, "OBJECTID": objectID,
		"UTF8=ONLY":   func(s *imaptest.Server) { s.Caps = "IMAP4rev1 SPECIAL-USE ENABLE UTF8=ONLY LITERAL+ ID" },
		"search lags": func(s *imaptest.Server) { s.Unindexed = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, nil, set)
			conformOn(t, srv)
		})
	}
}

// M-02: Gmail replaced the Message-ID, so its own operator finds nothing; the mail
// is there all the same.
func TestM02_AReplacedMessageIDIsNotAMissingMail(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.AnswerHeaderSearch("* SEARCH\r\n$TAG OK done\r\n"), gmail)
	ref := journal.RandomRef()
	srv.Put(imaptest.Message{Date: time.Now(), ID: "1", Raw: imaptest.Mail(field("Message-ID", "<CAF@mail.gmail.com>"), field("X-Landed-Ref", ref))})
	if a := find(t, config(srv.Addr()), ref); len(a.Matches) != 1 || a.Matches[0].Carrier != "X-Landed-Ref" {
		t.Errorf("answer %+v, want one match", a)
	}
}

func TestGmailIsAskedInItsOwnWords(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, nil, gmail)
	ref := journal.RandomRef()
	srv.Put(imaptest.Message{Date: time.Now(), ID: "1", In: []string{allMail}, Labels: []string{`\Sent`}, Raw: header(ref)})
	a := find(t, config(srv.Addr()), ref)
	var raw, plain int
	for _, c := range srv.Commands() {
		if c.Verb == "UID SEARCH" && strings.HasSuffix(c.Args, `X-GM-RAW "rfc822msgid:`+ref+`@effects.landed"`) && strings.HasPrefix(c.Args, "SINCE ") {
			raw++
		}
		if c.Verb == "UID SEARCH" && strings.Contains(c.Args, "HEADER") {
			plain++
		}
	}
	if len(a.Matches) != 1 || len(a.Scopes) != 2 || raw != 1 || plain == 0 { // the Sent folder is empty: not searched
		t.Errorf("%d raw and %d plain searches, answer %+v", raw, plain, a)
	}
	said := false
	for _, x := range a.Exchanges {
		said = said || strings.Contains(x.Response, `"GImap, Google, Inc."`)
	}
	s := session(t, config(srv.Addr()))
	if b, err := s.Find(t.Context(), query(ref)); err != nil || !said && !strings.Contains(text(b), "GImap") {
		t.Errorf("what the server calls itself does not show: %v\n%s", err, text(b))
	}
}

func text(a evidence.Answer) string {
	var b strings.Builder
	for _, x := range a.Exchanges {
		b.WriteString(x.Request + "\n" + x.Response + "\n")
	}
	return b.String()
}

// Nothing of an extension is used that the server did not offer.
func TestNoExtensionWithoutItsCapability(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, nil)
	ref := journal.RandomRef()
	srv.Add(time.Now(), "", carry(ref))
	find(t, config(srv.Addr()), ref)
	for _, c := range srv.Commands() {
		if strings.HasPrefix(c.Tag, "L") || c.Verb == "ENABLE" || c.Verb == "ID" {
			t.Errorf("it sent %s %s", c.Verb, c.Args)
		}
	}
}

// Before RFC 6154 Gmail marked mailboxes by XLIST only; names are as on the wire.
func TestSentFolderByXLIST(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		"[Gmail]/Sent Mail":                          "[Gmail]/Sent Mail",
		"[Gmail]/&BB4EQgQ,BEAEMAQyBDsENQQ9BD0ESwQ1-": "[Gmail]/Отправленные",
		"Sent &- more":                               "Sent & more",
	} {
		srv := imaptest.NewServer(t, nil, func(s *imaptest.Server) {
			s.Sent, s.SpecialUse, s.Caps = wire, false, "IMAP4rev1 XLIST X-GM-EXT-1 ID"
			s.Also = []imaptest.Folder{{Name: "[Gmail]/All", Mark: `\AllMail`}}
		})
		ref := journal.RandomRef()
		srv.Put(imaptest.Message{Date: time.Now(), ID: "1", Raw: header(ref)})
		a := find(t, config(srv.Addr()), ref)
		if len(a.Matches) != 1 || len(a.Scopes) != 2 || !strings.Contains(a.Scopes[0].Name, want) || !strings.Contains(a.Scopes[0].Detail, "XLIST") {
			t.Errorf("%s: %+v", wire, a)
		}
	}
}

// An index that lags misses the newest messages: those are read.
func TestM08_SearchThatLagsIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, unindexed := range map[string]int{"all up to date": 0, "the newest is missing": 1, "sixty are missing": 60} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, nil, func(s *imaptest.Server) { s.Unindexed = unindexed })
			for range 40 {
				srv.Add(time.Now(), "", carry(journal.RandomRef()))
			}
			ref := journal.RandomRef()
			srv.Add(time.Now(), "", carry(ref))
			for range unindexed - 1 {
				srv.Add(time.Now(), "", carry(journal.RandomRef()))
			}
			a := find(t, config(srv.Addr()), ref)
			if len(a.Matches) != 1 || a.Unrelated != 0 || !a.AllPagesRead {
				t.Errorf("answer %+v, want one match", a)
			}
			a = find(t, config(srv.Addr()), journal.RandomRef())
			if searched := strings.Contains(a.Scopes[0].Detail, "searched by header"); searched != (unindexed == 0) {
				t.Errorf("scope %q", a.Scopes[0].Detail)
			}
		})
	}
}

// An index with a hole: the search works, and misses this one mail, which is among
// the newest.
func TestM08_RecentMailIsReadWhateverTheSearchSays(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	srv := imaptest.NewServer(t, imaptest.AnswerIf("UID SEARCH", ref, "* SEARCH\r\n$TAG OK done\r\n"))
	for _, r := range []string{journal.RandomRef(), ref, journal.RandomRef()} {
		srv.Add(time.Now(), "", carry(r))
	}
	a := find(t, config(srv.Addr()), ref)
	if len(a.Matches) != 1 || !strings.Contains(a.Scopes[0].Detail, "searched by header") {
		t.Errorf("answer %+v, want one match", a)
	}
}

// A server that saves what is sent through it makes an empty Sent folder prove
// something, without the sending path appending anything.
func TestM13_SentSavedByTheServer(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, nil)
	cfg := config(srv.Addr())
	for _, row := range []struct{ appended, saved, want bool }{{false, false, false}, {true, false, true}, {false, true, true}, {true, true, true}} {
		cfg.SentAppended, cfg.SentSaved = row.appended, row.saved
		if sh := open(t, cfg).Sheet(); sh.Conclusive != row.want || (sh.InconclusiveWhy == "") != row.want {
			t.Errorf("%+v: sheet %+v", row, sh)
		}
	}
}

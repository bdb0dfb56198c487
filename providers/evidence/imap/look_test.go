package imap_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

func query(ref string) evidence.Query {
	return evidence.Query{Ref: ref, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
}

func session(t *testing.T, c imap.Config) evidence.Session {
	t.Helper()
	s, err := open(t, c).Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func find(t *testing.T, c imap.Config, ref string) evidence.Answer {
	t.Helper()
	a, err := session(t, c).Find(t.Context(), query(ref))
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return a
}

func field(name, value string) imaptest.Field { return imaptest.Field{Name: name, Value: value} }

// One look at a real server, with all that a match tells.
func TestMatchOnDovecot(t *testing.T) {
	t.Parallel()
	d := imaptest.StartDovecot(t)
	ref := journal.RandomRef()
	uid := d.Append(t, imaptest.User, imaptest.SentFolder, imaptest.Mail(
		field("Message-ID", "<"+ref+"@effects.landed>"), field("X-Landed-Ref", ref),
		field("Subject", "=?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n =?utf-8?b?IPCfkYs=?="), field("Date", "Mon, 30 Nov 2026 10:00:00 +0100"),
	), goimap.FlagSeen)
	a := find(t, config(d.Addr), ref)
	if len(a.Matches) != 1 {
		t.Fatalf("matches %+v, want one", a.Matches)
	}
	got := a.Matches[0]
	if time.Since(got.At).Abs() > time.Minute || !strings.HasSuffix(got.ID, fmt.Sprintf(";UID=%d", uid)) || !strings.HasPrefix(got.ID, "Gesendet;UIDVALIDITY=") {
		t.Errorf("at %v, id %q", got.At, got.ID)
	}
	got.At, got.ID = time.Time{}, ""
	got.Status = strings.TrimPrefix(got.Status, `\Recent `) // of this session only
	want := journal.Match{
		Title: "Grüße 👋", Status: `\Seen`, State: journal.MatchEffective,
		Where: `mailbox "Gesendet" of ann at 127.0.0.1`, Carrier: "Message-ID, X-Landed-Ref",
		Facts: []journal.MatchFact{
			{Name: "From", Value: "Ann <ann@example.org>"}, {Name: "To", Value: "Bob <bob@example.net>"},
			{Name: "Date", Value: "Mon, 30 Nov 2026 10:00:00 +0100"}, {Name: "Message-ID", Value: "<" + ref + "@effects.landed>"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("match (-want +got):\n%s", diff)
	}
	// the scope names folder and account.
	wantScopes := []journal.Scope{{Name: want.Where, Seen: true, Detail: `marked \Sent by the server; searched by header`}}
	if diff := cmp.Diff(wantScopes, a.Scopes); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
}

func TestDovecotOverTLS(t *testing.T) {
	t.Parallel()
	d := imaptest.StartDovecot(t)
	ref := journal.RandomRef()
	d.Append(t, imaptest.User, imaptest.SentFolder, carry(ref))
	for _, c := range []struct {
		name, addr string
		mode       imap.TLSMode
	}{{"implicit", d.TLSAddr, imap.TLSImplicit}, {"starttls", d.Addr, imap.TLSStartTLS}} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(c.addr)
			cfg.TLS, cfg.RootCAs = c.mode, d.CA
			if a := find(t, cfg, ref); len(a.Matches) != 1 {
				t.Errorf("matches %d, want 1", len(a.Matches))
			}
			cfg.RootCAs = nil
			_, err := open(t, cfg).Session(t.Context())
			pe := wantFault(t, err, evidence.FaultUnavailable)
			if !strings.Contains(pe.Detail, "certificate") {
				t.Errorf("detail %q does not name the certificate", pe.Detail)
			}
		})
	}
	t.Run("starttls not offered", func(t *testing.T) {
		srv := imaptest.NewServer(t, nil)
		cfg := config(srv.Addr())
		cfg.TLS = imap.TLSStartTLS
		_, err := open(t, cfg).Session(t.Context())
		wantFault(t, err, evidence.FaultRefused)
		for _, c := range srv.Commands() {
			if c.Verb == "LOGIN" || c.Verb == "AUTHENTICATE" {
				t.Errorf("the password went out in clear: %s", c.Verb)
			}
		}
	})
}

// A relay or library that replaces the Message-ID, or drops our header.
func TestM01_M04_EitherCarrierIsEnough(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, c := range []struct {
		name string
		mail []byte
		want string
	}{
		{"message id replaced", imaptest.Mail(field("Message-ID", "<0108abc@relay.test>"), field("X-Landed-Ref", ref)), "X-Landed-Ref"},
		{"own header dropped", imaptest.Mail(field("Message-ID", "<"+ref+"@effects.landed>")), "Message-ID"},
		{"folded", imaptest.Mail(field("Message-ID", "\r\n <"+ref+"@effects.landed>")), "Message-ID"},
		{"other domain", imaptest.Mail(field("Message-ID", "<"+ref+"@old.domain.test>")), "Message-ID"},
		{"names in another case", imaptest.Mail(field("MESSAGE-id", "<"+ref+"@effects.landed>"), field("x-landed-REF", ref)), "Message-ID, X-Landed-Ref"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, nil)
			srv.Add(time.Now(), "", c.mail)
			a := find(t, config(srv.Addr()), ref)
			if len(a.Matches) != 1 || a.Matches[0].Carrier != c.want {
				t.Errorf("matches %+v, want one by %s", a.Matches, c.want)
			}
		})
	}
}

// A reply from the same account quotes the reference, and is not the mail.
func TestX01_ReplyThatQuotesTheReferenceIsNoMatch(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	reply := imaptest.Mail(
		field("Message-ID", "<reply1@example.org>"), field("In-Reply-To", "<"+ref+"@effects.landed>"),
		field("References", "<a@b.test> <"+ref+"@effects.landed>"), field("Subject", "Re: ["+ref+"]"),
	)
	for name, script := range map[string]imaptest.Script{
		"by header search": nil, "by scan": imaptest.AnswerHeaderSearch("* SEARCH\r\n$TAG OK done\r\n"),
	} {
		srv := imaptest.NewServer(t, script)
		srv.Add(time.Now(), "", append(reply, "X-Landed-Ref: "+ref+"\r\n> "+ref...))
		if a := find(t, config(srv.Addr()), ref); len(a.Matches) != 0 || !a.AllPagesRead {
			t.Errorf("%s: answer %+v, want no match", name, a)
		}
	}
}

func TestFlagsSayWhetherItTookEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags string
		state journal.MatchState
		fact  string
	}{
		{`\Seen`, journal.MatchEffective, ""},
		{`\Draft`, journal.MatchNotEffective, "Draft"},
		{`\DRAFT \Seen`, journal.MatchNotEffective, "Draft"},
		{`\Deleted`, journal.MatchEffective, "Deleted"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, nil)
			ref := journal.RandomRef()
			srv.Add(time.Now(), c.flags, carry(ref))
			a := find(t, config(srv.Addr()), ref)
			if len(a.Matches) != 1 || a.Matches[0].State != c.state {
				t.Fatalf("matches %+v, want one that is %s", a.Matches, c.state)
			}
			has := slices.ContainsFunc(a.Matches[0].Facts, func(f journal.MatchFact) bool { return f.Name == c.fact })
			if has != (c.fact != "") {
				t.Errorf("facts %+v, want %q", a.Matches[0].Facts, c.fact)
			}
		})
	}
}

// SEARCH dates are days in the server's zone: the query begins the day before,
// as a date of the library.
func TestWindowBeginsTheDayBefore(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, nil)
	from := time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("", 2*3600)) // 28 February in UTC
	ref := journal.RandomRef()
	srv.Add(from.UTC().Add(-20*time.Hour), "", carry(ref))
	s := session(t, config(srv.Addr()))
	a, err := s.Find(t.Context(), evidence.Query{Ref: ref, From: from})
	if err != nil || len(a.Matches) != 1 {
		t.Errorf("answer %+v, %v, want one match", a, err)
	}
	if _, err := s.Find(t.Context(), evidence.Query{Ref: ref}); err != nil {
		t.Errorf("a query without a window: %v", err)
	}
	var got []string
	for _, c := range srv.Commands() {
		if c.Verb == "UID SEARCH" {
			got = append(got, c.Args)
		}
	}
	want := fmt.Sprintf("SINCE %q HEADER %q %q", "27-Feb-2026", "X-Landed-Ref", ref)
	if got[0] != want {
		t.Errorf("search %q, want %q", got[0], want)
	}
	if want = fmt.Sprintf("HEADER %q %q", "X-Landed-Ref", ref); got[2] != want {
		t.Errorf("search without a window %q, want %q", got[2], want)
	}
}

func TestEmptyFolderIsSeenAndComplete(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, nil)
	a := find(t, config(srv.Addr()), journal.RandomRef())
	if !a.AllPagesRead || len(a.Scopes) != 1 || !a.Scopes[0].Seen || len(a.Matches) != 0 {
		t.Errorf("answer %+v, want an empty, complete one", a)
	}
}

func TestServerWithoutSentFolderIsAScopeNotSeen(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, nil, func(s *imaptest.Server) { s.SpecialUse = false })
	a := find(t, config(srv.Addr()), journal.RandomRef())
	if len(a.Scopes) != 1 || a.Scopes[0].Seen || !strings.Contains(a.Scopes[0].Detail, `setting "mailbox"`) {
		t.Errorf("answer %+v, want a scope not seen that says what to do", a)
	}
	for _, c := range srv.Commands() {
		if c.Verb == "EXAMINE" { // never guess "Sent"
			t.Errorf("it opened %s", c.Args)
		}
	}
}

// The mark counts, not the name, also where LIST knows no SPECIAL-USE selection.
func TestSentFolderIsFoundByItsMark(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]imaptest.Script{
		"special-use":      nil,
		"selection is BAD": imaptest.AnswerIf("LIST", "SPECIAL-USE", "$TAG BAD what?\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, script)
			ref := journal.RandomRef()
			srv.Add(time.Now(), "", carry(ref))
			if a := find(t, config(srv.Addr()), ref); len(a.Matches) != 1 {
				t.Errorf("answer %+v, want one match", a)
			}
		})
	}
}

// Many servers name SPECIAL-USE only after the login, and mark nothing in a
// plain LIST.
func TestCapabilitiesAfterLoginCount(t *testing.T) {
	t.Parallel()
	plainList := func(w io.Writer, cmd imaptest.Command) imaptest.Action {
		if cmd.Verb != "LIST" || strings.Contains(cmd.Args, "SPECIAL-USE") {
			return imaptest.Default
		}
		fmt.Fprintf(w, "* LIST () \"/\" INBOX\r\n%s OK done\r\n", cmd.Tag)
		return imaptest.Done
	}
	srv := imaptest.NewServer(t, plainList, func(s *imaptest.Server) { s.Greeting = "* OK [CAPABILITY IMAP4rev1] hello\r\n" })
	ref := journal.RandomRef()
	srv.Add(time.Now(), "", carry(ref))
	for range 20 { // the library's own question races with ours
		if a := find(t, config(srv.Addr()), ref); len(a.Matches) != 1 {
			t.Fatalf("answer %+v, want one match", a)
		}
	}
}

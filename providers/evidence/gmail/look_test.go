package gmail_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/gmail"
	"github.com/landedhq/landed/providers/evidence/gmail/gmailfake"
)

func TestWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		labels []string
		over   bool // the window is over
		want   journal.MatchState
		status string
	}{
		{"sent", []string{"SENT"}, false, journal.MatchEffective, "in Sent"},
		{"sent to itself", []string{"SENT", "INBOX", "Label_7"}, false, journal.MatchEffective, "in Sent, Inbox"},
		{"in the trash (M-17)", []string{"SENT", "TRASH"}, false, journal.MatchEffective, "in Sent, Trash"},
		{"in spam (M-17)", []string{"SPAM"}, false, journal.MatchEffective, "in Spam"},
		{"archived copy from outside", []string{"Label_7"}, false, journal.MatchEffective, "in All Mail"},
		{"draft that may still be sent", []string{"DRAFT"}, false, journal.MatchPending, "in Drafts"},
		{"draft when all is over", []string{"DRAFT"}, true, journal.MatchNotEffective, "in Drafts"},
		{"sent, when all is over", []string{"SENT"}, true, journal.MatchEffective, "in Sent"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account, ref := gmailfake.New(mailbox), journal.RandomRef()
			id := account.Add(gmailfake.Message{Ref: ref, Body: ref, Subject: "Your order", Labels: row.labels, MessageID: "x@mail.gmail.example"})
			q := evidence.Query{Ref: ref, To: time.Now().Add(time.Minute)}
			if row.over {
				q.To = time.Now().Add(-time.Minute)
			}
			a, err := ask(t, open(t, serve(t, account)), q)
			if err != nil || len(a.Matches) != 1 {
				t.Fatalf("matches %+v, %v", a.Matches, err)
			}
			m := a.Matches[0]
			if m.State != row.want || m.Status != row.status || m.ID != id || m.Title != "Your order" || m.Where != mailbox {
				t.Errorf("match %+v, want %s %q", m, row.want, row.status)
			}
			if want := (journal.MatchFact{Name: "Message-ID", Value: "<x@mail.gmail.example>"}); !slices.Contains(m.Facts, want) {
				t.Errorf("facts %+v lack the Message-ID that it has (M-01)", m.Facts)
			}
		})
	}
}

func TestM02_OwnMessageIDIsReplaced(t *testing.T) {
	t.Parallel()
	account, ref := gmailfake.New(mailbox), journal.RandomRef()
	account.Send(gmailfake.Message{Ref: ref, MessageID: ref + "@effects.landed"})
	c := serve(t, account)
	c.RefInBody = false
	if a := mustFind(t, c, ref); len(a.Matches) != 0 {
		t.Fatalf("matches %+v: the fake keeps the Message-ID", a.Matches)
	}
	sheet := open(t, c).Sheet()
	if sheet.Conclusive || !strings.Contains(sheet.InconclusiveWhy, "ref_in_body") {
		t.Errorf("sheet %+v", sheet)
	}
	// However good the controls, such an absence is never believed.
	f := evidence.Facts{Answer: evidence.Answer{AllPagesRead: true, Scopes: []journal.Scope{{Name: "all", Seen: true}}},
		Negative: journal.Control{Ran: true, Passed: true}, Positive: journal.Control{Ran: true, Passed: true}}
	if believed, _, _ := evidence.Trust(f, sheet); believed {
		t.Error("an absent Message-ID is believed")
	}
	account.Send(gmailfake.Message{Ref: ref, Body: "Ref: " + ref})
	c.RefInBody = true
	if a := mustFind(t, c, ref); len(a.Matches) != 1 || a.Matches[0].Carrier != "header X-Landed-Ref" {
		t.Errorf("matches %+v", a.Matches)
	}
	if !open(t, c).Sheet().Conclusive {
		t.Error("a reference in the text is not believed either")
	}
}

func TestM01_ReplacedMessageIDStaysInAHeader(t *testing.T) {
	t.Parallel()
	account, ref := gmailfake.New(mailbox), journal.RandomRef()
	account.Add(gmailfake.Message{MessageID: "62427b5c@mx.google.example", Original: ref + "@effects.landed", Body: ref})
	if a := mustFind(t, serve(t, account), ref); len(a.Matches) != 1 || a.Matches[0].Carrier != "X-Google-Original-Message-ID" {
		t.Errorf("matches %+v", a.Matches)
	}
}

func TestOnlyHeaderFieldsProve(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name    string
		message gmailfake.Message
		faults  gmailfake.Faults
	}{
		{"reply that quotes it", gmailfake.Message{Body: "> Ref: " + ref, MessageID: "reply@customer.example"}, gmailfake.Faults{}},
		{"our header field was dropped", gmailfake.Message{Ref: ref, Body: ref, MessageID: "own@mail.gmail.example"}, gmailfake.Faults{NoHeaders: true}},
		{"upper case", gmailfake.Message{Ref: strings.ToUpper(ref), Body: ref}, gmailfake.Faults{}},
		{"another domain", gmailfake.Message{MessageID: ref + "@elsewhere.example", Body: ref}, gmailfake.Faults{}},
		{"T-05: a filter that is ignored", gmailfake.Message{Ref: journal.RandomRef()}, gmailfake.Faults{Ignore: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := gmailfake.New(mailbox)
			account.Add(row.message)
			account.SetFaults(row.faults)
			if a := mustFind(t, serve(t, account), ref); len(a.Matches) != 0 || a.Unrelated != 1 {
				t.Errorf("matches %+v, unrelated %d, want a stranger", a.Matches, a.Unrelated)
			}
		})
	}
}

func TestCopiesAndDuplicates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		labels [][]string
		want   int
	}{
		{"copy that came back", [][]string{{"SENT"}, {"INBOX"}}, 1},
		{"sent twice", [][]string{{"SENT"}, {"SENT"}}, 2},
		{"draft and yet delivered", [][]string{{"DRAFT"}, {"INBOX"}}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account, ref := gmailfake.New(mailbox), journal.RandomRef()
			for _, l := range row.labels {
				account.Add(gmailfake.Message{Ref: ref, Body: ref, MessageID: ref + "@effects.landed", Labels: l})
			}
			if a := mustFind(t, serve(t, account), ref); len(a.Matches) != row.want {
				t.Errorf("matches %+v, want %d", a.Matches, row.want)
			}
		})
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name    string
		plant   func(a *gmailfake.Account) journal.Handle
		want    journal.MatchState // empty = no match
		carrier string
	}{
		{"draft", func(a *gmailfake.Account) journal.Handle {
			id, _ := a.Draft(gmailfake.Message{})
			return journal.Handle{Kind: gmail.HandleDraft, Value: id}
		}, journal.MatchPending, "handle gmail_draft"},
		{"draft, marked", func(a *gmailfake.Account) journal.Handle {
			id, _ := a.Draft(gmailfake.Message{Ref: ref})
			return journal.Handle{Kind: gmail.HandleDraft, Value: id}
		}, journal.MatchPending, "header X-Landed-Ref"},
		{"draft of another effect", func(a *gmailfake.Account) journal.Handle {
			id, _ := a.Draft(gmailfake.Message{Ref: journal.RandomRef()})
			return journal.Handle{Kind: gmail.HandleDraft, Value: id}
		}, "", ""},
		{"draft that was sent is gone, and the search finds it", func(a *gmailfake.Account) journal.Handle {
			id, _ := a.Draft(gmailfake.Message{Ref: ref, Body: ref})
			a.SendDraft(id)
			return journal.Handle{Kind: gmail.HandleDraft, Value: id}
		}, journal.MatchEffective, "header X-Landed-Ref"},
		{"draft's message after it was sent", func(a *gmailfake.Account) journal.Handle {
			id, message := a.Draft(gmailfake.Message{Ref: ref, Body: ref})
			a.SendDraft(id)
			return journal.Handle{Kind: gmail.HandleMessage, Value: message}
		}, journal.MatchEffective, "header X-Landed-Ref"},
		{"message", func(a *gmailfake.Account) journal.Handle {
			return journal.Handle{Kind: gmail.HandleMessage, Value: a.Send(gmailfake.Message{})}
		}, journal.MatchEffective, "handle gmail_message"},
		{"thread that holds it, without a word to search", func(a *gmailfake.Account) journal.Handle {
			a.Add(gmailfake.Message{Thread: "18aa", Labels: []string{"INBOX"}})
			a.Send(gmailfake.Message{Thread: "18aa", Ref: ref})
			return journal.Handle{Kind: gmail.HandleThread, Value: "18aa"}
		}, journal.MatchEffective, "header X-Landed-Ref"},
		{"thread of others", func(a *gmailfake.Account) journal.Handle {
			a.Send(gmailfake.Message{Thread: "18aa"})
			return journal.Handle{Kind: gmail.HandleThread, Value: "18aa"}
		}, "", ""},
		{"gone", func(*gmailfake.Account) journal.Handle {
			return journal.Handle{Kind: gmail.HandleMessage, Value: "18ff"}
		}, "", ""},
		{"no id", func(*gmailfake.Account) journal.Handle {
			return journal.Handle{Kind: gmail.HandleDraft, Value: "../messages/18ff?x="}
		}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := gmailfake.New(mailbox)
			a := mustFind(t, serve(t, account), ref, row.plant(account))
			if row.want == "" {
				if len(a.Matches) != 0 || a.Unrelated != 0 {
					t.Errorf("matches %+v, unrelated %d, want none", a.Matches, a.Unrelated)
				}
				return
			}
			if len(a.Matches) != 1 || a.Matches[0].State != row.want || a.Matches[0].Carrier != row.carrier {
				t.Errorf("matches %+v, want %s by %s", a.Matches, row.want, row.carrier)
			}
		})
	}
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	account, ref := gmailfake.New(mailbox), journal.RandomRef()
	for range 60 {
		account.Add(gmailfake.Message{Body: ref, MessageID: "reply@customer.example"})
	}
	account.Send(gmailfake.Message{Ref: ref, Body: ref})
	c := serve(t, account)
	if a := mustFind(t, c, ref); len(a.Matches) != 1 || !a.AllPagesRead || a.Unrelated != 60 {
		t.Errorf("matches %d, all read %v, unrelated %d", len(a.Matches), a.AllPagesRead, a.Unrelated)
	}
	c.MaxPages = 1
	if a := mustFind(t, c, ref); a.AllPagesRead {
		t.Error("one of two pages counts as all")
	}
}

func TestQueriesAreExact(t *testing.T) {
	t.Parallel()
	account, ref := gmailfake.New(mailbox), journal.RandomRef()
	mustFind(t, serve(t, account), ref)
	if want := []string{"rfc822msgid:" + ref + "@effects.landed", `"` + ref + `"`}; !slices.Equal(account.Queries(), want) {
		t.Errorf("queries %q, want %q", account.Queries(), want)
	}
}

// What an adapter says of a look that found nothing is never NOT_FOUND: the judge
// waits for the index and wants both controls.
func TestM08_EarlyMissIsNoMiss(t *testing.T) {
	t.Parallel()
	account := gmailfake.New(mailbox)
	known := journal.RandomRef()
	account.Send(gmailfake.Message{Ref: known, Body: known})
	a := open(t, serve(t, account))
	now := time.Now()
	facts := evidence.Ask(context.Background(), a, evidence.Question{Ref: journal.RandomRef(), From: now.Add(-time.Hour), To: now,
		Canary: &journal.Canary{Ref: known, BegunAt: now.Add(-time.Hour), CommittedAt: now.Add(-time.Hour)}})
	for _, row := range []struct {
		after  time.Duration // since send_by
		want   journal.Verdict
		reason string
	}{
		{2 * time.Second, journal.CannotTell, journal.CannotTooEarly},
		{time.Minute, journal.CannotTell, journal.CannotTooEarly},
		{19 * time.Minute, journal.CannotTell, journal.CannotTooEarly},
		{21 * time.Minute, journal.NotFound, ""},
	} {
		at := now.Add(-row.after)
		j := evidence.Judge(facts, a.Sheet(), evidence.Timing{StartedAt: now, FirstGrant: at, FencedAt: at, SendBy: at, Attempt: 1, Attempts: 1})
		if j.Verdict != row.want || j.Reason != row.reason {
			t.Errorf("%v after: %s %s, want %s %s", row.after, j.Verdict, j.Reason, row.want, row.reason)
		}
	}
}

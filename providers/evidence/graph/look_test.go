package graph_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/graph/graphfake"
)

func TestWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		message graphfake.Message
		over    bool // the window is over
		want    journal.MatchState
		status  string
	}{
		{"sent", graphfake.Message{}, false, journal.MatchEffective, "in Gesendete Elemente"},
		{"deleted (M-17)", graphfake.Message{Folder: "deleteditems"}, false, journal.MatchEffective, "in Gelöschte Elemente"},
		{"deleted from there", graphfake.Message{Folder: "recoverableitemsdeletions"}, false, journal.MatchEffective, "deleted, can be recovered"},
		{"accepted, not taken over yet", graphfake.Message{Folder: "drafts", Draft: true}, false, journal.MatchPending, "in Entwürfe"},
		{"still a draft when all is over", graphfake.Message{Folder: "drafts", Draft: true}, true, journal.MatchNotEffective, "in Entwürfe"},
		{"sent, when all is over", graphfake.Message{}, true, journal.MatchEffective, "in Gesendete Elemente"},
		{"in the Outbox when all is over", graphfake.Message{Folder: "outbox", Draft: true}, true, journal.MatchPending, "in Postausgang"},
		{"in a folder that has no name for us", graphfake.Message{Folder: "more"}, false, journal.MatchEffective, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			box, ref := graphfake.New(user), journal.RandomRef()
			row.message.Ref, row.message.Subject, row.message.InternetID = ref, "Your order", "<x@prod.outlook.example>"
			id := box.Add(row.message)
			now := time.Now()
			q := evidence.Query{Ref: ref, From: now.Add(-time.Hour), To: now.Add(time.Minute)}
			if row.over {
				q.To = now.Add(-time.Minute)
			}
			a, err := ask(t, serve(t, box), q)
			if err != nil || len(a.Matches) != 1 {
				t.Fatalf("matches %+v, %v", a.Matches, err)
			}
			m := a.Matches[0]
			if m.State != row.want || m.Status != row.status || m.ID != id || m.Title != "Your order" || m.Where != user || m.Carrier != "extended property LandedRef" {
				t.Errorf("match %+v, want %s %q", m, row.want, row.status)
			}
			if want := (journal.MatchFact{Name: "Message-ID", Value: "<x@prod.outlook.example>"}); !slices.Contains(m.Facts, want) {
				t.Errorf("facts %+v lack the Message-ID that it has (M-01)", m.Facts)
			}
		})
	}
}

func TestLinksLeadToOutlookOnly(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"https://outlook.office365.com/owa/?ItemID=AAk%3D&exvsurl=1&viewmodel=ReadMessageItem": "https://outlook.office365.com/owa/?ItemID=AAk%3D&exvsurl=1&viewmodel=ReadMessageItem",
		"https://outlook.office365.com.evil.example/owa/":                                      "",
		"https://u:p@outlook.office365.com/owa/":                                               "",
		"http://outlook.office365.com/owa/":                                                    "",
		"javascript:alert(1)":                                                                  "",
		"":                                                                                     "",
	} {
		box, ref := graphfake.New(user), journal.RandomRef()
		box.Add(graphfake.Message{Ref: ref, Link: link})
		if a := mustFind(t, serve(t, box), ref); len(a.Matches) != 1 || a.Matches[0].URL != want {
			t.Errorf("%s: matches %+v", link, a.Matches)
		}
	}
}

// A draft that can't be told from a message in the Outbox may be on its way.
func TestDraftStaysPendingWhereFoldersCannotBeRead(t *testing.T) {
	t.Parallel()
	box, ref := graphfake.New(user), journal.RandomRef()
	box.Add(graphfake.Message{Ref: ref, Folder: "drafts", Draft: true})
	box.SetFaults(graphfake.Faults{NoFolders: true})
	a, err := ask(t, serve(t, box), evidence.Query{Ref: ref})
	if err != nil || len(a.Matches) != 1 || a.Matches[0].State != journal.MatchPending {
		t.Errorf("matches %+v, %v", a.Matches, err)
	}
}

func TestCarriersAreComparedExactly(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name    string
		message graphfake.Message
		ignore  bool // T-05: the filter is ignored
		carrier string
		strange int
	}{
		{"property", graphfake.Message{Ref: ref}, false, "extended property LandedRef", 0},
		{"property in upper case, which the filter takes", graphfake.Message{Ref: strings.ToUpper(ref)}, false, "", 1},
		{"Message-ID", graphfake.Message{InternetID: "<" + ref + "@effects.landed>"}, false, "Message-ID", 0},
		{"Message-ID in upper case, which the filter takes", graphfake.Message{InternetID: "<" + strings.ToUpper(ref) + "@effects.landed>"}, false, "", 1},
		{"another domain", graphfake.Message{InternetID: "<" + ref + "@elsewhere.example>"}, false, "", 0},
		{"header field only can't be found", graphfake.Message{Header: ref}, false, "", 0},
		{"header field proves what came all the same", graphfake.Message{Header: ref}, true, "header X-Landed-Ref", 0},
		{"stranger", graphfake.Message{Ref: journal.RandomRef()}, true, "", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			box := graphfake.New(user)
			box.Add(row.message)
			box.SetFaults(graphfake.Faults{Ignore: row.ignore})
			a := mustFind(t, serve(t, box), ref)
			carrier := ""
			for _, m := range a.Matches {
				carrier += m.Carrier
			}
			if carrier != row.carrier || a.Unrelated != row.strange {
				t.Errorf("carrier %q, unrelated %d, want %q and %d", carrier, a.Unrelated, row.carrier, row.strange)
			}
		})
	}
}

func TestCopiesAndDuplicates(t *testing.T) {
	t.Parallel()
	inbox := graphfake.Message{Folder: "inbox", Received: true}
	for _, row := range []struct {
		name     string
		messages []graphfake.Message
		want     int
	}{
		{"sent to itself", []graphfake.Message{{}, inbox}, 1},
		{"sent copy deleted for good", []graphfake.Message{inbox}, 1},
		{"sent twice under one Message-ID", []graphfake.Message{{}, {}}, 2},
		{"sent once more and deleted", []graphfake.Message{{}, {Folder: "recoverableitemsdeletions"}}, 2},
		{"a draft, and yet delivered", []graphfake.Message{{Draft: true, Folder: "drafts"}, inbox}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			box, ref := graphfake.New(user), journal.RandomRef()
			for _, m := range row.messages {
				m.Ref, m.InternetID = ref, "<"+ref+"@effects.landed>"
				box.Add(m)
			}
			if a := mustFind(t, serve(t, box), ref); len(a.Matches) != row.want {
				t.Errorf("matches %+v, want %d", a.Matches, row.want)
			}
		})
	}
}

func handle(id string) journal.Handle { return journal.Handle{Kind: graph.HandleMessage, Value: id} }

func TestM07_DraftKeepsItsImmutableIDWhenSent(t *testing.T) {
	t.Parallel()
	box, ref := graphfake.New(user), journal.RandomRef()
	id := box.Add(graphfake.Message{Folder: "drafts", Draft: true})
	moving := box.Moving(id)
	c := serve(t, box)
	a := mustFind(t, c, ref, handle(id))
	if len(a.Matches) != 1 || a.Matches[0].State != journal.MatchPending || a.Matches[0].Carrier != "handle graph_message" {
		t.Errorf("before: matches %+v", a.Matches)
	}
	box.Sent(id)
	a = mustFind(t, c, ref, handle(id))
	if len(a.Matches) != 1 || a.Matches[0].State != journal.MatchEffective || a.Matches[0].ID != id {
		t.Errorf("after: matches %+v", a.Matches)
	}
	// The default id changes with the move: it leads nowhere, and proves nothing.
	if a = mustFind(t, c, ref, handle(moving)); len(a.Matches) != 0 {
		t.Errorf("by the id that changed: matches %+v", a.Matches)
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name    string
		plant   func(b *graphfake.Mailbox) journal.Handle
		carrier string // empty = no match
		blind   bool
	}{
		{"marked as well", func(b *graphfake.Mailbox) journal.Handle { return handle(b.Add(graphfake.Message{Ref: ref})) }, "extended property LandedRef", false},
		{"marked for another effect", func(b *graphfake.Mailbox) journal.Handle {
			return handle(b.Add(graphfake.Message{Ref: journal.RandomRef()}))
		}, "", false},
		{"header field of another effect", func(b *graphfake.Mailbox) journal.Handle {
			return handle(b.Add(graphfake.Message{Header: journal.RandomRef()}))
		}, "", false},
		{"id with a slash", func(b *graphfake.Mailbox) journal.Handle {
			return handle(b.Add(graphfake.Message{ID: "AAk/LP4A+gT69=="}))
		}, "handle graph_message", false},
		{"deleted for good", func(*graphfake.Mailbox) journal.Handle { return handle("AAkALgAAgone") }, "", false},
		{"id of another kind", func(*graphfake.Mailbox) journal.Handle { return handle("18c2f0") }, "", true},
		{"no id", func(*graphfake.Mailbox) journal.Handle { return handle("AAk?$expand=attachments") }, "", true},
		{"handle of another provider", func(*graphfake.Mailbox) journal.Handle { return journal.Handle{Kind: "email", Value: "AAk"} }, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			box := graphfake.New(user)
			a := mustFind(t, serve(t, box), ref, row.plant(box))
			carrier := ""
			for _, m := range a.Matches {
				carrier += m.Carrier
			}
			if carrier != row.carrier || a.Unrelated != 0 {
				t.Errorf("carrier %q, unrelated %d, want %q", carrier, a.Unrelated, row.carrier)
			}
			if blind := strings.Contains(unseen(a), "journaled id"); blind != row.blind {
				t.Errorf("scopes %+v", a.Scopes)
			}
		})
	}
}

func TestM06_QueriesAreEncoded(t *testing.T) {
	t.Parallel()
	box, ref := graphfake.New(user), journal.RandomRef()
	box.Add(graphfake.Message{InternetID: "<" + ref + "@effects.landed>"})
	if a := mustFind(t, serve(t, box), ref); len(a.Matches) != 1 {
		t.Errorf("matches %+v", a.Matches)
	}
	if len(box.Queries()) != 4 {
		t.Fatalf("queries %q, want two in each of two places", box.Queries())
	}
	for _, q := range box.Queries() {
		if strings.ContainsAny(q, "<>+ {}") || !strings.HasPrefix(q, "$filter=") {
			t.Errorf("query %q is not percent-encoded", q)
		}
	}
}

func TestM05_NoOrderBesideAFilter(t *testing.T) {
	t.Parallel()
	box := graphfake.New(user)
	c := serve(t, box)
	mustFind(t, c, journal.RandomRef())
	for _, q := range box.Queries() {
		if strings.Contains(q, "orderby") {
			t.Errorf("query %q", q)
		}
	}
	box.SetFaults(graphfake.Faults{Trouble: graphfake.TroubleInefficient, APIOnly: true})
	_, err := find(t, c, journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultRefused || !strings.Contains(pe.Detail, "InefficientFilter") {
		t.Errorf("fault %+v", pe)
	}
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	box, ref := graphfake.New(user), journal.RandomRef()
	for range 60 {
		box.Add(graphfake.Message{Ref: strings.ToUpper(ref)})
	}
	box.Add(graphfake.Message{Ref: ref})
	c := serve(t, box)
	for _, f := range []graphfake.Faults{{}, {Gaps: true}} {
		box.SetFaults(f)
		if a := mustFind(t, c, ref); len(a.Matches) != 1 || !a.AllPagesRead || a.Unrelated != 60 {
			t.Errorf("%+v: matches %d, all read %v, unrelated %d", f, len(a.Matches), a.AllPagesRead, a.Unrelated)
		}
	}
	box.SetFaults(graphfake.Faults{})
	c.MaxPages = 1
	if a := mustFind(t, c, ref); a.AllPagesRead {
		t.Error("one of two pages counts as all")
	}
}

// What an adapter says of a look that found nothing is never NOT_FOUND: the judge
// waits until the copy must be there and wants both controls.
func TestM08_EarlyMissIsNoMiss(t *testing.T) {
	t.Parallel()
	box, known := graphfake.New(user), journal.RandomRef()
	box.Add(graphfake.Message{Ref: known})
	a := open(t, serve(t, box))
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
		{10 * time.Minute, journal.CannotTell, journal.CannotTooEarly},
		{16 * time.Minute, journal.NotFound, ""},
	} {
		at := now.Add(-row.after)
		j := evidence.Judge(facts, a.Sheet(), evidence.Timing{StartedAt: now, FirstGrant: at, FencedAt: at, SendBy: at, Attempt: 1, Attempts: 1})
		if j.Verdict != row.want || j.Reason != row.reason {
			t.Errorf("%v after: %s %s, want %s %s", row.after, j.Verdict, j.Reason, row.want, row.reason)
		}
	}
}

package jmap_test

import (
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/jmap"
	"github.com/landedhq/landed/providers/evidence/jmap/jmapfake"
)

func TestWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		message jmapfake.Message
		undo    []string // of its submissions
		blind   bool     // the token sees no submissions
		want    journal.MatchState
	}{
		{"sent", jmapfake.Message{}, nil, false, journal.MatchEffective},
		{"sent and final", jmapfake.Message{}, []string{"final"}, false, journal.MatchEffective},
		{"in the trash (M-17)", jmapfake.Message{Boxes: []string{"trash"}}, nil, false, journal.MatchEffective},
		{"draft", jmapfake.Message{Boxes: []string{"drafts"}, Draft: true}, nil, false, journal.MatchNotEffective},
		{"draft by its keyword only", jmapfake.Message{Boxes: []string{"b1"}, Draft: true}, nil, false, journal.MatchNotEffective},
		{"draft by its mailbox only", jmapfake.Message{Boxes: []string{"drafts"}}, nil, false, journal.MatchNotEffective},
		{"draft that was sent and not moved", jmapfake.Message{Boxes: []string{"drafts"}, Draft: true}, []string{"final"}, false, journal.MatchEffective},
		{"waiting to be sent", jmapfake.Message{Boxes: []string{"drafts"}, Draft: true}, []string{"pending"}, false, journal.MatchPending},
		{"moved and still waiting", jmapfake.Message{}, []string{"pending"}, false, journal.MatchPending},
		{"canceled", jmapfake.Message{Boxes: []string{"drafts"}, Draft: true}, []string{"canceled"}, false, journal.MatchNotEffective},
		{"canceled, then sent", jmapfake.Message{}, []string{"canceled", "final"}, false, journal.MatchEffective},
		{"status of a later RFC", jmapfake.Message{}, []string{"resting"}, false, journal.MatchPending},
		{"draft, submissions not visible", jmapfake.Message{Boxes: []string{"drafts"}, Draft: true}, nil, true, journal.MatchPending},
		{"sent, submissions not visible", jmapfake.Message{}, nil, true, journal.MatchEffective},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := jmapfake.New(token)
			account.Submissions = !row.blind
			ref := journal.RandomRef()
			row.message.Ref, row.message.Subject = ref, "Your order"
			id := account.Add(row.message)
			for _, u := range row.undo {
				account.Submit(id, u)
			}
			a := mustLook(t, serve(t, account), ref)
			if len(a.Matches) != 1 || a.Matches[0].State != row.want || a.Matches[0].ID != id || a.Matches[0].Title != "Your order" {
				t.Errorf("matches %+v, want %s", a.Matches, row.want)
			}
			if blind := strings.Contains(unseen(a), "submissions"); blind != row.blind {
				t.Errorf("scopes %+v", a.Scopes)
			}
		})
	}
}

func TestCopiesAndDuplicates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		messages []jmapfake.Message
		want     int
	}{
		{"sent to itself", []jmapfake.Message{{}, {Boxes: []string{"inbox"}, Received: true}}, 1},
		{"sent to itself, sent copy deleted", []jmapfake.Message{{Boxes: []string{"inbox"}, Received: true}}, 1},
		{"a draft, and yet delivered", []jmapfake.Message{{Draft: true, Boxes: []string{"drafts"}}, {Boxes: []string{"inbox"}, Received: true}}, 2},
		{"sent twice under one Message-ID", []jmapfake.Message{{}, {}}, 2},
		{"server keeps Received in Sent", []jmapfake.Message{{Received: true}, {Received: true}}, 2},
		{"delivered twice", []jmapfake.Message{{Boxes: []string{"inbox"}, Received: true}, {Boxes: []string{"inbox"}, Received: true}}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := jmapfake.New(token)
			ref := journal.RandomRef()
			for _, m := range row.messages {
				m.Ref, m.MessageID = ref, ref+"@effects.landed"
				account.Add(m)
			}
			if a := mustLook(t, serve(t, account), ref); len(a.Matches) != row.want {
				t.Errorf("matches %+v, want %d", a.Matches, row.want)
			}
		})
	}
}

// A reply quotes the reference in its own Message-ID's neighbourhood and nowhere
// that counts.
func TestCarriersAreComparedExactly(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name    string
		message jmapfake.Message
		matches int
	}{
		{"header", jmapfake.Message{Ref: ref, MessageID: "x@relay.example"}, 1},
		{"replaced header, own Message-ID (M-01)", jmapfake.Message{MessageID: ref + "@effects.landed"}, 1},
		{"another domain", jmapfake.Message{MessageID: ref + "@elsewhere.example"}, 0},
		{"upper case", jmapfake.Message{Ref: strings.ToUpper(ref)}, 0},
		{"longer", jmapfake.Message{Ref: ref + "a"}, 0},
		{"within text", jmapfake.Message{Ref: "re " + ref}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := jmapfake.New(token)
			account.Add(row.message)
			if a := mustLook(t, serve(t, account), ref); len(a.Matches) != row.matches || a.Unrelated != 1-row.matches {
				t.Errorf("matches %+v, unrelated %d", a.Matches, a.Unrelated)
			}
		})
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	mail := func(id string) journal.Handle { return journal.Handle{Kind: jmap.HandleEmail, Value: id} }
	sub := func(id string) journal.Handle { return journal.Handle{Kind: jmap.HandleSubmission, Value: id} }
	for _, row := range []struct {
		name    string
		plant   func(a *jmapfake.Account) journal.Handle
		want    journal.MatchState // empty = no match
		carrier string
	}{
		{"draft that was never sent", func(a *jmapfake.Account) journal.Handle {
			return mail(a.Add(jmapfake.Message{Draft: true, Boxes: []string{"drafts"}}))
		}, journal.MatchNotEffective, "handle email"},
		{"draft that was sent", func(a *jmapfake.Account) journal.Handle { return mail(a.Add(jmapfake.Message{})) }, journal.MatchEffective, "handle email"},
		{"marked as well", func(a *jmapfake.Account) journal.Handle { return mail(a.Add(jmapfake.Message{Ref: ref})) }, journal.MatchEffective, "header X-Landed-Ref"},
		{"marked for another effect", func(a *jmapfake.Account) journal.Handle {
			return mail(a.Add(jmapfake.Message{Ref: journal.RandomRef()}))
		}, "", ""},
		{"destroyed", func(*jmapfake.Account) journal.Handle { return mail("M99") }, "", ""},
		{"no id", func(*jmapfake.Account) journal.Handle { return mail(`M1"]`) }, "", ""},
		{"submission", func(a *jmapfake.Account) journal.Handle { return sub(a.Submit(a.Add(jmapfake.Message{}), "final")) }, journal.MatchEffective, "handle email_submission"},
		{"submission of a destroyed message", func(a *jmapfake.Account) journal.Handle { return sub(a.Submit("M99", "final")) }, journal.MatchEffective, "handle email_submission"},
		{"pending submission of a destroyed message", func(a *jmapfake.Account) journal.Handle { return sub(a.Submit("M99", "pending")) }, journal.MatchPending, "handle email_submission"},
		{"canceled submission of a destroyed message", func(a *jmapfake.Account) journal.Handle { return sub(a.Submit("M99", "canceled")) }, journal.MatchNotEffective, "handle email_submission"},
		{"submission that was forgotten", func(*jmapfake.Account) journal.Handle { return sub("S99") }, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := jmapfake.New(token)
			a := mustLook(t, serve(t, account), ref, row.plant(account))
			if row.want == "" {
				if len(a.Matches) != 0 {
					t.Errorf("matches %+v, want none", a.Matches)
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
	account := jmapfake.New(token)
	ref := journal.RandomRef()
	for range 120 {
		account.Add(jmapfake.Message{Ref: ref + "0"})
	}
	account.Add(jmapfake.Message{Ref: ref})
	c := serve(t, account)
	for _, f := range []jmapfake.Faults{{}, {NoTotal: true}, {MaxLimit: 40}} {
		account.SetFaults(f)
		if a := mustLook(t, c, ref); len(a.Matches) != 1 || !a.AllPagesRead || a.Unrelated != 120 {
			t.Errorf("%+v: matches %d, all read %v, unrelated %d", f, len(a.Matches), a.AllPagesRead, a.Unrelated)
		}
	}
	c.MaxPages = 2
	account.SetFaults(jmapfake.Faults{})
	if a := mustLook(t, c, ref); a.AllPagesRead {
		t.Error("two of three pages count as all")
	}
}

package zendesk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/zendesk/zendeskfake"
)

// T-08: what is deleted or suspended is in no list of tickets and has no
// external_id; the look says what it could not compare, and is not believed.
func TestT08_DeletedAndSuspended(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for _, row := range []struct {
		name  string
		token string
		set   func(a *zendeskfake.Account, ref string)
		want  []string // parts of what was not seen; none = everything was seen
	}{
		{"ours was deleted by an agent", readToken, func(a *zendeskfake.Account, ref string) {
			a.Delete(a.Add(zendeskfake.Ticket{ExternalID: ref, Subject: "Refund 12"}), ago(time.Minute), "Eve")
		}, []string{"deleted since", `"Refund 12"`, `"Eve"`}},
		{"several were deleted, the latest is shown", readToken, func(a *zendeskfake.Account, _ string) {
			a.Delete(a.Add(zendeskfake.Ticket{Subject: "older"}), ago(20*time.Minute), "Eve")
			a.Delete(a.Add(zendeskfake.Ticket{Subject: "newer"}), ago(10*time.Minute), "Eve")
		}, []string{"2 tickets were deleted", `"newer"`}},
		{"one was deleted before the window", readToken, func(a *zendeskfake.Account, _ string) {
			a.Delete(a.Add(zendeskfake.Ticket{}), ago(2*time.Hour), "Eve")
		}, nil},
		{"an API ticket was suspended", readToken, func(a *zendeskfake.Account, _ string) {
			a.Suspend("api", "Order", ago(time.Minute))
		}, []string{"suspended since", `"Order"`, "spam"}},
		{"mails were suspended", readToken, func(a *zendeskfake.Account, _ string) {
			a.Suspend("email", "Buy now", ago(time.Minute))
		}, nil},
		{"one was suspended before the window", readToken, func(a *zendeskfake.Account, _ string) {
			a.Suspend("api", "Order", ago(2*time.Hour))
		}, nil},
		{"the lists are not readable", noShadowToken, func(*zendeskfake.Account, string) {},
			[]string{"list of deleted tickets is not readable", "list of suspended tickets is not readable"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			ref := journal.RandomRef()
			row.set(account, ref)
			c := serve(t, account)
			c.Token = evidence.Fixed(row.token)
			a := mustLook(t, c, query(ref))
			if len(a.Matches) != 0 {
				t.Errorf("matches %+v", a.Matches)
			}
			for _, want := range row.want {
				if !strings.Contains(unseen(a), want) {
					t.Errorf("unseen %q, want %q", unseen(a), want)
				}
			}
			if len(row.want) == 0 && unseen(a) != "" {
				t.Errorf("unseen %q", unseen(a))
			}
		})
	}
}

// The list of deleted tickets is read until before the window; one that is not in
// order is read to its end, and one that is too long is said to be.
func TestDeletedTicketsArePaged(t *testing.T) {
	t.Parallel()
	account := newAccount()
	for i := range 9 { // deleted 2 to 10 hours ago
		account.Delete(account.Add(zendeskfake.Ticket{}), time.Now().Add(-time.Duration(i+2)*time.Hour), "x")
	}
	account.SetFaults(zendeskfake.Faults{PageSize: 2})
	c := serve(t, account)
	c.MaxPages = 2
	if a := mustLook(t, c, query(journal.RandomRef())); unseen(a) != "" {
		t.Errorf("in order, one page tells: %q", unseen(a))
	}
	account.SetFaults(zendeskfake.Faults{PageSize: 2, IgnoreSort: true})
	if a := mustLook(t, c, query(journal.RandomRef())); !strings.Contains(unseen(a), "more deleted tickets than are read") {
		t.Errorf("oldest first, two pages of five: %q", unseen(a))
	}
	c.MaxPages = 10
	if a := mustLook(t, c, query(journal.RandomRef())); unseen(a) != "" {
		t.Errorf("oldest first, all pages: %q", unseen(a))
	}
	account.Delete(account.Add(zendeskfake.Ticket{Subject: "last"}), time.Now(), "x")
	if a := mustLook(t, c, query(journal.RandomRef())); !strings.Contains(unseen(a), `"last"`) {
		t.Errorf("oldest first, the last one counts: %q", unseen(a))
	}
}

// One look with its controls asks for the lists of deleted and suspended tickets
// once: Zendesk gives ten of the former a minute.
func TestLookIsFrugal(t *testing.T) {
	t.Parallel()
	account := newAccount()
	committed := journal.RandomRef()
	account.Add(zendeskfake.Ticket{ExternalID: committed})
	c := serve(t, account)
	before := account.Requests()
	if believed, reason, why := trust(t, c, committed); !believed {
		t.Fatalf("not believed: %s %s", reason, why)
	}
	// token, user, 3 lists, deleted, suspended, 1 reading
	if n := account.Requests() - before; n != 8 {
		t.Errorf("%d requests, want 8", n)
	}
}

// The lists that a session keeps do not serve an earlier window.
func TestKeptListsDoNotServeAnEarlierWindow(t *testing.T) {
	t.Parallel()
	account := newAccount()
	account.Delete(account.Add(zendeskfake.Ticket{}), time.Now().Add(-2*time.Hour), "x")
	s, err := open(t, serve(t, account)).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, row := range []struct {
		ago  time.Duration
		want bool // everything was seen
	}{{time.Hour, true}, {3 * time.Hour, false}} {
		q := query(journal.RandomRef())
		q.From = time.Now().Add(-row.ago)
		a, err := s.Find(t.Context(), q)
		if err != nil || (unseen(a) == "") != row.want {
			t.Errorf("%v: unseen %q, %v", row.ago, unseen(a), err)
		}
	}
}

// A ticket that is found needs no look behind the list.
func TestMatchNeedsNoFurtherLists(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	account.Add(zendeskfake.Ticket{ExternalID: ref})
	account.SetFaults(zendeskfake.Faults{Trouble: zendeskfake.TroubleRateLimited, Only: "d_tickets"})
	if a := mustLook(t, serve(t, account), query(ref)); len(a.Matches) != 1 {
		t.Errorf("matches %+v", a.Matches)
	}
}

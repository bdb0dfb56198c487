package rt_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/rt/rtdesk"
)

func TestT01_NewTicketIsMissingWhileSearchLags(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	start := time.Now()
	now := func() time.Time { return start.Add(time.Duration(clock.Load())) }
	desk := rtdesk.New(rtdesk.Config{
		Now:      now,
		Accounts: map[string]rtdesk.Account{workerToken: rtdesk.Worker("worker"), readerToken: rtdesk.Reader("reader")},
	})
	desk.Add("older ticket", "")
	c := serve(t, desk)
	c.IndexLag = 2 * time.Minute
	desk.SetFaults(rtdesk.Faults{Lag: 2 * time.Minute})
	ref := journal.RandomRef()
	createOverAPI(t, c, ref)

	if a := mustLook(t, c, ref); len(a.Matches) != 0 || len(unseen(a)) != 0 {
		t.Errorf("inside the lag: %d matches, unseen %v: the adapter states what it sees", len(a.Matches), unseen(a))
	}
	if lag := open(t, c).Sheet().IndexLag; lag != 2*time.Minute {
		t.Errorf("the sheet declares a lag of %v: the judge would believe the miss", lag)
	}
	clock.Store(int64(12 * time.Minute))
	if a := mustLook(t, c, ref); len(a.Matches) != 1 {
		t.Errorf("after the lag: %d matches, want 1", len(a.Matches))
	}
}

func TestT03_OnlyTheExactReferenceCounts(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	ref := journal.RandomRef()
	desk.Add("upper case", strings.ToUpper(ref)) // RT's databases find it for the lower-case one
	desk.Add("about "+ref, "")
	a := mustLook(t, c, ref)
	if len(a.Matches) != 0 || a.Unrelated != 1 || len(unseen(a)) != 0 {
		t.Errorf("matches %v, unrelated %d, unseen %v; want none, 1, none", a.Matches, a.Unrelated, unseen(a))
	}
}

func TestT05_IgnoredFilterIsNoHit(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	for range 130 {
		desk.Add("other", journal.RandomRef())
	}
	ref := journal.RandomRef()
	desk.SetFaults(rtdesk.Faults{Trouble: rtdesk.TroubleIgnoreFilter})
	a := mustLook(t, c, ref)
	if len(a.Matches) != 0 || a.Unrelated != 130 || !a.AllPagesRead {
		t.Errorf("matches %d, unrelated %d, all pages %v; want 0, 130, true", len(a.Matches), a.Unrelated, a.AllPagesRead)
	}
	desk.Add("ours", ref)
	if a := mustLook(t, c, ref); len(a.Matches) != 1 || a.Unrelated != 130 {
		t.Errorf("matches %d, unrelated %d; want 1, 130", len(a.Matches), a.Unrelated)
	}
	c.MaxPages = 1
	if a := mustLook(t, c, ref); a.AllPagesRead {
		t.Error("100 of 131 rows were read, and that counts as all")
	}
}

func TestT06_TwoTicketsAreTwoMatchesWithWhoAndWhen(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	ref := journal.RandomRef()
	desk.SetFaults(rtdesk.Faults{DuplicateOnCreate: true})
	createOverAPI(t, c, ref)
	desk.SetStatus(2, "open")
	a := mustLook(t, c, ref)
	if len(a.Matches) != 2 {
		t.Fatalf("%d matches, want 2", len(a.Matches))
	}
	want := journal.Match{
		ID: "2", URL: c.BaseURL + "/Ticket/Display.html?id=2", Title: "Order <7>", Status: "open", State: journal.MatchEffective,
		At: a.Matches[1].At, Where: "queue Desk", Carrier: "custom field Landed Ref",
		Facts: []journal.MatchFact{{Name: "requestor", Value: "kim@customer.example"}, {Name: "creator", Value: "worker"}},
	}
	if diff := cmp.Diff(want, a.Matches[1]); diff != "" {
		t.Error(diff)
	}
	if d := time.Since(a.Matches[1].At).Abs(); d > time.Minute {
		t.Errorf("made %v ago", d)
	}
}

func TestT08_DeletedTicketIsFoundAndNotEffective(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	ref := journal.RandomRef()
	desk.Add("stays", "")
	id := desk.Add("ours", ref)
	desk.SetStatus(desk.Add("another deleted one", journal.RandomRef()), "deleted")
	desk.SetStatus(id, "deleted")
	a := mustLook(t, c, ref)
	if len(a.Matches) != 1 || a.Matches[0].State != journal.MatchNotEffective || a.Matches[0].Status != "deleted" {
		t.Errorf("matches %+v, want the deleted ticket, not effective", a.Matches)
	}
	if u := unseen(a); len(u) != 0 {
		t.Errorf("unseen %v", u)
	}
}

func TestT08_UnreadableDeletedTicketsAreNamed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		deleted int
		list    http.HandlerFunc // replaces the list of transactions; nil = the desk's
		want    string
	}{
		{"list forbidden", 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "RT does not list them (403)"},
		{"list unknown to this RT", 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, "RT does not list them (400)"},
		{"too many", 26, nil, "more than 25 tickets"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			desk := newDesk(nil)
			desk.Add("stays", "")
			for range row.deleted {
				desk.SetStatus(desk.Add("gone", journal.RandomRef()), "deleted")
			}
			c := serve(t, override("/REST/2.0/transactions", row.list, desk))
			a := mustLook(t, c, journal.RandomRef())
			if u := unseen(a); len(u) != 1 || !strings.Contains(u[0], row.want) {
				t.Errorf("unseen %v, want %q", u, row.want)
			}
		})
	}
}

func TestMergedTicketIsFoundUnderItsOwnNumber(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	ref := journal.RandomRef()
	id, into := desk.Add("ours", ref), desk.Add("the other", journal.RandomRef())
	desk.Merge(id, into)
	desk.SetStatus(into, "resolved")
	a := mustLook(t, c, ref)
	if len(a.Matches) != 1 || a.Matches[0].ID != "1" || a.Matches[0].Status != "resolved" || facts(a.Matches[0])["merged into ticket"] != "2" {
		t.Errorf("matches %+v, want ticket 1, resolved, merged into 2", a.Matches)
	}
}

func TestMovedTicketWithoutFieldCantBeTold(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	desk.Add("stays", "")
	ref := journal.RandomRef()
	desk.Move(desk.Add("ours", ref), rtdesk.Archive)
	a := mustLook(t, c, ref)
	if u := unseen(a); len(a.Matches) != 0 || len(u) != 1 || !strings.Contains(u[0], "ticket 2 does not show field") {
		t.Errorf("matches %v, unseen %v: a ticket that answers to the reference must not read as a miss", a.Matches, u)
	}
}

func TestStatusesOfRT(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]journal.MatchState{
		"new": journal.MatchEffective, "open": journal.MatchEffective, "stalled": journal.MatchEffective,
		"resolved": journal.MatchEffective, "rejected": journal.MatchNotEffective, "Rejected": journal.MatchNotEffective,
		"waiting for parts": journal.MatchEffective, "deleted": journal.MatchNotEffective,
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			desk := newDesk(nil)
			ref := journal.RandomRef()
			desk.SetStatus(desk.Add("ours", ref), status)
			a := mustLook(t, serve(t, desk), ref)
			if len(a.Matches) != 1 || a.Matches[0].State != want || a.Matches[0].Status != status {
				t.Errorf("matches %+v, want one of state %q", a.Matches, want)
			}
		})
	}
}

func TestHeldBackRowsMakeAMissInconclusive(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	ref := journal.RandomRef()
	desk.Add("stays", ref)
	desk.SetFaults(rtdesk.Faults{HoldBackTotals: true})
	a := mustLook(t, c, journal.RandomRef())
	if u := unseen(a); len(u) != 1 || !strings.Contains(u[0], "held back") {
		t.Errorf("unseen %v, want the search", u)
	}
	if a := mustLook(t, c, ref); len(a.Matches) != 1 || !a.AllPagesRead {
		t.Errorf("a hit stays a hit: matches %d, all pages %v", len(a.Matches), a.AllPagesRead)
	}
}

func TestDroppedAnswerAfterCreateIsFound(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	ref := journal.RandomRef()
	desk.SetFaults(rtdesk.Faults{DropAfterCreate: true})
	if _, err := postTicket(t, c, ref); err == nil {
		t.Fatal("the desk answered, want a cut connection")
	}
	if a := mustLook(t, c, ref); len(a.Matches) != 1 {
		t.Errorf("%d matches, want 1", len(a.Matches))
	}
}

// override serves h on one path and the desk on all others; nil h changes nothing.
func override(path string, h http.HandlerFunc, desk *rtdesk.Desk) http.Handler {
	if h == nil {
		return desk
	}
	mux := http.NewServeMux()
	mux.HandleFunc(path, h)
	mux.Handle("/", desk)
	return mux
}

// createOverAPI creates a ticket as a worker does.
func createOverAPI(t *testing.T, c rt.Config, ref string) {
	t.Helper()
	resp, err := postTicket(t, c, ref)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("creating a ticket: %v, %v", resp, err)
	}
}

func postTicket(t *testing.T, c rt.Config, ref string) (*http.Response, error) {
	t.Helper()
	body, err := rt.CreateBody(rt.NewTicket{Queue: "Desk", Subject: "Order <7>", Content: "hello", Requestor: "kim@customer.example"}, "", ref)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.BaseURL+"/REST/2.0/ticket", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+workerToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := clientFor(c).Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

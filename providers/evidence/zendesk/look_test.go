package zendesk_test

import (
	"crypto/tls"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/zendesk"
	"github.com/landedhq/landed/providers/evidence/zendesk/zendeskfake"
)

// client is a worker's.
func client(c zendesk.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}}}
}

func TestMatchHoldsTheFacts(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	account.Add(zendeskfake.Ticket{ID: 35436, ExternalID: ref, Subject: "Help", Status: "closed", Created: at, Tags: []string{"a", "closed_by_merge"}})
	c := serve(t, account)
	a := mustLook(t, c, query(ref))
	want := []journal.Match{{
		ID: "35436", URL: c.BaseURL + "/agent/tickets/35436", Title: "Help", Status: "closed", State: journal.MatchEffective, At: at,
		Where: "Zendesk acme", Carrier: "external_id",
		Facts: []journal.MatchFact{{Name: "channel", Value: "api"}, {Name: "submitter", Value: "user 7"}, {Name: "merged", Value: "closed and merged into another ticket"}},
	}}
	if diff := cmp.Diff(want, a.Matches); diff != "" {
		t.Error(diff)
	}
	for _, x := range a.Exchanges {
		if strings.Contains(x.Response, zendeskfake.Private) {
			t.Errorf("evidence holds a customer's words: %s", x.Response)
		}
	}
}

func TestStatusesThatDidNotTakeEffect(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status string
		list   []string
		want   journal.MatchState
	}{
		{"new", nil, journal.MatchEffective},
		{"solved", nil, journal.MatchEffective},
		{"closed", nil, journal.MatchEffective},
		{"deleted", nil, journal.MatchNotEffective},
		{"solved", []string{"Solved"}, journal.MatchNotEffective},
		{"deleted", []string{}, journal.MatchEffective},
	} {
		t.Run(row.status+strings.Join(row.list, ","), func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			ref := journal.RandomRef()
			account.Add(zendeskfake.Ticket{ExternalID: ref, Status: row.status})
			c := serve(t, account)
			c.NotEffective = row.list
			if a := mustLook(t, c, query(ref)); len(a.Matches) != 1 || a.Matches[0].State != row.want {
				t.Errorf("matches %+v, want %s", a.Matches, row.want)
			}
		})
	}
}

// T-01: the list decides, search never does while the list can know.
func TestT01_ListDecidesAndSearchIsNotAsked(t *testing.T) {
	t.Parallel()
	account := newAccount()
	account.SetFaults(zendeskfake.Faults{SearchLag: 10 * time.Minute, Trouble: zendeskfake.TroubleServerError, Only: "/search"})
	ref := journal.RandomRef()
	account.Add(zendeskfake.Ticket{ExternalID: ref})
	c := serve(t, account)
	if a := mustLook(t, c, query(ref)); len(a.Matches) != 1 {
		t.Errorf("matches %+v", a.Matches)
	}
	if a := mustLook(t, c, query(journal.RandomRef())); len(a.Matches) != 0 || unseen(a) != "" {
		t.Errorf("a miss: %+v", a)
	}
}

// T-01: inside the list's own lag an empty answer is too early, whatever the controls say.
func TestT01_LagOfTheListIsTheSheets(t *testing.T) {
	t.Parallel()
	account := newAccount()
	account.SetFaults(zendeskfake.Faults{ListLag: 30 * time.Second})
	ref, old := journal.RandomRef(), journal.RandomRef()
	account.Add(zendeskfake.Ticket{ExternalID: ref})
	account.Add(zendeskfake.Ticket{ExternalID: old, Created: time.Now().Add(-time.Hour)})
	c := serve(t, account)
	a := open(t, c)
	now := time.Now()
	q := evidence.Question{Ref: ref, From: now.Add(-time.Minute), To: now, Canary: &journal.Canary{Ref: old, BegunAt: now.Add(-time.Hour), CommittedAt: now.Add(-time.Hour)}}
	f := evidence.Ask(t.Context(), a, q)
	grant := now.Add(-6 * time.Minute) // the processing horizon is over, the lag is not
	timing := evidence.Timing{StartedAt: now, FirstGrant: grant, FencedAt: grant, SendBy: now.Add(-5*time.Minute - 30*time.Second), Attempt: 1, Attempts: 1}
	if j := evidence.Judge(f, a.Sheet(), timing); j.Verdict != journal.CannotTell || j.Reason != journal.CannotTooEarly {
		t.Errorf("judged %+v", j)
	}
	timing.StartedAt = now.Add(time.Minute)
	if j := evidence.Judge(f, a.Sheet(), timing); j.Verdict != journal.NotFound {
		t.Errorf("after the lag: %+v", j)
	}
}

// T-03: the list is a pre-filter: a ticket whose external_id only resembles the
// reference is a stranger, and makes the filter doubtful.
func TestT03_ResemblingReference(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	account.Add(zendeskfake.Ticket{ExternalID: strings.ToUpper(ref)})
	account.Add(zendeskfake.Ticket{ExternalID: ref + "0"})
	if a := mustLook(t, serve(t, account), query(ref)); len(a.Matches) != 0 || a.Unrelated != 1 || unseen(a) != "" {
		t.Errorf("matches %+v, unrelated %d, unseen %q", a.Matches, a.Unrelated, unseen(a))
	}
}

// T-05: a list that ignores its filter is noticed.
func TestT05_FilterThatIsIgnored(t *testing.T) {
	t.Parallel()
	account := newAccount()
	for range 3 {
		account.Add(zendeskfake.Ticket{ExternalID: "crm-1"})
	}
	account.SetFaults(zendeskfake.Faults{IgnoreFilter: true})
	c := serve(t, account)
	if a := mustLook(t, c, query(journal.RandomRef())); a.Unrelated != 3 || len(a.Matches) != 0 {
		t.Errorf("unrelated %d, matches %+v", a.Unrelated, a.Matches)
	}
	if believed, reason, _ := trust(t, c, ""); believed || reason != journal.CannotFilter {
		t.Errorf("believed %v, %s", believed, reason)
	}
}

// T-06: external_id is not unique; both tickets are shown, one before the intent.
func TestT06_TwoTicketsWithOneReference(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	account.Add(zendeskfake.Ticket{ExternalID: ref, Created: time.Now().Add(-48 * time.Hour), Status: "solved"})
	account.Add(zendeskfake.Ticket{ExternalID: ref, AIAgent: true}) // left out of lists unless asked for
	a := mustLook(t, serve(t, account), query(ref))
	if len(a.Matches) != 2 || a.Matches[0].At.Equal(a.Matches[1].At) || a.Matches[0].Status == a.Matches[1].Status {
		t.Errorf("matches %+v", a.Matches)
	}
}

func TestHandles(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		ref     string // the ticket's external_id; REF is the effect's
		handle  func(id int64) journal.Handle
		gone    bool
		carrier string // of the match; "" = none
		unseen  string
	}{
		{"marked", "REF", nil, false, "external_id", ""},
		{"not marked", "", nil, false, "handle ticket", ""},
		{"another's", journal.RandomRef(), nil, false, "", ""},
		{"deleted", "", nil, true, "", "can't be read (404)"},
		{"no id", "", func(int64) journal.Handle { return journal.Handle{Kind: "ticket", Value: "1/../2"} }, false, "", ""},
		{"another provider's", "", func(id int64) journal.Handle {
			return journal.Handle{Kind: "invoice", Value: strconv.FormatInt(id, 10)}
		}, false, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			ref := journal.RandomRef()
			if row.ref == "REF" {
				row.ref = ref
			}
			id := account.Add(zendeskfake.Ticket{ExternalID: row.ref})
			if row.gone {
				account.Delete(id, time.Now().Add(-2*time.Hour), "x")
			}
			h := journal.Handle{Kind: "ticket", Value: strconv.FormatInt(id, 10)}
			if row.handle != nil {
				h = row.handle(id)
			}
			a := mustLook(t, serve(t, account), query(ref, h, h))
			switch {
			case row.carrier == "" && len(a.Matches) != 0, row.carrier != "" && (len(a.Matches) != 1 || a.Matches[0].Carrier != row.carrier):
				t.Errorf("matches %+v, want %q", a.Matches, row.carrier)
			case !strings.Contains(unseen(a), row.unseen), row.unseen == "" && unseen(a) != "":
				t.Errorf("unseen %q, want %q", unseen(a), row.unseen)
			}
		})
	}
}

// A ticket that is listed and whose external_id was changed meanwhile is neither a
// match nor nothing.
func TestListedTicketIsReadAgain(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	id := account.Add(zendeskfake.Ticket{ExternalID: ref})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v2/tickets/") { // between list and reading
			account.Edit(id, func(t *zendeskfake.Ticket) { t.ExternalID = "crm-1" })
		}
		account.ServeHTTP(w, r)
	})
	a := mustLook(t, serve(t, h), query(ref))
	if len(a.Matches) != 0 || !strings.Contains(unseen(a), "does not carry it any more") {
		t.Errorf("matches %+v, unseen %q", a.Matches, unseen(a))
	}
}

func TestArchivedTicketsAreFoundBySearchOnly(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	created := time.Now().Add(-200 * 24 * time.Hour)
	account.Add(zendeskfake.Ticket{ExternalID: ref, Archived: true, Status: "closed", Created: created})
	account.Add(zendeskfake.Ticket{Subject: "about " + ref}) // search finds words too
	c := serve(t, account)
	q := query(ref)
	if a := mustLook(t, c, q); len(a.Matches) != 0 {
		t.Errorf("a recent window: %+v", a.Matches)
	}
	q.From = created.Add(-time.Minute)
	if a := mustLook(t, c, q); len(a.Matches) != 1 || a.Matches[0].Status != "closed" {
		t.Errorf("an old window: %+v", a.Matches)
	}
	// An effect as old as that is beyond the retention, so a miss decides nothing.
	sheet := open(t, c).Sheet()
	now := time.Now()
	f := evidence.Facts{Answer: evidence.Answer{AllPagesRead: true}, Negative: journal.Control{Ran: true, Passed: true}, Positive: journal.Control{Ran: true, Passed: true}}
	j := evidence.Judge(f, sheet, evidence.Timing{StartedAt: now, FirstGrant: created, FencedAt: created, SendBy: created, Attempt: 1, Attempts: 1})
	if j.Verdict != journal.CannotTell || j.Reason != journal.CannotRetention {
		t.Errorf("judged %+v", j)
	}
}

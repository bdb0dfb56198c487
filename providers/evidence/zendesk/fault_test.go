package zendesk_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/zendesk/zendeskfake"
)

func TestT10_FailingServerNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the token was taken to another host")
	}))
	t.Cleanup(elsewhere.Close)
	for _, row := range []struct {
		trouble zendeskfake.Trouble
		want    evidence.FaultKind
		after   time.Duration
	}{
		{zendeskfake.TroubleRevoked, evidence.FaultAuth, 0},
		{zendeskfake.TroubleForbidden, evidence.FaultForbidden, 0},
		{zendeskfake.TroubleNotFound, evidence.FaultRefused, 0},
		{zendeskfake.TroubleGone, evidence.FaultRefused, 0},
		{zendeskfake.TroubleRateLimited, evidence.FaultRateLimited, 41 * time.Second},
		{zendeskfake.TroubleLimitReset, evidence.FaultRateLimited, 17 * time.Second},
		{zendeskfake.TroubleServerError, evidence.FaultUnavailable, 0},
		{zendeskfake.TroubleMaintenance, evidence.FaultUnavailable, 300 * time.Second},
		{zendeskfake.TroubleHTML, evidence.FaultBadAnswer, 0},
		{zendeskfake.TroubleErrorIn200, evidence.FaultBadAnswer, 0},
		{zendeskfake.TroubleGarbage, evidence.FaultBadAnswer, 0},
		{zendeskfake.TroubleNull, evidence.FaultBadAnswer, 0},
		{zendeskfake.TroubleHuge, evidence.FaultTooLarge, 0},
		{zendeskfake.TroubleRedirect, evidence.FaultBadAnswer, 0},
		{zendeskfake.TroubleHang, evidence.FaultUnavailable, 0},
	} {
		for _, place := range []string{"/tickets", "/users/me", "/oauth", "/tickets/1", "/deleted_tickets", "/suspended_tickets", "/search"} {
			t.Run(string(row.trouble)+" at "+place, func(t *testing.T) {
				t.Parallel()
				account := newAccount()
				ref := journal.RandomRef()
				q := query(ref)
				if place == "/tickets/1" {
					account.Add(zendeskfake.Ticket{ExternalID: ref})
				}
				if place == "/search" {
					q.From = q.From.Add(-60 * 24 * time.Hour)
				}
				account.SetFaults(zendeskfake.Faults{Trouble: row.trouble, Only: place, RedirectTo: elsewhere.URL})
				c := serve(t, account)
				c.Timeout = 2 * time.Second
				a, err := look(t, c, q)
				if blind(row.trouble, place) {
					if err != nil || len(a.Matches) != 0 || unseen(a) == "" {
						t.Errorf("%+v, %v", a, err)
					}
					return
				}
				pe := fault(t, err)
				want := row.want
				if place == "/oauth" && row.trouble == zendeskfake.TroubleNotFound {
					want = evidence.FaultForbidden // not known to be read-only
				}
				if pe.Kind != want || pe.RetryAfter != row.after || pe.Detail == "" || len(pe.Exchanges) == 0 {
					t.Errorf("fault %+v, want kind %q, retry after %v", pe, want, row.after)
				}
				for _, x := range pe.Exchanges {
					if strings.Contains(x.Request+x.Response, readToken) {
						t.Errorf("the token is in the evidence: %+v", x)
					}
				}
			})
		}
	}
}

// blind: some refusals leave a place unseen and are no fault of the look.
func blind(trouble zendeskfake.Trouble, place string) bool {
	switch place {
	case "/deleted_tickets", "/suspended_tickets":
		return trouble == zendeskfake.TroubleForbidden
	case "/tickets/1":
		return trouble == zendeskfake.TroubleForbidden || trouble == zendeskfake.TroubleNotFound
	}
	return false
}

func TestAnswersThatCannotBeTrustedNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	ticket := `{"id":1,"external_id":null,"status":"open","created_at":"2026-01-02T03:04:05Z"}`
	more := `,"meta":{"has_more":true,"after_cursor":""}}`
	for _, row := range []struct{ name, path, body string }{
		{"no tickets", "/tickets", `{"meta":{"has_more":false}}`},
		{"tickets null", "/tickets", `{"tickets":null,"meta":{"has_more":false}}`},
		{"neither form of paging", "/tickets", `{"tickets":[],"next_page":null}`},
		{"no has_more", "/tickets", `{"tickets":[],"meta":{}}`},
		{"more without a cursor", "/tickets", `{"tickets":[]` + more},
		{"row without an id", "/tickets", `{"tickets":[{"external_id":"x"}],"meta":{"has_more":false}}`},
		{"the same ticket twice", "/tickets", `{"tickets":[` + ticket + `,` + ticket + `],"meta":{"has_more":false}}`},
		{"cut off", "/tickets", `{"tickets":[`},
		{"no user", "/users/me", `{}`},
		{"no scopes", "/oauth/tokens/current", `{"token":{"id":1}}`},
		{"no token", "/oauth/tokens/current", `{}`},
		{"no deleted tickets", "/deleted_tickets", `{"count":0}`},
		{"deleted ticket without a time", "/deleted_tickets", `{"deleted_tickets":[{"id":1}],"next_page":null}`},
		{"no suspended tickets", "/suspended_tickets", `{"suspended_tickets":null}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v2"+row.path {
					account.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(row.body))
			})
			_, err := look(t, serve(t, h), query(journal.RandomRef()))
			if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer {
				t.Errorf("fault %+v", pe)
			}
		})
	}
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	for range 5 {
		account.Add(zendeskfake.Ticket{ExternalID: ref})
	}
	c := serve(t, account)
	for name, f := range map[string]zendeskfake.Faults{"by cursor": {PageSize: 2}, "by number": {PageSize: 2, NoCursor: true}} {
		account.SetFaults(f)
		c.MaxPages = 10
		if a := mustLook(t, c, query(ref)); len(a.Matches) != 5 || !a.AllPagesRead {
			t.Errorf("%s, three pages: %d matches, all read %v", name, len(a.Matches), a.AllPagesRead)
		}
		c.MaxPages = 2
		if a := mustLook(t, c, query(ref)); len(a.Matches) != 4 || a.AllPagesRead {
			t.Errorf("%s, two of three pages: %d matches, all read %v", name, len(a.Matches), a.AllPagesRead)
		}
	}
	account.SetFaults(zendeskfake.Faults{PageSize: 2, SamePage: true})
	_, err := look(t, c, query(ref))
	if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer || !strings.Contains(pe.Detail, "twice") {
		t.Errorf("the first page again and again: %+v", pe)
	}
}

func TestClosedSessionRefuses(t *testing.T) {
	t.Parallel()
	s, err := open(t, serve(t, newAccount())).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), query(journal.RandomRef())); err == nil {
		t.Error("a closed session answered")
	}
}

package stripe_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/stripe/stripefake"
)

func TestT10_FailingServerNeverReadsAsAMiss(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the key was taken to another host")
	}))
	t.Cleanup(elsewhere.Close)
	for _, row := range []struct {
		trouble stripefake.Trouble
		want    evidence.FaultKind
		after   time.Duration
	}{
		{stripefake.TroubleKeyRevoked, evidence.FaultAuth, 0},
		{stripefake.TroubleForbidden, evidence.FaultForbidden, 0},
		{stripefake.TroubleNotFound, evidence.FaultRefused, 0},
		{stripefake.TroubleRateLimited, evidence.FaultRateLimited, 7 * time.Second},
		{stripefake.TroubleLocked, evidence.FaultRateLimited, 0},
		{stripefake.TroubleConflict, evidence.FaultUnavailable, 0},
		{stripefake.TroubleServerError, evidence.FaultUnavailable, 0},
		{stripefake.TroubleHTML, evidence.FaultBadAnswer, 0},
		{stripefake.TroubleErrorIn200, evidence.FaultBadAnswer, 0},
		{stripefake.TroubleGarbage, evidence.FaultBadAnswer, 0},
		{stripefake.TroubleNull, evidence.FaultBadAnswer, 0},
		{stripefake.TroubleHuge, evidence.FaultTooLarge, 0},
		{stripefake.TroubleRedirect, evidence.FaultBadAnswer, 0},
		{stripefake.TroubleHang, evidence.FaultUnavailable, 0},
	} {
		for _, place := range []string{"", "/events", "/payment_intents/pi_", "/payment_intents/search"} {
			t.Run(string(row.trouble)+" at "+place, func(t *testing.T) {
				t.Parallel()
				account := newAccount()
				ref := journal.RandomRef()
				if strings.HasSuffix(place, "pi_") {
					account.Add(stripefake.Thing{Metadata: marked(ref)})
				}
				account.SetFaults(stripefake.Faults{Trouble: row.trouble, Only: place, RedirectTo: elsewhere.URL})
				c := serve(t, account)
				c.Timeout = 2 * time.Second
				a, err := look(t, c, ref)
				if harmless(row.trouble, place) {
					checkHarmless(t, a, err, row.trouble, place)
					return
				}
				pe := fault(t, err)
				if pe.Kind != row.want || pe.RetryAfter != row.after || pe.Detail == "" || len(pe.Exchanges) == 0 {
					t.Errorf("fault %+v, want kind %q, retry after %v", pe, row.want, row.after)
				}
				for _, x := range pe.Exchanges {
					if strings.Contains(x.Request+x.Response, readerKey) {
						t.Errorf("the key is in the evidence: %+v", x)
					}
				}
			})
		}
	}
}

// harmless: search may be refused, since it never decides; events may be
// forbidden, which is a scope that was not seen.
func harmless(trouble stripefake.Trouble, place string) bool {
	switch place {
	case "/payment_intents/search":
		return trouble == stripefake.TroubleForbidden || trouble == stripefake.TroubleNotFound
	case "/events":
		return trouble == stripefake.TroubleForbidden
	}
	return false
}

func checkHarmless(t *testing.T, a evidence.Answer, err error, trouble stripefake.Trouble, place string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if blind := unseen(a) != ""; blind != (place == "/events") || len(a.Matches) != 0 {
		t.Errorf("%s at %s: %+v", trouble, place, a)
	}
}

func TestListsThatCannotBeTrustedNeverReadAsAMiss(t *testing.T) {
	t.Parallel()
	list := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		}
	}
	for _, row := range []struct{ name, body string }{
		{"no data", `{"object":"list","has_more":false}`},
		{"data null", `{"object":"list","has_more":false,"data":null}`},
		{"no has_more", `{"object":"list","data":[]}`},
		{"no list", `{"object":"search_result","has_more":false,"data":[]}`},
		{"more of nothing", `{"object":"list","has_more":true,"data":[]}`},
		{"row of another kind", `{"object":"list","has_more":false,"data":[{"id":"ch_1","object":"charge","created":1,"livemode":false}]}`},
		{"row with a path for an id", `{"object":"list","has_more":false,"data":[{"id":"pi_1/../x","object":"payment_intent","created":1,"livemode":false}]}`},
		{"row without an id", `{"object":"list","has_more":false,"data":[{"object":"payment_intent"}]}`},
		{"cut off", `{"object":"list","has_more":false,"data":[`},
		{"metadata of another form", `{"object":"list","has_more":false,"data":[{"id":"pi_1","object":"payment_intent","metadata":["x"]}]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := look(t, serve(t, list(row.body)), journal.RandomRef())
			if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer {
				t.Errorf("fault %+v", pe)
			}
		})
	}
}

// T-05: lists that ignore the window are noticed by rows outside of it.
func TestT05_FilterThatIsIgnored(t *testing.T) {
	t.Parallel()
	account := newAccount()
	for range 3 {
		account.Add(stripefake.Thing{Created: time.Now().Add(-48 * time.Hour)})
	}
	account.SetFaults(stripefake.Faults{IgnoreFilter: true})
	account.Add(stripefake.Thing{Kind: "transfer"}) // in the window, but its event was not asked for
	if a := mustLook(t, serve(t, account), journal.RandomRef()); a.Unrelated != 7 {
		t.Errorf("unrelated %d, want three objects, their events and the transfer's", a.Unrelated)
	}
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	account.Add(stripefake.Thing{Metadata: marked(ref)}) // the oldest: on the last page
	for range 250 {
		account.Add(stripefake.Thing{})
	}
	c := serve(t, account)
	if a := mustLook(t, c, ref); len(a.Matches) != 1 || !a.AllPagesRead {
		t.Errorf("three pages: %d matches, all read %v", len(a.Matches), a.AllPagesRead)
	}
	c.MaxPages = 2
	if a := mustLook(t, c, ref); a.AllPagesRead || !strings.Contains(unseen(a), "more events") && len(a.Matches) == 0 {
		t.Errorf("two of three pages: %+v", a.Scopes)
	}
	account.SetFaults(stripefake.Faults{SamePage: true})
	_, err := look(t, c, ref)
	if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer || !strings.Contains(pe.Detail, "twice") {
		t.Errorf("the first page again and again: %+v", pe)
	}
}

func TestMissingPermissionNamesIt(t *testing.T) {
	t.Parallel()
	account := stripefake.New(map[string]stripefake.Key{readerKey: {Read: []string{"event"}}})
	c := serve(t, account)
	c.Object = stripe.Transfers
	_, err := look(t, c, journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultForbidden || !strings.Contains(pe.Detail, "Read on Transfers") {
		t.Errorf("fault %+v", pe)
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

package stripe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/stripe/stripefake"
)

// An intent that was journaled as a handle and never confirmed: a request in
// flight may still confirm it while the window is open, and none after.
func TestAnUnconfirmedIntentIsPendingUntilTheWindowIsOver(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status       string
		during, over journal.Verdict
		fact         bool
	}{
		{"requires_payment_method", journal.FoundPending, journal.FoundNotEffective, true},
		{"requires_confirmation", journal.FoundPending, journal.FoundNotEffective, true},
		{"requires_action", journal.FoundPending, journal.FoundPending, false}, // the customer may act days later
		{"processing", journal.FoundPending, journal.FoundPending, false},
		{"requires_capture", journal.Found, journal.Found, false},
		{"succeeded", journal.Found, journal.Found, false},
		{"canceled", journal.FoundNotEffective, journal.FoundNotEffective, false},
	} {
		t.Run(row.status, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			ref := journal.RandomRef()
			id := account.Add(stripefake.Thing{Kind: "payment_intent", Status: row.status, Metadata: marked(ref), Created: time.Now().Add(-2 * time.Hour)})
			c := serve(t, account)
			for to, want := range map[time.Duration]journal.Verdict{time.Minute: row.during, -time.Minute: row.over} {
				if got := verdict(t, c, ref, id, time.Now().Add(to), row.fact); got != want {
					t.Errorf("window until %s from now: %s, want %s", to, got, want)
				}
			}
		})
	}
}

// verdict is what a look with this window means, by handle.
func verdict(t *testing.T, c stripe.Config, ref, id string, to time.Time, fact bool) journal.Verdict {
	t.Helper()
	a := open(t, c)
	s, err := a.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ans, err := s.Find(t.Context(), evidence.Query{Ref: ref, From: to.Add(-time.Minute), To: to,
		Handles: []journal.Handle{{Kind: "payment_intent", Value: id}}})
	if err != nil || len(ans.Matches) != 1 {
		t.Fatalf("answer %+v, %v", ans, err)
	}
	says := false
	for _, f := range ans.Matches[0].Facts {
		says = says || f.Name == "confirmed" && strings.Contains(f.Value, "client secret")
	}
	if says != fact {
		t.Errorf("facts %+v: whether it can still be confirmed is not said", ans.Matches[0].Facts)
	}
	return evidence.Judge(evidence.Facts{Answer: ans}, a.Sheet(), evidence.Timing{Attempt: 1, Attempts: 1}).Verdict
}

// An intent that was never confirmed and the one of the next order: one payment.
func TestAnUnconfirmedIntentBesideAPaidOneIsNoDuplicate(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	account.Add(stripefake.Thing{Kind: "payment_intent", Status: "requires_payment_method", Metadata: marked(ref), Created: time.Now().Add(-2 * time.Hour)})
	account.Add(stripefake.Thing{Kind: "payment_intent", Status: "succeeded", Metadata: marked(ref), Created: time.Now().Add(-90 * time.Minute)})
	a := open(t, serve(t, account))
	s, err := a.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ans, err := s.Find(t.Context(), evidence.Query{Ref: ref, From: time.Now().Add(-3 * time.Hour), To: time.Now().Add(-time.Hour)})
	got := evidence.Judge(evidence.Facts{Answer: ans, Err: err}, a.Sheet(), evidence.Timing{Attempt: 2, Attempts: 2})
	if got.Verdict != journal.Found || len(ans.Matches) != 2 {
		t.Errorf("%+v of %+v, want FOUND", got, ans.Matches)
	}
}

package stripe_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/stripe/stripefake"
)

func TestMatchSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		object       stripe.Object
		kind         string
		status, paid string
		want         journal.MatchState
	}{
		{stripe.PaymentIntents, "payment_intent", "succeeded", "", journal.MatchEffective},
		{stripe.PaymentIntents, "payment_intent", "requires_capture", "", journal.MatchEffective},
		{stripe.PaymentIntents, "payment_intent", "processing", "", journal.MatchPending},
		{stripe.PaymentIntents, "payment_intent", "requires_action", "", journal.MatchPending},
		{stripe.PaymentIntents, "payment_intent", "requires_confirmation", "", journal.MatchPending},
		{stripe.PaymentIntents, "payment_intent", "requires_payment_method", "", journal.MatchPending},
		{stripe.PaymentIntents, "payment_intent", "canceled", "", journal.MatchNotEffective},
		{stripe.PaymentIntents, "payment_intent", "some_new_status", "", journal.MatchPending},
		{stripe.Charges, "charge", "failed", "", journal.MatchNotEffective},
		{stripe.Charges, "charge", "pending", "", journal.MatchPending},
		{stripe.Refunds, "refund", "pending", "", journal.MatchPending},
		{stripe.Refunds, "refund", "failed", "", journal.MatchNotEffective},
		{stripe.Transfers, "transfer", "", "", journal.MatchEffective},
		{stripe.CheckoutSessions, "checkout.session", "open", "unpaid", journal.MatchPending},
		{stripe.CheckoutSessions, "checkout.session", "complete", "unpaid", journal.MatchPending},
		{stripe.CheckoutSessions, "checkout.session", "complete", "paid", journal.MatchEffective},
		{stripe.CheckoutSessions, "checkout.session", "expired", "unpaid", journal.MatchNotEffective},
	} {
		t.Run(row.kind+" "+row.status+" "+row.paid, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			ref := journal.RandomRef()
			id := account.Add(stripefake.Thing{Kind: row.kind, Status: row.status, Paid: row.paid, Metadata: marked(ref)})
			c := serve(t, account)
			c.Object = row.object
			a := mustLook(t, c, ref)
			if len(a.Matches) != 1 || a.Matches[0].ID != id || a.Matches[0].State != row.want || a.Matches[0].Status != row.status {
				t.Errorf("matches %+v, want %s", a.Matches, row.want)
			}
		})
	}
}

func TestMatchHoldsTheFacts(t *testing.T) {
	t.Parallel()
	account := newAccount()
	ref := journal.RandomRef()
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	account.Add(stripefake.Thing{ID: "pi_3abc", Metadata: marked(ref), Created: at})
	a := mustLook(t, serve(t, account), ref)
	want := []journal.Match{{
		ID: "pi_3abc", URL: "https://dashboard.stripe.com/test/payments/pi_3abc", Title: "payment_intent", Status: "succeeded",
		State: journal.MatchEffective, At: at, Where: "Stripe, test mode", Carrier: "metadata landed_ref",
		Facts: []journal.MatchFact{{Name: "amount", Value: "1250 EUR (smallest unit)"}},
	}}
	if diff := cmp.Diff(want, a.Matches); diff != "" {
		t.Error(diff)
	}
	for _, x := range a.Exchanges {
		if strings.Contains(x.Response, stripefake.Private) || strings.Contains(x.Response, "secret") {
			t.Errorf("evidence holds what it must not: %s", x.Response)
		}
	}
}

func TestHandlesFirst(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-48 * time.Hour) // outside the window: no list brings it
	handle := func(id string) journal.Handle { return journal.Handle{Kind: "payment_intent", Value: id} }
	for _, row := range []struct {
		name    string
		thing   stripefake.Thing
		handle  func(id string) journal.Handle
		want    string // the carrier; empty = no match
		unseen  string
		matches int
	}{
		{"marked", stripefake.Thing{Created: old, Metadata: map[string]string{"landed_ref": "REF"}}, handle, "metadata landed_ref", "", 1},
		{"not marked", stripefake.Thing{Created: old}, handle, "handle payment_intent", "", 1},
		{"marked for another effect", stripefake.Thing{Created: old, Metadata: map[string]string{"landed_ref": journal.RandomRef()}}, handle, "", "", 0},
		{"not there", stripefake.Thing{Created: old}, func(string) journal.Handle { return handle("pi_3nowhere") }, "", "no payment_intent pi_3nowhere", 0},
		{"of the other mode", stripefake.Thing{Created: old, Live: true}, handle, "", "no payment_intent", 0},
		{"of another kind", stripefake.Thing{Created: old}, func(string) journal.Handle { return handle("re_3refund") }, "", "", 0},
		{"not an id", stripefake.Thing{Created: old}, func(string) journal.Handle { return handle("pi_3/../../accounts") }, "", "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			account.SetFaults(stripefake.Faults{NoSearch: true})
			ref := journal.RandomRef()
			if row.thing.Metadata["landed_ref"] == "REF" {
				row.thing.Metadata = marked(ref)
			}
			id := account.Add(row.thing)
			a := mustLook(t, serve(t, account), ref, row.handle(id))
			if len(a.Matches) != row.matches || row.matches == 1 && a.Matches[0].Carrier != row.want {
				t.Errorf("matches %+v, want carrier %q", a.Matches, row.want)
			}
			if !strings.Contains(unseen(a), row.unseen) || row.unseen == "" && unseen(a) != "" {
				t.Errorf("unseen %q, want %q", unseen(a), row.unseen)
			}
		})
	}
	t.Run("a second object beside the handle's is a duplicate", func(t *testing.T) {
		t.Parallel()
		account := newAccount()
		ref := journal.RandomRef()
		id := account.Add(stripefake.Thing{Created: old, Metadata: marked(ref)})
		account.Add(stripefake.Thing{Metadata: marked(ref)})
		if a := mustLook(t, serve(t, account), ref, handle(id), handle(id)); len(a.Matches) != 2 {
			t.Errorf("matches %+v", a.Matches)
		}
	})
}

// P-01: lists and reads decide; search may bring a hit, never a miss, and what it
// brings is judged on a fresh copy.
func TestP01_SearchIsLastAndNeverBelieved(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name   string
		thing  stripefake.Thing
		faults stripefake.Faults
		want   int
	}{
		{"list has it, search lags", stripefake.Thing{Metadata: marked(ref)}, stripefake.Faults{SearchLag: time.Hour}, 1},
		{"outside the window, search has it", stripefake.Thing{Metadata: marked(ref), Created: time.Now().Add(-50 * 24 * time.Hour)}, stripefake.Faults{}, 1},
		{"outside the window, search is not available", stripefake.Thing{Metadata: marked(ref), Created: time.Now().Add(-50 * 24 * time.Hour)}, stripefake.Faults{NoSearch: true}, 0},
		{"search is stale", stripefake.Thing{Metadata: marked(journal.RandomRef())}, stripefake.Faults{StaleSearch: true}, 0},
		{"search gives what was never marked", stripefake.Thing{}, stripefake.Faults{StaleSearch: true}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			account.SetFaults(row.faults)
			account.Add(row.thing)
			a := mustLook(t, serve(t, account), ref)
			if len(a.Matches) != row.want || !a.AllPagesRead || unseen(a) != "" {
				t.Errorf("answer %+v, want %d matches", a, row.want)
			}
		})
	}
}

func TestEventsFindByIdempotencyKey(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	for _, row := range []struct {
		name    string
		key     string
		issue   string
		matches int
	}{
		{"the first issue number", journal.ProviderKey(ref, 1), "Idempotency-Key of issue number 1", 1},
		{"a later issue", journal.ProviderKey(ref, 3), "Idempotency-Key of issue number 3", 1},
		{"another effect's", journal.ProviderKey(journal.RandomRef(), 1), "", 0},
		{"the reference itself", ref, "", 0},
		{"none", "", "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			account.Add(stripefake.Thing{Key: row.key})
			a := mustLook(t, serve(t, account), ref)
			if len(a.Matches) != row.matches || row.matches == 1 && a.Matches[0].Carrier != row.issue {
				t.Errorf("matches %+v", a.Matches)
			}
		})
	}
	t.Run("an object marked for another effect is not ours", func(t *testing.T) {
		t.Parallel()
		account := newAccount()
		account.Add(stripefake.Thing{Key: journal.ProviderKey(ref, 1), Metadata: marked(journal.RandomRef())})
		if a := mustLook(t, serve(t, account), ref); len(a.Matches) != 0 {
			t.Errorf("matches %+v", a.Matches)
		}
	})
	t.Run("without the right to see events nothing is concluded", func(t *testing.T) {
		t.Parallel()
		account := stripefake.New(map[string]stripefake.Key{readerKey: {Read: []string{"payment_intent"}}})
		if a := mustLook(t, serve(t, account), ref); !strings.Contains(unseen(a), "Read on Events") {
			t.Errorf("scopes %+v", a.Scopes)
		}
	})
}

func TestModesNeverMix(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	account := newAccount()
	account.Add(stripefake.Thing{Live: true, Metadata: marked(ref)})
	test := serve(t, account)
	if a := mustLook(t, test, ref); len(a.Matches) != 0 || unseen(a) != "" {
		t.Errorf("test mode: %+v", a)
	}
	live := test
	live.Mode = stripe.Live
	live.Key = func() (string, error) { return liveKey, nil }
	a := mustLook(t, live, ref)
	if len(a.Matches) != 1 || a.Matches[0].URL != "https://dashboard.stripe.com/payments/"+a.Matches[0].ID {
		t.Errorf("live mode: %+v", a)
	}
	// A server that shows the other mode's objects, whoever asks.
	account.SetFaults(stripefake.Faults{MixModes: true})
	if a := mustLook(t, test, ref); len(a.Matches) != 0 || !strings.Contains(unseen(a), "not of test mode") {
		t.Errorf("mixed modes: %+v", a)
	}
}

func TestConnectedAccountIsNamedInEveryRequest(t *testing.T) {
	t.Parallel()
	account := newAccount()
	var wrong int
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Stripe-Account") != "acct_1x" {
			wrong++
		}
		account.ServeHTTP(w, r)
	}))
	c.Account = "acct_1x"
	ref := journal.RandomRef()
	account.Add(stripefake.Thing{Metadata: marked(ref)})
	if a := mustLook(t, c, ref); len(a.Matches) != 1 || a.Matches[0].Where != "Stripe, test mode, account acct_1x" || wrong != 0 {
		t.Errorf("matches %+v, %d requests without the account", a.Matches, wrong)
	}
}

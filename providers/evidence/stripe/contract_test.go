package stripe_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-mock/embedded"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/packs/schematest"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/stripe/stripefake"
)

func loadContract(t *testing.T) *schematest.OpenAPI {
	t.Helper()
	api, err := schematest.ParseOpenAPI(embedded.OpenAPISpec)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// guard holds every request and answer of h against Stripe's own document.
func guard(t *testing.T, api *schematest.OpenAPI, h http.Handler, count map[string]int) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		for _, f := range api.CheckRequest(r) {
			t.Errorf("%s: %v", r.URL, f)
		}
		for _, f := range api.CheckAnswer(r, rec.Code, rec.Header(), rec.Body.Bytes()) {
			t.Errorf("%s: %v", r.URL, f)
		}
		if got := r.Header.Get("Stripe-Version"); got != stripe.APIVersion && r.Method == http.MethodGet {
			t.Errorf("Stripe-Version %q", got)
		}
		mu.Lock()
		count[r.Method+" "+strings.SplitN(r.URL.Path, "/", 4)[2]+" "+fmt.Sprint(rec.Code)]++
		mu.Unlock()
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()) // the client may be gone
	})
}

// Every request of the adapter, and every answer of the fake, keep to Stripe's
// own document of the version that the adapter pins.
func TestRequestsAndFakeKeepToStripesOpenAPI(t *testing.T) {
	t.Parallel()
	api := loadContract(t)
	if api.Version != stripe.APIVersion {
		t.Fatalf("the document is of version %s, the adapter speaks %s", api.Version, stripe.APIVersion)
	}
	count := map[string]int{}
	for object, kind := range map[stripe.Object]string{
		stripe.PaymentIntents: "payment_intent", stripe.Charges: "charge", stripe.Refunds: "refund",
		stripe.Transfers: "transfer", stripe.CheckoutSessions: "checkout.session",
	} {
		account := newAccount()
		cfg := serve(t, guard(t, api, account, count))
		cfg.Object, cfg.Timeout = object, 2*time.Minute // the first use of a schema takes seconds to compile
		ref, viaEvent := journal.RandomRef(), journal.RandomRef()
		for i := range 101 { // a second page
			thing := stripefake.Thing{Kind: kind, Metadata: marked(journal.RandomRef())}
			switch {
			case kind == "checkout.session":
				thing.Status, thing.Paid = "complete", "paid"
			case kind == "charge" && i == 1:
				thing.Status = "pending"
			}
			if i == 0 {
				thing.Metadata = marked(ref)
			}
			account.Add(thing)
		}
		// Its event names the key, its metadata nothing.
		if kind != "checkout.session" { // no event tells of the making of one
			account.Add(stripefake.Thing{Kind: kind, Key: journal.ProviderKey(viaEvent, 2)})
		}
		mustLook(t, cfg, journal.RandomRef())
		if a := mustLook(t, cfg, ref); len(a.Matches) != 1 {
			t.Errorf("%s: %+v", object, a.Matches)
		}
		if a := mustLook(t, cfg, viaEvent); len(a.Matches) != 1 && kind != "checkout.session" {
			t.Errorf("%s by its key: %+v", object, a.Matches)
		}
		account.SetFaults(stripefake.Faults{Trouble: stripefake.TroubleLocked})
		if _, err := look(t, cfg, ref); err == nil {
			t.Errorf("%s: a fault went by", object)
		}
	}
	for _, want := range []string{"GET payment_intents 200", "GET charges 200", "GET refunds 200", "GET transfers 200", "GET checkout 200", "GET events 200", "GET refunds 429"} {
		if count[want] == 0 {
			t.Errorf("no %q was held against the document: %v", want, count)
		}
	}
}

// What a worker sends keeps to the document too.
func TestFormKeepsToStripesOpenAPI(t *testing.T) {
	t.Parallel()
	api := loadContract(t)
	ref := journal.RandomRef()
	for _, row := range []struct{ path, params string }{
		{"/v1/payment_intents", "amount=1250&currency=eur&confirm=true"},
		{"/v1/charges", "amount=1250&currency=eur&source=tok_visa"},
		{"/v1/refunds", "charge=ch_1x"},
		{"/v1/transfers", "amount=1250&currency=eur&destination=acct_1x"},
		{"/v1/checkout/sessions", "mode=payment"},
	} {
		params, err := url.ParseQuery(row.params)
		if err != nil {
			t.Fatal(err)
		}
		form, err := stripe.Form(params, "", ref)
		if err != nil {
			t.Fatal(err)
		}
		if form.Get("metadata["+stripe.DefaultMetadataKey+"]") != ref {
			t.Errorf("%s: no reference in %v", row.path, form)
		}
		r := httptest.NewRequest(http.MethodPost, "https://api.stripe.com"+row.path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth(readerKey, "")
		for _, f := range api.CheckRequest(r) {
			t.Errorf("%v", f)
		}
	}
}

// The guard itself must be able to refuse.
func TestContractCatchesWrongRequestsAndAnswers(t *testing.T) {
	t.Parallel()
	api := loadContract(t)
	for _, target := range []string{
		"/v1/payment_intents?metadata[landed_ref]=x", "/v1/refunds?created[from]=1&limit=ten", "/v1/payment_intents/search?limit=1",
		"/v1/nothing", "/v1/events?types=refund.created", "/v1/charges?limit=x",
	} {
		r := httptest.NewRequest(http.MethodGet, "https://api.stripe.com"+target, http.NoBody)
		r.SetBasicAuth(readerKey, "")
		if len(api.CheckRequest(r)) == 0 {
			t.Errorf("%s was taken", target)
		}
	}
	account := stripefake.New(map[string]stripefake.Key{readerKey: {Read: everything()}})
	account.Add(stripefake.Thing{Kind: "charge"})
	r := httptest.NewRequest(http.MethodGet, "https://api.stripe.com/v1/charges", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+readerKey)
	rec := httptest.NewRecorder()
	account.ServeHTTP(rec, r)
	good := rec.Body.String()
	for _, property := range []string{`"id"`, `"metadata"`, `"captured"`, `"has_more"`} {
		broken := strings.Replace(good, property, `"x"`, 1)
		if len(api.CheckAnswer(r, http.StatusOK, rec.Header(), []byte(broken))) == 0 {
			t.Errorf("an answer without %s was taken", property)
		}
	}
	for _, f := range api.CheckAnswer(r, http.StatusOK, rec.Header(), []byte(good)) {
		t.Errorf("a good answer: %v", f)
	}
}

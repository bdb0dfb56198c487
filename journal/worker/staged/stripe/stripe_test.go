package stripe_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged/stagedtest"
	"github.com/landedhq/landed/journal/worker/staged/stripe"
)

func rig(a *account, class journal.Class) stagedtest.Rig {
	return stagedtest.Rig{
		Class: class, Kind: stripe.HandleIntent, Handler: a,
		Step: func(r *http.Request, _ []byte) stagedtest.Step {
			switch {
			case r.Method != http.MethodPost:
				return stagedtest.Look
			case strings.HasSuffix(r.URL.Path, "/confirm"):
				return stagedtest.Finish
			}
			return stagedtest.Create
		},
		Run: func(base string, client *http.Client) worker.RunFunc {
			return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
				return stripe.Payments{Client: client, BaseURL: base}.Pay(ctx,
					url.Values{"amount": {"1250"}, "currency": {"eur"}}, url.Values{"payment_method": {"pm_card_visa"}})
			}
		},
		Made:     func() int { made, _ := a.count(); return made },
		Sent:     func() int { _, charged := a.count(); return charged },
		Discard:  func() { a.eachOpen(func(in *intent) { in.Status = "canceled" }) },
		Complete: func() { a.eachOpen(a.charge) },
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig { return rig(newAccount(), journal.ClassProviderIdempotent) })
}

// The handle alone prevents the second charge where no key window is trusted.
func TestCasesAtMostOnce(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig { return rig(newAccount(), journal.ClassAtMostOnce) })
}

func TestTheIntentCarriesReferenceAndKeys(t *testing.T) {
	t.Parallel()
	a := newAccount()
	got := stagedtest.One(t, rig(a, journal.ClassProviderIdempotent))
	key := journal.ProviderKey(got.Ref, 1)
	if diff := cmp.Diff([]string{"/v1/payment_intents " + key, "/v1/payment_intents/pi_1/confirm " + key + "-confirm"}, a.seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"landed_ref": got.Ref}, a.intents[0].Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if got.ProviderID != "pi_1" {
		t.Errorf("the commit names %q", got.ProviderID)
	}
}

// A creation whose answer was lost brings the same intent back.
func TestALostCreationIsNoSecondIntent(t *testing.T) {
	t.Parallel()
	a := newAccount()
	r := rig(a, journal.ClassProviderIdempotent)
	lose := true
	r.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost && lose {
			lose = false
			a.ServeHTTP(discard{http.Header{}}, q)
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		a.ServeHTTP(w, q)
	})
	if got := stagedtest.One(t, r); got.Status != worker.StatusDone || got.ProviderID != "pi_1" {
		t.Fatalf("the call ended %s with %s (%s)", got.Status, got.ProviderID, got.Reason)
	}
	if made, charged := a.count(); made != 1 || charged != 1 {
		t.Fatalf("%d intents, %d charges, want 1 and 1", made, charged)
	}
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

func TestWhatAConfirmationBrings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		account func(*account)
		status  worker.Status
		phase   journal.Phase
	}{
		{"P09 declined", func(a *account) { a.decline = true }, worker.StatusRefused, journal.PhaseRefused},
		{"waits for the customer", func(a *account) { a.action = true }, worker.StatusInProgress, journal.PhaseSent},
		{"to be captured", func(a *account) { a.lands = "requires_capture" }, worker.StatusDone, journal.PhaseConfirmed},
		{"processing", func(a *account) { a.lands = "processing" }, worker.StatusDone, journal.PhaseConfirmed},
		{"a status that is not known", func(a *account) { a.lands = "requires_prayer" }, worker.StatusInProgress, journal.PhaseSent},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := newAccount()
			row.account(a)
			got, attempts := stagedtest.Attempt(t, rig(a, journal.ClassProviderIdempotent))
			if attempts[0].Phase != row.phase || got.Status != row.status && row.status != worker.StatusInProgress {
				t.Fatalf("the call ended %s, the attempt %s (%s); want %s, %s", got.Status, attempts[0].Phase, attempts[0].Error, row.status, row.phase)
			}
		})
	}
}

func TestParametersThatMustNotBe(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]url.Values{
		"one step":             {"confirm": {"true"}},
		"reference of its own": {"metadata[landed_ref]": {"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccount()
			r := rig(a, journal.ClassProviderIdempotent)
			r.Run = func(base string, client *http.Client) worker.RunFunc {
				return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
					return stripe.Payments{Client: client, BaseURL: base}.Pay(ctx, bad, nil)
				}
			}
			if _, list := stagedtest.Attempt(t, r); list[0].Phase != journal.PhaseNotSent || len(a.seen) != 0 {
				t.Fatalf("the attempt ended %s after %v", list[0].Phase, a.seen)
			}
		})
	}
}

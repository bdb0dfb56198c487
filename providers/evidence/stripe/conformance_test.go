package stripe_test

import (
	"testing"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/stripe/stripefake"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for object, kind := range map[stripe.Object]string{
		stripe.PaymentIntents: "payment_intent", stripe.Charges: "charge", stripe.Refunds: "refund",
		stripe.Transfers: "transfer", stripe.CheckoutSessions: "checkout.session",
	} {
		t.Run(string(object), func(t *testing.T) {
			t.Parallel()
			account := newAccount()
			c := serve(t, account)
			c.Object = object
			conform(t, c, account, stripefake.Thing{Kind: kind})
		})
	}
}

// conform runs the suite; took is an object that took effect.
func conform(t *testing.T, c stripe.Config, account *stripefake.Account, took stripefake.Thing) {
	t.Helper()
	if took.Kind == "checkout.session" {
		took.Status, took.Paid = "complete", "paid"
	}
	evidencetest.Conformance(t, evidencetest.Fixture{
		Open: func(t *testing.T) evidence.Adapter { return open(t, c) },
		Put: func(_ *testing.T, carrier string) {
			one := took
			one.Metadata = marked(carrier)
			account.Add(one)
		},
		Break:    func(t *testing.T, b evidencetest.Breakage) evidence.Adapter { return broken(t, c.Object, b) },
		Requests: account.Requests,
		ReadOnly: func(t *testing.T) {
			if n := account.Writes(); n != 0 {
				t.Errorf("%d requests that could have altered something", n)
			}
		},
		Secrets: []string{readerKey, stripefake.Private},
	})
}

// broken returns an adapter for a server that fails.
func broken(t *testing.T, object stripe.Object, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	account := newAccount()
	trouble := map[evidencetest.Breakage]stripefake.Trouble{
		evidencetest.BreakAuth:    stripefake.TroubleKeyRevoked,
		evidencetest.BreakDown:    stripefake.TroubleServerError,
		evidencetest.BreakHang:    stripefake.TroubleHang,
		evidencetest.BreakGarbage: stripefake.TroubleGarbage,
	}[b]
	if trouble == stripefake.TroubleNone {
		t.Fatalf("unknown breakage %q", b)
	}
	account.SetFaults(stripefake.Faults{Trouble: trouble})
	c := serve(t, account)
	c.Object = object
	return open(t, c)
}

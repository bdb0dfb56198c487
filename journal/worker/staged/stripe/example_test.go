package stripe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged/stripe"
)

// The tool of a worker that takes a payment: the payment intent's id is journaled
// before the intent is confirmed.
func ExamplePayments_Pay() {
	payments := stripe.Payments{Client: http.DefaultClient} // one that adds the key
	r := worker.NewRegistry()
	err := r.Register(worker.ToolSpec{
		Tool: journal.Tool{
			Name: "payment.take", Class: journal.ClassProviderIdempotent, Provider: "stripe",
			KeyWindow: 24 * time.Hour, ClientTimeout: 80 * time.Second,
		},
		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
			var args struct {
				Amount                   int64
				Currency, Customer, Card string
			}
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return worker.Outcome{}, worker.NotSent(err)
			}
			return payments.Pay(ctx,
				url.Values{"amount": {strconv.FormatInt(args.Amount, 10)}, "currency": {args.Currency}, "customer": {args.Customer}},
				url.Values{"payment_method": {args.Card}, "off_session": {"true"}})
		},
	})
	fmt.Println(err)
	// Output: <nil>
}

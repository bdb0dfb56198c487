package staged_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// A provider of one's own: an order is created, which costs nothing, and captured,
// which does. The order's id is in the journal before the capture is sent.
func Example() {
	provider := httptest.NewServer(&shop{})
	defer provider.Close()
	client := http.DefaultClient // with your credentials

	r := worker.NewRegistry()
	err := r.Register(worker.ToolSpec{
		Tool: journal.Tool{Name: "order.capture", Class: journal.ClassAtMostOnce, ClientTimeout: 30 * time.Second},
		Run: func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			return staged.Run(ctx, staged.Steps{
				Kind: "order",
				Create: func(ctx context.Context) (staged.Handle, error) {
					out, err := post(ctx, client, provider.URL+"/orders")
					return staged.Handle{Value: out.ProviderID}, err
				},
				Read: func(ctx context.Context, h staged.Handle) (staged.Reading, error) {
					var order struct{ ID, State string }
					there, err := staged.Get(ctx, client, provider.URL+"/orders/"+h.Value, nil, &order)
					switch {
					case err != nil:
						return staged.Reading{}, err
					case !there:
						return staged.Reading{State: staged.Gone}, nil
					case order.State == "done":
						return staged.Reading{State: staged.Done, Outcome: worker.Outcome{ProviderID: order.ID}}, nil
					}
					return staged.Reading{State: staged.Open}, nil
				},
				Finish: func(ctx context.Context, h staged.Handle) (worker.Outcome, error) {
					return post(ctx, client, provider.URL+"/orders/"+h.Value+"/capture")
				},
			})
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := workertest.NewMemory() // a journal/postgres.Store or a journal/client.Client
	if err := r.Sync(context.Background(), store); err != nil {
		fmt.Println(err)
		return
	}
	w := worker.New(store, r, worker.Options{})
	a, err := w.Do(context.Background(), worker.Call{
		Run: worker.Run{RootRun: "run-7"}, Tool: "order.capture", Key: "order-17", Step: "capture",
	})
	fmt.Println(a.Status, a.ProviderID, err)
	for _, h := range store.Handles("order-17") {
		fmt.Println("journaled before the capture:", h.Kind, h.Value)
	}
	// Output:
	// done o-0 <nil>
	// journaled before the capture: order o-0
}

// post sends one request of a step; the classifier reads the answer.
func post(ctx context.Context, client *http.Client, url string) (worker.Outcome, error) {
	req, err := staged.Request(ctx, http.MethodPost, url, http.Header{"Content-Type": {"application/json"}}, []byte(`{}`))
	if err != nil {
		return worker.Outcome{}, err
	}
	return worker.Classifier{}.Send(staged.Once(client), req)
}

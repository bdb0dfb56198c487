package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

func Example() {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":"re_1"}`))
	}))
	defer provider.Close()

	r := worker.NewRegistry()
	err := r.Register(worker.ToolSpec{
		Tool: journal.Tool{
			Name: "refund", Class: journal.ClassProviderIdempotent,
			KeyWindow: 24 * time.Hour, ClientTimeout: 30 * time.Second,
		},
		KeyHeader: "Idempotency-Key", Tracked: true,
		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
			client, err := worker.Client(ctx)
			if err != nil {
				return worker.Outcome{}, err
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider.URL, strings.NewReader(string(call.Args)))
			if err != nil {
				return worker.Outcome{}, worker.NotSent(err)
			}
			return worker.Classifier{}.Send(client, req)
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
	for range 2 {
		a, err := w.Do(context.Background(), worker.Call{
			Run: worker.Run{RootRun: "run-7"}, Tool: "refund", Step: "refund-late-parcel", Item: "order-17",
			Args: []byte(`{"charge":"ch_1","amount":500}`),
		})
		fmt.Println(a.Status, a.ProviderID, a.Repeated, err)
	}
	// Output:
	// done re_1 false <nil>
	// done re_1 true <nil>
}

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

func ExampleWorker_Compensate() {
	book := func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
		if err := worker.Sending(ctx); err != nil {
			return worker.Outcome{}, err
		}
		return worker.Outcome{ProviderID: call.Item + "-1"}, nil
	}
	cancel := func(ctx context.Context, _ *worker.Grant, d worker.Done) (worker.Outcome, error) {
		if err := worker.Sending(ctx); err != nil {
			return worker.Outcome{}, err
		}
		fmt.Println("cancelled", d.ProviderID)
		return worker.Outcome{}, nil
	}
	r := worker.NewRegistry()
	for _, s := range []worker.ToolSpec{
		{Tool: journal.Tool{Name: "book", Class: journal.ClassAtMostOnce, ClientTimeout: time.Second, CompensatedBy: "cancel"}, Run: book},
		{Tool: journal.Tool{Name: "cancel", Class: journal.ClassAtMostOnce, ClientTimeout: time.Second}, Run: book},
	} {
		if err := r.Register(s); err != nil {
			fmt.Println(err)
			return
		}
	}
	ctx, store := context.Background(), workertest.NewMemory()
	if err := r.Sync(ctx, store); err != nil {
		fmt.Println(err)
		return
	}
	w, run := worker.New(store, r, worker.Options{}), worker.Run{RootRun: "trip-7"}
	for _, what := range []string{"flight", "hotel"} {
		if _, err := w.Do(ctx, worker.Call{Run: run, Tool: "book", Step: "book", Item: what}); err != nil {
			fmt.Println(err)
			return
		}
	}
	for range 2 { // the second time there is nothing left
		done, err := w.Compensate(ctx, run, worker.Undo{Run: cancel})
		fmt.Println(len(done.Effects), len(done.Open()), err)
	}
	// Output:
	// cancelled hotel-1
	// cancelled flight-1
	// 2 0 <nil>
	// 0 0 <nil>
}

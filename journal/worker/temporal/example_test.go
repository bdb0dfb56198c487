package temporal_test

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/landedhq/landed/journal"
	journalclient "github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/worker/temporal"
)

// Refund is the activity: it calls its provider by worker.Client(ctx).
func Refund(context.Context, Order) (Receipt, error) { return Receipt{ID: "re_1"}, nil }

// RefundFlow is the workflow: Execute in the place of workflow.ExecuteActivity.
func RefundFlow(ctx workflow.Context, o Order) (Receipt, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var r Receipt
	err := temporal.Execute(ctx, &r, Refund, o)
	if d, ok := temporal.DetailsOf(err); ok && d.Type == temporal.TypeAbandoned {
		return r, nil // a person closed it: it did not happen, and will not
	}
	return r, err
}

func Example() {
	j, err := journalclient.New(journalclient.Config{BaseURL: "https://landed.internal", Token: "secret"})
	if err != nil {
		return
	}
	i, err := temporal.NewInterceptor(temporal.Config{
		Journal:  j,
		ResumeTo: "temporal",
		Activities: map[string]temporal.Activity{
			"Refund": {Tool: journal.Tool{Class: journal.ClassAtMostOnce, Provider: "bank", ClientTimeout: 30 * time.Second}},
		},
	})
	if err != nil {
		return
	}
	c, err := client.Dial(client.Options{})
	if err != nil {
		return
	}
	if err := i.Sync(context.Background()); err != nil {
		return
	}
	w := sdkworker.New(c, "orders", sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{i}})
	i.Register(w)
	w.RegisterWorkflow(RefundFlow)
	w.RegisterActivity(Refund)
	_ = w.Run(sdkworker.InterruptCh())
}

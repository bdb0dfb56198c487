package riverworker_test

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/landedhq/landed/journal/worker"
	riverworker "github.com/landedhq/landed/journal/worker/river"
)

// invoice is a job of yours.
type invoice struct {
	Number string `json:"number"`
}

func (invoice) Kind() string { return "invoice" }

// invoices works it.
type invoices struct {
	river.WorkerDefaults[invoice]
	worker *worker.Worker
}

// Work sends one invoice. The job that a decision inserts has the same arguments,
// and comes to the same key.
func (w *invoices) Work(ctx context.Context, job *river.Job[invoice]) error {
	_, err := riverworker.Do(ctx, w.worker, "river", job.JobRow, worker.Call{
		Run: worker.Run{RootRun: "invoice-" + job.Args.Number}, Tool: "invoice.send", Step: "send",
	})
	return err
}

func Example() {
	workers := river.NewWorkers()
	river.AddWorker(workers, &invoices{worker: nil /* worker.New(…) */})
}

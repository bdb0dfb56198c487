package dbosworker_test

import (
	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/landedhq/landed/journal/worker"
	dbosworker "github.com/landedhq/landed/journal/worker/dbos"
)

// order is a workflow's input.
type order struct{ ID string }

func Example() {
	var w *worker.Worker // worker.New(…)
	steps := dbosworker.New(w, dbosworker.Options{Target: "dbos"})
	refund := func(ctx dbos.Context, o order) (string, error) {
		a, err := steps.Do(ctx, worker.Call{Tool: "refund", Step: "refund", Item: o.ID, Args: []byte(`{"order":"` + o.ID + `"}`)})
		if err != nil {
			return "", err // errors.Is(err, dbosworker.ErrRefused), …
		}
		return a.ProviderID, nil
	}
	_ = refund // dbos.RegisterWorkflow(ctx, refund)
}

package temporal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	landed "github.com/landedhq/landed/journal/worker/temporal"
	"github.com/landedhq/landed/providers/resume/temporal/temporaltest"
)

// landedJournal lets a test embed a journal and change one method.
type landedJournal = worker.Journal

// KeyedFlow sends under a key of its own.
func KeyedFlow(ctx workflow.Context, key string) (Receipt, error) {
	ctx = landed.WithCall(workflow.WithActivityOptions(ctx, options()), landed.Call{Key: key})
	var r Receipt
	err := landed.Execute(ctx, &r, "Send", Order{Order: "1"})
	return r, err
}

func registerKeyed(w sdkworker.Worker) { w.RegisterWorkflow(KeyedFlow) }

// SleepyFlow does nothing until it is cancelled.
func SleepyFlow(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Hour) }

// HandlerFlow has an update handler of its own.
func HandlerFlow(ctx workflow.Context, how string) error {
	handle := func(ctx workflow.Context, _ map[string]any) (map[string]bool, error) {
		switch how {
		case "fails":
			return nil, errors.New("no idea what that is")
		case "takes its time":
			return nil, workflow.Sleep(ctx, time.Hour)
		case "says resumed":
			return map[string]bool{"resumed": true}, nil
		}
		return nil, nil
	}
	o := workflow.UpdateHandlerOptions{}
	if how == "rejects" {
		o.Validator = func(map[string]any) error { return errors.New("not now") }
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, "landed", handle, o); err != nil {
		return err
	}
	return workflow.Sleep(ctx, time.Hour)
}

func registerHandlers(w sdkworker.Worker) { w.RegisterWorkflow(HandlerFlow) }

func registerSleepy(w sdkworker.Worker) { w.RegisterWorkflow(SleepyFlow) }

// ContinuedFlow sends, and goes on as a new run, so many times.
func ContinuedFlow(ctx workflow.Context, o Order) (Receipt, error) {
	r, err := SendFlow(ctx, Order{Order: o.Order})
	if err != nil || o.Times == 0 {
		return r, err
	}
	return r, workflow.NewContinueAsNewError(ctx, ContinuedFlow, Order{Order: o.Order, Times: o.Times - 1})
}

// RetriedFlow sends twice, and fails as a whole at its first try.
func RetriedFlow(ctx workflow.Context, o Order) (Receipt, error) {
	r, err := SendFlow(ctx, o)
	if err != nil {
		return r, err
	}
	if r, err = SendFlow(ctx, o); err == nil && workflow.GetInfo(ctx).Attempt == 1 {
		return r, sdk.NewApplicationError("once more from the start", "again")
	}
	return r, err
}

// ParentFlow has two children; the second one goes on as a new run.
func ParentFlow(ctx workflow.Context, o Order) (Receipt, error) {
	var r Receipt
	if err := workflow.ExecuteChildWorkflow(ctx, SendFlow, o).Get(ctx, &r); err != nil {
		return r, err
	}
	o.Times = 1
	err := workflow.ExecuteChildWorkflow(ctx, ContinuedFlow, o).Get(ctx, &r)
	return r, err
}

// NamedFlow names its steps; the second time around it finds what it did.
func NamedFlow(ctx workflow.Context, o Order) (Receipt, error) {
	var r Receipt
	opts := options()
	byStep := landed.WithCall(workflow.WithActivityOptions(ctx, opts), landed.Call{Step: "confirm"})
	byItem := landed.WithCall(workflow.WithActivityOptions(ctx, opts), landed.Call{Step: "confirm", Item: "A7"})
	opts.ActivityID = "mail-2"
	byID := workflow.WithActivityOptions(ctx, opts)
	for range 2 {
		for _, ctx := range []workflow.Context{byStep, byItem, byID} {
			if err := landed.Execute(ctx, &r, "Send", o); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

func registerKeyFlows(w sdkworker.Worker) {
	w.RegisterWorkflow(ContinuedFlow)
	w.RegisterWorkflow(RetriedFlow)
	w.RegisterWorkflow(ParentFlow)
	w.RegisterWorkflow(NamedFlow)
}

// MisuseFlow calls in ways that are refused.
func MisuseFlow(ctx workflow.Context, how string) (Receipt, error) {
	var r Receipt
	o := options()
	switch how {
	case "local":
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Second})
		err := workflow.ExecuteLocalActivity(ctx, "Send", Order{Order: "1"}).Get(ctx, &r)
		return r, err
	case "window":
		o.StartToCloseTimeout = time.Hour
		err := landed.Execute(workflow.WithActivityOptions(ctx, o), &r, "Pay", Order{Order: "1"})
		return r, err
	}
	err := landed.Execute(workflow.WithActivityOptions(ctx, o), nil, "Harmless")
	return r, err
}

func harmless(context.Context) error { return nil }

// DirectFlow calls the activity as any other.
func DirectFlow(ctx workflow.Context, o Order) (Receipt, error) {
	var r Receipt
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options()), "Send", o).Get(ctx, &r)
	return r, err
}

func registerDirect(w sdkworker.Worker) { w.RegisterWorkflow(DirectFlow) }

func contains(err error, words string) bool {
	return err != nil && strings.Contains(err.Error(), words)
}

// retried starts a workflow that Temporal retries as a whole.
func (s *stage) retried(id string, wf any, args ...any) client.WorkflowRun {
	s.t.Helper()
	run, err := s.client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: s.queue,
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 2}}, wf, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// wantKeys checks the keys of all effects.
func (s *stage) wantKeys(want []string) {
	s.t.Helper()
	var got []string
	for _, id := range s.effects("") {
		got = append(got, s.snap(id).Effect.Key)
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("keys (-want +got):\n%s", d)
	}
}

func resetRequest(run client.WorkflowRun, at int64) *workflowservice.ResetWorkflowExecutionRequest {
	return &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: temporaltest.Namespace, Reason: "test", RequestId: journal.NewToken(), WorkflowTaskFinishEventId: at,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	}
}

func registerMisuse(w sdkworker.Worker) {
	w.RegisterWorkflow(MisuseFlow)
	w.RegisterActivityWithOptions(harmless, activity.RegisterOptions{Name: "Harmless"})
}

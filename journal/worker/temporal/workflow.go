package temporal

import (
	"slices"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/landedhq/landed/journal"
)

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (i *Interceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	w := &inboundWorkflow{root: i, run: newRun()}
	w.Next = next
	return w
}

// inboundWorkflow takes what reaches one run.
type inboundWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
	root *Interceptor
	run  *run
}

// Init implements interceptor.WorkflowInboundInterceptor.
func (w *inboundWorkflow) Init(out interceptor.WorkflowOutboundInterceptor) error {
	o := &outboundWorkflow{root: w.root, run: w.run}
	o.Next = out
	return w.Next.Init(o)
}

// ExecuteWorkflow implements interceptor.WorkflowInboundInterceptor.
func (w *inboundWorkflow) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	var handed *lineage
	l := lineage{}
	switch ok, err := read(interceptor.WorkflowHeader(ctx), &l); {
	case err != nil:
		w.run.misused = misuse("the header %q of the workflow can't be read: %v", header, err)
	case ok && l.Root != "":
		handed = &l
	}
	info := workflow.GetInfo(ctx)
	if w.run.misused == nil {
		w.run.lineage, w.run.misused = own(info, handed)
	}
	w.run.name = short(info.WorkflowExecution.ID) + "/" + info.OriginalRunID
	// Handlers that a workflow registers under the same name take its place.
	if err := workflow.SetUpdateHandler(ctx, w.root.cfg.Channel, func(_ workflow.Context, m message) (Taken, error) {
		return w.run.take(m), nil
	}); err != nil {
		return nil, err
	}
	return w.Next.ExecuteWorkflow(w.mark(ctx), in)
}

// ExecuteUpdate implements interceptor.WorkflowInboundInterceptor: handlers may
// call Execute too.
func (w *inboundWorkflow) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	return w.Next.ExecuteUpdate(w.mark(ctx), in)
}

// mark tells Execute that the interceptor is there.
func (w *inboundWorkflow) mark(ctx workflow.Context) workflow.Context {
	return workflow.WithValue(ctx, presentKey{}, true)
}

// HandleSignal implements interceptor.WorkflowInboundInterceptor: it keeps
// resolutions for Execute, whenever that comes to ask. Other signals of
// the same name go on to the workflow.
func (w *inboundWorkflow) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	if in.SignalName == w.root.cfg.Channel {
		var m message
		if err := converter.GetDefaultDataConverter().FromPayloads(in.Arg, &m); err == nil && m.Type == typeResolution {
			w.run.take(m)
			return nil
		}
	}
	return w.Next.HandleSignal(ctx, in)
}

// outboundWorkflow takes what one run asks for.
type outboundWorkflow struct {
	interceptor.WorkflowOutboundInterceptorBase
	root *Interceptor
	run  *run
}

// ExecuteActivity implements interceptor.WorkflowOutboundInterceptor.
func (o *outboundWorkflow) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	a, declared := o.root.cfg.Activities[activityType]
	x, _ := ctx.Value(executionKey{}).(*execution)
	if !declared {
		if x != nil {
			return failed(ctx, misuse("activity %s is not declared to have side effects: call it by workflow.ExecuteActivity", activityType))
		}
		return o.Next.ExecuteActivity(ctx, activityType, args...)
	}
	var call wireCall
	var err error
	if x != nil && x.call != nil {
		call = *x.call // again, under the same key
	} else if call, err = o.run.newCall(ctx, activityType); err != nil {
		return failed(ctx, err)
	}
	if x != nil {
		x.run, x.root, x.call = o.run, o.root, &call
	}
	if ctx, err = limit(ctx, a, activityType); err != nil {
		return failed(ctx, err)
	}
	if err := write(interceptor.WorkflowHeader(ctx), call); err != nil {
		return failed(ctx, misuse("writing the header: %v", err))
	}
	return o.Next.ExecuteActivity(ctx, activityType, args...)
}

// limit keeps an activity's options within what its tool allows.
func limit(ctx workflow.Context, a Activity, activityType string) (workflow.Context, error) {
	o := workflow.GetActivityOptions(ctx)
	p := sdk.RetryPolicy{}
	if o.RetryPolicy != nil {
		p = *o.RetryPolicy
	}
	p.NonRetryableErrorTypes = append(slices.Clone(p.NonRetryableErrorTypes), finalTypes()...)
	ctx = workflow.WithRetryPolicy(ctx, p)
	if a.Class != journal.ClassProviderIdempotent {
		return ctx, nil
	}
	most := a.keyWindowLimit()
	if o.StartToCloseTimeout > most {
		return ctx, misuse("activity %s: a StartToCloseTimeout of %v does not fit into the provider's key window: at most %v is left of %v after a client time-out of %v and a margin of %v",
			activityType, o.StartToCloseTimeout, most, a.KeyWindow, a.ClientTimeout, keyWindowMargin)
	}
	if o.ScheduleToCloseTimeout == 0 || o.ScheduleToCloseTimeout > most {
		ctx = workflow.WithScheduleToCloseTimeout(ctx, most)
	}
	return ctx, nil
}

// ExecuteLocalActivity implements interceptor.WorkflowOutboundInterceptor. A local
// activity is run again from its start when its worker dies, by the workflow's
// task and without any record: it can't hold an effect.
func (o *outboundWorkflow) ExecuteLocalActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	if _, declared := o.root.cfg.Activities[activityType]; declared {
		return failed(ctx, misuse("activity %s has side effects and was called as a local activity: call it as a regular one", activityType))
	}
	return o.Next.ExecuteLocalActivity(ctx, activityType, args...)
}

// ExecuteChildWorkflow implements interceptor.WorkflowOutboundInterceptor.
func (o *outboundWorkflow) ExecuteChildWorkflow(ctx workflow.Context, childType string, args ...any) workflow.ChildWorkflowFuture {
	o.run.children++
	if o.run.misused == nil {
		// A lineage always can be written: it is strings, a number and a time.
		_ = write(interceptor.WorkflowHeader(ctx), o.run.lineage.child(o.run.children))
	}
	return o.Next.ExecuteChildWorkflow(ctx, childType, args...)
}

// NewContinueAsNewError implements interceptor.WorkflowOutboundInterceptor.
func (o *outboundWorkflow) NewContinueAsNewError(ctx workflow.Context, wfn any, args ...any) error {
	if o.run.misused == nil {
		_ = write(interceptor.WorkflowHeader(ctx), o.run.lineage.continued()) // as above
	}
	return o.Next.NewContinueAsNewError(ctx, wfn, args...)
}

func failed(ctx workflow.Context, err error) workflow.Future {
	f, s := workflow.NewFuture(ctx)
	s.SetError(err)
	return f
}

package temporal

import (
	"context"
	"errors"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/landedhq/landed/journal"
)

// DecisionActivity is the type of the activity by which a workflow asks the
// journal; Interceptor.Register registers it.
const DecisionActivity = "landed.Decision"

// Bounds of the waits that Execute makes by itself.
const (
	minLater   = time.Second
	maxLater   = time.Minute
	askTimeout = 30 * time.Second
	askTries   = 3
	// maxTimeouts is how often an activity may run into one of Temporal's time-outs
	// before Execute hands that back.
	maxTimeouts = 3
)

// execution carries one Execute through its calls of the activity.
type execution struct {
	root *Interceptor
	run  *run
	call *wireCall // nil until the first call gave it a place
}

// Execute runs a journaled activity and returns once there is a last word on it,
// however long that takes. Options come from the context, as for
// workflow.ExecuteActivity; result may be nil.
//
// While the effect is parked it waits for the decision, then runs the activity
// again under the same key: the journal then hands out the attempt that was
// ordered, or what was recorded. So it does when another attempt was still running,
// when the journal could not be reached, and when a time-out of Temporal's left the
// outcome open (up to three times in a row): the journal, and not the retry
// policy, decides whether the activity's function is called again.
//
// Errors other than Temporal's own have details (DetailsOf). An activity that is
// not declared to have side effects is refused, and so is a call without the
// interceptor.
func Execute(ctx workflow.Context, result, activity any, args ...any) error {
	if ctx.Value(presentKey{}) == nil {
		return misuse("Execute was called on a worker without the interceptor")
	}
	x := &execution{}
	ctx = workflow.WithValue(ctx, executionKey{}, x)
	later, timeouts := 0, 0
	seen := int64(0)
	for {
		err := workflow.ExecuteActivity(ctx, activity, args...).Get(ctx, result)
		d, ours := DetailsOf(err)
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case ours && d.Type == TypeParked:
			seen = max(seen, d.Cursor)
			if seen, err = x.await(ctx, d.EffectID, seen); err != nil {
				return err
			}
			later, timeouts = 0, 0
		case ours && (d.Type == TypeLater || d.Type == TypeUnavailable):
			if err := workflow.Sleep(ctx, pause(d.RetryAfter, later)); err != nil {
				return err
			}
			later++
		case timedOut(err) && timeouts < maxTimeouts:
			timeouts++
		default:
			return err
		}
	}
}

// pause is how long to wait for what resolves by itself: what the journal asked
// for, and longer each time.
func pause(asked time.Duration, n int) time.Duration {
	return max(asked, min(minLater<<min(n, 10), maxLater))
}

func timedOut(err error) bool {
	var t *sdk.TimeoutError
	return errors.As(err, &t)
}

// await blocks until a resolution after a cursor is known, from a message or by
// asking, and returns its cursor.
func (x *execution) await(ctx workflow.Context, effect string, after int64) (int64, error) {
	defer x.run.wait(effect, after)()
	came := func() bool { return x.run.newest[effect] > after }
	for n := 0; !came(); n++ { // asked first: a wait starts a timer even if there is nothing to wait for
		woken, err := workflow.AwaitWithTimeout(ctx, x.root.cfg.pollAfter(n), came)
		if err != nil {
			return after, err // as it is: Temporal tells a cancellation by its type
		}
		if woken {
			break
		}
		if at := ask(ctx, effect, after); at > after && !came() {
			return at, nil
		}
	}
	return x.run.newest[effect], nil
}

// ask asks the journal once. An error is no answer: the next look asks again.
func ask(ctx workflow.Context, effect string, after int64) int64 {
	o := workflow.GetActivityOptions(ctx)
	ctx = workflow.WithValue(ctx, executionKey{}, (*execution)(nil)) // it is not the effect's activity
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: o.TaskQueue, StartToCloseTimeout: askTimeout, ScheduleToCloseTimeout: askTries * askTimeout,
		RetryPolicy: &sdk.RetryPolicy{MaximumAttempts: askTries}, Summary: "is there a decision?",
	})
	var r *Decision
	if err := workflow.ExecuteActivity(ctx, DecisionActivity, effect, after).Get(ctx, &r); err != nil {
		workflow.GetLogger(ctx).Warn("asking for a decision failed", "effect", effect, "error", err)
		return after
	}
	if r == nil {
		return after
	}
	return r.Cursor
}

// Decision is what DecisionActivity returns: the newest resolution after a
// cursor, or nil.
type Decision struct {
	ResolutionID string                 `json:"resolution_id"`
	Cursor       int64                  `json:"cursor"`
	Resolution   journal.ResolutionKind `json:"resolution"`
}

// decision is DecisionActivity.
func (i *Interceptor) decision(ctx context.Context, effect string, after int64) (*Decision, error) {
	r, err := i.cfg.Journal.Decision(ctx, effect, after, 0)
	if err != nil || r == nil {
		return nil, err
	}
	return &Decision{r.ID, r.Cursor, r.Kind}, nil
}

package temporal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/landedhq/landed/journal/worker"
)

// InterceptActivity implements interceptor.WorkerInterceptor.
func (i *Interceptor) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	a := &inboundActivity{root: i}
	a.Next = next
	return a
}

type inboundActivity struct {
	interceptor.ActivityInboundInterceptorBase
	root *Interceptor
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (a *inboundActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	declared, ok := a.root.cfg.Activities[info.ActivityType.Name]
	if !ok {
		return a.Next.ExecuteActivity(ctx, in)
	}
	if info.IsLocalActivity {
		return nil, misuse("activity %s has side effects and was called as a local activity: call it as a regular one", info.ActivityType.Name)
	}
	var told wireCall
	switch ok, err := read(interceptor.Header(ctx), &told); {
	case err != nil:
		return nil, misuse("the header %q of activity %s can't be read: %v", header, info.ActivityType.Name, err)
	case (!ok || told.Root == "") && a.root.cfg.AcceptUnkeyed && info.WorkflowExecution.ID != "":
		told = unkeyed(info)
	case !ok || told.Root == "":
		return nil, misuse("activity %s has side effects and came without a key: the worker that runs workflow type %s needs the interceptor too", info.ActivityType.Name, info.WorkflowType.Name)
	}
	inv := &invocation{next: a.Next, in: in, codec: a.root.codec()}
	call, err := a.root.callOf(declared, info, told, inv)
	if err != nil {
		return nil, err
	}
	answer, err := a.root.worker.Do(context.WithValue(ctx, invocationKey{}, inv), call)
	key, _ := call.DeriveKey() // Do has refused a bad one
	return a.root.finish(declared, inv, answer, key, err)
}

// unkeyed is the place of a call that nobody gave one.
func unkeyed(info activity.Info) wireCall {
	run := short(info.WorkflowExecution.ID) + "/" + info.WorkflowExecution.RunID
	return wireCall{Root: run, Run: run, Step: "activity " + info.ActivityID, Turn: info.ActivityID}
}

// callOf makes the journal's call of an activity's.
func (i *Interceptor) callOf(a Activity, info activity.Info, told wireCall, inv *invocation) (worker.Call, error) {
	raw, err := inv.codec.args(inv.in.Args)
	if err != nil {
		return worker.Call{}, misuse("the arguments of activity %s can't be written for the journal: %v", info.ActivityType.Name, err)
	}
	inv.raw = raw
	resume, err := i.resume(info.WorkflowExecution.ID)
	if err != nil {
		return worker.Call{}, misuse("writing begin's resume: %v", err)
	}
	c := worker.Call{
		Run:  worker.Run{RootRun: told.Root, RootRunStartedAt: told.Started, Turn: told.Turn, Run: told.Run},
		Tool: a.Name, Step: told.Step, Operation: info.ActivityType.Name, Item: told.Item, Key: told.Key, Namespace: i.cfg.Namespace,
		Args: raw, Resume: resume, Supersedes: told.Supersedes,
	}
	if a.Describe != nil {
		d := a.Describe(inv.in.Args)
		if c.Item == "" {
			c.Item = d.Item
		}
		c.Subject, c.Amount, c.Currency, c.Labels = d.Subject, d.Amount, d.Currency, d.Labels
	}
	return c, nil
}

// resume is the workflow's address. The run id is left out on purpose: after a
// reset or a continuation as new it would name a run that has ended. An id with a
// slash has no address in Temporal's HTTP API: such a workflow asks for itself.
func (i *Interceptor) resume(workflowID string) ([]byte, error) {
	if i.cfg.ResumeTo == "" || strings.Contains(workflowID, "/") {
		return nil, nil
	}
	address := map[string]string{"to": i.cfg.ResumeTo, "workflow_id": workflowID}
	if i.cfg.ByUpdate {
		address["update"] = i.cfg.Channel
	} else {
		address["signal"] = i.cfg.Channel
	}
	return json.Marshal(address)
}

// finish turns the journal's answer into what the activity returns.
func (i *Interceptor) finish(a Activity, inv *invocation, answer worker.Answer, key string, err error) (any, error) {
	if answer.Status == worker.StatusDone {
		if err != nil { // done and not recorded, or recorded twice: the effect stands either way
			i.log.Error("the activity is done, and its record is not what it should be", "effect", answer.EffectID, "error", err)
		}
		if inv.done && !answer.Repeated {
			return inv.out, nil
		}
		return i.recorded(a, inv.codec, answer, key)
	}
	cause := inv.err
	if cause == nil {
		cause = err
	}
	return nil, errorOf(answer, key, cause)
}

// recorded returns what the journal kept of an earlier attempt.
func (i *Interceptor) recorded(a Activity, c codec, answer worker.Answer, key string) (any, error) {
	if answer.Result != nil {
		v, err := c.result(answer.Result)
		if err != nil {
			i.log.Error("the recorded result can't be read", "effect", answer.EffectID, "error", err)
			answer.Reason = "unreadable_result"
			return nil, noResult(answer, key, err)
		}
		return v, nil
	}
	if a.Settled != nil {
		return a.Settled(Settlement{EffectID: answer.EffectID, ProviderID: answer.ProviderID, SettledBy: answer.SettledBy})
	}
	return nil, noResult(answer, key, nil)
}

func noResult(a worker.Answer, key string, cause error) error {
	d := Details{EffectID: a.EffectID, Key: key, Status: a.Status, Reason: a.Reason, Attempt: a.Attempt, ProviderID: a.ProviderID, SettledBy: a.SettledBy}
	return failWith(TypeNoResult, "it landed, and what the activity would have returned is not recorded. Do not repeat it.", d, cause)
}

// invocation is one call of the activity's function, as the journal's worker
// makes it.
type invocation struct {
	next  interceptor.ActivityInboundInterceptor
	in    *interceptor.ExecuteActivityInput
	codec codec
	raw   []byte // the arguments, as they are journaled

	out  any
	err  error
	done bool

	mu         sync.Mutex
	providerID string
	replayed   bool
}

type invocationKey struct{}

// errAsync is what an activity fails with that wants to be completed from outside.
var errAsync = errors.New("a journaled activity can't be completed from outside (activity.ErrResultPending): its confirmation would not be recorded")

// runActivity is the function of every tool.
func runActivity(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	inv, ok := ctx.Value(invocationKey{}).(*invocation)
	if !ok {
		return worker.Outcome{}, worker.NotSent(errors.New("not called as an activity"))
	}
	args := inv.in.Args
	if !bytes.Equal(call.Args, inv.raw) { // those of the first attempt, or corrected by a person
		var err error
		if args, err = inv.codec.read(call.Args, args); err != nil {
			return worker.Outcome{}, worker.NotSent(fmt.Errorf("the journaled arguments don't fit the activity: %w", err))
		}
	}
	out, err := inv.next.ExecuteActivity(ctx, &interceptor.ExecuteActivityInput{Args: args})
	if errors.Is(err, activity.ErrResultPending) {
		err = worker.Unknown(errAsync)
	}
	if err != nil {
		inv.err = err
		return worker.Outcome{}, err
	}
	inv.out, inv.done = out, true
	result, err := inv.codec.write(out)
	if err != nil { // the SDK will refuse it too; the effect stands
		result = nil
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return worker.Outcome{Result: result, ProviderID: inv.providerID, Replayed: inv.replayed}, nil
}

// Confirmed tells the journal what the provider calls what was made, and whether
// it repeated a stored answer. An activity calls it before it returns.
func Confirmed(ctx context.Context, providerID string, replayed bool) {
	if inv, ok := ctx.Value(invocationKey{}).(*invocation); ok {
		inv.mu.Lock()
		defer inv.mu.Unlock()
		inv.providerID, inv.replayed = providerID, replayed
	}
}

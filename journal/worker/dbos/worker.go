package dbosworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// Options tune a Worker. What a wait was begun with is recorded with it, so that
// they may change between two versions of a program.
type Options struct {
	// Target is the name by which Landed's configuration calls this DBOS; "" = nobody
	// sends messages, and decisions are found by asking.
	Target string
	// Recheck is how long one wait for a message lasts before the journal is asked
	// again; default 1 h.
	Recheck time.Duration
	// Outage is how long a journal that can't be reached is tried again, with the
	// workflow asleep; default 1 h, negative = not at all.
	Outage time.Duration
}

// Bounds of waits.
const (
	firstOutageWait = time.Second
	mostOutageWait  = time.Minute
	leastWait       = time.Second
)

// Worker executes calls as steps. Safe for concurrent use.
type Worker struct {
	worker *worker.Worker
	opts   Options
}

// New returns a Worker on top of w.
func New(w *worker.Worker, o Options) *Worker {
	if o.Recheck == 0 {
		o.Recheck = time.Hour
	}
	if o.Outage == 0 {
		o.Outage = time.Hour
	}
	return &Worker{worker: w, opts: o}
}

// Do executes the call under the journal and waits out everything that is not the
// last word, decisions of people included. The error is a *NotDoneError; beside an
// answer that says done a *journal.DoneUnrecordedError or journal.ErrCommitConflict;
// or DBOS's own, which the workflow returns as it is.
//
// Run.RootRun, Run.Run and Resume are filled in where they are empty.
func (w *Worker) Do(ctx dbos.Context, call worker.Call) (worker.Answer, error) {
	id, err := dbos.GetWorkflowID(ctx)
	if err != nil {
		return worker.Answer{}, fmt.Errorf("dbosworker: Do works in a workflow only: %w", err)
	}
	if call.Run.Run == "" {
		call.Run.Run = id
	}
	name := "landed:" + call.Tool + "/" + call.Step
	for outage := time.Duration(0); ; {
		raw, err := dbos.RunAsStep(ctx, func(ctx context.Context) (string, error) {
			return w.ask(ctx, id, call, outage)
		}, dbos.WithStepName(name))
		if err != nil {
			return worker.Answer{}, err //nolint:wrapcheck // DBOS looks at its own errors
		}
		var r record
		if err := json.Unmarshal([]byte(raw), &r); err != nil {
			return worker.Answer{}, fmt.Errorf("dbosworker: reading what step %s left: %w", name, err)
		}
		switch r.Next {
		case nextSleep:
			outage = r.Outage
			_, err = dbos.Sleep(ctx, r.Wait)
		case nextReceive:
			outage = 0
			err = wait(ctx, r)
		default:
			return r.outcome()
		}
		if err != nil {
			return worker.Answer{}, err
		}
	}
}

// wait returns when a message came or the time is over: both mean to ask again. What
// came is not decoded: whoever else sends to the topic, in whichever form, wakes it.
func wait(ctx dbos.Context, r record) error {
	_, err := ctx.Recv(ctx, r.Topic, r.Wait)
	if errors.Is(err, dbos.ErrTimeout) {
		return nil
	}
	return err //nolint:wrapcheck // DBOS looks at its own errors
}

// ask is the step's function. Its error is DBOS's matter, which does not record it
// if the workflow was interrupted; everything else is in the record.
func (w *Worker) ask(ctx context.Context, id string, call worker.Call, outage time.Duration) (string, error) {
	call, topic, err := w.complete(ctx, id, call)
	if err != nil {
		return "", err
	}
	a, err := w.worker.Do(ctx, call)
	if ctx.Err() != nil {
		return "", fmt.Errorf("dbosworker: %w", context.Cause(ctx))
	}
	raw, err := json.Marshal(w.judge(a, err, topic, outage))
	if err != nil {
		return "", fmt.Errorf("dbosworker: shaping the step's record: %w", err)
	}
	return string(raw), nil
}

// complete fills in what the workflow knows.
func (w *Worker) complete(ctx context.Context, id string, call worker.Call) (worker.Call, string, error) {
	if call.Run.RootRun == "" {
		dc, ok := ctx.(dbos.Context)
		if !ok {
			return call, "", fmt.Errorf("dbosworker: a step's context is a %T and not DBOS's", ctx)
		}
		root, started, err := origin(dc, id)
		if err != nil {
			return call, "", fmt.Errorf("dbosworker: reading where workflow %s comes from: %w", id, err)
		}
		call.Run.RootRun, call.Run.RootRunStartedAt = root, started
	}
	topic := "landed"
	if key, err := call.DeriveKey(); err == nil { // worker.Do says what is wrong with it
		topic = "landed/" + journal.Ref(call.Namespace, key)
	}
	if w.opts.Target == "" || call.Resume != nil {
		return call, topic, nil
	}
	raw, err := json.Marshal(struct {
		To         string `json:"to"`
		WorkflowID string `json:"workflow_id"`
		Topic      string `json:"topic"`
	}{w.opts.Target, id, topic})
	if err != nil {
		return call, "", fmt.Errorf("dbosworker: shaping the address: %w", err)
	}
	call.Resume = raw
	return call, topic, nil
}

// maxForks ends the way back through workflows forked from workflows.
const maxForks = 100

// origin is the workflow that id was forked from, however often, and when it was
// started. One that has been deleted since still gives its id.
func origin(ctx dbos.Context, id string) (root string, started time.Time, err error) {
	for range maxForks {
		list, err := dbos.ListWorkflows(ctx, dbos.WithFilterWorkflowIDs(id), dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
		if err != nil {
			return "", time.Time{}, err //nolint:wrapcheck // the caller says what was read
		}
		if len(list) == 0 {
			return id, time.Time{}, nil
		}
		if list[0].ForkedFrom == "" {
			return id, list[0].CreatedAt, nil
		}
		id = list[0].ForkedFrom
	}
	return "", time.Time{}, fmt.Errorf("more than %d forks of forks", maxForks)
}

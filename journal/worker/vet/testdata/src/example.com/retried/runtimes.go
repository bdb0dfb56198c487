package retried

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	machinery "github.com/RichardKnop/machinery/v2"
	"github.com/aws/aws-lambda-go/events"
	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
	restate "github.com/restatedev/sdk-go"
	"github.com/riverqueue/river"
	"go.temporal.io/sdk/activity"
	temporal "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

type activities struct{ w *worker.Worker }

// Charge is registered through its struct.
func (a *activities) Charge(ctx context.Context, order string) error { // want Charge:"parameter 1 is the key"
	_, err := a.w.Do(ctx, worker.Call{Key: order + uuid.NewString()}) // want `activities.Charge is retried: Temporal retries it as an activity`
	return err
}

// Refund is known by what it asks package activity.
func Refund(ctx context.Context, w *worker.Worker, order string) error { // want Refund:"parameter 2 is the key"
	key := fmt.Sprint(order, activity.GetInfo(ctx).Attempt) // want `the key counts attempts \(Attempt\)`
	_, err := w.Do(ctx, worker.Call{Key: key})
	if err != nil {
		return err
	}
	_, err = w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `retried.Refund is a Temporal activity, which is retried`
	return err
}

// Flow passes its key on: that is minted again in each replay.
func Flow(ctx workflow.Context, w *worker.Worker) error {
	key := uuid.NewString() // want `retried.Flow is a Temporal workflow, which is replayed`
	_, err := w.Do(context.Background(), worker.Call{Key: key})
	return err
}

func register(t temporal.Worker, w *worker.Worker) {
	t.RegisterActivity(&activities{w})
	t.RegisterWorkflow(Flow)
}

type job struct{ Order string }

type mailer struct{ w *worker.Worker }

// Work is River's.
func (m *mailer) Work(ctx context.Context, j *river.Job[job]) error {
	return m.send(ctx, j.Args.Order)
}

func (m *mailer) send(ctx context.Context, order string) error {
	_, err := m.w.Do(ctx, worker.Call{Key: order + "/" + uuid.NewString()}) // want `mailer.send, which is called where mailer.Work works a River job, which is tried again`
	return err
}

// J-05: the broker hands out the same job again; the key must be the effect's.
func (m *mailer) handle(ctx context.Context, t *asynq.Task) error {
	_, err := m.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `mailer.handle handles an asynq task, which is tried again`
	return err
}

func (m *mailer) step(ctx dbos.Context, order string) (worker.Answer, error) {
	return dbos.RunAsStep(ctx, func(ctx context.Context) (worker.Answer, error) {
		return m.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `dbos.RunAsStep runs it again until it succeeds`
	})
}

func (m *mailer) greet(ctx restate.Context, name string) error {
	_, err := m.w.Do(context.Background(), worker.Call{Key: uuid.NewString()}) // want `mailer.greet is a Restate handler, which starts over`
	return err
}

func (m *mailer) queue(ctx context.Context, e events.SQSEvent) error {
	for _, r := range e.Records {
		if _, err := m.w.Do(ctx, worker.Call{Key: r.MessageId + uuid.NewString()}); err != nil { // want `mailer.queue handles messages of SQS, which come again`
			return err
		}
	}
	return nil
}

func (m *mailer) task(order string) error {
	_, err := m.w.Do(context.Background(), worker.Call{Key: uuid.NewString()}) // want `machinery retries it as a task`
	return err
}

func (m *mailer) tasks(s *machinery.Server) error {
	return s.RegisterTasks(map[string]any{"mail": m.task})
}

// The journal calls a tool's function once per attempt: a key of its own would be a
// new one each time.
func tool(url string) worker.ToolSpec {
	return worker.ToolSpec{Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
		client, err := worker.Client(ctx)
		if err != nil {
			return worker.Outcome{}, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(call.Args))
		if err != nil {
			return worker.Outcome{}, worker.NotSent(err)
		}
		req.Header.Set("Idempotency-Key", uuid.NewString()) // want `is the function of a tool, which runs once per attempt, so that every retry gets a new one. Use the grant's ProviderKey`
		_, err = client.Do(req)
		return worker.Outcome{}, err
	}}
}

func steps(ctx context.Context, post func(key string) error) (worker.Outcome, error) {
	return staged.Run(ctx, staged.Steps{
		Create: func(ctx context.Context) (staged.Handle, error) {
			h := http.Header{"Idempotency-Key": {uuid.NewString()}} // want `the Idempotency-Key header is minted`
			return staged.Handle{Value: h.Get("Location")}, nil
		},
	})
}

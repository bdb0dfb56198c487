package temporal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	journalclient "github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
	landed "github.com/landedhq/landed/journal/worker/temporal"
	"github.com/landedhq/landed/journal/worker/workertest"
	"github.com/landedhq/landed/providers/resume/temporal/temporaltest"
)

// Receipt is what the test's activities return.
type Receipt struct {
	ID    string `json:"id"`
	Found bool   `json:"found,omitempty"` // made from a settlement
}

// Order is what they take.
type Order struct {
	Order string `json:"order"`
	Times int    `json:"times,omitempty"`
}

// stage is a journal behind its API, a provider that counts, a Temporal server and
// the dispatcher between them.
type stage struct {
	t        *testing.T
	dsn      string
	store    *postgres.Store
	api      string
	token    string
	server   *temporaltest.Server
	client   client.Client
	provider *workertest.Provider
	queue    string

	mu     sync.Mutex
	answer http.HandlerFunc
}

func newStage(t *testing.T, flags ...string) *stage {
	t.Helper()
	s := &stage{t: t, dsn: journaltest.Database(t, postgres.Migrate), queue: "queue-" + journal.NewToken()[:8]}
	p := journal.DefaultPolicy()
	p.DefaultLease = time.Second // a crash shows after it
	store, err := postgres.Open(t.Context(), s.dsn, postgres.Options{Policy: p, MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	s.store, s.api, s.token = store, apitest.Serve(t, store), apitest.Token(t, store, "worker")
	s.provider = workertest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		answer := s.answer
		s.mu.Unlock()
		if answer == nil {
			_, _ = io.WriteString(w, `{"id":"p-1"}`)
			return
		}
		answer(w, r)
	})
	s.server = temporaltest.Start(t, flags...)
	s.client = dial(t, s.server.GRPC)
	return s
}

func dial(t *testing.T, address string) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func quiet() sdklog.Logger { return sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// answers sets what the provider answers from now on; nil = 200.
func (s *stage) answers(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = h
}

// lost answers 504 although the request was counted as done.
func lost(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }

// journal is the journal as a worker reaches it: over HTTP.
func (s *stage) journal() worker.Journal { return openJournal(s.t, s.api, s.token) }

func openJournal(t testing.TB, address, token string) worker.Journal {
	t.Helper()
	j, err := journalclient.New(journalclient.Config{BaseURL: address, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// config declares Send, which nothing protects at the provider, and Pay, whose
// provider honours keys.
func config(j worker.Journal) landed.Config {
	return landed.Config{
		Journal: j, ResumeTo: "temporal", PollMin: time.Minute,
		Activities: map[string]landed.Activity{
			"Send": {
				Tool:    journal.Tool{Class: journal.ClassAtMostOnce, Provider: "mail", ClientTimeout: time.Second, IdentityFields: []string{"order"}},
				Tracked: true, Describe: func(args []any) landed.Description {
					return landed.Description{Subject: "mail for " + args[0].(Order).Order}
				},
				Settled: func(s landed.Settlement) (any, error) { return Receipt{ID: s.ProviderID, Found: true}, nil },
			},
			"Patient": {
				Tool: journal.Tool{Class: journal.ClassAtMostOnce, Provider: "mail", ClientTimeout: 10 * time.Second}, Tracked: true,
			},
			"Pay": {
				Tool:      journal.Tool{Class: journal.ClassProviderIdempotent, Provider: "bank", ClientTimeout: time.Second, KeyWindow: time.Hour},
				KeyHeader: "Idempotency-Key", Tracked: true,
			},
		},
		Options: worker.Options{
			Logger: slog.New(slog.DiscardHandler), BeginWithin: 100 * time.Millisecond, JournalTimeout: 2 * time.Second,
			Backoff: worker.Backoff{Base: 10 * time.Millisecond, Cap: 100 * time.Millisecond},
		},
	}
}

func newInterceptor(t testing.TB, c landed.Config) *landed.Interceptor {
	t.Helper()
	i, err := landed.NewInterceptor(c)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// activities are the side effects: one request each.
type activities struct{ URL string }

// Send posts an order.
func (a activities) Send(ctx context.Context, o Order) (Receipt, error) { return post(ctx, a.URL, o) }

// Pay does the same, for the tool whose provider honours keys.
func (a activities) Pay(ctx context.Context, o Order) (Receipt, error) { return post(ctx, a.URL, o) }

// Patient posts, and then waits until it is cancelled.
func (a activities) Patient(ctx context.Context, o Order) (Receipt, error) {
	r, err := post(ctx, a.URL, o)
	for err == nil && ctx.Err() == nil {
		activity.RecordHeartbeat(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return r, err
}

func post(ctx context.Context, url string, o Order) (Receipt, error) {
	c, err := worker.Client(ctx)
	if err != nil {
		return Receipt{}, err
	}
	body, err := json.Marshal(o)
	if err != nil {
		return Receipt{}, worker.NotSent(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return Receipt{}, worker.NotSent(err)
	}
	out, err := worker.Classifier{}.Send(c, req)
	if err != nil {
		return Receipt{}, err
	}
	var r Receipt
	if err := json.Unmarshal(out.Result, &r); err != nil {
		return Receipt{}, worker.Unknown(err)
	}
	landed.Confirmed(ctx, r.ID, out.Replayed)
	return r, nil
}

// options are those of the test's activities.
func options() workflow.ActivityOptions {
	return workflow.ActivityOptions{StartToCloseTimeout: 20 * time.Second,
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumInterval: 500 * time.Millisecond}}
}

// SendFlow sends one order and returns the receipt.
func SendFlow(ctx workflow.Context, o Order) (Receipt, error) {
	var r Receipt
	err := landed.Execute(workflow.WithActivityOptions(ctx, options()), &r, "Send", o)
	return r, err
}

// role is what a worker of the test runs.
type role struct {
	config     *landed.Config                           // nil = config(journal)
	wf         func(sdkworker.Worker)                   // registers more workflows and activities
	only       string                                   // "workflows" or "activities"; "" = both
	activities func(ctx context.Context, o Order) error // runs before Send's request
	bare       bool                                     // no interceptor
}

// work starts a worker that ends with the test, or before by stop.
func (s *stage) work(r role) (stop func(), i *landed.Interceptor) {
	s.t.Helper()
	c := config(s.journal())
	if r.config != nil {
		c = *r.config
	}
	i = newInterceptor(s.t, c)
	if err := i.Sync(s.t.Context()); err != nil && r.config == nil {
		s.t.Fatal(err)
	}
	o := sdkworker.Options{
		LocalActivityWorkerOnly: r.only == "workflows", DisableWorkflowWorker: r.only == "activities",
		WorkerStopTimeout: 5 * time.Second, DeadlockDetectionTimeout: 30 * time.Second,
	}
	if !r.bare {
		o.Interceptors = []interceptor.WorkerInterceptor{i}
	}
	w := sdkworker.New(s.client, s.queue, o)
	if r.only != "activities" {
		w.RegisterWorkflow(SendFlow)
	}
	a := activities{s.provider.URL}
	w.RegisterActivityWithOptions(func(ctx context.Context, o Order) (Receipt, error) {
		if r.activities != nil {
			if err := r.activities(ctx, o); err != nil {
				return Receipt{}, err
			}
		}
		return a.Send(ctx, o)
	}, activity.RegisterOptions{Name: "Send"})
	w.RegisterActivityWithOptions(a.Pay, activity.RegisterOptions{Name: "Pay"})
	w.RegisterActivityWithOptions(a.Patient, activity.RegisterOptions{Name: "Patient"})
	i.Register(w)
	if r.wf != nil {
		r.wf(w)
	}
	if err := w.Start(); err != nil {
		s.t.Fatal(err)
	}
	stop = sync.OnceFunc(w.Stop)
	s.t.Cleanup(stop)
	return stop, i
}

// begin starts a workflow.
func (s *stage) begin(id string, wf any, args ...any) client.WorkflowRun {
	s.t.Helper()
	run, err := s.client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: s.queue}, wf, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// result waits for a workflow's end.
func (s *stage) result(run client.WorkflowRun) (Receipt, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 90*time.Second)
	defer cancel()
	var r Receipt
	err := run.Get(ctx, &r)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.t.Fatalf("workflow %s does not end:\n%s", run.GetID(), s.events(run))
	}
	return r, err
}

// wantReceipt waits for a workflow that succeeds.
func (s *stage) wantReceipt(run client.WorkflowRun, want Receipt) {
	s.t.Helper()
	if got, err := s.result(run); err != nil || got != want {
		s.t.Fatalf("workflow %s returned %+v, %v; want %+v", run.GetID(), got, err, want)
	}
}

func (s *stage) history(run client.WorkflowRun) []*historypb.HistoryEvent {
	s.t.Helper()
	var out []*historypb.HistoryEvent
	it := s.client.GetWorkflowHistory(context.WithoutCancel(s.t.Context()), run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func (s *stage) events(run client.WorkflowRun) string {
	var b strings.Builder
	for _, e := range s.history(run) {
		fmt.Fprintf(&b, "%d %s %s\n", e.GetEventId(), e.GetEventType(), e.GetActivityTaskFailedEventAttributes().GetFailure().GetMessage())
	}
	return b.String()
}

// countEvents counts events of a type in a run's history.
func (s *stage) countEvents(run client.WorkflowRun, kind enumspb.EventType) int {
	s.t.Helper()
	n := 0
	for _, e := range s.history(run) {
		if e.GetEventType() == kind {
			n++
		}
	}
	return n
}

// until polls.
func (s *stage) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not in time: %s", what)
		}
	}
}

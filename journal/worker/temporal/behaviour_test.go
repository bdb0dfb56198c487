package temporal_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdk "go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	landed "github.com/landedhq/landed/journal/worker/temporal"
)

// An activity that takes longer than Temporal allows, three times over: the second
// attempt does not send, and the journal says what the outcome is.
func TestJ02_LongerThanStartToClose_OneRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{wf: registerHurried})
	s.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }) // done at once, answered never
	run := s.begin("order-1", HurriedFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.wantCount(1)
	s.answers(nil)
	s.decide(id, true)
	s.deliver(id)
	s.wantReceipt(run, Receipt{ID: "p-1", Found: true})
	s.wantCount(1)
	if n := len(s.snap(id).Attempts); n != 1 {
		t.Errorf("%d attempts are journaled, want 1", n)
	}
}

// HurriedFlow gives its activity one second and three attempts.
func HurriedFlow(ctx workflow.Context, o Order) (Receipt, error) {
	opts := options()
	opts.StartToCloseTimeout, opts.RetryPolicy.MaximumAttempts = time.Second, 3
	var r Receipt
	err := landed.Execute(workflow.WithActivityOptions(ctx, opts), &r, "Send", o)
	return r, err
}

func registerHurried(w sdkworker.Worker) { w.RegisterWorkflow(HurriedFlow) }

// Whatever the activity does after its request is out, the claim stays: the
// outcome is unknown, and a person decides.
func TestJ16_ErrorAndPanicAfterTheRequest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		end  func() error
	}{
		{"an error", func() error { return errors.New("the answer can't be parsed") }},
		{"a panic", func() error { panic("nil map") }},
		{"completion from outside", func() error { return activity.ErrResultPending }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.work(role{activities: func(ctx context.Context, o Order) error {
				if _, err := post(ctx, s.provider.URL, o); err != nil {
					return err
				}
				return row.end()
			}})
			run := s.begin("order-1", SendFlow, Order{Order: "1"})
			id := s.inState(journal.StateParked)
			s.decide(id, true)
			s.deliver(id)
			s.wantReceipt(run, Receipt{ID: "p-1", Found: true})
			s.wantCount(1)
		})
	}
}

// The activity's context ends right after the provider answered: the commit is
// written all the same.
func TestJ19_CancelledRightAfterTheAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{wf: registerCancelled})
	run := s.begin("order-1", CancelledFlow, Order{Order: "1"})
	s.until("the provider has answered", func() bool { return s.provider.Count() == 1 })
	if err := s.client.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
		t.Fatal(err)
	}
	s.wantReceipt(run, Receipt{ID: "p-1"}) // it waits for its activity, which was done
	id := s.inState(journal.StateCommitted)
	s.wantCount(1)
	s.wantState(id, journal.StateCommitted)
}

// The journal is down before the effect: the activity's function is not called,
// and once it is back the effect happens once.
func TestJ20_JournalDown_ActivityIsNotCalled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	j := &flaky{landedJournal: s.journal()}
	j.down.Store(true)
	c := config(j)
	called := &atomic.Int64{}
	s.work(role{config: &c, activities: func(context.Context, Order) error { called.Add(1); return nil }})
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	s.until("begin was tried", func() bool { return j.tries.Load() >= 3 })
	if n := called.Load(); n != 0 {
		t.Fatalf("the activity was called %d times without the journal", n)
	}
	j.down.Store(false)
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(1)
}

// flaky is a journal that can't be reached for begin.
type flaky struct {
	landedJournal
	down  atomic.Bool
	tries atomic.Int64
}

func (j *flaky) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	j.tries.Add(1)
	if j.down.Load() {
		return journal.BeginAnswer{}, journal.ErrUnavailable
	}
	return j.landedJournal.Begin(ctx, r)
}

// correct has one person propose other arguments, and a second one approve.
func (s *stage) correct(id, args string) {
	s.t.Helper()
	u := decide.New(s.store, nobodyLooks{}, slog.New(slog.DiscardHandler))
	now := s.snap(id)
	d := s.decision(id, journal.VerbCorrect, "")
	d.Correction = &journal.Correction{Args: []byte(args), Subject: now.Effect.Subject}
	r, err := u.Decide(s.t.Context(), d)
	if err != nil || r.Proposal == nil {
		s.t.Fatalf("proposing: %+v, %v", r, err)
	}
	now = s.snap(id)
	_, err = u.Approve(s.t.Context(), journal.Approval{ProposalID: r.Proposal.ID, EffectID: id, Expected: now.Effect.Version, Digest: now.EvidenceDigest(), Reason: "checked it with the customer",
		Actor: journal.Actor{Issuer: "https://idp.test", Subject: "anna", Name: "Anna", Roles: []journal.Role{journal.RoleApprover}}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// nobodyLooks is a collector without providers.
type nobodyLooks struct{}

func (nobodyLooks) CanLook(string) bool { return false }

func (nobodyLooks) LookNow(context.Context, string, string) (journal.Evidence, error) {
	return journal.Evidence{}, errors.New("nobody looks")
}

// Cancelling a workflow that waits ends it as cancelled; the effect stays parked.
func TestParked_Cancelled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.until("the workflow waits", func() bool { return s.countEvents(run, enumspb.EVENT_TYPE_TIMER_STARTED) == 1 })
	if err := s.client.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.result(run); !sdk.IsCanceledError(errors.Unwrap(err)) {
		t.Errorf("the workflow ended with %v, want it cancelled", err)
	}
	s.wantState(id, journal.StateParked)
	s.wantCount(1)
}

// A person corrects the arguments: another effect takes the place of the parked
// one, and the activity runs with what was corrected.
func TestParked_Corrected(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.answers(nil)
	s.look(id, journal.NotFound)
	s.correct(id, `{"order":"corrected"}`)
	s.deliver(id)
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(2)
	if got := s.provider.Requests()[1].Body; got != `{"order":"corrected"}` {
		t.Errorf("the second request is %s, want what was corrected", got)
	}
}

// A refusal of the provider and a person's "it did not happen" are last words,
// with types of their own.
func TestFinalWords(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{})
	s.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) })
	_, err := s.result(s.begin("refused", SendFlow, Order{Order: "1"}))
	if d, ok := landed.DetailsOf(err); !ok || d.Type != landed.TypeRefused || d.EffectID == "" {
		t.Errorf("a refusal: %v (%+v)", err, d)
	}
	s.answers(lost)
	run := s.begin("closed", SendFlow, Order{Order: "2"})
	id := s.inState(journal.StateParked)
	s.look(id, journal.NotFound)
	s.decideAs(id, journal.VerbCloseNotLanded, "")
	s.deliver(id)
	_, err = s.result(run)
	if d, ok := landed.DetailsOf(err); !ok || d.Type != landed.TypeAbandoned || d.Resolution != journal.ResolvedNotLanded || d.EffectID != id {
		t.Errorf("closed as not landed: %v (%+v)", err, d)
	}
	s.wantCount(2)
}

// The same step with other arguments, after a reset onto changed code, is refused.
func TestJ09_SamePlaceOtherArguments(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{wf: registerKeyed})
	s.wantReceipt(s.begin("order-1", KeyedFlow, "the-key"), Receipt{ID: "p-1"})
	s.work(role{wf: registerOther})
	_, err := s.result(s.begin("order-2", OtherFlow, "the-key"))
	if d, ok := landed.DetailsOf(err); !ok || d.Type != landed.TypeKeyReused {
		t.Errorf("error %v, want key reused", err)
	}
	s.wantCount(1)
}

// A provider that honours keys is asked again under the same one.
func TestProviderIdempotent_AskedAgainUnderTheSameKey(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{wf: registerPay})
	n := &atomic.Int64{}
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			lost(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(Receipt{ID: "pay-1"})
	})
	s.wantReceipt(s.begin("order-1", PayFlow, Order{Order: "1"}), Receipt{ID: "pay-1"})
	seen := s.provider.Requests()
	if len(seen) != 2 || seen[0].Header.Get("Idempotency-Key") != seen[1].Header.Get("Idempotency-Key") || seen[0].Header.Get("Idempotency-Key") == "" {
		t.Errorf("requests %+v, want two under one key", seen)
	}
	s.limitsOf(s.client.GetWorkflow(t.Context(), "order-1", ""))
}

// limitsOf checks what the interceptor made of an activity's options.
func (s *stage) limitsOf(run client.WorkflowRun) {
	s.t.Helper()
	for _, e := range s.history(run) {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			if got := a.GetScheduleToCloseTimeout().AsDuration(); got <= 0 || got >= time.Hour {
				s.t.Errorf("schedule to close is %v, want it below the key window of an hour", got)
			}
			if types := a.GetRetryPolicy().GetNonRetryableErrorTypes(); len(types) == 0 {
				s.t.Error("the retry policy names no final error")
			}
		}
	}
}

// PayFlow pays one order.
func PayFlow(ctx workflow.Context, o Order) (Receipt, error) {
	var r Receipt
	err := landed.Execute(workflow.WithActivityOptions(ctx, options()), &r, "Pay", o)
	return r, err
}

func registerPay(w sdkworker.Worker) { w.RegisterWorkflow(PayFlow) }

// OtherFlow sends something else under a key.
func OtherFlow(ctx workflow.Context, key string) (Receipt, error) {
	ctx = landed.WithCall(workflow.WithActivityOptions(ctx, options()), landed.Call{Key: key})
	var r Receipt
	err := landed.Execute(ctx, &r, "Send", Order{Order: "another"})
	return r, err
}

func registerOther(w sdkworker.Worker) { w.RegisterWorkflow(OtherFlow); w.RegisterWorkflow(KeyedFlow) }

// CancelledFlow's activity answers its cancellation after it has sent.
func CancelledFlow(ctx workflow.Context, o Order) (Receipt, error) {
	opts := options()
	opts.WaitForCancellation, opts.HeartbeatTimeout = true, 2*time.Second
	var r Receipt
	err := landed.Execute(workflow.WithActivityOptions(ctx, opts), &r, "Patient", o)
	return r, err
}

func registerCancelled(w sdkworker.Worker) { w.RegisterWorkflow(CancelledFlow) }

// A recorded history replays on a worker that has never seen the workflow.
func TestReplay_RecordedHistories(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, i := s.work(role{wf: func(w sdkworker.Worker) { registerKeyFlows(w); registerHurried(w) }})
	s.answers(lost)
	parked := s.begin("parked", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.answers(nil)
	s.decide(id, false)
	s.deliver(id)
	s.wantReceipt(parked, Receipt{ID: "p-1"})
	continued := s.begin("continued", ContinuedFlow, Order{Order: "1", Times: 1})
	s.wantReceipt(continued, Receipt{ID: "p-1"})
	parent := s.begin("parent", ParentFlow, Order{Order: "1"})
	s.wantReceipt(parent, Receipt{ID: "p-1"})

	r, err := sdkworker.NewWorkflowReplayerWithOptions(sdkworker.WorkflowReplayerOptions{Interceptors: []interceptor.WorkerInterceptor{i}})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflow(SendFlow)
	r.RegisterWorkflow(ContinuedFlow)
	r.RegisterWorkflow(ParentFlow)
	for _, run := range []client.WorkflowRun{parked, continued, parent} {
		events := s.history(run)
		if err := r.ReplayWorkflowHistory(quiet(), &historypb.History{Events: events}); err != nil {
			t.Errorf("replaying %s: %v", run.GetID(), err)
		}
	}
	if n := s.countEvents(parked, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED); n != 2 {
		t.Errorf("the parked workflow's history has %d activities, want the lost one and the ordered one", n)
	}
}

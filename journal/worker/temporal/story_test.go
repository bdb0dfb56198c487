package temporal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
)

const signaled = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED

func TestExecute_NothingHappens(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{})
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(1)
	id := s.inState(journal.StateCommitted)
	e := s.snap(id).Effect
	if want := "order-1/" + run.GetRunID(); e.RootRun != want || e.Subject != "mail for 1" || e.Operation != "Send" {
		t.Errorf("effect %+v, want root run %s", e, want)
	}
}

// A workflow parks, is decided, and finishes; the decision comes by a signal.
func TestParked_DecidedAndFinished(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		landed   bool // what the provider did with the request that got no answer
		requests int
		want     Receipt
	}{
		{"it landed: closed, nothing is sent again", true, 1, Receipt{ID: "p-1", Found: true}},
		{"it did not: ordered, and sent once more", false, 2, Receipt{ID: "p-1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.work(role{})
			s.answers(lost)
			run := s.begin("order-1", SendFlow, Order{Order: "1"})
			id := s.inState(journal.StateParked)
			s.answers(nil)
			s.decide(id, row.landed)
			if got := s.deliver(id); got != journal.HandoverAccepted {
				t.Fatalf("handed over: %s, want accepted", got)
			}
			s.wantReceipt(run, row.want)
			s.wantCount(row.requests)
			s.wantState(id, journal.StateCommitted)
			if n := s.countEvents(run, signaled); n != 1 {
				t.Errorf("%d signals, want 1", n)
			}
			s.wantAcked(id)
		})
	}
}

// wantAcked checks that the runtime's own begin closed every delivery.
func (s *stage) wantAcked(id string) {
	s.t.Helper()
	var open int
	if err := s.store.Pool().QueryRow(s.t.Context(), "select count(*) from deliveries where effect_id = $1 and acked_at is null", id).Scan(&open); err != nil {
		s.t.Fatal(err)
	}
	if open != 0 {
		s.t.Errorf("%d deliveries are open, want none", open)
	}
}

// forgetful is a store whose dispatcher dies between sending and recording: the
// answer of the runtime is never written down.
type forgetful struct{ resume.Store }

var errKilled = errors.New("killed between send and mark-sent")

func (forgetful) HandoverTried(context.Context, journal.Handover, journal.HandoverResult) error {
	return errKilled
}

// The dispatcher is killed between the call and its record, three times over: the
// workflow has one signal, resumes once, and the provider sees one more request.
func TestDispatcherKilledBetweenSendAndRecord_OneResume(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	stop, _ := s.work(role{})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.until("the workflow waits", func() bool { return s.countEvents(run, enumspb.EVENT_TYPE_TIMER_STARTED) == 1 })
	stop() // the signals wait in the history
	s.answers(nil)
	s.decide(id, false)
	for range 3 {
		if err := s.dispatcher(forgetful{s.store}).Round(t.Context()); !errors.Is(err, errKilled) {
			t.Fatalf("the round ended with %v, want the kill", err)
		}
		if n := s.countEvents(run, signaled); n != 1 {
			t.Fatalf("%d signals, want 1", n)
		}
		s.due()
	}
	if got := s.deliver(id); got != journal.HandoverAccepted {
		t.Fatalf("handed over: %s, want accepted", got)
	}
	s.work(role{})
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(2)
	if n := s.countEvents(run, signaled); n != 1 {
		t.Errorf("%d signals, want 1", n)
	}
	s.wantAcked(id)
}

// A decision that is quicker than the wait: its signal is in the history before
// the activity's end is.
func TestDelivered_BeforeTheWorkflowWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := config(&afterFail{landedJournal: s.journal(), parked: make(chan struct{}), goOn: make(chan struct{})})
	j := c.Journal.(*afterFail)
	s.work(role{config: &c})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	<-j.parked
	id := s.inState(journal.StateParked)
	s.answers(nil)
	s.decide(id, false)
	if got := s.deliver(id); got != journal.HandoverAccepted {
		t.Fatalf("handed over: %s, want accepted", got)
	}
	close(j.goOn)
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(2)
	if n := s.countEvents(run, enumspb.EVENT_TYPE_TIMER_STARTED); n != 0 {
		t.Errorf("the workflow waited %d times for a decision that it had", n)
	}
}

// afterFail holds the answer of fail back until the test has decided.
type afterFail struct {
	landedJournal
	parked, goOn chan struct{}
}

func (j *afterFail) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	a, err := j.landedJournal.Fail(ctx, r)
	close(j.parked)
	<-j.goOn
	return a, err
}

// A decision on an effect whose workflow does not exist yet is tried again, and
// taken once it does.
func TestDelivered_BeforeTheWorkflowExists(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, i := s.work(role{wf: registerKeyed})
	if err := i.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := s.parkByHand("order-1/key", `{"to":"temporal","workflow_id":"order-1"}`)
	s.decide(id, false)
	if got := s.deliver(id); got != journal.HandoverUnknown {
		t.Fatalf("handed over: %s, want unknown", got)
	}
	run := s.begin("order-1", KeyedFlow, "order-1/key")
	s.due()
	if got := s.deliver(id); got != journal.HandoverAccepted && got != journal.HandoverUnknown { // its begin may have closed the delivery
		t.Fatalf("handed over: %s, want accepted", got)
	}
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(1)
	s.wantState(id, journal.StateCommitted)
	s.wantAcked(id)
}

// parkByHand parks an effect of Send as another process would have.
func (s *stage) parkByHand(key, resumeAt string) string {
	s.t.Helper()
	r := journal.BeginRequest{Key: key, ClaimID: journal.NewToken(), Tool: "Send", RootRun: "order-1", Operation: "Send", Args: []byte(`{"order":"1"}`), Resume: []byte(resumeAt)}
	a, err := s.store.Begin(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.store.Fail(s.t.Context(), journal.FailRequest{Phase: journal.PhaseSent, Error: "no answer",
		Report: journal.Report{EffectID: a.EffectID, Attempt: a.Attempt, LeaseToken: a.LeaseToken, Key: key, Tool: "Send"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return a.EffectID
}

// A decision for a workflow that has ended is refused for good, and shown.
func TestDelivered_AfterTheWorkflowEnded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	if err := s.client.TerminateWorkflow(t.Context(), run.GetID(), run.GetRunID(), "test"); err != nil {
		t.Fatal(err)
	}
	d := s.decide(id, false)
	if got := s.deliver(id); got != journal.HandoverGone {
		t.Fatalf("handed over: %s, want gone", got)
	}
	c, err := s.store.Case(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range c.Handovers {
		if h.State != journal.HandoverRefused {
			t.Errorf("the delivery of decision %s is %s, want refused", d.ID, h.State)
		}
	}
	s.wantCount(1)
}

// Nothing ever reaches the workflow: it finds the decision by asking.
func TestParked_FindsTheDecisionByAsking(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := config(s.journal())
	c.ResumeTo, c.PollMin, c.PollMax = "", 200*time.Millisecond, time.Second
	s.work(role{config: &c})
	s.answers(lost)
	run := s.begin("order/1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.answers(nil)
	s.until("the workflow has asked twice", func() bool { return s.countEvents(run, enumspb.EVENT_TYPE_TIMER_FIRED) >= 2 })
	s.decide(id, false)
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(2)
	s.wantAcked(id)
}

// The worker is replaced while the work is parked: the new one replays.
func TestParked_WorkerReplaced(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	stop, _ := s.work(role{})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.until("the workflow waits", func() bool { return s.countEvents(run, enumspb.EVENT_TYPE_TIMER_STARTED) == 1 })
	stop()
	s.answers(nil)
	s.decide(id, false)
	if got := s.deliver(id); got != journal.HandoverAccepted {
		t.Fatalf("handed over: %s, want accepted", got)
	}
	s.work(role{})
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(2)
}

// By an update the workflow itself says that it goes on: the delivery is closed by
// that, before the activity has begun again.
func TestByUpdate_TheWorkflowConfirms(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := config(s.journal())
	c.ByUpdate = true
	stop, _ := s.work(role{config: &c})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.until("the workflow waits", func() bool { return s.countEvents(run, enumspb.EVENT_TYPE_TIMER_STARTED) == 1 })
	s.answers(nil)
	s.decide(id, false)
	if got := s.deliver(id); got != journal.HandoverResumed {
		t.Fatalf("handed over: %s, want resumed", got)
	}
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(2)
	s.wantAcked(id)
	stop()
}

// A workflow without a handler for the update: it may get one, so it is asked again.
func TestByUpdate_NobodyHandlesIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := config(s.journal())
	i := newInterceptor(t, c)
	if err := i.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.work(role{bare: true, wf: registerSleepy})
	run := s.begin("order-1", SleepyFlow)
	id := s.parkByHand("k", `{"to":"temporal","workflow_id":"order-1","update":"landed"}`)
	s.decide(id, true)
	if got := s.deliver(id); got != journal.HandoverNotWaiting {
		t.Errorf("handed over: %s, want not_waiting", got)
	}
	if err := s.client.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
		t.Fatal(err)
	}
}

// Handlers of a workflow's own: only the one that says so has resumed.
func TestByUpdate_HandlersOfOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t).withTool()
	s.work(role{bare: true, wf: registerHandlers})
	for _, row := range []struct {
		how  string
		want journal.HandoverOutcome
	}{
		{"rejects", journal.HandoverNotWaiting},
		{"fails", journal.HandoverNotWaiting},
		{"takes its time", journal.HandoverAccepted},
		{"says nothing", journal.HandoverAccepted},
		{"says resumed", journal.HandoverResumed},
	} {
		t.Run(row.how, func(t *testing.T) {
			run := s.begin(row.how, HandlerFlow, row.how)
			s.until("its handler is there", func() bool { return s.countEvents(run, enumspb.EVENT_TYPE_TIMER_STARTED) == 1 })
			id := s.parkByHand("key of "+row.how, `{"to":"temporal","workflow_id":"`+row.how+`","update":"landed"}`)
			s.decide(id, true)
			if got := s.deliver(id); got != row.want {
				t.Errorf("handed over: %s, want %s", got, row.want)
			}
		})
	}
}

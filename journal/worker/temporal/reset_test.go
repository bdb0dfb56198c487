package temporal_test

import (
	"errors"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/landedhq/landed/journal"
	landed "github.com/landedhq/landed/journal/worker/temporal"
)

// A reset runs the workflow again from an earlier point: what was recorded is
// returned, and nothing is sent twice. The message that its run had seen would be
// taken a second time (the server forgets request ids at a reset), and changes
// nothing.
func TestReset_DoesNotDouble(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	s.answers(nil)
	s.decide(id, false)
	s.deliver(id)
	s.wantReceipt(run, Receipt{ID: "p-1"})
	again := s.reset(run)
	s.wantReceipt(again, Receipt{ID: "p-1"})
	s.wantCount(2)
	if ids := s.effects(""); len(ids) != 1 {
		t.Errorf("effects %v, want one", ids)
	}
	s.wantState(id, journal.StateCommitted)
}

// What Temporal does with request ids at a reset, as the adapter's documents say.
func TestReset_TheServerForgetsRequestIDs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{wf: registerSleepy})
	s.begin("order-1", SleepyFlow)
	first := s.client.GetWorkflow(t.Context(), "order-1", "")
	id := s.withTool().parkByHand("k", `{"to":"temporal","workflow_id":"order-1"}`)
	s.decide(id, true)
	s.deliver(id)
	s.due()
	if s.deliver(id); s.countEvents(first, signaled) != 1 {
		t.Fatalf("twice to one run: %d signals, want 1", s.countEvents(first, signaled))
	}
	again := s.reset(first)
	s.until("the signal is carried over", func() bool { return s.countEvents(again, signaled) == 1 })
	s.due()
	if s.deliver(id); s.countEvents(again, signaled) != 2 {
		t.Errorf("once more after the reset: %d signals in the new run, want 2: the residual that doc.go states", s.countEvents(again, signaled))
	}
	_ = s.client.TerminateWorkflow(t.Context(), "order-1", "", "test")
}

// withTool registers the tools with the journal.
func (s *stage) withTool() *stage {
	s.t.Helper()
	if err := newInterceptor(s.t, config(s.journal())).Sync(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return s
}

// reset runs a workflow again from its first task.
func (s *stage) reset(run client.WorkflowRun) client.WorkflowRun {
	s.t.Helper()
	var at int64
	s.until("the workflow's first task", func() bool {
		for _, e := range s.history(run) {
			if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				at = e.GetEventId()
				return true
			}
		}
		return false
	})
	r, err := s.client.ResetWorkflowExecution(s.t.Context(), resetRequest(run, at))
	var late *serviceerror.NotFound
	if errors.As(err, &late) || err != nil {
		s.t.Fatalf("resetting: %v", err)
	}
	return s.client.GetWorkflow(s.t.Context(), run.GetID(), r.GetRunId())
}

// Runs that continue as new are other runs: each has effects of its own. A retry
// of a whole workflow, and a child that is started again, repeat theirs.
func TestKeys_ContinuedRetriedChildren(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		begin    func(s *stage) client.WorkflowRun
		requests int
		keys     []string // behind the root run
	}{
		{"continued as new twice", func(s *stage) client.WorkflowRun { return s.begin("w", ContinuedFlow, Order{Order: "1", Times: 2}) }, 3,
			[]string{"1/Send", "+1.1/Send", "+2.1/Send"}},
		{"retried as a whole", func(s *stage) client.WorkflowRun { return s.retried("w", RetriedFlow, Order{Order: "1"}) }, 2,
			[]string{"1/Send", "2/Send"}},
		{"two children, one of them continued", func(s *stage) client.WorkflowRun { return s.begin("w", ParentFlow, Order{Order: "1"}) }, 3,
			[]string{"c1.1/Send", "c2.1/Send", "c2+1.1/Send"}},
		{"named, by its step, by its activity id, and an item", func(s *stage) client.WorkflowRun { return s.begin("w", NamedFlow, Order{Order: "1"}) }, 3,
			[]string{"confirm/Send", "mail-2/Send", "confirm/Send/A7"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.work(role{wf: registerKeyFlows})
			run := row.begin(s)
			first := run.GetRunID()
			s.wantReceipt(run, Receipt{ID: "p-1"})
			s.wantCount(row.requests)
			var want []string
			for _, k := range row.keys {
				want = append(want, "w%2F"+first+"/"+k)
			}
			s.wantKeys(want)
		})
	}
}

func TestExecute_OnlyForDeclaredActivities(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{wf: registerMisuse})
	for _, row := range []struct {
		name string
		how  string
		says string
	}{
		{"a local activity", "local", "as a local activity"},
		{"options that don't fit the key window", "window", "does not fit into the provider's key window"},
		{"Execute of another activity", "undeclared", "not declared"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := s.result(s.begin("misuse-"+row.how, MisuseFlow, row.how))
			d, ok := landed.DetailsOf(err)
			if !ok || d.Type != landed.TypeMisuse || !contains(err, row.says) {
				t.Errorf("error %v (%+v), want a misuse that says %q", err, d, row.says)
			}
		})
	}
	s.wantCount(0)
}

// A workflow's worker without the interceptor gives its activities no keys: they
// are refused, and not run unguarded. While a fleet is being moved they may be
// accepted, under a key that at least their retries share.
func TestWorkflowWithoutInterceptor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(role{bare: true, only: "workflows", wf: registerDirect})
	stop, _ := s.work(role{only: "activities"})
	_, err := s.result(s.begin("w", DirectFlow, Order{Order: "1"}))
	if d, ok := landed.DetailsOf(err); !ok || d.Type != landed.TypeMisuse || !contains(err, "needs the interceptor too") {
		t.Errorf("error %v, want a misuse", err)
	}
	if _, err = s.result(s.begin("x", SendFlow, Order{Order: "1"})); !contains(err, "without the interceptor") {
		t.Errorf("Execute without the interceptor: %v", err)
	}
	s.wantCount(0)
	stop()
	c := config(s.journal())
	c.AcceptUnkeyed = true
	s.work(role{only: "activities", config: &c})
	run := s.begin("w", DirectFlow, Order{Order: "1"})
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(1)
	s.wantKeys([]string{"w%2F" + run.GetRunID() + "/activity%205/Send"})
}

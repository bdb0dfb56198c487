package dbosworker_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
	dbosworker "github.com/landedhq/landed/journal/worker/dbos"
	"github.com/landedhq/landed/journal/worker/workertest"
	"github.com/landedhq/landed/providers/resume"
)

// running is a launched DBOS whose workflow "pay" runs one step on a journal.
type running struct {
	dbos.Context
	flow dbos.Workflow[string, string]
}

func (b *books) running(j worker.Journal, o dbosworker.Options, tools ...worker.ToolSpec) *running {
	b.t.Helper()
	steps, err := newSteps(b.t.Context(), j, o, tools...)
	if err != nil {
		b.t.Fatal(err)
	}
	r := &running{Context: b.runtime(), flow: payFlow(steps)}
	dbos.RegisterWorkflow(r.Context, r.flow, dbos.WithWorkflowName("pay"))
	b.launch(r.Context)
	return r
}

func to(target string) dbosworker.Options { return dbosworker.Options{Target: target} }

// TestDo_ParkedAndDecided: the whole way in one process, for every decision.
func TestDo_ParkedAndDecided(t *testing.T) {
	t.Parallel()
	for verb, want := range map[journal.Verb]string{
		journal.VerbReissue: "done p-1", journal.VerbCloseLanded: "done p-7", journal.VerbCloseNotLanded: "abandoned",
	} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			b := openJournal(t)
			p := workertest.NewProvider(t, failing(1, http.StatusInternalServerError))
			r := b.running(b.store, to("dbos"), paying(p.URL))
			h := start(t, r, r.flow, "order-1", "w-1")
			effect := b.parked()
			b.decide(effect, verb)
			b.round()
			if got := result(t, h); got != want {
				t.Errorf("%q, wanted %q", got, want)
			}
			asked := map[bool]int{true: 2, false: 1}[verb == journal.VerbReissue]
			if p.Count() != asked || b.received() != 1 || b.messages() != 1 {
				t.Errorf("asked %d times, %d messages, %d received", p.Count(), b.messages(), b.received())
			}
			if h := b.handover(effect); h.Target != "dbos" || h.Tries != 1 {
				t.Errorf("the way of the resolution: %+v", h)
			}
			b.acknowledged()
		})
	}
}

// TestDo_InTheDecisionsTransaction: DBOS's tables are in the journal's database, and
// the store hands over while it records: no dispatcher runs.
func TestDo_InTheDecisionsTransaction(t *testing.T) {
	t.Parallel()
	var fail atomic.Int32 // how often the transaction breaks after the message
	b := openJournal(t, func(d *desk, o *postgres.Options) {
		one := d.shared()
		o.InTx = func(ctx context.Context, tx pgx.Tx, h journal.Handover) (journal.HandoverResult, error) {
			rec, err := one.DeliverTx(ctx, tx, resume.NewMessage("https://desk.test", h))
			if err == nil && fail.Add(-1) >= 0 {
				_ = tx.Conn().Close(ctx) // the message is written, and goes with the decision
			}
			return journal.HandoverResult{State: journal.HandoverSent, Target: "dbos", Outcome: journal.HandoverAccepted, Detail: rec.Detail}, err
		}
	})
	p := workertest.NewProvider(t, failing(1, http.StatusInternalServerError))
	r := b.running(b.store, to("dbos"), paying(p.URL))
	h := start(t, r, r.flow, "order-1", "w-1")
	effect := b.parked()
	fail.Store(1)
	if err := b.tryDecide(effect, journal.VerbReissue); err == nil {
		t.Fatal("the transaction broke, and the decision stands")
	}
	if n := b.count("select count(*) from deliveries"); n != 0 || b.messages() != 0 {
		t.Fatalf("rolled back: %d deliveries, %d messages", n, b.messages())
	}
	b.decide(effect, journal.VerbReissue)
	if got := result(t, h); got != "done p-1" {
		t.Errorf("%q", got)
	}
	b.round() // has nothing to do
	if h := b.handover(effect); h.State != journal.HandoverSent || b.messages() != 1 || b.received() != 1 || p.Count() != 2 {
		t.Errorf("state %s, %d messages, %d received, asked %d times", h.State, b.messages(), b.received(), p.Count())
	}
}

// TestDo_FoundByAsking: nobody sends messages, and the journal is asked when the
// wait is over.
func TestDo_FoundByAsking(t *testing.T) {
	t.Parallel()
	b := openJournal(t)
	p := workertest.NewProvider(t, failing(1, http.StatusInternalServerError))
	r := b.running(b.store, dbosworker.Options{Recheck: 300 * time.Millisecond}, paying(p.URL))
	h := start(t, r, r.flow, "order-1", "w-1")
	b.decide(b.parked(), journal.VerbCloseLanded)
	b.round()
	if got := result(t, h); got != "done p-7" || b.messages() != 0 || p.Count() != 1 {
		t.Errorf("%q, %d messages, asked %d times", got, b.messages(), p.Count())
	}
	b.acknowledged()
}

// TestDo_StrayMessages: what comes on the topic only means to ask; a message that is
// no resolution, or an old one, changes nothing.
func TestDo_StrayMessages(t *testing.T) {
	t.Parallel()
	b := openJournal(t)
	p := workertest.NewProvider(t, failing(1, http.StatusInternalServerError))
	r := b.running(b.store, to("dbos"), paying(p.URL))
	h := start(t, r, r.flow, "order-1", "w-1")
	effect := b.parked()
	topic := "landed/"
	if err := b.pool.QueryRow(t.Context(), "select 'landed/' || ref from effects").Scan(&topic); err != nil {
		t.Fatal(err)
	}
	for _, stray := range []any{"hello", 17, map[string]string{"type": "effect.resolution.v1"}} {
		if err := dbos.Send(r.Context, "w-1", stray, topic); err != nil {
			t.Fatal(err)
		}
	}
	b.exec(`insert into dbos.notifications (destination_uuid, topic, message, serialization) values ('w-1', $1, 'gASVBQ==', 'py_pickle')`, topic)
	b.eventually("all were read", func() bool { return b.received() == 4 })
	b.decide(effect, journal.VerbReissue)
	b.round()
	if got := result(t, h); got != "done p-1" || p.Count() != 2 {
		t.Errorf("%q, asked %d times", got, p.Count())
	}
}

// TestJ16_ErrorAfterTheEffect: a tool that fails or panics after the provider
// confirmed is asked no second time by DBOS, and nothing is deleted.
func TestJ16_ErrorAfterTheEffect(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func() error{
		"error": func() error { return errors.New("parsing the answer: unexpected end") },
		"panic": func() error { panic("index out of range") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openJournal(t)
			p := workertest.NewProvider(t, nil)
			tool := paying(p.URL)
			send := tool.Run
			tool.Run = func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
				if _, err := send(ctx, call); err != nil {
					return worker.Outcome{}, err
				}
				return worker.Outcome{}, end()
			}
			r := b.running(b.store, to("dbos"), tool)
			h := start(t, r, r.flow, "order-1", "w-1")
			effect := b.parked()
			b.decide(effect, journal.VerbCloseLanded)
			b.round()
			if got := result(t, h); got != "done p-7" || p.Count() != 1 {
				t.Errorf("%q, asked %d times", got, p.Count())
			}
			if n := b.count("select count(*) from effects where state = 'COMMITTED' and attempt = 1"); n != 1 {
				t.Error("the effect's row is not what it was")
			}
		})
	}
}

// TestJ19_CancelledAfterTheAnswer: the workflow is cancelled when the provider has
// just confirmed. The commit is recorded all the same; DBOS records no step, and
// the resumed workflow gets the recorded outcome.
func TestJ19_CancelledAfterTheAnswer(t *testing.T) {
	t.Parallel()
	b := openJournal(t)
	p := workertest.NewProvider(t, nil)
	tool := paying(p.URL)
	send := tool.Run
	var r *running
	var once atomic.Bool
	tool.Run = func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
		out, err := send(ctx, call)
		if once.CompareAndSwap(false, true) {
			if err := dbos.CancelWorkflow(r.Context, "w-1"); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
		}
		return out, err
	}
	r = b.running(b.store, to("dbos"), tool)
	if _, err := start(t, r, r.flow, "order-1", "w-1").GetResult(dbos.WithHandleTimeout(patience)); !errors.Is(err, dbos.ErrWorkflowCancelled) {
		t.Fatalf("the cancelled workflow: %v", err)
	}
	b.eventually("the commit is recorded", func() bool { return b.count("select count(*) from effects where state = 'COMMITTED'") == 1 })
	if n := b.count("select count(*) from dbos.operation_outputs"); n != 0 {
		t.Errorf("%d steps are recorded of an interrupted workflow", n)
	}
	h, err := dbos.ResumeWorkflow[string](r.Context, "w-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := result(t, h); got != "done p-1" || p.Count() != 1 {
		t.Errorf("%q, asked %d times", got, p.Count())
	}
}

// away is a journal that can't be reached at times.
type away struct {
	worker.Journal
	begins, commits func() bool // whether they fail
}

func (a *away) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	if a.begins() {
		return journal.BeginAnswer{}, journal.ErrUnavailable
	}
	return a.Journal.Begin(ctx, r)
}

func (a *away) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if a.commits() {
		return journal.CommitAnswer{}, journal.ErrUnavailable
	}
	return a.Journal.Commit(ctx, r)
}

// TestJ20_JournalAway: before the effect, the step sleeps and tries again or gives
// up, and the provider is not asked. After it, the caller learns that it is done and
// not recorded.
func TestJ20_JournalAway(t *testing.T) {
	t.Parallel()
	never := func(*books) bool { return false }
	always := func(*books) bool { return true }
	twice := func(b *books) bool { // until the workflow has slept twice
		return b.count("select count(*) from dbos.operation_outputs where function_name = 'DBOS.sleep'") < 2
	}
	for _, c := range []struct {
		name            string
		begins, commits func(*books) bool
		outage          time.Duration
		want            string
		asked           int
	}{
		{"for a while", twice, never, 0, "done p-1", 1},
		{"too long", always, never, 3 * time.Second, "hard stop journal_unavailable, unavailable", 0},
		{"not tried again", always, never, -1, "hard stop journal_unavailable, unavailable", 0},
		{"after the effect", never, always, 0, "unrecorded p-1", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := openJournal(t)
			p := workertest.NewProvider(t, nil)
			j := &away{b.store, func() bool { return c.begins(b) }, func() bool { return c.commits(b) }}
			steps, err := newSteps(t.Context(), j, dbosworker.Options{Target: "dbos", Outage: c.outage}, paying(p.URL))
			if err != nil {
				t.Fatal(err)
			}
			rt := b.runtime()
			flow := func(ctx dbos.Context, order string) (string, error) {
				a, err := steps.Do(ctx, worker.Call{Tool: "pay", Step: "pay", Item: order, Args: []byte(`{}`)})
				var unrecorded *journal.DoneUnrecordedError
				if errors.As(err, &unrecorded) {
					return "unrecorded " + unrecorded.ProviderID, nil
				}
				return told(a, err)
			}
			dbos.RegisterWorkflow(rt, flow, dbos.WithWorkflowName("pay"))
			b.launch(rt)
			if got := result(t, start(t, rt, flow, "order-1", "w-1")); got != c.want || p.Count() != c.asked {
				t.Errorf("%q, asked %d times, wanted %q and %d", got, p.Count(), c.want, c.asked)
			}
		})
	}
}

// TestDo_TypedErrors are the same when the workflow is replayed from what DBOS
// recorded: a fork replays all steps but those after it.
func TestDo_TypedErrors(t *testing.T) {
	t.Parallel()
	b := openJournal(t)
	p := workertest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) })
	steps, err := newSteps(t.Context(), b.store, to("dbos"), paying(p.URL))
	if err != nil {
		t.Fatal(err)
	}
	flow := func(ctx dbos.Context, _ string) (string, error) {
		a, err := steps.Do(ctx, worker.Call{Tool: "pay", Step: "pay", Args: []byte(`{}`)})
		refused, err := told(a, err)
		if err != nil {
			return "", err
		}
		a, err = steps.Do(ctx, worker.Call{Tool: "nothing", Step: "pay", Args: []byte(`{}`)})
		replan, err := told(a, err)
		if err != nil {
			return "", err
		}
		last, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return "end", nil }, dbos.WithStepName("end"))
		return strings.Join([]string{strings.Fields(refused)[0], replan, last}, ", "), err
	}
	rt := b.runtime()
	dbos.RegisterWorkflow(rt, flow, dbos.WithWorkflowName("pay"))
	b.launch(rt)
	const want = "refused, replan, end"
	if got := result(t, start(t, rt, flow, "", "w-1")); got != want {
		t.Errorf("%q", got)
	}
	fork, err := dbos.ForkWorkflow[string](rt, dbos.ForkWorkflowInput{OriginalWorkflowID: "w-1", StartStep: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := result(t, fork); got != want || p.Count() != 1 {
		t.Errorf("replayed: %q, asked %d times", got, p.Count())
	}
}

// TestDo_ForkAndRewind run the step anew: what the first run did stays done. Another
// workflow is another effect.
func TestDo_ForkAndRewind(t *testing.T) {
	t.Parallel()
	b := openJournal(t)
	p := workertest.NewProvider(t, nil)
	r := b.running(b.store, to("dbos"), paying(p.URL))
	result(t, start(t, r, r.flow, "order-1", "w-1"))
	fork, err := dbos.ForkWorkflow[string](r.Context, dbos.ForkWorkflowInput{OriginalWorkflowID: "w-1"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := dbos.ForkWorkflow[string](r.Context, dbos.ForkWorkflowInput{OriginalWorkflowID: fork.GetWorkflowID()})
	if err != nil {
		t.Fatal(err)
	}
	rewound, err := dbos.RewindWorkflow[string](r.Context, "w-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []dbos.WorkflowHandle[string]{fork, again, rewound} {
		if got := result(t, h); got != "done p-1" {
			t.Errorf("%q", got)
		}
	}
	if p.Count() != 1 {
		t.Errorf("asked %d times", p.Count())
	}
	result(t, start(t, r, r.flow, "order-1", "w-2"))
	if p.Count() != 2 {
		t.Errorf("another workflow: asked %d times", p.Count())
	}
	var root, run string
	var dated bool
	err = b.pool.QueryRow(t.Context(), `select e.root_run, e.run, abs(extract(epoch from e.root_run_started_at) * 1000 - w.created_at) < 2
		from effects e join dbos.workflow_status w on w.workflow_uuid = 'w-1' where e.root_run = 'w-1'`).Scan(&root, &run, &dated)
	if err != nil || run != "w-1" || !dated {
		t.Errorf("the effect is of run %q, dated %t: %v", run, dated, err)
	}
}

// TestDo_TwoEffects: each parked effect of a workflow has a topic of its own, so that
// none takes the other's message.
func TestDo_TwoEffects(t *testing.T) {
	t.Parallel()
	b := openJournal(t)
	p := workertest.NewProvider(t, failing(2, http.StatusInternalServerError))
	steps, err := newSteps(t.Context(), b.store, to("dbos"), paying(p.URL))
	if err != nil {
		t.Fatal(err)
	}
	flow := func(ctx dbos.Context, _ string) (string, error) {
		var got []string
		for _, item := range []string{"order-1", "order-2"} {
			a, err := steps.Do(ctx, worker.Call{Tool: "pay", Step: "pay", Item: item, Args: []byte(`{}`)})
			text, err := told(a, err)
			if err != nil {
				return "", err
			}
			got = append(got, text)
		}
		return strings.Join(got, ", "), nil
	}
	rt := b.runtime()
	dbos.RegisterWorkflow(rt, flow, dbos.WithWorkflowName("pay"))
	b.launch(rt)
	h := start(t, rt, flow, "", "w-1")
	b.decide(b.parked(), journal.VerbCloseNotLanded)
	b.round()
	b.decide(b.parked(), journal.VerbCloseLanded)
	b.round()
	if got := result(t, h); got != "abandoned, done p-7" {
		t.Errorf("%q", got)
	}
	if n := b.count("select count(distinct topic) from dbos.notifications"); n != 2 {
		t.Errorf("%d topics", n)
	}
}

// TestDo_OutsideOfAWorkflow says so.
func TestDo_OutsideOfAWorkflow(t *testing.T) {
	t.Parallel()
	b := openJournal(t)
	steps, err := newSteps(t.Context(), b.store, to("dbos"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := steps.Do(b.runtime(), worker.Call{Tool: "pay"}); err == nil || !strings.Contains(err.Error(), "workflow") {
		t.Error(err)
	}
}

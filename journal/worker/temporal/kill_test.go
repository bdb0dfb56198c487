package temporal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/landedhq/landed/journal"
	journalclient "github.com/landedhq/landed/journal/client"
	landed "github.com/landedhq/landed/journal/worker/temporal"
)

// victimEnv makes this test binary a worker of activities that tells each boundary
// and waits for leave to cross it.
const victimEnv = "LANDED_TEST_VICTIM"

// victim is what such a process needs to know.
type victim struct{ API, Token, Temporal, Queue, Provider string }

// gate tells a boundary on standard output and waits for a line on standard
// input. The parent kills instead of answering.
type gate struct{ in *bufio.Reader }

func (g *gate) at(name string) {
	fmt.Println("AT " + name)
	if _, err := g.in.ReadString('\n'); err != nil {
		os.Exit(3)
	}
}

// gated is the journal with a gate on both sides of begin and commit.
type gated struct {
	landedJournal
	g *gate
}

func (j gated) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	j.g.at("before begin")
	a, err := j.landedJournal.Begin(ctx, r)
	j.g.at("after begin")
	return a, err
}

func (j gated) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	j.g.at("before commit")
	a, err := j.landedJournal.Commit(ctx, r)
	j.g.at("after commit")
	return a, err
}

func beVictim(env string) error {
	var v victim
	if err := json.Unmarshal([]byte(env), &v); err != nil {
		return err
	}
	j, err := journalclient.New(journalclient.Config{BaseURL: v.API, Token: v.Token})
	if err != nil {
		return err
	}
	c, err := client.Dial(client.Options{HostPort: v.Temporal, Logger: quiet()})
	if err != nil {
		return err
	}
	g := &gate{in: bufio.NewReader(os.Stdin)}
	i, err := landed.NewInterceptor(config(gated{j, g}))
	if err != nil {
		return err
	}
	if err := i.Sync(context.Background()); err != nil {
		return err
	}
	w := sdkworker.New(c, v.Queue, sdkworker.Options{DisableWorkflowWorker: true, Interceptors: []interceptor.WorkerInterceptor{i}})
	w.RegisterActivityWithOptions(func(ctx context.Context, o Order) (Receipt, error) {
		g.at("before the call")
		r, err := post(ctx, v.Provider, o)
		g.at("after the call")
		return r, err
	}, activity.RegisterOptions{Name: "Send"})
	return w.Run(nil)
}

// killAt runs a victim and kills it at a boundary.
func killAt(t *testing.T, v victim, boundary string) {
	t.Helper()
	env, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test's own binary
	cmd.Env = append(os.Environ(), victimEnv+"="+string(env))
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, crossed := bufio.NewScanner(out), []string{}
	for lines.Scan() {
		at, ok := strings.CutPrefix(lines.Text(), "AT ")
		if !ok {
			continue
		}
		crossed = append(crossed, at)
		if at == boundary {
			break
		}
		_, _ = io.WriteString(in, "\n")
	}
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	if len(crossed) == 0 || crossed[len(crossed)-1] != boundary {
		t.Fatalf("the victim ended at %v, want it to reach %q", crossed, boundary)
	}
}

// A worker is killed at every boundary of an attempt. Temporal hands the activity
// to another one, and the provider never shows more than what was ordered: one
// request, whatever the moment.
func TestJ01_WorkerKilledAtEveryBoundary(t *testing.T) {
	t.Parallel()
	for _, boundary := range []string{"before begin", "after begin", "before the call", "after the call", "before commit", "after commit"} {
		t.Run(boundary, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.work(role{only: "workflows", wf: registerKilled})
			run := s.begin("order-1", KilledFlow, Order{Order: "1"})
			killAt(t, victim{API: s.api, Token: s.token, Temporal: s.server.GRPC, Queue: s.queue, Provider: s.provider.URL}, boundary)
			before := s.provider.Count()
			s.work(role{only: "activities"})
			switch boundary {
			case "before begin": // nothing is known: the next attempt is the first
				s.wantReceipt(run, Receipt{ID: "p-1"})
			case "after commit": // recorded: the next attempt returns it
				s.wantReceipt(run, Receipt{ID: "p-1"})
			default:
				id := s.inState(journal.StateParked)
				s.decide(id, before > 0)
				s.deliver(id)
				s.wantReceipt(run, Receipt{ID: "p-1", Found: before > 0})
			}
			s.wantCount(1)
			s.wantState(s.inState(journal.StateCommitted), journal.StateCommitted)
		})
	}
}

// KilledFlow gives its activity three seconds and, as one does without a journal,
// a single attempt: what follows is the journal's to say.
func KilledFlow(ctx workflow.Context, o Order) (Receipt, error) {
	opts := options()
	opts.StartToCloseTimeout, opts.RetryPolicy.MaximumAttempts = 3*time.Second, 1
	var r Receipt
	err := landed.Execute(workflow.WithActivityOptions(ctx, opts), &r, "Send", o)
	return r, err
}

func registerKilled(w sdkworker.Worker) { w.RegisterWorkflow(KilledFlow) }

// The same at-most-once activity by a dispatcher that hands each decision over
// three times, by workers that come and go.
func TestDeliveredThrice_ToWorkersThatComeAndGo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	stop, _ := s.work(role{})
	s.answers(lost)
	run := s.begin("order-1", SendFlow, Order{Order: "1"})
	id := s.inState(journal.StateParked)
	for round := range 2 { // ordered, lost once more, ordered again
		stop()
		if round == 1 {
			s.answers(nil)
		}
		s.decide(id, false)
		for range 3 {
			s.due()
			if got := s.deliver(id); got != journal.HandoverAccepted {
				t.Fatalf("handed over: %s, want accepted", got)
			}
		}
		stop, _ = s.work(role{})
		if round == 0 {
			s.until("the order is spent", func() bool { return s.provider.Count() == 2 })
			s.inState(journal.StateParked)
		}
	}
	s.wantReceipt(run, Receipt{ID: "p-1"})
	s.wantCount(3)
	if n := s.countEvents(run, signaled); n != 2 {
		t.Errorf("%d signals for two decisions, want 2", n)
	}
	s.wantAcked(id)
}

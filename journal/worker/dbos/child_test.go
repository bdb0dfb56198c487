package dbosworker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
	dbosworker "github.com/landedhq/landed/journal/worker/dbos"
	"github.com/landedhq/landed/providers/resume"
	target "github.com/landedhq/landed/providers/resume/dbos"
)

// childEnv makes the test binary a child process that a test can kill.
const childEnv = "LANDED_DBOS_CHILD"

// spec says what a child does.
type spec struct {
	Dispatcher bool // one round of the dispatcher, instead of a worker
	DSN        string
	Provider   string // the provider's address
	Workflow   string // started, or attached to if it exists
	Halt       string // at which point the child stops and says so; "" = nowhere
}

// The points.
const (
	atBegun     = "begun"     // the grant is there, nothing was sent
	atConfirmed = "confirmed" // the provider confirmed, nothing is recorded
	atCommitted = "committed" // recorded in the journal, not in DBOS
	atDelivered = "delivered" // the message is sent, which is not recorded
)

// halt says where the child is, and stays there until it is killed.
func halt(at string) {
	fmt.Println("AT", at)
	select {}
}

// halting is a journal that halts at a point.
type halting struct {
	*postgres.Store
	at string
}

func (h halting) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	a, err := h.Store.Begin(ctx, r)
	if h.at == atBegun && a.Directive == journal.DirectiveExecute {
		halt(atBegun)
	}
	return a, err
}

func (h halting) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if h.at == atConfirmed {
		halt(atConfirmed)
	}
	a, err := h.Store.Commit(ctx, r)
	if h.at == atCommitted {
		halt(atCommitted)
	}
	return a, err
}

func (h halting) HandoverTried(ctx context.Context, o journal.Handover, r journal.HandoverResult) error {
	if h.at == atDelivered {
		halt(atDelivered)
	}
	return h.Store.HandoverTried(ctx, o, r)
}

func runChild(raw string) {
	var s spec
	err := json.Unmarshal([]byte(raw), &s)
	if err == nil {
		err = s.run(context.Background())
	}
	if err != nil {
		fmt.Println("FAILED", strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
}

func (s spec) run(ctx context.Context) error {
	store, err := postgres.Open(ctx, s.DSN, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 4})
	if err != nil {
		return err
	}
	defer store.Close()
	if s.Dispatcher {
		return s.dispatch(ctx, halting{store, s.Halt})
	}
	pool, err := pgxpool.New(ctx, s.DSN)
	if err != nil {
		return err
	}
	rt, err := dbos.NewContext(ctx, dbos.Config{AppName: "landed-test", SystemDBPool: pool, ApplicationVersion: "1", Logger: quiet()})
	if err != nil {
		return err
	}
	steps, err := newSteps(ctx, halting{store, s.Halt}, dbosworker.Options{Target: "dbos"}, paying(s.Provider))
	if err != nil {
		return err
	}
	flow := payFlow(steps)
	dbos.RegisterWorkflow(rt, flow, dbos.WithWorkflowName("pay"))
	if err := dbos.Launch(rt); err != nil {
		return err
	}
	h, err := dbos.RunWorkflow(rt, flow, "order-1", dbos.WithWorkflowID(s.Workflow))
	if err != nil {
		return err
	}
	got, err := h.GetResult(dbos.WithHandleTimeout(patience))
	if err != nil {
		return err
	}
	fmt.Println("RESULT", got)
	return nil
}

func (s spec) dispatch(ctx context.Context, store resume.Store) error {
	t, err := target.Config{Name: "dbos", DSN: func() (string, error) { return s.DSN, nil }}.Open()
	if err != nil {
		return err
	}
	d, err := resume.New(resume.Config{Store: store, Targets: []resume.Target{t}, External: "https://desk.test"})
	if err != nil {
		return err
	}
	return d.Round(ctx)
}

// paying is a tool of class at_most_once: nothing but a person decides on it.
func paying(provider string) worker.ToolSpec {
	return worker.ToolSpec{Tool: journal.Tool{Name: "pay", Class: journal.ClassAtMostOnce, Provider: "bank", ClientTimeout: time.Second}, Tracked: true,
		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
			client, err := worker.Client(ctx)
			if err != nil {
				return worker.Outcome{}, err
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider, strings.NewReader(string(call.Args)))
			if err != nil {
				return worker.Outcome{}, worker.NotSent(err)
			}
			return worker.Classifier{}.Send(client, req)
		}}
}

func newSteps(ctx context.Context, j worker.Journal, o dbosworker.Options, tools ...worker.ToolSpec) (*dbosworker.Worker, error) {
	r := worker.NewRegistry()
	for _, t := range tools {
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	if err := r.Sync(ctx, j); err != nil {
		return nil, err
	}
	w := worker.New(j, r, worker.Options{Logger: quiet(), Backoff: worker.Backoff{Base: 5 * time.Millisecond, Cap: 50 * time.Millisecond},
		BeginWithin: 100 * time.Millisecond, ReportWithin: 300 * time.Millisecond})
	return dbosworker.New(w, o), nil
}

// payFlow is a workflow of one step. It returns status, provider id and error.
func payFlow(steps *dbosworker.Worker) dbos.Workflow[string, string] {
	return func(ctx dbos.Context, order string) (string, error) {
		a, err := steps.Do(ctx, worker.Call{Tool: "pay", Step: "pay", Item: order, Args: []byte(`{"order":"` + order + `"}`), Lease: time.Second})
		return told(a, err)
	}
}

// told is an outcome as text. An error of DBOS's own is the workflow's.
func told(a worker.Answer, err error) (string, error) {
	for kind, name := range map[error]string{dbosworker.ErrRefused: "refused", dbosworker.ErrAbandoned: "abandoned", dbosworker.ErrHardStop: "hard stop",
		dbosworker.ErrReplan: "replan"} {
		if isA(err, kind) {
			text := name + " " + a.Reason
			if isA(err, journal.ErrUnavailable) {
				text += ", unavailable"
			}
			return strings.TrimSpace(text), nil
		}
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(a.Status) + " " + a.ProviderID), nil
}

// child is a running one.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

func (d *desk) child(s spec) *child {
	d.t.Helper()
	s.DSN = d.dsn
	raw, err := json.Marshal(s)
	if err != nil {
		d.t.Fatal(err)
	}
	c := &child{t: d.t, cmd: exec.Command(os.Args[0], "-test.run=^$"), lines: make(chan string, 64)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(raw))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			c.lines <- in.Text()
		}
	}()
	d.t.Cleanup(c.kill)
	return c
}

// kill is SIGKILL; the child is gone afterwards.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// says waits for a line that begins with a word, and returns the rest.
func (c *child) says(word string) string {
	c.t.Helper()
	end := time.After(patience)
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				c.t.Fatalf("the child ended without saying %s", word)
			}
			if rest, ok := strings.CutPrefix(line, word); ok {
				return strings.TrimSpace(rest)
			}
			if strings.HasPrefix(line, "FAILED") {
				c.t.Fatalf("waiting for %s: %s", word, line)
			}
		case <-end:
			c.t.Fatalf("in vain waited for the child to say %s", word)
		}
	}
}

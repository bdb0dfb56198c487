package landedmcp_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/landedhq/landed/journal/worker/workertest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestJ19_CancelledClientLosesNothing: the client cancels while the tool runs;
// the outcome is recorded, and a resumed session gets it byte for byte.
func TestJ19_CancelledClientLosesNothing(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	started, goOn := make(chan struct{}), make(chan struct{})
	server := newServer(func(ctx context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
		close(started)
		out := p.send(in)
		select {
		case <-goOn:
			return nil, out, nil
		case <-ctx.Done():
			return nil, sent{}, ctx.Err()
		}
	})
	f := attach(t, server, s)
	known := watch(server)
	cs := connect(t, server, nil)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(ctx, params(step("j19", "mail"), mail{To: "A1"}))
		got <- err
	}()
	<-started
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Fatalf("the client got %v", err)
	}
	known()
	close(goOn)
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := call(t, connect(t, server, nil), step("j19", "mail"), mail{To: "A1"})
	a := wantStatus(t, again, worker.StatusDone)
	if diff := cmp.Diff(map[string]any{"id": "m-1", "to": "A1"}, again.StructuredContent); diff != "" || a["repeated"] != true {
		t.Errorf("recorded (-want +got):\n%s\nanswer %v", diff, a)
	}
	if snap := effect(t, s, effectID(t, a)); snap.Effect.State != journal.StateCommitted || snap.Effect.Attempt != 1 {
		t.Errorf("state %s after %d attempts", snap.Effect.State, snap.Effect.Attempt)
	}
	p.want(t, 1)
}

// TestCancelledBeforeItsTurn: a call that still waits when the client gives up
// is never executed.
func TestCancelledBeforeItsTurn(t *testing.T) {
	t.Parallel()
	j, p := workertest.NewMemory(), &provider{}
	asked := make(chan struct{}, 64)
	j.Fault(func(call string) error {
		if call == "begin" {
			asked <- struct{}{}
			return journal.ErrUnavailable
		}
		return nil
	})
	server := newServer(p.handler())
	f := attach(t, server, j, func(c *landedmcp.Config) { c.Worker.BeginWithin = time.Hour })
	cs := connect(t, server, nil)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(ctx, params(step("r", "s"), mail{To: "A1"}))
		got <- err
	}()
	<-asked
	cancel()
	<-got
	if err := f.Drain(t.Context()); err != nil { // it would wait for an hour
		t.Fatal(err)
	}
	j.Fault(nil)
	p.want(t, 0)
	wantStatus(t, call(t, cs, step("r", "s"), mail{To: "A1"}), worker.StatusDone)
	p.want(t, 1)
}

// TestCancelledWhileBegun: the client gives up while the journal grants. The tool
// does not run, and that is known: the next call executes.
func TestCancelledWhileBegun(t *testing.T) {
	t.Parallel()
	p := &provider{}
	held := &heldBegin{Journal: openStore(t), asked: make(chan struct{}), goOn: make(chan struct{})}
	server := newServer(p.handler())
	f := attach(t, server, held)
	known := watch(server)
	cs := connect(t, server, nil)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(ctx, params(step("r", "s"), mail{To: "A1"}))
		got <- err
	}()
	<-held.asked
	cancel()
	<-got
	known()
	close(held.goOn)
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.want(t, 0)
	until(t, "the next call executes", func() bool {
		return said(t, call(t, cs, step("r", "s"), mail{To: "A1"}))["status"] == string(worker.StatusDone)
	})
	p.want(t, 1)
}

// heldBegin is a journal whose first begin waits, and fails if its context ends.
type heldBegin struct {
	worker.Journal
	once        sync.Once
	asked, goOn chan struct{}
}

func (h *heldBegin) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	h.once.Do(func() {
		close(h.asked)
		<-h.goOn
	})
	a, err := h.Journal.Begin(context.WithoutCancel(ctx), r)
	if ctx.Err() != nil { // written, and its answer is lost
		return journal.BeginAnswer{}, ctx.Err()
	}
	return a, err
}

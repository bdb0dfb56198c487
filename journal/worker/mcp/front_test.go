package landedmcp_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mail is what the unchanged tool of most tests takes and gives.
type mail struct {
	To   string `json:"to"`
	Body string `json:"body,omitempty"`
}

type sent struct {
	ID string `json:"id"`
	To string `json:"to"`
}

// provider counts the effects that the tools of a test caused.
type provider struct {
	n    atomic.Int64
	mu   sync.Mutex
	args []mail
}

func (p *provider) send(m mail) sent {
	n := p.n.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.args = append(p.args, m)
	return sent{ID: "m-" + string(rune('0'+n)), To: m.To}
}

func (p *provider) want(t *testing.T, n int64) {
	t.Helper()
	if got := p.n.Load(); got != n {
		t.Errorf("the provider saw %d requests, want %d", got, n)
	}
}

// handler is a tool that knows nothing of the journal.
type handler = mcp.ToolHandlerFor[mail, sent]

func (p *provider) handler() handler {
	return func(_ context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
		return nil, p.send(in), nil
	}
}

func openStore(t *testing.T) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func mailTool() landedmcp.Tool {
	return landedmcp.Tool{Tool: journal.Tool{Name: "send_mail", Class: journal.ClassAtMostOnce, ClientTimeout: 20 * time.Second}}
}

func quiet() worker.Options {
	return worker.Options{
		Logger: slog.New(slog.DiscardHandler), Patience: 100 * time.Millisecond,
		Backoff: worker.Backoff{Base: 2 * time.Millisecond, Cap: 10 * time.Millisecond},
	}
}

// newServer is a server with one effectful tool and one that only reads.
func newServer(h handler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "mailer", Version: "v1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "send_mail", Description: "sends a mail"}, h)
	mcp.AddTool(server, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "seen"}}}, nil, nil
		})
	return server
}

func attach(t *testing.T, server *mcp.Server, j worker.Journal, change ...func(*landedmcp.Config)) *landedmcp.Front {
	t.Helper()
	cfg := landedmcp.Config{Journal: j, Tools: []landedmcp.Tool{mailTool()}, Desk: "https://desk.example/", Worker: quiet()}
	for _, c := range change {
		c(&cfg)
	}
	f, err := landedmcp.Attach(t.Context(), server, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// connect is a client of the server, in the same process.
func connect(t *testing.T, server *mcp.Server, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.WithoutCancel(t.Context()), near, nil); err != nil {
		t.Fatal(err)
	}
	return dial(t, far, o)
}

func dial(t *testing.T, transport mcp.Transport, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "v1"}, o)
	cs, err := client.Connect(context.WithoutCancel(t.Context()), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// step is the metadata of a client that names its step.
func step(run, name string) mcp.Meta {
	return mcp.Meta{landedmcp.MetaRootRun: run, landedmcp.MetaStep: name}
}

func params(meta mcp.Meta, args any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "send_mail", Arguments: args, Meta: meta}
}

func call(t *testing.T, cs *mcp.ClientSession, meta mcp.Meta, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), params(meta, args))
	if err != nil {
		t.Fatalf("calling: %v", err)
	}
	return res
}

// said is the answer of the journal in a result, without its recorded result.
func said(t *testing.T, res *mcp.CallToolResult) map[string]any {
	t.Helper()
	a, ok := res.Meta[landedmcp.MetaAnswer].(map[string]any)
	if !ok {
		t.Fatalf("the result carries no answer of the journal: %+v", res)
	}
	return a
}

func text(res *mcp.CallToolResult) string {
	var out []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			out = append(out, t.Text)
		}
	}
	return strings.Join(out, "\n")
}

// wantStatus checks what a client is told, in all three forms.
func wantStatus(t *testing.T, res *mcp.CallToolResult, want worker.Status) map[string]any {
	t.Helper()
	a := said(t, res)
	if a["status"] != string(want) {
		t.Fatalf("status %v, want %s: %s", a["status"], want, text(res))
	}
	if own, ok := res.StructuredContent.(map[string]any); ok && want != worker.StatusDone {
		inner, _ := own["landed"].(map[string]any)
		if inner["status"] != string(want) {
			t.Errorf("the structured content says %v", own)
		}
		if note, _ := inner["note"].(string); note == "" || !strings.Contains(text(res), note) {
			t.Errorf("the text %q does not say %q", text(res), note)
		}
	}
	wantError := want == worker.StatusRefused || want == worker.StatusReplan || want == worker.StatusHardStop || want == worker.StatusAbandoned
	if res.IsError != wantError {
		t.Errorf("isError is %v with status %s", res.IsError, want)
	}
	return a
}

func effectID(t *testing.T, a map[string]any) string {
	t.Helper()
	id, _ := a["effect_id"].(string)
	if id == "" {
		t.Fatalf("the answer names no effect: %v", a)
	}
	return id
}

func effect(t *testing.T, s *postgres.Store, id string) journal.Snapshot {
	t.Helper()
	snap, err := s.Snapshot(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// watch sees the context of each tool call as the server has it. What it returns
// waits until the server knows that the client gave the oldest one up: the
// notification is handled at some time after it was read.
func watch(server *mcp.Server) (gaveUp func()) {
	calls := make(chan context.Context, 4)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				select {
				case calls <- ctx:
				default: // nobody waits for so many
				}
			}
			return next(ctx, method, req)
		}
	})
	return func() { <-(<-calls).Done() }
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

var errBroken = errors.New("connection reset while the answer was read")

package landedmcp_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// proxied is a front before another server, in the same process.
func proxied(t *testing.T, j worker.Journal, other *mcp.Server, change ...func(*landedmcp.Config)) *landedmcp.Proxy {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	if _, err := other.Connect(context.WithoutCancel(t.Context()), near, nil); err != nil {
		t.Fatal(err)
	}
	p, err := landedmcp.NewProxy(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	attach(t, p.Server(), j, change...)
	return p
}

// TestProxy: tools of another server are journaled: their bytes, their progress
// and what they say of themselves come through.
func TestProxy(t *testing.T) {
	t.Parallel()
	s, n := openStore(t), 0
	other := mcp.NewServer(&mcp.Implementation{Name: "other", Version: "v7"}, &mcp.ServerOptions{Instructions: "be brief"})
	other.AddTool(&mcp.Tool{Name: "send_mail", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			n++
			if strings.Contains(string(req.Params.Arguments), "nobody") {
				return &mcp.CallToolResult{IsError: true, Meta: mcp.Meta{landedmcp.MetaPhase: "refused"}, Content: []mcp.Content{&mcp.TextContent{Text: "no such customer"}}}, nil
			}
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 7}); err != nil {
				return nil, err
			}
			ref, _ := req.Params.Meta[landedmcp.MetaRef].(string)
			return &mcp.CallToolResult{
				Content:           []mcp.Content{&mcp.TextContent{Text: "sent under " + ref}},
				StructuredContent: json.RawMessage(`{"n":1970670598291982290,"x":10.10}`),
				Meta:              mcp.Meta{"example.com/n": json.RawMessage(`1970670598291982290`), landedmcp.MetaProviderID: "p-1"},
			}, nil
		})
	mcp.AddTool(other, &mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	p := proxied(t, s, other)
	told := make(chan float64, 8)
	cs := connect(t, p.Server(), &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		if req.Params.ProgressToken == "mine" {
			told <- req.Params.Progress
		}
	}})
	if got := cs.InitializeResult(); got.Instructions != "be brief" || got.ServerInfo.Name != "other" {
		t.Errorf("the proxy shows itself as %+v", got)
	}
	meta := step("r", "s")
	meta["progressToken"] = "mine"
	first := call(t, cs, meta, map[string]any{})
	if a := wantStatus(t, first, worker.StatusDone); a["provider_id"] != "p-1" {
		t.Errorf("provider id %v", a["provider_id"])
	}
	if got := <-told; got != 7 {
		t.Errorf("progress %v", got)
	}
	if !strings.HasSuffix(text(first), journal.Ref("", "r/s/send_mail")) {
		t.Errorf("the other server was not told the reference: %q", text(first))
	}
	snap := effect(t, s, effectID(t, said(t, first)))
	if !strings.Contains(string(snap.Effect.Result), `{"n":1970670598291982290,"x":10.10}`) || !strings.Contains(string(snap.Effect.Result), `"example.com/n":1970670598291982290`) {
		t.Errorf("recorded %s", snap.Effect.Result)
	}
	if diff := cmp.Diff(wire(t, first), wire(t, call(t, cs, step("r", "s"), map[string]any{}))); diff != "" {
		t.Errorf("the repetition differs (-first +again):\n%s", diff)
	}
	if res := call(t, cs, step("r", "s2"), map[string]any{"to": "nobody"}); !strings.Contains(text(res), "no such customer") {
		t.Errorf("text %q", text(res))
	} else {
		wantStatus(t, res, worker.StatusRefused)
	}
	if n != 2 {
		t.Errorf("%d calls", n)
	}
	if res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "look"}); err != nil || res.IsError {
		t.Errorf("a look-up: %+v, %v", res, err)
	}
}

// TestProxy_ToolsComeAndGo: what is added later is served, and refused by the
// front unless it only reads.
func TestProxy_ToolsComeAndGo(t *testing.T) {
	t.Parallel()
	p := &provider{}
	other := newServer(p.handler())
	front := proxied(t, openStore(t), other)
	cs := connect(t, front.Server(), nil)
	mcp.AddTool(other, &mcp.Tool{Name: "late"}, p.handler())
	other.RemoveTools("look")
	until(t, "the tools are mirrored", func() bool {
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return cmp.Equal(names, []string{"late", "send_mail"})
	})
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "late", Arguments: mail{To: "x"}, Meta: step("r", "s")})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res, worker.StatusHardStop)
	p.want(t, 0)
}

// TestProxy_PeerDies: a process that dies in the middle of a call leaves its
// outcome unknown; a call after that was certainly not sent.
func TestProxy_PeerDies(t *testing.T) {
	t.Parallel()
	o, s := newOutside(t), openStore(t)
	raw, err := json.Marshal(child{Provider: o.URL})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(raw))
	cmd.Stderr = os.Stderr
	p, err := landedmcp.NewProxy(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 10 * time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	attach(t, p.Server(), s, func(c *landedmcp.Config) { c.Worker.Patience = -1 })
	cs := connect(t, p.Server(), nil)
	got := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := cs.CallTool(t.Context(), params(step("r", "s"), mail{To: "A1"}))
		if err != nil {
			t.Error(err)
		}
		got <- res
	}()
	<-o.applied
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	res := <-got
	if res == nil {
		t.FailNow()
	}
	wantStatus(t, res, worker.StatusUnknown)
	<-p.Done()
	wantStatus(t, call(t, cs, step("r", "s2"), mail{To: "A1"}), worker.StatusInProgress)
	wantStatus(t, call(t, cs, step("r", "s"), mail{To: "A1"}), worker.StatusUnknown)
	if n := o.n.Load(); n != 1 {
		t.Errorf("the provider saw %d requests", n)
	}
}

package landedmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestOutputSchemas: what clients are shown allows the tool's output and the
// journal's answers and nothing else; other tools are shown as they are.
func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	server := newServer(p.handler())
	raw := func(name, schema string) landedmcp.Tool {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		tool := mailTool()
		tool.Name = name
		return tool
	}
	defs := raw("defs", `{"type":"object","$defs":{"id":{"type":"string"}},"required":["id"],"properties":{"id":{"$ref":"#/$defs/id"}}}`)
	recursive := raw("recursive", `{"type":"object","properties":{"next":{"$ref":"#"}}}`)
	list := raw("list", `{"type":"array","items":{"type":"string"}}`)
	attach(t, server, s, func(c *landedmcp.Config) { c.Tools = append(c.Tools, defs, recursive, list) })
	shown, err := connect(t, server, nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer := `{"landed":{"status":"unknown","note":"do not repeat it"}}`
	for name, want := range map[string]struct{ allows, refuses []string }{
		"send_mail": {[]string{`{"id":"m-1","to":"x"}`, answer}, []string{`{"id":7}`, `{}`, `{"landed":{"status":"fine","note":""}}`}},
		"defs":      {[]string{`{"id":"m-1"}`, answer}, []string{`{"id":7}`}},
		"list":      {[]string{`["a"]`, answer}, []string{`[7]`}},
	} {
		resolved := outputSchema(t, shown.Tools, name)
		for _, text := range want.allows {
			if err := valid(resolved, text); err != nil {
				t.Errorf("%s refuses %s: %v", name, text, err)
			}
		}
		for _, text := range want.refuses {
			if valid(resolved, text) == nil {
				t.Errorf("%s allows %s", name, text)
			}
		}
	}
	for _, tool := range shown.Tools {
		if tool.Name == "recursive" && tool.OutputSchema != nil {
			t.Errorf("a schema that can't be widened is still shown: %v", tool.OutputSchema)
		}
	}
}

func outputSchema(t *testing.T, tools []*mcp.Tool, name string) *jsonschema.Resolved {
	t.Helper()
	for _, tool := range tools {
		if tool.Name != name {
			continue
		}
		raw, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, raw, err)
		}
		return resolved
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func valid(s *jsonschema.Resolved, text string) error {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	return s.Validate(v)
}

// TestRecordedBytes: what a tool returned comes again byte for byte, also what
// Go's numbers and the SDK's types can't hold.
func TestRecordedBytes(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "odd", Version: "v1"}, nil)
	n := 0
	server.AddTool(&mcp.Tool{Name: "send_mail", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			n++
			return &mcp.CallToolResult{
				Meta: mcp.Meta{"example.com/n": json.RawMessage(`1970670598291982290`), landedmcp.MetaProviderID: "p-9"},
				Content: []mcp.Content{
					&mcp.TextContent{Text: "a < b & \u2028 \U0001F4E7", Meta: mcp.Meta{"n": json.RawMessage(`10.10`)}},
					&mcp.ImageContent{Data: []byte{0, 1, 2}, MIMEType: "image/png"},
					&mcp.ResourceLink{URI: "mail://1", Name: "the mail"},
					&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "mail://2", Text: "x"}},
				},
				StructuredContent: json.RawMessage(`{"id":1970670598291982290,"amount":10.10,"a":1}`),
			}, nil
		})
	attach(t, server, s)
	var seen []string
	for range 2 {
		near, far := mcp.NewInMemoryTransports()
		if _, err := server.Connect(context.WithoutCancel(t.Context()), near, nil); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		cs := dial(t, &mcp.LoggingTransport{Transport: far, Writer: &log}, nil)
		a := wantStatus(t, call(t, cs, step("r", "s"), map[string]any{}), worker.StatusDone)
		if a["provider_id"] != "p-9" {
			t.Errorf("provider id %v", a["provider_id"])
		}
		_ = cs.Close()
		seen = append(seen, contentOf(t, log.String()))
	}
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" || n != 1 {
		t.Errorf("%d runs; on the wire (-first +again):\n%s", n, diff)
	}
	for _, want := range []string{`"id":1970670598291982290,"amount":10.10,"a":1`, `"n":10.10`, `"example.com/n":1970670598291982290`} {
		if !strings.Contains(seen[1], want) {
			t.Errorf("%s is lost in %s", want, seen[1])
		}
	}
}

// contentOf is what the last result on the wire held, but for the answer.
func contentOf(t *testing.T, log string) string {
	t.Helper()
	var line string
	for _, l := range strings.Split(log, "\n") {
		if strings.Contains(l, `"structuredContent"`) {
			line = l[strings.Index(l, "{"):]
		}
	}
	var msg struct {
		Result struct {
			Meta                       map[string]json.RawMessage `json:"_meta"`
			Content, StructuredContent json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(line), &msg); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return string(msg.Result.Content) + string(msg.Result.StructuredContent) + `"example.com/n":` + string(msg.Result.Meta["example.com/n"])
}

// TestInput: a tool that asks the client first is called again with the answer;
// without that declaration nobody knows what it did before it asked.
func TestInput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		first bool
		want  worker.Status
		sent  int64
	}{{"asks first", true, worker.StatusDone, 1}, {"not declared", false, worker.StatusUnknown, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, p := openStore(t), &provider{}
			server := newServer(func(_ context.Context, req *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
				if req.Params.InputResponses == nil {
					return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{
						Message: "Send it?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
					}}}, sent{}, nil
				}
				return nil, p.send(in), nil
			})
			attach(t, server, s, func(c *landedmcp.Config) { c.Tools[0].AsksFirst, c.Worker.Patience = tt.first, 0 })
			cs := connect(t, server, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
			}})
			a := wantStatus(t, call(t, cs, step("r", "s"), mail{To: "A1"}), tt.want)
			p.want(t, tt.sent)
			if tt.first && effect(t, s, effectID(t, a)).Effect.Attempt != 2 {
				t.Error("the question and the answer were not two attempts")
			}
		})
	}
}

// TestBudget: transient failures are tried again under the key, until the budget
// is spent: then the model is told to stop.
func TestBudget(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	runs := 0
	server := newServer(func(context.Context, *mcp.CallToolRequest, mail) (*mcp.CallToolResult, sent, error) {
		runs++
		return nil, sent{}, &worker.Failure{
			Verdict: worker.Verdict{Phase: journal.PhaseNotSent, RetryAfter: time.Millisecond}, Err: errors.New("connection refused"),
		}
	})
	attach(t, server, s, func(c *landedmcp.Config) { c.Worker.Patience = -1 })
	cs := connect(t, server, nil)
	var res *mcp.CallToolResult
	until(t, "the budget is spent", func() bool {
		res = call(t, cs, step("r", "s"), mail{To: "A1"})
		return said(t, res)["status"] != string(worker.StatusInProgress)
	})
	wantStatus(t, res, worker.StatusHardStop)
	if want := journal.DefaultPolicy().RetryBudget + 1; runs > want || runs < 2 {
		t.Errorf("%d runs", runs)
	}
	if !strings.Contains(text(res), "Do not retry") {
		t.Errorf("text %q", text(res))
	}
}

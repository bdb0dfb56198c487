package landedmcp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestKeys: what a client may send, and what comes of it.
func TestKeys(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	server := newServer(p.handler())
	attach(t, server, s, func(c *landedmcp.Config) { c.Namespace = func(*mcp.CallToolRequest) string { return "acme" } })
	cs := connect(t, server, nil)
	tests := []struct {
		name    string
		meta    mcp.Meta
		key     string // under which the effect is found; "" = refused
		reason  string
		mention string
	}{
		{"nothing", nil, "", "key_missing", landedmcp.MetaRootRun},
		{"only a progress token", mcp.Meta{"progressToken": "p-1"}, "", "key_missing", landedmcp.MetaStep},
		{"the framework's call id", mcp.Meta{"claudecode/toolUseId": "toolu_0123456789abcdef"}, "", "key_missing", landedmcp.MetaKey},
		{"a key", mcp.Meta{landedmcp.MetaKey: "order-17/confirm"}, "order-17/confirm", "", ""},
		{"root run and step", step("run-1", "confirm"), "run-1/confirm/send_mail", "", ""},
		{"with an item", mcp.Meta{landedmcp.MetaRootRun: "run-1", landedmcp.MetaStep: "confirm", landedmcp.MetaItem: "A1"}, "run-1/confirm/send_mail/A1", "", ""},
		{"a root run alone", mcp.Meta{landedmcp.MetaRootRun: "run-1"}, "", "key_invalid", landedmcp.MetaStep + " is missing"},
		{"a step alone", mcp.Meta{landedmcp.MetaStep: "confirm"}, "", "key_invalid", landedmcp.MetaRootRun + " is missing"},
		{"a blank key", mcp.Meta{landedmcp.MetaKey: "  "}, "", "key_invalid", "blank"},
		{"a key that is a number", mcp.Meta{landedmcp.MetaKey: 7}, "", "key_invalid", "must be a string"},
		{"a time that is none", mcp.Meta{landedmcp.MetaKey: "k-2", landedmcp.MetaRootRunStartedAt: "today"}, "", "key_invalid", "must be a time"},
	}
	effects := int64(0)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := call(t, cs, tt.meta, mail{To: "anna"})
			if tt.key == "" {
				a := wantStatus(t, res, worker.StatusHardStop)
				if a["reason"] != tt.reason || !strings.Contains(text(res), tt.mention) {
					t.Errorf("reason %v, text %q", a["reason"], text(res))
				}
			} else {
				effects++
				id := effectID(t, wantStatus(t, res, worker.StatusDone))
				found, err := s.EffectByKey(t.Context(), "acme", tt.key)
				if err != nil || found != id {
					t.Errorf("under %q is %q (%v), want %s", tt.key, found, err, id)
				}
			}
			p.want(t, effects)
		})
	}
}

// TestJ07_RewordedArgumentsAreNoSecondEffect: the same step with other words is
// a conflict that the model is told of, field by field.
func TestJ07_RewordedArgumentsAreNoSecondEffect(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	server := newServer(p.handler())
	attach(t, server, s)
	cs := connect(t, server, nil)
	first := call(t, cs, step("r1", "refund"), mail{To: "A1", Body: "late parcel"})
	wantStatus(t, first, worker.StatusDone)
	again := call(t, cs, step("r1", "refund"), mail{To: "A1", Body: "parcel was late"})
	a := wantStatus(t, again, worker.StatusReplan)
	if a["reason"] != "key_reused" || !strings.Contains(text(again), "parcel was late") {
		t.Errorf("reason %v, text %q", a["reason"], text(again))
	}
	if effectID(t, a) != effectID(t, said(t, first)) {
		t.Errorf("the conflict names effect %v", a["effect_id"])
	}
	p.want(t, 1)
}

// TestJ08_CallIDsAreNoKeys: another request, another call id, the same step:
// the recorded result. And ids that a framework puts into the metadata make no
// key of their own.
func TestJ08_CallIDsAreNoKeys(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	server := newServer(p.handler())
	attach(t, server, s)
	var first *mcp.CallToolResult
	for _, id := range []string{"call_1", "call_3"} {
		cs := connect(t, server, nil) // another agent
		meta := step("r1", "confirm")
		meta["example.com/toolCallId"] = id
		res := call(t, cs, meta, mail{To: "A1"})
		wantStatus(t, res, worker.StatusDone)
		if first == nil {
			first = res
			continue
		}
		if diff := cmp.Diff(wire(t, first), wire(t, res)); diff != "" {
			t.Errorf("the repetition differs (-first +again):\n%s", diff)
		}
		if said(t, res)["repeated"] != true {
			t.Error("the repetition does not say that it is one")
		}
	}
	p.want(t, 1)
}

// wire is the content of a result as it was sent, without the journal's answer.
func wire(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	raw, err := json.Marshal(struct {
		C []mcp.Content
		S any
		E bool
	}{res.Content, res.StructuredContent, res.IsError})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestJ09_SameKeyOtherTool: a key that leaks into another tool is a conflict.
func TestJ09_SameKeyOtherTool(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	server := newServer(p.handler())
	mcp.AddTool(server, &mcp.Tool{Name: "send_fax"}, p.handler())
	attach(t, server, s, func(c *landedmcp.Config) {
		fax := mailTool()
		fax.Name = "send_fax"
		c.Tools = append(c.Tools, fax)
	})
	cs := connect(t, server, nil)
	wantStatus(t, call(t, cs, mcp.Meta{landedmcp.MetaKey: "k-1"}, mail{To: "A1"}), worker.StatusDone)
	other := params(mcp.Meta{landedmcp.MetaKey: "k-1"}, mail{To: "A1"})
	other.Name = "send_fax"
	res, err := cs.CallTool(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if a := wantStatus(t, res, worker.StatusReplan); a["reason"] != "key_reused" {
		t.Errorf("reason %v", a["reason"])
	}
	p.want(t, 1)
}

// TestBadArgumentsAreNotBegun: what the tool's schema refuses never reaches the
// journal, so that a model's slip is not an unknown outcome.
func TestBadArgumentsAreNotBegun(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	server := newServer(p.handler())
	attach(t, server, s)
	cs := connect(t, server, nil)
	res := call(t, cs, step("r1", "s"), map[string]any{"too": "anna"})
	if wantStatus(t, res, worker.StatusReplan); !strings.Contains(text(res), "to") {
		t.Errorf("text %q", text(res))
	}
	page, err := s.List(t.Context(), journal.ListFilter{})
	if err != nil || len(page.Rows) != 0 {
		t.Errorf("begun all the same: %+v, %v", page.Rows, err)
	}
	wantStatus(t, call(t, cs, step("r1", "s"), mail{To: "anna"}), worker.StatusDone) // the same step, corrected
	p.want(t, 1)
}

// TestAttach: what is declared is checked at start, and what is not declared
// does not run.
func TestAttach(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	wrong := func(change func(*landedmcp.Tool)) func(*landedmcp.Config) {
		return func(c *landedmcp.Config) { change(&c.Tools[0]) }
	}
	tests := []struct {
		name   string
		change func(*landedmcp.Config)
		want   string // in the error; "" = none
	}{
		{"as it should be", func(*landedmcp.Config) {}, ""},
		{"no journal", func(c *landedmcp.Config) { c.Journal = nil }, "there is no journal"},
		{"not declared", func(c *landedmcp.Config) { c.Tools = nil }, "not declared: send_mail"},
		{"not declared, and that is meant", func(c *landedmcp.Config) { c.Tools, c.PassUndeclared = nil, true }, ""},
		{"declared as read-only", wrong(func(t *landedmcp.Tool) { t.Class = journal.ClassReadOnly }), ""},
		{"declared, not there", wrong(func(t *landedmcp.Tool) { t.Name = "send_mial" }), `"send_mial" is declared, but`},
		{"declared twice", func(c *landedmcp.Config) { c.Tools = append(c.Tools, c.Tools[0]) }, "declared twice"},
		{"no class", wrong(func(t *landedmcp.Tool) { t.Class = "" }), "class is missing"},
		{"no time-out", wrong(func(t *landedmcp.Tool) { t.ClientTimeout = 0 }), "client_timeout is missing"},
		{"one argument for two things", wrong(func(t *landedmcp.Tool) { t.RefInto, t.KeyInto = "x", "x" }), "the same argument"},
		{"a desk that is none", func(c *landedmcp.Config) { c.Desk = "desk.example" }, "not an http or https address"},
		{"no time to answer", func(c *landedmcp.Config) { c.AnswerWithin = -1 }, "negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newServer(p.handler())
			cfg := landedmcp.Config{Journal: s, Tools: []landedmcp.Tool{mailTool()}, Worker: quiet()}
			tt.change(&cfg)
			_, err := landedmcp.Attach(t.Context(), server, cfg)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if err == nil {
				return
			}
			// Whoever serves all the same serves nothing.
			if wantStatus(t, call(t, connect(t, server, nil), step("r", tt.name), mail{To: "x"}), worker.StatusHardStop); p.n.Load() != 0 {
				t.Error("a tool ran although Attach had failed")
			}
		})
	}
}

// TestUndeclaredTools: tools that read pass, one that was added later and may
// change things does not.
func TestUndeclaredTools(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	server := newServer(p.handler())
	attach(t, server, s)
	cs := connect(t, server, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "late_look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, p.handler())
	mcp.AddTool(server, &mcp.Tool{Name: "late_change"}, p.handler())
	for _, name := range []string{"look", "late_look"} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: mail{To: "x"}})
		if name == "look" {
			res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		}
		if err != nil || res.IsError || res.Meta[landedmcp.MetaAnswer] != nil {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	p.want(t, 1)
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "late_change", Arguments: mail{To: "x"}, Meta: step("r", "s")})
	if err != nil {
		t.Fatal(err)
	}
	if a := wantStatus(t, res, worker.StatusHardStop); a["reason"] != "tool_undeclared" {
		t.Errorf("reason %v", a["reason"])
	}
	p.want(t, 1)
	if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"}); err == nil {
		t.Error("a tool that does not exist is the server's to refuse")
	}
}

// TestRefInto: a tool that knows nothing of the journal leaves its reference,
// and clients neither see nor set the argument that takes it.
func TestRefInto(t *testing.T) {
	t.Parallel()
	type ticket struct {
		Title      string `json:"title"`
		ExternalID string `json:"external_id"`
		Dedupe     string `json:"dedupe"`
	}
	var got []ticket
	s := openStore(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "tickets", Version: "v1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "open_ticket"}, func(_ context.Context, _ *mcp.CallToolRequest, in ticket) (*mcp.CallToolResult, any, error) {
		got = append(got, in)
		return nil, nil, nil
	})
	attach(t, server, s, func(c *landedmcp.Config) {
		c.Tools[0].Name, c.Tools[0].RefInto, c.Tools[0].KeyInto = "open_ticket", "external_id", "dedupe"
		c.Tools[0].Describe = func(json.RawMessage) landedmcp.Description { return landedmcp.Description{Subject: "a ticket"} }
	})
	cs := connect(t, server, nil)
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schema, _ := list.Tools[0].InputSchema.(map[string]any)
	if diff := cmp.Diff([]any{"title"}, schema["required"]); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if names, _ := schema["properties"].(map[string]any); len(names) != 1 {
		t.Errorf("properties %v", names)
	}
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "open_ticket", Meta: step("r", "s"),
		Arguments: map[string]any{"title": "leak", "external_id": "made up"}})
	if err != nil {
		t.Fatal(err)
	}
	snap := effect(t, s, effectID(t, wantStatus(t, res, worker.StatusDone)))
	ref := journal.Ref("", "r/s/open_ticket")
	want := []ticket{{Title: "leak", ExternalID: ref, Dedupe: journal.ProviderKey(ref, 1)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tool was given (-want +got):\n%s", diff)
	}
	if snap.Effect.Subject != "a ticket" || slices.Contains([]byte(snap.Effect.Args), '_') {
		t.Errorf("journaled as %q with args %s", snap.Effect.Subject, snap.Effect.Args)
	}
}

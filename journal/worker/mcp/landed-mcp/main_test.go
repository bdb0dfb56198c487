package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/landedhq/landed/journal/worker/workertest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// childEnv makes this test binary an MCP server that knows nothing of the
// journal. Its tool counts its runs; "die" ends the process.
const childEnv = "LANDED_TEST_MCP_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	server, n := mcp.NewServer(&mcp.Implementation{Name: "mailer", Version: "v1"}, nil), 0
	mcp.AddTool(server, &mcp.Tool{Name: "send_mail"}, func(_ context.Context, req *mcp.CallToolRequest, in struct {
		To         string `json:"to"`
		ExternalID string `json:"external_id"`
	}) (*mcp.CallToolResult, any, error) {
		if in.To == "die" {
			os.Exit(7)
		}
		n++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%d %s %s", n, in.To, in.ExternalID)}}}, nil, nil
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "landed-mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const tools = `"tools":[{"name":"send_mail","class":"at_most_once","client_timeout":"10s","ref_into":"external_id"}]}`

// TestConfig: what can't be used is refused, by name.
func TestConfig(t *testing.T) {
	t.Setenv("LANDED_TEST_TOKEN", "secret")
	t.Setenv(childEnv, "yes")
	tests := []struct{ name, text, want string }{
		{"a misspelt option", `{"journal":{"url":"http://x","token":"env:LANDED_TEST_TOKEN"},"tolls":[]}`, "tolls"},
		{"a token in the file", `{"journal":{"url":"http://x","token":"secret"}}`, `must be "env:NAME"`},
		{"a token that is not set", `{"journal":{"url":"http://x","token":"env:LANDED_TEST_NO_TOKEN"}}`, "LANDED_TEST_NO_TOKEN is not set"},
		{"no file", `{"journal":{"url":"http://x","token":"file:/no/such/file"}}`, "journal.token"},
		{"no address", `{"journal":{"token":"env:LANDED_TEST_TOKEN"}}`, "must be an http or https URL"},
		{"a number for a duration", `{"answer_within":5}`, "not a duration"},
		{"a bad namespace", `{"namespace":"a b"}`, "namespace"},
		{"two objects", `{} {}`, "something follows"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := run(t.Context(), []string{"--config", write(t, tt.text), "--", os.Args[0]}, io.Discard, &mcp.StdioTransport{}, open)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	for _, args := range [][]string{nil, {"--config", "x"}, {"mailer"}, {"--confg", "x", "--", "mailer"}} {
		if err := run(t.Context(), args, io.Discard, &mcp.StdioTransport{}, open); !errors.Is(err, errUsage) {
			t.Errorf("%q: got %v", args, err)
		}
	}
}

// TestRun: a child's tool is journaled, undeclared ones keep it from starting,
// and the command ends with its client and with its child.
func TestRun(t *testing.T) {
	t.Setenv("LANDED_TEST_TOKEN", "secret")
	t.Setenv(childEnv, "yes")
	memory := workertest.NewMemory()
	start := func(text string) (*mcp.ClientSession, chan error) {
		near, far := mcp.NewInMemoryTransports()
		ended := make(chan error, 1)
		go func() {
			ended <- run(t.Context(), []string{"--config", write(t, text), "--", os.Args[0]}, io.Discard, near,
				func(config) (worker.Journal, error) { return memory, nil })
		}()
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "v1"}, nil).Connect(context.WithoutCancel(t.Context()), far, nil)
		if err != nil {
			t.Fatal(err)
		}
		return cs, ended
	}
	good := `{"journal":{"url":"http://x","token":"env:LANDED_TEST_TOKEN"},` + tools
	call := func(cs *mcp.ClientSession, name, to string) string {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "send_mail", Arguments: map[string]any{"to": to},
			Meta: mcp.Meta{landedmcp.MetaRootRun: "r", landedmcp.MetaStep: name}})
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := res.Meta[landedmcp.MetaAnswer].(map[string]any)
		first, _ := res.Content[0].(*mcp.TextContent)
		return fmt.Sprint(answer["status"], " ", first.Text)
	}
	cs, ended := start(good)
	first := call(cs, "s", "anna")
	if !strings.HasPrefix(first, "done 1 anna ") || len(first) != len("done 1 anna ")+32 {
		t.Errorf("got %q", first)
	}
	if again := call(cs, "s", "anna"); again != first {
		t.Errorf("got %q again", again)
	}
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	cs, ended = start(good)
	if again := call(cs, "s", "anna"); again != first {
		t.Errorf("another process, other bytes: %q", again)
	}
	if got := call(cs, "s2", "die"); !strings.HasPrefix(got, "unknown ") {
		t.Errorf("got %q", got)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the child has ended") {
		t.Errorf("ended with %v", err)
	}
	_ = cs.Close()
	near, _ := mcp.NewInMemoryTransports()
	err := run(t.Context(), []string{"--config", write(t, `{"journal":{"url":"http://x","token":"env:LANDED_TEST_TOKEN"}}`), "--", os.Args[0]}, io.Discard, near,
		func(config) (worker.Journal, error) { return memory, nil })
	if err == nil || !strings.Contains(err.Error(), "not declared: send_mail") {
		t.Errorf("undeclared: %v", err)
	}
}

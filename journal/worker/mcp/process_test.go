package landedmcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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

// childEnv makes this test binary an MCP server on its standard input and
// output, whose tool posts to a provider and waits for its answer.
const childEnv = "LANDED_TEST_MCP_SERVER"

type child struct {
	DSN      string // of the journal; "" = the server has none
	Provider string
	Careless bool // it does not drain
}

func TestMain(m *testing.M) {
	if v := os.Getenv(childEnv); v != "" {
		if err := serveChild(v); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	journaltest.Main(m)
}

func serveChild(v string) error {
	var c child
	if err := json.Unmarshal([]byte(v), &c); err != nil {
		return err
	}
	ctx := context.Background()
	server := newServer(postTo(c.Provider))
	if c.DSN == "" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	policy := journal.DefaultPolicy()
	policy.DefaultLease = policy.MinLease
	s, err := postgres.Open(ctx, c.DSN, postgres.Options{Policy: policy, MaxConns: 3})
	if err != nil {
		return err
	}
	defer s.Close()
	tool := mailTool()
	tool.ClientTimeout = time.Second
	front, err := landedmcp.Attach(ctx, server, landedmcp.Config{Journal: s, Tools: []landedmcp.Tool{tool}, Worker: quiet()})
	if err != nil {
		return err
	}
	if err := server.Run(ctx, &mcp.StdioTransport{}); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "server:", err)
	}
	if c.Careless {
		return nil
	}
	return front.Drain(ctx)
}

// postTo is a tool that knows nothing of the journal.
func postTo(url string) handler {
	return func(_ context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
		body, _ := json.Marshal(in)
		resp, err := http.Post(url, "application/json", bytes.NewReader(body)) //nolint:noctx // an unchanged tool
		if err != nil {
			return nil, sent{}, err
		}
		defer func() { _ = resp.Body.Close() }()
		var out sent
		return nil, out, json.NewDecoder(resp.Body).Decode(&out)
	}
}

// startChild starts a server process and connects to it.
func startChild(t *testing.T, c child) (*mcp.ClientSession, *exec.Cmd) {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(raw))
	cmd.Stderr = os.Stderr
	cs := dial(t, &mcp.CommandTransport{Command: cmd, TerminateDuration: 10 * time.Second}, nil)
	return cs, cmd
}

// outside is the provider of a server in another process.
type outside struct {
	*httptest.Server
	n       atomic.Int64
	applied chan struct{} // one value per effect
	hold    chan struct{} // answers only once it is closed
}

func newOutside(t *testing.T) *outside {
	o := &outside{applied: make(chan struct{}, 8), hold: make(chan struct{})}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n := o.n.Add(1)
		o.applied <- struct{}{}
		select {
		case <-o.hold:
			_, _ = fmt.Fprintf(w, `{"id":"m-%d","to":"A1"}`, n)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(o.CloseClientConnections)
	return o
}

// TestJ01_KilledBetweenEffectAndCommit: the server's process is killed after the
// provider did it and before the commit. Another process, another session, the
// same key: in progress while the lease holds, then unknown, never a second
// request.
func TestJ01_KilledBetweenEffectAndCommit(t *testing.T) {
	t.Parallel()
	dsn := journaltest.Database(t, postgres.Migrate)
	o := newOutside(t)
	cs, cmd := startChild(t, child{DSN: dsn, Provider: o.URL})
	failed := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(t.Context(), params(step("j01", "mail"), mail{To: "A1"}))
		failed <- err
	}()
	<-o.applied
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Fatal("a killed server answered")
	}
	second, _ := startChild(t, child{DSN: dsn, Provider: o.URL})
	wantStatus(t, call(t, second, step("j01", "mail"), mail{To: "A1"}), worker.StatusInProgress)
	var res *mcp.CallToolResult
	until(t, "the outcome is unknown", func() bool {
		res = call(t, second, step("j01", "mail"), mail{To: "A1"})
		return said(t, res)["status"] != string(worker.StatusInProgress)
	})
	wantStatus(t, res, worker.StatusUnknown)
	if n := o.n.Load(); n != 1 {
		t.Errorf("the provider saw %d requests", n)
	}
}

// TestJ19_ClientOfStdioLeaves: the client's end of the pipe closes while the
// tool runs. The server ends, but only after the outcome is recorded, even if
// nobody drains it.
func TestJ19_ClientOfStdioLeaves(t *testing.T) {
	t.Parallel()
	dsn := journaltest.Database(t, postgres.Migrate)
	o := newOutside(t)
	cs, _ := startChild(t, child{DSN: dsn, Provider: o.URL, Careless: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = cs.CallTool(ctx, params(step("j19", "mail"), mail{To: "A1"})) }()
	<-o.applied
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- cs.Close() }() // waits for the process
	select {
	case <-ended:
		t.Fatal("the server ended while its tool ran")
	case <-time.After(time.Second): // it would be gone by now
	}
	close(o.hold)
	if err := <-ended; err != nil {
		t.Logf("the server ended with: %v", err)
	}
	second, _ := startChild(t, child{DSN: dsn, Provider: o.URL})
	res := call(t, second, step("j19", "mail"), mail{To: "A1"})
	if a := wantStatus(t, res, worker.StatusDone); a["repeated"] != true {
		t.Errorf("answer %v", a)
	}
	if n := o.n.Load(); n != 1 {
		t.Errorf("the provider saw %d requests", n)
	}
}

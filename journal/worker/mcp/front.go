package landedmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultAnswerWithin is how long a client waits for an answer unless it says
// otherwise. The official TypeScript client gives a request up after 60 s
// (DEFAULT_REQUEST_TIMEOUT_MSEC in src/shared/protocol.ts of
// https://github.com/modelcontextprotocol/typescript-sdk).
const DefaultAnswerWithin = 45 * time.Second

// Tool declares one tool of the server as side-effecting, by what the journal
// has to know of it. Only Name, Class and ClientTimeout are always needed.
type Tool struct {
	// Tool is what the journal is told. Its Name is the MCP tool's unless As is
	// set; without an ArgsSchema the MCP tool's input schema counts. ClientTimeout
	// is how long one run of the tool may take.
	journal.Tool
	// As is the tool's name in the journal; "" = the same. MCP allows names that
	// the journal doesn't, such as those that begin with an underscore.
	As string

	// RefInto names a top-level argument that takes the reference of the effect,
	// KeyInto one that takes the provider's idempotency key; "" = none. Clients are
	// shown the tool without these arguments, and what they put there is ignored.
	// This is how a tool that knows nothing of the journal leaves what evidence
	// can be found by.
	RefInto, KeyInto string
	// KeyHeader, KeyDashed and Tracked are for tools that send through
	// worker.Client: see worker.ToolSpec.
	KeyHeader string
	KeyDashed bool
	Tracked   bool

	// Judge reads a result that is not marked as an error: some tools report
	// failures in it. An error made by worker.Refused or worker.NotSent says how far
	// the attempt got, any other leaves the outcome unknown. nil = it is done.
	Judge func(*mcp.CallToolResult) error
	// ProviderID finds the provider's id of what was made; nil = only what the
	// tool puts into its result's metadata as MetaProviderID.
	ProviderID func(*mcp.CallToolResult) string
	// Describe tells people what a call is about; it never makes the key.
	Describe func(args json.RawMessage) Description
	// AsksFirst: the tool asks the client for input before it does anything, so a
	// result that asks proves that nothing was sent. Without it such a result
	// leaves the outcome unknown.
	AsksFirst bool
}

// Description is what people see of a call.
type Description struct {
	Subject          string // one line
	Amount, Currency string // both or neither
	Labels           map[string]string
}

// Config says what to journal and where.
type Config struct {
	Journal worker.Journal // required
	Tools   []Tool         // those that cause effects
	// PassUndeclared lets tools run unguarded that are neither declared nor
	// annotated as read-only. Without it they are refused, at start and later.
	PassUndeclared bool
	// KeyBySession makes keys for clients that send none: see the package's
	// documentation for what that can't protect from.
	KeyBySession bool
	// Namespace separates tenants: a client finds only effects of its own
	// namespace by a key. nil = all clients share the empty one. Take it from what
	// authenticates the client, such as req.Extra.TokenInfo.
	Namespace func(req *mcp.CallToolRequest) string
	// Desk is the address of the desk, for links to effects; "" = no links.
	Desk string
	// AnswerWithin is how long a client waits before it is told that its call
	// still runs; 0 = DefaultAnswerWithin. Keep it below the clients' own time-out.
	AnswerWithin time.Duration
	Worker       worker.Options
}

// Front stands between the clients of one MCP server and its tools.
type Front struct {
	cfg      Config
	log      *slog.Logger
	worker   *worker.Worker
	tools    map[string]*Tool // by the MCP tool's name
	readOnly names
	sessions *sessions // nil unless KeyBySession
	running  drain
	ready    atomic.Bool // Attach succeeded; what is above is not written after it
}

// Attach puts a Front before server: from now on a call of a declared tool is
// begun in the journal, run, and committed. Add the tools first. It fails if a
// declaration can't be used, if a declared tool does not exist, if the journal
// can't be reached, and if a tool is neither declared nor read-only; the server
// then refuses every call of a tool.
func Attach(ctx context.Context, server *mcp.Server, cfg Config) (*Front, error) {
	f := &Front{cfg: cfg, log: cfg.Worker.Logger, tools: map[string]*Tool{}}
	if f.log == nil {
		f.log = slog.Default()
	}
	// First of all, so that no tool runs unguarded if something is wrong.
	var next mcp.MethodHandler
	server.AddReceivingMiddleware(func(h mcp.MethodHandler) mcp.MethodHandler {
		next = h
		return f.receive(h)
	})
	server.AddSendingMiddleware(f.send)
	if err := f.attach(ctx, server, next); err != nil {
		return nil, fmt.Errorf("attaching the journal to an MCP server: %w", err)
	}
	f.ready.Store(true)
	return f, nil
}

func (f *Front) attach(ctx context.Context, server *mcp.Server, next mcp.MethodHandler) error {
	if err := f.configure(); err != nil {
		return err
	}
	found, err := serverTools(ctx, server, next)
	if err != nil {
		return err
	}
	return f.admit(ctx, found)
}

// configure checks the configuration and fills in what it leaves out.
func (f *Front) configure() error {
	if f.cfg.Journal == nil {
		return errors.New("there is no journal: without one no tool may run")
	}
	if f.cfg.Desk != "" {
		u, err := url.Parse(f.cfg.Desk)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("desk %q is not an http or https address", f.cfg.Desk)
		}
		f.cfg.Desk = strings.TrimRight(f.cfg.Desk, "/")
	}
	if f.cfg.AnswerWithin < 0 {
		return errors.New("AnswerWithin is negative")
	}
	if f.cfg.AnswerWithin == 0 {
		f.cfg.AnswerWithin = DefaultAnswerWithin
	}
	if f.cfg.KeyBySession {
		f.sessions = newSessions()
	}
	return nil
}

// Drain waits for the calls that still run, also those whose clients were
// answered or went away. Call it before the process ends: what it cuts off is
// of unknown outcome.
func (f *Front) Drain(ctx context.Context) error {
	if err := f.running.wait(ctx); err != nil {
		return fmt.Errorf("waiting for running tools: %w", err)
	}
	return nil
}

package landedmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errPeerEnded = errors.New("the MCP server behind the proxy has ended")

// Proxy is a server whose tools are run by another MCP server, such as a child
// process that nobody can recompile:
//
//	p, err := landedmcp.NewProxy(ctx, &mcp.CommandTransport{Command: exec.Command("mailer")}, nil)
//	front, err := landedmcp.Attach(ctx, p.Server(), cfg)
//	err = p.Server().Run(ctx, &mcp.StdioTransport{})
//
// It mirrors tools and their progress, and tools that come and go later. It
// mirrors neither resources nor prompts, and the other server can't ask clients
// for anything. What it finds in its requests' metadata are MetaRef,
// MetaProviderKey and the like; MetaPhase in its results says how far it got.
type Proxy struct {
	server *mcp.Server
	client *mcp.Client
	peer   *mcp.ClientSession
	log    *slog.Logger
	ended  chan struct{} // closed once the other server is gone

	mu     sync.Mutex
	tools  map[string]bool
	routes map[string]*route // progress token → whom to tell
}

// route is whom the progress of one call is for.
type route struct {
	ctx     context.Context
	session *mcp.ServerSession
	token   any
	pending int           // notifications that were read before the result, and are not passed on yet
	over    bool          // the result was read: what comes now is too late
	passed  chan struct{} // closed once the last one is passed on, if somebody waits
}

// NewProxy connects to the other server and lists its tools. log may be nil.
func NewProxy(ctx context.Context, to mcp.Transport, log *slog.Logger) (*Proxy, error) {
	if log == nil {
		log = slog.Default()
	}
	p := &Proxy{log: log, ended: make(chan struct{}), tools: map[string]bool{}, routes: map[string]*route{}}
	p.client = mcp.NewClient(&mcp.Implementation{Name: "landed-mcp", Version: "v1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: p.progress,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { go p.refresh() },
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true}, // the client behind us answers
		Capabilities:                &mcp.ClientCapabilities{},
	})
	// The connection lasts longer than the call that makes it.
	peer, err := p.client.Connect(context.WithoutCancel(ctx), rawTransport{to, p}, nil)
	if err != nil {
		return nil, fmt.Errorf("connecting to the MCP server behind the proxy: %w", err)
	}
	p.peer = peer
	go func() {
		defer close(p.ended)
		_ = peer.Wait()
	}()
	impl, instructions := &mcp.Implementation{Name: "landed-mcp", Version: "v1"}, ""
	if init := peer.InitializeResult(); init != nil {
		if init.ServerInfo != nil {
			impl = init.ServerInfo
		}
		instructions = init.Instructions
	}
	p.server = mcp.NewServer(impl, &mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})
	if err := p.mirror(ctx); err != nil {
		_ = peer.Close()
		return nil, err
	}
	return p, nil
}

// Server is what clients are served by. Attach a Front to it first.
func (p *Proxy) Server() *mcp.Server { return p.server }

// Done is closed once the other server is gone: every call is refused from then
// on, so the process should end and be started again.
func (p *Proxy) Done() <-chan struct{} { return p.ended }

// Close ends the connection to the other server, and with it a child process.
func (p *Proxy) Close() error { return p.peer.Close() }

// mirror brings the tools up to date.
func (p *Proxy) mirror(ctx context.Context) error {
	now := map[string]bool{}
	for tool, err := range p.peer.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("listing the tools of the MCP server behind the proxy: %w", err)
		}
		if err := p.add(tool); err != nil {
			return err
		}
		now[tool.Name] = true
	}
	p.mu.Lock()
	var gone []string
	for name := range p.tools {
		if !now[name] {
			gone = append(gone, name)
		}
	}
	p.tools = now
	p.mu.Unlock()
	p.server.RemoveTools(gone...)
	return nil
}

// add mirrors one tool. The SDK panics on tools that it can't serve.
func (p *Proxy) add(tool *mcp.Tool) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("mirroring tool %q: %v", tool.Name, v)
		}
	}()
	p.server.AddTool(tool, p.call)
	return nil
}

func (p *Proxy) refresh() {
	if err := p.mirror(context.Background()); err != nil {
		p.log.Error("the tools behind the proxy changed and could not be mirrored", "error", err)
	}
}

// call runs a tool on the other server.
func (p *Proxy) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	select {
	case <-p.ended:
		return nil, worker.NotSent(errPeerEnded)
	default:
	}
	params := &mcp.CallToolParams{
		Name: req.Params.Name, Arguments: req.Params.Arguments, Meta: forPeer(req.Params.Meta),
		InputResponses: req.Params.InputResponses, RequestState: req.Params.RequestState,
	}
	if token := req.Params.GetProgressToken(); token != nil {
		mine, r := journal.NewToken(), &route{ctx: ctx, session: req.Session, token: token}
		params.SetProgressToken(mine)
		p.mu.Lock()
		p.routes[mine] = r
		p.mu.Unlock()
		defer p.leave(mine, r)
	}
	res, err := p.peer.CallTool(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("calling the MCP server behind the proxy: %w", err)
	}
	return exact(res), nil
}

// forPeer leaves out what belongs to the other connection.
func forPeer(meta mcp.Meta) mcp.Meta {
	meta = maps.Clone(meta)
	maps.DeleteFunc(meta, func(name string, _ any) bool {
		return name == "progressToken" || strings.HasPrefix(name, "io.modelcontextprotocol/")
	})
	return meta
}

// leave waits until the progress that came before the result is passed on: the
// SDK hands notifications to their handler some time after it read them.
func (p *Proxy) leave(token string, r *route) {
	p.mu.Lock()
	r.over = true
	passed := make(chan struct{})
	if r.passed = passed; r.pending == 0 {
		close(passed)
	}
	p.mu.Unlock()
	select {
	case <-passed:
	case <-p.ended:
	case <-r.ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.routes, token)
}

// noticed counts a notification in the order in which it was read.
func (p *Proxy) noticed(req *jsonrpc.Request) {
	var params mcp.ProgressNotificationParams
	if req.Method != "notifications/progress" || json.Unmarshal(req.Params, &params) != nil {
		return
	}
	token, _ := params.ProgressToken.(string)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.routes[token]; r != nil && !r.over {
		r.pending++
	}
}

func (p *Proxy) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	p.mu.Lock()
	to := p.routes[token]
	late := to == nil || to.pending == 0
	p.mu.Unlock()
	if late {
		return
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if to.pending--; to.pending == 0 && to.over {
			close(to.passed)
		}
	}()
	params := *req.Params
	params.ProgressToken = to.token
	if err := to.session.NotifyProgress(to.ctx, &params); err != nil {
		p.log.Debug("progress could not be passed on", "error", err)
	}
}

// metaRaw carries a result as it came over the wire through the SDK's client,
// which reads JSON numbers into Go's and would change them.
const metaRaw = "landed/raw"

// exact is a result as the other server sent it.
func exact(res *mcp.CallToolResult) *mcp.CallToolResult {
	text, _ := res.Meta[metaRaw].(string)
	delete(res.Meta, metaRaw)
	same, ok := replay([]byte(text))
	if !ok || res.NeedsInput() || res.InputRequests != nil {
		return res
	}
	res.Content, res.StructuredContent = same.Content, same.StructuredContent
	for name := range res.Meta {
		if strings.HasPrefix(name, "io.modelcontextprotocol/") {
			delete(res.Meta, name) // of the other connection
		} else if !strings.HasPrefix(name, "landed/") {
			res.Meta[name] = same.Meta[name]
		}
	}
	return res
}

// rawTransport adds metaRaw to the results of tools, and sees messages in their
// order.
type rawTransport struct {
	mcp.Transport
	proxy *Proxy
}

func (t rawTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return rawConnection{c, t.proxy}, nil
}

type rawConnection struct {
	mcp.Connection
	proxy *Proxy
}

func (c rawConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if req, ok := msg.(*jsonrpc.Request); ok && err == nil {
		c.proxy.noticed(req)
	}
	resp, ok := msg.(*jsonrpc.Response)
	if err != nil || !ok || resp.Error != nil {
		return msg, err
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(resp.Result, &result) != nil || result["content"] == nil {
		return msg, nil
	}
	meta := map[string]json.RawMessage{}
	if result["_meta"] != nil && json.Unmarshal(result["_meta"], &meta) != nil {
		return msg, nil
	}
	if meta[metaRaw], err = json.Marshal(string(resp.Result)); err != nil {
		return msg, nil
	}
	if result["_meta"], err = json.Marshal(meta); err != nil {
		return msg, nil
	}
	whole, err := json.Marshal(result)
	if err != nil {
		return msg, nil
	}
	same := *resp
	same.Result = whole
	return &same, nil
}

package landedmcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/argschema"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodCall = "tools/call"
	methodList = "tools/list"
)

// serverTools asks the server for its tools, over a session that nobody is at
// the other end of: no handshake takes place and no handler of the server runs.
func serverTools(ctx context.Context, server *mcp.Server, next mcp.MethodHandler) ([]*mcp.Tool, error) {
	near, far := mcp.NewInMemoryTransports()
	peer, err := far.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the server's tools: %w", err)
	}
	session, err := server.Connect(ctx, near, nil)
	if err != nil {
		return nil, fmt.Errorf("listing the server's tools: %w", err)
	}
	found, err := listTools(ctx, session, next)
	_ = peer.Close()
	_ = session.Wait()
	return found, err
}

// listTools reads all pages.
func listTools(ctx context.Context, session *mcp.ServerSession, next mcp.MethodHandler) ([]*mcp.Tool, error) {
	var found []*mcp.Tool
	for cursor := ""; ; {
		res, err := next(ctx, methodList, &mcp.ListToolsRequest{Session: session, Params: &mcp.ListToolsParams{Cursor: cursor}})
		if err != nil {
			return nil, fmt.Errorf("listing the server's tools: %w", err)
		}
		page, ok := res.(*mcp.ListToolsResult)
		if !ok {
			return nil, fmt.Errorf("listing the server's tools: got a %T", res)
		}
		found = append(found, page.Tools...)
		if cursor = page.NextCursor; cursor == "" {
			return found, nil
		}
	}
}

// admit checks the declarations against the server's tools and makes them known
// to the journal.
func (f *Front) admit(ctx context.Context, found []*mcp.Tool) error {
	byName := map[string]*mcp.Tool{}
	for _, t := range found {
		byName[t.Name] = t
		if isReadOnly(t) {
			f.readOnly.add(t.Name)
		}
	}
	r := worker.NewRegistry()
	for _, t := range f.cfg.Tools {
		if err := f.declare(r, byName[t.Name], t); err != nil {
			return err
		}
	}
	if undeclared := f.undeclared(found); len(undeclared) > 0 && !f.cfg.PassUndeclared {
		return fmt.Errorf("these tools may change things and are not declared: %s: declare each with its class, annotate it with readOnlyHint, or set PassUndeclared",
			strings.Join(undeclared, ", "))
	}
	if err := r.Sync(ctx, f.cfg.Journal); err != nil {
		return err
	}
	f.worker = worker.New(uncancelled{f.cfg.Journal}, r, f.cfg.Worker)
	return nil
}

func (f *Front) declare(r *worker.Registry, found *mcp.Tool, t Tool) error {
	switch {
	case found == nil:
		return fmt.Errorf("tool %q is declared, but the server has none of that name: add its tools first", t.Name)
	case f.tools[t.Name] != nil:
		return fmt.Errorf("tool %q is declared twice", t.Name)
	case t.RefInto != "" && t.RefInto == t.KeyInto:
		return fmt.Errorf("tool %q: RefInto and KeyInto name the same argument %q", t.Name, t.RefInto)
	}
	if t.Class == journal.ClassReadOnly {
		f.readOnly.add(t.Name)
		return nil
	}
	if t.ArgsSchema == nil {
		t.ArgsSchema = f.argsSchema(found, t)
	}
	f.tools[found.Name] = &t
	known := t.Tool
	if t.As != "" {
		known.Name = t.As
	}
	return r.Register(worker.ToolSpec{
		Tool: known, Run: f.run, KeyHeader: t.KeyHeader, KeyDashed: t.KeyDashed, Tracked: t.Tracked,
	})
}

// argsSchema is the tool's own input schema, without the arguments that are
// filled in here. A schema that can't be compiled is left to the tool: what it
// then refuses leaves the outcome unknown.
func (f *Front) argsSchema(found *mcp.Tool, t Tool) []byte {
	raw, err := json.Marshal(found.InputSchema)
	if err == nil {
		raw, err = withoutProperties(raw, t.RefInto, t.KeyInto)
	}
	if err == nil {
		_, err = argschema.Compile(raw)
	}
	if err != nil {
		f.log.Warn("the tool's input schema can't be used: its calls are not checked before they are begun", "tool", t.Name, "error", err)
		return nil
	}
	return raw
}

// undeclared lists the tools that nobody declared and that are not read-only.
func (f *Front) undeclared(found []*mcp.Tool) []string {
	var out []string
	for _, t := range found {
		if f.tools[t.Name] == nil && !f.readOnly.has(t.Name) {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return out
}

// passes reports whether a tool that is not declared may run: it is read-only,
// maybe added after Attach, or the configuration says so.
func (f *Front) passes(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (bool, error) {
	name := req.Params.Name
	if f.cfg.PassUndeclared || f.readOnly.has(name) {
		return true, nil
	}
	found, err := listTools(ctx, req.Session, next)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(found, func(t *mcp.Tool) bool { return t.Name == name })
	switch {
	case i < 0: // in the server's own words
		return false, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
	case isReadOnly(found[i]):
		f.readOnly.add(name)
		return true, nil
	}
	return false, nil
}

func isReadOnly(t *mcp.Tool) bool { return t.Annotations != nil && t.Annotations.ReadOnlyHint }

// names is a set of tool names that grows while the server runs.
type names struct {
	mu  sync.Mutex
	set map[string]bool
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.set == nil {
		n.set = map[string]bool{}
	}
	n.set[name] = true
}

func (n *names) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.set[name]
}

package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/argschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// RunFunc does the tool's work. ctx carries the grant: it ends with the lease
// or the attempt's deadline. A nil error means that the provider confirmed. An
// error made by Classifier, NotSent or Refused says how far the attempt got;
// for any other the transport's own record counts, and without one the outcome
// is unknown.
type RunFunc func(ctx context.Context, call Call) (Outcome, error)

// Outcome is what the provider confirmed.
type Outcome struct {
	Result     []byte // raw bytes, recorded and handed back as they are
	ProviderID string // the provider's id of what was made
	Replayed   bool   // the provider repeated a stored answer
}

// ToolSpec is a tool and the function that runs it.
type ToolSpec struct {
	journal.Tool
	Run RunFunc
	// KeyHeader is the request header that takes the provider key, such as
	// Idempotency-Key; "" = the transport sets none.
	KeyHeader string
	// KeyDashed: the provider wants its key as a dashed UUID.
	KeyDashed bool
	// Tracked: every request of Run goes through the worker's transport, or is
	// announced by Sending. An error before the first byte then proves that
	// nothing was sent, even if Run never got as far as the transport.
	Tracked bool
}

// tool is a registered ToolSpec with its schema ready.
type tool struct {
	ToolSpec
	schema *jsonschema.Schema
}

// Registry holds the tools of a worker. Register before the first Do.
type Registry struct {
	mu    sync.RWMutex
	tools map[string]*tool
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{tools: map[string]*tool{}} }

// Register adds a tool. It refuses a tool without a class, without a function,
// with a schema that can't be used, or with a name that is taken.
func (r *Registry) Register(s ToolSpec) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("registering tool %q: %w", s.Name, err)
	}
	if s.Run == nil {
		return fmt.Errorf("registering tool %q: it has no function to run", s.Name)
	}
	t := &tool{ToolSpec: s}
	if s.ArgsSchema != nil {
		schema, err := argschema.Compile(s.ArgsSchema)
		if err != nil {
			return fmt.Errorf("registering tool %q: %w", s.Name, err)
		}
		t.schema = schema
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.tools[s.Name]; taken {
		return fmt.Errorf("registering tool %q: the name is taken", s.Name)
	}
	r.tools[s.Name] = t
	return nil
}

// Tools returns the registered tools by name.
func (r *Registry) Tools() []journal.Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]journal.Tool, 0, len(r.tools))
	for _, t := range r.tools {
		out = append(out, t.Tool)
	}
	slices.SortFunc(out, func(a, b journal.Tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Sync makes every tool known to the journal. Call it once at start; it stops
// at the first tool that the journal refuses.
func (r *Registry) Sync(ctx context.Context, j Journal) error {
	for _, t := range r.Tools() {
		if err := j.RegisterTool(ctx, t); err != nil {
			return fmt.Errorf("registering tool %q with the journal: %w", t.Name, err)
		}
	}
	return nil
}

func (r *Registry) lookup(name string) (*tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.tools[name]
	return t, ok
}

// names lists the tools for a model that named one that does not exist.
func (r *Registry) names() string {
	var names []string
	for _, t := range r.Tools() {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

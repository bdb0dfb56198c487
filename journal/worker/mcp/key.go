package landedmcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a client says of a call, in the _meta of tools/call. Either MetaKey, or
// MetaRootRun and MetaStep, make the key. All are strings but for
// MetaTimeoutMS, a number, and MetaResume, an object. The names follow
// https://modelcontextprotocol.io/specification/2025-11-25/basic#meta.
const (
	MetaKey              = "landed/key"                 // minted by the client, outside of every retry
	MetaRootRun          = "landed/root_run"            // the run that a person or a schedule started
	MetaStep             = "landed/step"                // the workflow's name for this step, the same on every replay
	MetaItem             = "landed/item"                // the business object, when one step acts on several
	MetaRun              = "landed/run"                 // this run, if it is not the root
	MetaTurn             = "landed/turn"                // what the retry budget is counted per
	MetaRootRunStartedAt = "landed/root_run_started_at" // RFC 3339
	MetaSupersedes       = "landed/supersedes"          // the closed effect that this call replaces
	MetaResume           = "landed/resume"              // how the runtime wants to hear of a decision
	MetaTimeoutMS        = "landed/timeout_ms"          // when the client gives the request up
)

// traceparent travels in _meta under its own name:
// https://modelcontextprotocol.io/seps/414-request-meta
const (
	metaTraceparent  = "traceparent"
	traceparentBytes = 55 // version 00: https://www.w3.org/TR/trace-context/#traceparent-header
)

// asked is what a client's metadata says.
type asked struct {
	call    worker.Call
	timeout time.Duration // 0 = not said
	keyed   bool          // there is a key, or what makes one
}

// ask reads the metadata of a call. The problems are for who runs the client.
func ask(meta map[string]any) (asked, []string) {
	r := metaReader{meta: meta}
	a := asked{call: worker.Call{
		Key: r.text(MetaKey), Step: r.text(MetaStep), Item: r.text(MetaItem),
		Run:        worker.Run{RootRun: r.text(MetaRootRun), Run: r.text(MetaRun), Turn: r.text(MetaTurn), RootRunStartedAt: r.time(MetaRootRunStartedAt)},
		Supersedes: r.text(MetaSupersedes), Resume: r.object(MetaResume), Traceparent: r.trace(),
	}}
	a.timeout = r.millis(MetaTimeoutMS)
	_, hasKey := meta[MetaKey]
	_, hasRoot := meta[MetaRootRun]
	_, hasStep := meta[MetaStep]
	a.keyed = hasKey || hasRoot || hasStep
	switch {
	case hasKey:
		if err := journal.ValidateKey(a.call.Key); err != nil {
			r.problem(MetaKey + ": " + err.Error())
		}
		if a.call.Run.RootRun == "" {
			a.call.Run.RootRun = a.call.Key
		}
	case a.keyed && a.call.Run.RootRun == "":
		r.problem(MetaRootRun + " is missing: without it " + MetaStep + " makes no key")
	case a.keyed && a.call.Step == "":
		r.problem(MetaStep + " is missing: without it " + MetaRootRun + " makes no key")
	}
	return a, r.problems
}

// wanted says what makes a key, to who runs the client.
func wanted() []string {
	return []string{
		fmt.Sprintf("the client must send, in params._meta of tools/call, %q and %q (and %q, if one step acts on several business objects): the same values on every retry and replay, others for another effect", MetaRootRun, MetaStep, MetaItem),
		fmt.Sprintf("or %q: 1 to 255 printable ASCII characters, minted outside of every retry; neither a hash of the arguments nor the framework's tool call id", MetaKey),
	}
}

type metaReader struct {
	meta     map[string]any
	problems []string
}

func (r *metaReader) problem(text string) { r.problems = append(r.problems, text) }

func (r *metaReader) text(name string) string {
	v, ok := r.meta[name]
	s, isText := v.(string)
	if ok && !isText {
		r.problem(name + " must be a string")
	}
	return s
}

// trace reads the W3C trace context; a malformed one never fails a call.
func (r *metaReader) trace() string {
	s, _ := r.meta[metaTraceparent].(string)
	if len(s) != traceparentBytes {
		return ""
	}
	return s
}

func (r *metaReader) time(name string) time.Time {
	s := r.text(name)
	if s == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		r.problem(name + " must be a time like 2026-01-31T12:00:00Z")
	}
	return at
}

func (r *metaReader) millis(name string) time.Duration {
	v, ok := r.meta[name]
	if !ok {
		return 0
	}
	n, isNumber := v.(float64)
	if !isNumber || n < 1 || n > 1e9 {
		r.problem(name + " must be a number of milliseconds")
		return 0
	}
	return time.Duration(n * float64(time.Millisecond))
}

func (r *metaReader) object(name string) []byte {
	v, ok := r.meta[name]
	if !ok {
		return nil
	}
	raw, err := json.Marshal(v)
	if _, isObject := v.(map[string]any); err != nil || !isObject {
		r.problem(name + " must be an object")
		return nil
	}
	return raw
}

// complete adds to a call what the configuration and the arguments tell.
func (f *Front) complete(call *worker.Call, req *mcp.CallToolRequest, t *Tool) error {
	call.Tool = t.Name
	if t.As != "" {
		call.Tool = t.As
	}
	if f.cfg.Namespace != nil {
		call.Namespace = f.cfg.Namespace(req)
	}
	args := slices.Clone(req.Params.Arguments)
	if len(args) == 0 {
		args = []byte("{}")
	}
	args, err := withoutMembers(args, t.RefInto, t.KeyInto)
	if err != nil {
		return err
	}
	call.Args = args
	if t.Describe != nil {
		d := t.Describe(slices.Clone(call.Args))
		call.Subject, call.Amount, call.Currency, call.Labels = d.Subject, d.Amount, d.Currency, maps.Clone(d.Labels)
	}
	return nil
}

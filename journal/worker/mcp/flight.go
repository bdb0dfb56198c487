package landedmcp

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a tool finds in the metadata of its request: for those that can't reach
// the grant in the context, such as a server in another process.
const (
	MetaEffectID    = "landed/effect_id"
	MetaRef         = "landed/ref"
	MetaProviderKey = "landed/provider_key"
	MetaAttempt     = "landed/attempt"
)

var (
	errNoRequest = errors.New("a journaled tool was run without a request of a client")
	errGaveUp    = errors.New("the client gave the call up before the tool was entered")
	errInput     = errors.New("the tool asks the client for input before it does anything")
)

type flightKey struct{}

// flight is one call of a client on its way through the journal. It outlives
// the request: a client's cancellation stops a call that still waits for its
// turn, but never a tool that was entered, as that would make a known outcome
// unknown.
type flight struct {
	request context.Context // the client's
	ctx     context.Context // the worker's: ends only by cancel
	cancel  context.CancelCauseFunc
	release func() bool
	req     *mcp.CallToolRequest
	next    mcp.MethodHandler
	tool    *Tool
	started time.Time

	done   chan struct{}
	answer worker.Answer // once done is closed
	err    error

	mu       sync.Mutex
	entered  bool // the tool runs
	answered bool // the client has its answer
	grant    *worker.Grant
	asking   *mcp.CallToolResult
	failed   bool // the tool reported a failure
}

func newFlight(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler, t *Tool) *flight {
	fl := &flight{request: ctx, req: req, next: next, tool: t, started: time.Now(), done: make(chan struct{})}
	fl.ctx, fl.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), flightKey{}, fl))
	fl.release = context.AfterFunc(ctx, fl.giveUp)
	return fl
}

// end frees what the flight holds; the outcome is known.
func (fl *flight) end() {
	fl.release()
	fl.cancel(nil)
}

func (fl *flight) giveUp() {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if !fl.entered {
		fl.cancel(errGaveUp)
	}
}

// enter notes that the tool runs from now on, unless the client gave up.
func (fl *flight) enter(g *worker.Grant) error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.request.Err() != nil {
		fl.cancel(errGaveUp)
		return errGaveUp
	}
	fl.entered, fl.grant = true, g
	return nil
}

// leave notes that the tool returned. A client that is gone gets no other
// attempt.
func (fl *flight) leave() {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.entered = false
	if fl.request.Err() != nil {
		fl.cancel(errGaveUp)
	}
}

// finish keeps the outcome. What the tool itself said of an outcome that is not
// known stays out of it: "failed, try again" is what a model must not read.
func (fl *flight) finish(a worker.Answer, err error) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if !a.Settled() && fl.failed && !isCode(a.Reason) {
		a.Reason = ""
	}
	fl.answer, fl.err = a, err
}

// isCode tells the journal's reasons from the words of a tool.
func isCode(reason string) bool {
	return !strings.ContainsFunc(reason, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
}

// fails notes that the tool reported a failure.
func (fl *flight) fails() {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.failed = true
}

// asks keeps a result that asks the client for input, and ends the call.
func (fl *flight) asks(res *mcp.CallToolResult) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.asking = res
	fl.cancel(errInput)
}

func (fl *flight) input() *mcp.CallToolResult {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.asking
}

// await waits for the outcome, at most so long while the client listens. Once
// it does not, the wait lasts to the end: a server that shuts down waits for
// its requests, and so for the tool.
func (fl *flight) await(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-fl.done:
		return true
	case <-fl.request.Done():
		<-fl.done
		return true
	case <-timer.C:
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	select {
	case <-fl.done:
		return true
	default:
		fl.answered = true
		return false
	}
}

// heard reports whether the client got the outcome, as far as can be known here.
func (fl *flight) heard() bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return !fl.answered && fl.request.Err() == nil
}

// stillRunning is the answer for a client that should not wait longer.
func (fl *flight) stillRunning() worker.Answer {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	a := worker.Answer{
		Status: worker.StatusInProgress, Note: noteStillRunning, Reason: reasonStillRunning,
		Since: time.Since(fl.started), RetryAfter: askAgainAfter, Directive: journal.DirectiveInProgress,
	}
	if g := fl.grant; g != nil {
		a.EffectID, a.Ref, a.Attempt = g.EffectID(), g.Ref(), g.Attempt()
	}
	return a
}

// passOn is the request for the tool: the client's, with the granted arguments.
func (fl *flight) passOn(args []byte, g *worker.Grant) *mcp.CallToolRequest {
	params := *fl.req.Params
	params.Arguments = args
	params.Meta = maps.Clone(params.Meta)
	if params.Meta == nil {
		params.Meta = mcp.Meta{}
	}
	params.Meta[MetaEffectID], params.Meta[MetaRef] = g.EffectID(), g.Ref()
	params.Meta[MetaProviderKey], params.Meta[MetaAttempt] = g.ProviderKey(), g.Attempt()
	return &mcp.CallToolRequest{Session: fl.req.Session, Params: &params, Extra: fl.req.Extra}
}

// send is the middleware for what tools tell clients while they run. A
// notification for a client that already has its answer would fail, and might
// make the tool fail: it is dropped.
func (f *Front) send(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		fl, ok := ctx.Value(flightKey{}).(*flight)
		if ok && strings.HasPrefix(method, "notifications/") && !fl.heard() {
			return nil, nil //nolint:nilnil // the contract for notifications
		}
		return next(ctx, method, req)
	}
}

// uncancelled is the journal, but a client's cancellation does not cut a begin
// off: the grant would be lost, and what never ran would count as sent.
type uncancelled struct{ worker.Journal }

func (j uncancelled) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	whole := context.WithoutCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		whole, cancel = context.WithDeadline(whole, end)
		defer cancel()
	}
	return j.Journal.Begin(whole, r)
}

// drain counts calls that run.
type drain struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n falls to 0; nil if nobody waits
}

func (d *drain) add() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
}

func (d *drain) done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.n--; d.n == 0 && d.idle != nil {
		close(d.idle)
		d.idle = nil
	}
}

func (d *drain) wait(ctx context.Context) error {
	d.mu.Lock()
	if d.n == 0 {
		d.mu.Unlock()
		return nil
	}
	if d.idle == nil {
		d.idle = make(chan struct{})
	}
	idle := d.idle
	d.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

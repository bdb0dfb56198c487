package landedmcp

import (
	"context"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// receive is the middleware for what clients ask.
func (f *Front) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case methodList:
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok && err == nil && f.ready.Load() {
				f.showTools(list)
			}
			return res, err
		case methodCall:
			if call, ok := req.(*mcp.CallToolRequest); ok {
				return f.call(ctx, call, next)
			}
			return f.render(f.refusal(reasonUndeclared, "the request is of a kind that can't be journaled"), nil), nil
		}
		return next(ctx, method, req)
	}
}

// call runs one tools/call. What it returns as an error is what the server
// itself says of tools that are not journaled.
func (f *Front) call(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	if !f.ready.Load() {
		return f.render(f.refusal(reasonUndeclared, "the server is not ready"), nil), nil
	}
	t := f.tools[req.Params.Name]
	if t == nil {
		switch ok, err := f.passes(ctx, req, next); {
		case err != nil:
			return nil, err
		case !ok:
			return f.render(f.refusal(reasonUndeclared, "the tool may change things and is not declared to the journal: whoever runs the server has to declare it, or to annotate it as read-only"), nil), nil
		}
		return next(ctx, methodCall, req)
	}
	a, problems := ask(req.Params.Meta)
	if err := f.complete(&a.call, req, t); err != nil {
		problems = append(problems, err.Error())
	}
	switch {
	case len(problems) > 0:
		return f.render(f.refusal(reasonBadKey, append(problems, wanted()...)...), nil), nil
	case a.keyed:
		fl := f.start(ctx, req, next, t, a.call)
		return f.settle(fl, a.timeout), nil
	}
	return f.callUnkeyed(ctx, req, next, t, a)
}

// start hands a call to the worker, on a goroutine of its own: the client may
// be answered before it ends.
func (f *Front) start(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler, t *Tool, call worker.Call) *flight {
	fl := newFlight(ctx, req, next, t)
	f.running.add()
	go func() {
		defer f.running.done()
		defer close(fl.done)
		defer fl.end()
		answer, err := f.worker.Do(fl.ctx, call)
		fl.finish(answer, err)
		if err != nil && fl.input() == nil {
			f.log.WarnContext(fl.ctx, "a journaled tool call did not end as it should", "tool", t.Name, "effect", answer.EffectID, "status", answer.Status, "reason", answer.Reason, "error", err)
		}
	}()
	return fl
}

// settle waits for the outcome and renders it.
func (f *Front) settle(fl *flight, timeout time.Duration) *mcp.CallToolResult {
	if !fl.await(f.answerWithin(timeout)) {
		return f.render(fl.stillRunning(), fl)
	}
	if res := fl.input(); res != nil {
		return res // the tool asks the client: nothing was sent
	}
	return f.render(fl.answer, fl)
}

// answerWithin leaves a client that says when it gives up a fifth of that time.
func (f *Front) answerWithin(timeout time.Duration) time.Duration {
	if timeout > 0 {
		return min(f.cfg.AnswerWithin, timeout/5*4)
	}
	return f.cfg.AnswerWithin
}

// run is the function of every journaled tool: it passes the call on to the
// server, with the arguments that the journal grants.
func (f *Front) run(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	fl, _ := ctx.Value(flightKey{}).(*flight)
	g, err := worker.Effect(ctx)
	if err != nil || fl == nil {
		return worker.Outcome{}, worker.NotSent(errNoRequest)
	}
	if err := fl.enter(g); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	defer fl.leave()
	args, err := fl.tool.fill(call.Args, g)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	res, err := fl.next(ctx, methodCall, fl.passOn(args, g))
	out, err := f.outcome(fl, res, err)
	if err != nil {
		fl.fails()
	}
	return out, err
}

// fill puts the reference and the provider's key into the arguments that take
// them.
func (t *Tool) fill(args []byte, g *worker.Grant) ([]byte, error) {
	key := g.ProviderKey()
	if t.KeyDashed {
		key = journal.Dashed(key)
	}
	return withMembers(args, member{t.RefInto, g.Ref()}, member{t.KeyInto, key})
}

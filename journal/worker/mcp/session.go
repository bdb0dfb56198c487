package landedmcp

import (
	"context"
	"fmt"
	"sync"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The notes for calls that a session's rule does not let through.
const (
	noteEarlierOpen  = "Not executed: an earlier call of this tool in this session has no known outcome yet, and nothing tells whether this call means the same effect. Ask again with the earlier arguments later; call with these only after that is settled."
	noteEarlierEnded = "Not executed: an earlier call of this tool ended without its answer reaching you. Read below what came of it, and call again only if this is another effect."
	noteCalledBefore = "This session made the very same call before, and it was done then: nothing was executed now. A second one can't be told from a repetition here: if a second one is meant, the client has to send a key of its own."
)

// sessions makes keys for clients that send none. It knows the sessions of this
// process only, and forgets each when it ends.
type sessions struct {
	mu  sync.Mutex
	all map[*mcp.ServerSession]*session
}

// session is what one client called. Its id is random and its own: the
// protocol's session id is a credential and does not belong into keys.
type session struct {
	id string

	mu    sync.Mutex
	count int
	open  map[string]*slot  // by tool, or by tool and identity
	heard map[string]string // tool and identity → the key of a call whose outcome the client knows
}

// slot is a call whose outcome the client does not know.
type slot struct {
	key    string
	calls  int            // of it that are on their way
	answer *worker.Answer // what it came to, settled without the client's hearing of it
	whole  string         // tool and identity of that call
}

func newSessions() *sessions { return &sessions{all: map[*mcp.ServerSession]*session{}} }

// of returns the session of a request, or nil if it has none that lasts: over
// HTTP one without an id is made for a single request.
func (s *sessions) of(req *mcp.CallToolRequest) *session {
	if s == nil || req.Session == nil || req.Session.ID() == "" && req.Extra != nil && req.Extra.Header != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[req.Session]
	if one == nil {
		one = &session{id: "mcp-session-" + journal.NewToken(), open: map[string]*slot{}, heard: map[string]string{}}
		s.all[req.Session] = one
		go func() {
			_ = req.Session.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.all, req.Session)
		}()
	}
	return one
}

// callUnkeyed runs a call of a client that sent no key, under one of its
// session's, if the configuration allows that.
func (f *Front) callUnkeyed(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler, t *Tool, a asked) (mcp.Result, error) {
	s := f.sessions.of(req)
	if s == nil {
		return f.render(f.refusal(reasonNoKey, wanted()...), nil), nil
	}
	identity, err := journal.Fingerprint(t.IdentityFields, journal.BeginRequest{Args: a.call.Args})
	if err != nil {
		return f.render(worker.Answer{Status: worker.StatusReplan, Note: noteBadArgs, Problems: []string{err.Error()}, Directive: journal.DirectiveReplan}, nil), nil
	}
	place := t.Name
	if len(t.IdentityFields) > 0 { // the operator said what makes two calls two effects
		place += " " + identity
	}
	whole := t.Name + " " + identity
	key, one := s.take(t.Name, place, whole)
	a.call.Key, a.call.Run.RootRun = key, s.id
	if a.call.Run.Turn == "" { // a long session must not use up one retry budget
		a.call.Run.Turn = key
	}
	fl := f.start(ctx, req, next, t, a.call)
	res := f.settle(fl, a.timeout)
	if one == nil { // the same call again, whose outcome the client knows
		return f.calledBefore(fl, res), nil
	}
	return f.release(s, one, fl, res, place, whole), nil
}

// take returns the key of a call: of the call before, if its outcome is not
// known to the client or the call is the very same; else a new one. The slot is
// nil for a call whose outcome the client knows.
func (s *session) take(tool, place, whole string) (string, *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[place]; one != nil {
		one.calls++
		return one.key, one
	}
	if key, ok := s.heard[whole]; ok {
		return key, nil
	}
	s.count++
	one := &slot{key: fmt.Sprintf("%s/%d/%s", s.id, s.count, tool), calls: 1}
	s.open[place] = one
	return one.key, one
}

// release closes a slot once the client knows the outcome of its call.
func (f *Front) release(s *session, one *slot, fl *flight, res *mcp.CallToolResult, place, whole string) *mcp.CallToolResult {
	heard := fl.heard()
	s.mu.Lock()
	defer s.mu.Unlock()
	one.calls--
	if !heard {
		go s.keep(one, fl, whole)
		return res
	}
	a := fl.answer
	switch {
	case a.Reason == "key_reused":
		return f.earlier(s, one, place, a)
	case !a.Settled(), unsure(a):
		return res
	case a.Status == worker.StatusReplan: // nothing was begun
		if one.calls == 0 && one.answer == nil {
			delete(s.open, place)
		}
		return res
	}
	s.heard[whole] = one.key
	delete(s.open, place)
	return res
}

// keep notes the outcome of a call whose client is gone or was answered early.
func (s *session) keep(one *slot, fl *flight, whole string) {
	<-fl.done
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := fl.answer; a.Settled() && a.Status != worker.StatusReplan && !unsure(a) {
		one.answer, one.whole = &a, whole
	}
}

// unsure reports whether a begin may have been written although its answer says
// that nothing was executed: the journal could not be asked.
func unsure(a worker.Answer) bool {
	return a.Status == worker.StatusHardStop && a.EffectID == ""
}

// earlier answers a call with other arguments than those of an earlier call
// whose outcome the client does not know. If it is known here, the client is
// told, and knows from now on.
func (f *Front) earlier(s *session, one *slot, place string, reused worker.Answer) *mcp.CallToolResult {
	a := worker.Answer{
		Status: worker.StatusReplan, Note: noteEarlierOpen, Reason: reasonEarlierOpen,
		EffectID: reused.EffectID, Problems: reused.Problems, Directive: journal.DirectiveReplan,
	}
	if before := one.answer; before != nil {
		a.Note, a.Reason = noteEarlierEnded, reasonEarlierEnded
		a.Problems = append(a.Problems, fmt.Sprintf("the earlier call came to %s: %s", before.Status, before.Note))
		a.Result, a.ProviderID = before.Result, before.ProviderID
		s.heard[one.whole] = one.key
		delete(s.open, place)
	}
	return f.render(a, nil)
}

// calledBefore says that a call was a repetition.
func (f *Front) calledBefore(fl *flight, res *mcp.CallToolResult) *mcp.CallToolResult {
	if !fl.heard() || fl.answer.Status != worker.StatusDone {
		return res
	}
	a := fl.answer
	a.Note, a.Reason = noteCalledBefore, reasonCalledBefore
	return f.render(a, fl)
}

package landedmcp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// slow is a tool that sends at once, and answers when it is let.
type slow struct {
	provider
	started chan struct{} // one value per run
	goOn    chan struct{}
}

func newSlow() *slow { return &slow{started: make(chan struct{}, 8), goOn: make(chan struct{}, 8)} }

func (s *slow) handler() handler {
	return func(_ context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
		out := s.send(in)
		s.started <- struct{}{}
		<-s.goOn
		return nil, out, nil
	}
}

func bySession(c *landedmcp.Config) { c.KeyBySession = true }

// giveUp makes a call whose client cancels it while the tool runs.
func giveUp(t *testing.T, cs *mcp.ClientSession, s *slow, known func(), in mail) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(ctx, params(nil, in))
		got <- err
	}()
	<-s.started
	cancel()
	if err := <-got; err == nil {
		t.Fatal("the call was answered")
	}
	known()
}

// TestSession_RepetitionOfAnUnheardCall: the client gave up, the model calls
// again with the same arguments: the first call's outcome, no second effect.
func TestSession_RepetitionOfAnUnheardCall(t *testing.T) {
	t.Parallel()
	store, s := openStore(t), newSlow()
	server := newServer(s.handler())
	f := attach(t, server, store, bySession)
	known := watch(server)
	cs := connect(t, server, nil)
	giveUp(t, cs, s, known, mail{To: "A1"})
	wantStatus(t, call(t, cs, nil, mail{To: "A1"}), worker.StatusInProgress)
	s.goOn <- struct{}{}
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := wantStatus(t, call(t, cs, nil, mail{To: "A1"}), worker.StatusDone); a["repeated"] != true || a["reason"] != nil {
		t.Errorf("answer %v", a)
	}
	s.want(t, 1)
}

// TestJ07_SessionRefusesARewordedRepetition: what was not heard of is not called
// in other words; once its outcome is told, another call is another effect.
func TestJ07_SessionRefusesARewordedRepetition(t *testing.T) {
	t.Parallel()
	store, s := openStore(t), newSlow()
	server := newServer(s.handler())
	f := attach(t, server, store, bySession)
	known := watch(server)
	cs := connect(t, server, nil)
	giveUp(t, cs, s, known, mail{To: "A1", Body: "late parcel"})
	reworded := mail{To: "A1", Body: "parcel was late"}
	if a := wantStatus(t, call(t, cs, nil, reworded), worker.StatusReplan); a["reason"] != "earlier_call_open" {
		t.Errorf("reason %v", a["reason"])
	}
	s.goOn <- struct{}{}
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	var told *mcp.CallToolResult
	until(t, "the outcome is noted", func() bool {
		told = call(t, cs, nil, reworded)
		return said(t, told)["reason"] != "earlier_call_open"
	})
	if a := wantStatus(t, told, worker.StatusReplan); a["reason"] != "earlier_call_unheard" || !strings.Contains(text(told), "m-1") {
		t.Errorf("reason %v, text %q", a["reason"], text(told))
	}
	s.want(t, 1)
	s.goOn <- struct{}{}
	wantStatus(t, call(t, cs, nil, reworded), worker.StatusDone) // the model has read what came of the first
	s.want(t, 2)
	// Also the first one, in its own words, is known to the client by now.
	if a := wantStatus(t, call(t, cs, nil, mail{To: "A1", Body: "late parcel"}), worker.StatusDone); a["reason"] != "called_before" {
		t.Errorf("reason %v", a["reason"])
	}
	s.want(t, 2)
}

// TestJ08_SessionNeitherDoublesNorDropsInSilence: the very same call again is
// not executed, and says so; another one is.
func TestJ08_SessionNeitherDoublesNorDropsInSilence(t *testing.T) {
	t.Parallel()
	store, p := openStore(t), &provider{}
	server := newServer(p.handler())
	attach(t, server, store, bySession)
	cs := connect(t, server, nil)
	wantStatus(t, call(t, cs, nil, mail{To: "A1"}), worker.StatusDone)
	again := call(t, cs, nil, mail{To: "A1"})
	a := wantStatus(t, again, worker.StatusDone)
	if a["reason"] != "called_before" || !strings.Contains(text(again), "nothing was executed now") || !strings.Contains(text(again), "m-1") {
		t.Errorf("reason %v, text %q", a["reason"], text(again))
	}
	p.want(t, 1)
	wantStatus(t, call(t, cs, nil, mail{To: "A2"}), worker.StatusDone)
	p.want(t, 2)
	wantStatus(t, call(t, cs, step("r", "s"), mail{To: "A1"}), worker.StatusDone) // a key of its own: a second one is meant
	p.want(t, 3)
	wantStatus(t, call(t, connect(t, server, nil), nil, mail{To: "A1"}), worker.StatusDone) // another session
	p.want(t, 4)
}

// TestSession_IdentityFields: effects that differ in what the operator named
// don't wait for each other.
func TestSession_IdentityFields(t *testing.T) {
	t.Parallel()
	store, s := openStore(t), newSlow()
	server := newServer(s.handler())
	attach(t, server, store, bySession, func(c *landedmcp.Config) { c.Tools[0].IdentityFields = []string{"to"} })
	known := watch(server)
	cs := connect(t, server, nil)
	giveUp(t, cs, s, known, mail{To: "A1", Body: "late parcel"})
	// Another recipient: another effect. The same one in other words: the first.
	s.goOn <- struct{}{}
	s.goOn <- struct{}{}
	wantStatus(t, call(t, cs, nil, mail{To: "A2"}), worker.StatusDone)
	until(t, "the first call is done", func() bool {
		return said(t, call(t, cs, nil, mail{To: "A1", Body: "parcel was late"}))["status"] == string(worker.StatusDone)
	})
	s.want(t, 2)
}

// TestSession_UnknownOutcome: nothing else is sent by the tool until a person
// decided; then the session gets the outcome and goes on.
func TestSession_UnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		decide func(t *testing.T, d func(journal.Verb, journal.ReissueMode))
		want   worker.Status
		sent   int64
	}{
		{"ordered again", func(_ *testing.T, d func(journal.Verb, journal.ReissueMode)) { d(journal.VerbReissue, journal.NewKey) }, worker.StatusDone, 2},
		{"closed as not done", func(_ *testing.T, d func(journal.Verb, journal.ReissueMode)) { d(journal.VerbCloseNotLanded, "") }, worker.StatusAbandoned, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, p := openStore(t), &provider{}
			broken := true
			server := newServer(func(_ context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
				out := p.send(in)
				if broken {
					return nil, sent{}, errBroken
				}
				return nil, out, nil
			})
			attach(t, server, store, bySession)
			cs := connect(t, server, nil)
			id := effectID(t, wantStatus(t, call(t, cs, nil, mail{To: "A1"}), worker.StatusUnknown))
			broken = false
			if a := wantStatus(t, call(t, cs, nil, mail{To: "A2"}), worker.StatusReplan); a["reason"] != "earlier_call_open" {
				t.Errorf("reason %v", a["reason"])
			}
			wantStatus(t, call(t, cs, nil, mail{To: "A1"}), worker.StatusUnknown)
			p.want(t, 1)
			tt.decide(t, func(v journal.Verb, m journal.ReissueMode) { decide(t, store, id, v, m) })
			wantStatus(t, call(t, cs, nil, mail{To: "A1"}), tt.want)
			p.want(t, tt.sent)
			wantStatus(t, call(t, cs, nil, mail{To: "A2"}), worker.StatusDone)
			p.want(t, tt.sent+1)
		})
	}
}

package landedmcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/landedhq/landed/journal/worker/workertest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestR04_ClientTimeoutIsNoFailure: the client gives up after a second, the tool
// takes two. What the model is told never invites another try: neither by a
// server that answers before the client gives up, nor by the next call.
func TestR04_ClientTimeoutIsNoFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		meta func(mcp.Meta)
	}{
		{"the client says when it gives up", func(m mcp.Meta) { m[landedmcp.MetaTimeoutMS] = 1000 }},
		{"the client just gives up", func(mcp.Meta) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, p := openStore(t), &provider{}
			server := newServer(func(ctx context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
				timer := time.NewTimer(2 * time.Second)
				defer timer.Stop()
				select {
				case <-timer.C:
					return nil, p.send(in), nil
				case <-ctx.Done():
					return nil, sent{}, fmt.Errorf("failed, please try again: %w", ctx.Err())
				}
			})
			f := attach(t, server, s, func(c *landedmcp.Config) { c.Worker.Patience = 0 }) // as in production
			cs := connect(t, server, nil)
			meta := step("r04", "mail")
			tt.meta(meta)
			until(t, "the agent gets the result", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				res, err := cs.CallTool(ctx, params(meta, mail{To: "A1"}))
				if err != nil {
					if meta[landedmcp.MetaTimeoutMS] != nil {
						t.Fatalf("the client was not answered in time: %v", err)
					}
					return false // its own time-out: the agent asks again
				}
				if said(t, res)["status"] == string(worker.StatusDone) {
					return true
				}
				wantStatus(t, res, worker.StatusInProgress)
				if res.IsError || !strings.Contains(text(res), "Do not start") || strings.Contains(text(res), "try again") {
					t.Fatalf("isError %v, %q", res.IsError, text(res))
				}
				return false
			})
			p.want(t, 1)
			if err := f.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestJ16_ErrorsAndPanicsAreUnknown: whatever a tool that was called says about
// its failure, without a word of how far it got the outcome is unknown, nothing
// is deleted, and the next call runs nothing.
func TestJ16_ErrorsAndPanicsAreUnknown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		fail func() (*mcp.CallToolResult, error)
	}{
		{"an error", func() (*mcp.CallToolResult, error) { return nil, errBroken }},
		{"R09: a result that is an error", func() (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "it failed, try again"}}}, nil
		}},
		{"a panic", func() (*mcp.CallToolResult, error) { panic("no such field") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, p := openStore(t), &provider{}
			server := newServer(func(_ context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
				out := p.send(in)
				res, err := tt.fail()
				return res, out, err
			})
			attach(t, server, s)
			cs := connect(t, server, nil)
			for range 2 {
				res := call(t, cs, step("j16", "mail"), mail{To: "A1"})
				a := wantStatus(t, res, worker.StatusUnknown)
				id := effectID(t, a)
				if a["link"] != "https://desk.example/e/"+id || !strings.Contains(text(res), a["link"].(string)) {
					t.Errorf("link %v, text %q", a["link"], text(res))
				}
				if strings.Contains(text(res), "try again") || strings.Contains(fmt.Sprint(res.StructuredContent), "try again") {
					t.Errorf("the model is invited to try again: %q", text(res))
				}
				if snap := effect(t, s, id); snap.Effect.State != journal.StateParked {
					t.Errorf("state %s", snap.Effect.State)
				}
			}
			p.want(t, 1)
		})
	}
}

// TestWhatToolsSay: a tool may say how far it got, in Go or in its result.
func TestWhatToolsSay(t *testing.T) {
	t.Parallel()
	isError := func(meta mcp.Meta) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Meta: meta, Content: []mcp.Content{&mcp.TextContent{Text: "no such customer"}}}, nil
	}
	refused := worker.Refused(errors.New("no such customer"), true)
	tests := []struct {
		name  string
		fail  func(ctx context.Context) (*mcp.CallToolResult, error)
		judge func(*mcp.CallToolResult) error
		want  worker.Status
	}{
		{"an error of package worker", func(context.Context) (*mcp.CallToolResult, error) { return nil, refused }, nil, worker.StatusRefused},
		{"metadata: refused", func(context.Context) (*mcp.CallToolResult, error) {
			return isError(mcp.Meta{landedmcp.MetaPhase: "refused"})
		}, nil, worker.StatusRefused},
		{"metadata: refused, not final", func(context.Context) (*mcp.CallToolResult, error) {
			return isError(mcp.Meta{landedmcp.MetaPhase: "refused", landedmcp.MetaFinal: false, landedmcp.MetaRetryAfterMS: 60000})
		}, nil, worker.StatusInProgress},
		{"metadata: not sent", func(context.Context) (*mcp.CallToolResult, error) {
			return isError(mcp.Meta{landedmcp.MetaPhase: "not_sent", landedmcp.MetaRetryAfterMS: 60000})
		}, nil, worker.StatusInProgress},
		{"metadata: sent", func(context.Context) (*mcp.CallToolResult, error) {
			return isError(mcp.Meta{landedmcp.MetaPhase: "sent"})
		}, nil, worker.StatusUnknown},
		{"metadata that means nothing", func(context.Context) (*mcp.CallToolResult, error) {
			return isError(mcp.Meta{landedmcp.MetaPhase: "dunno"})
		}, nil, worker.StatusUnknown},
		{"the transport's record", func(ctx context.Context) (*mcp.CallToolResult, error) {
			if err := worker.Preparing(ctx); err != nil {
				return nil, err
			}
			return nil, errors.New("the provider's name does not resolve")
		}, nil, worker.StatusInProgress},
		{"the record outweighs the word", func(ctx context.Context) (*mcp.CallToolResult, error) {
			if err := worker.Sending(ctx); err != nil {
				return nil, err
			}
			return nil, worker.NotSent(errBroken)
		}, nil, worker.StatusUnknown},
		{"R09: a success that the operator knows to be none", func(context.Context) (*mcp.CallToolResult, error) { return nil, nil },
			func(*mcp.CallToolResult) error { return refused }, worker.StatusRefused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			server := newServer(func(ctx context.Context, _ *mcp.CallToolRequest, _ mail) (*mcp.CallToolResult, sent, error) {
				res, err := tt.fail(ctx)
				return res, sent{}, err
			})
			attach(t, server, s, func(c *landedmcp.Config) { c.Tools[0].Judge, c.Worker.Patience = tt.judge, -1 })
			cs := connect(t, server, nil)
			res := call(t, cs, step("r", "s"), mail{To: "A1"})
			a := wantStatus(t, res, tt.want)
			if tt.want == worker.StatusRefused && !strings.Contains(text(res), "no such customer") {
				t.Errorf("the model is not told why: %q", text(res))
			}
			if all := fmt.Sprint(text(res), res.StructuredContent, a); tt.want != worker.StatusRefused &&
				(strings.Contains(all, "customer") || strings.Contains(all, "resolve")) {
				t.Errorf("the model reads the tool's words of an outcome that is not known: %s", all)
			}
			if tt.want == worker.StatusInProgress && a["retry_at"] == nil {
				t.Errorf("no time to ask again: %v", a)
			}
		})
	}
}

// TestTwoFronts: a tool that two fronts journal under one key is not taken for
// done because the inner one has an answer.
func TestTwoFronts(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	server := newServer(p.handler())
	attach(t, server, s)
	attach(t, server, s)
	res := call(t, connect(t, server, nil), step("r", "s"), mail{To: "A1"})
	if a := said(t, res); a["status"] == string(worker.StatusDone) {
		t.Errorf("answer %v", a)
	}
	p.want(t, 0)
}

// TestJ20_JournalUnreachable: before the call nothing runs, after it the model
// is told not to repeat it, and gets the result all the same.
func TestJ20_JournalUnreachable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		broken   string
		want     worker.Status
		reason   string
		provider int64
		mention  string
	}{
		{"begin", worker.StatusHardStop, "journal_unavailable", 0, "Not executed"},
		{"commit", worker.StatusDone, "done_unrecorded", 1, "Do not repeat it"},
	} {
		t.Run(tt.broken, func(t *testing.T) {
			t.Parallel()
			p, broken := &provider{}, &unreachable{Journal: openStore(t), call: tt.broken}
			server := newServer(p.handler())
			attach(t, server, broken, func(c *landedmcp.Config) {
				c.Worker.BeginWithin, c.Worker.ReportWithin = 30*time.Millisecond, 30*time.Millisecond
			})
			cs := connect(t, server, nil)
			res := call(t, cs, step("j20", "mail"), mail{To: "A1"})
			a := wantStatus(t, res, tt.want)
			if a["reason"] != tt.reason || !strings.Contains(text(res), tt.mention) {
				t.Errorf("reason %v, text %q", a["reason"], text(res))
			}
			if tt.broken == "commit" && !strings.Contains(text(res), "m-1") {
				t.Errorf("the result is lost: %q", text(res))
			}
			p.want(t, tt.provider)
			again := call(t, cs, step("j20", "mail"), mail{To: "A1"})
			if tt.broken == "commit" {
				wantStatus(t, again, worker.StatusInProgress)
			}
			p.want(t, tt.provider)
		})
	}
}

// unreachable is a journal one call of which fails.
type unreachable struct {
	worker.Journal
	call string
}

func (u *unreachable) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	if u.call == "begin" {
		return journal.BeginAnswer{}, fmt.Errorf("dialling: %w", journal.ErrUnavailable)
	}
	return u.Journal.Begin(ctx, r)
}

func (u *unreachable) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if u.call == "commit" {
		return journal.CommitAnswer{}, fmt.Errorf("dialling: %w", journal.ErrUnavailable)
	}
	return u.Journal.Commit(ctx, r)
}

// TestProgressAndHeartbeats: what a tool tells while it runs reaches the client,
// and the lease outlives a tool that takes longer.
func TestProgressAndHeartbeats(t *testing.T) {
	t.Parallel()
	j, p := workertest.NewMemory(), &provider{}
	lease := 60 * time.Millisecond
	server := newServer(func(ctx context.Context, req *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
		g, err := worker.Effect(ctx)
		if err != nil {
			return nil, sent{}, err
		}
		if req.Params.Meta[landedmcp.MetaRef] != g.Ref() || req.Params.Meta[landedmcp.MetaEffectID] != g.EffectID() {
			return nil, sent{}, fmt.Errorf("the request says %v, the grant is of %s", req.Params.Meta, g.EffectID())
		}
		for i := range 3 {
			timer := time.NewTimer(2 * lease)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return nil, sent{}, context.Cause(ctx)
			}
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3}); err != nil {
				return nil, sent{}, err
			}
		}
		return nil, p.send(in), nil
	})
	attach(t, server, short{j, lease})
	seen := make(chan float64, 8)
	cs := connect(t, server, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		seen <- req.Params.Progress
	}})
	meta := step("r", "s")
	meta["progressToken"] = "p-1"
	wantStatus(t, call(t, cs, meta, mail{To: "A1"}), worker.StatusDone)
	for want := range 3 {
		if got := <-seen; got != float64(want+1) {
			t.Errorf("progress %v, want %d", got, want+1)
		}
	}
}

// short is a journal whose leases are short.
type short struct {
	worker.Journal
	lease time.Duration
}

func (s short) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	r.Lease = s.lease
	return s.Journal.Begin(ctx, r)
}

// TestAnsweredEarly: a client that waits too long is told that it still runs;
// what the tool tells afterwards is dropped and does not make it fail.
func TestAnsweredEarly(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	goOn := make(chan struct{})
	server := newServer(func(ctx context.Context, req *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
		<-goOn
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p-1", Progress: 1}); err != nil {
			return nil, sent{}, err
		}
		return nil, p.send(in), nil
	})
	f := attach(t, server, s, func(c *landedmcp.Config) { c.AnswerWithin = 100 * time.Millisecond })
	told := make(chan struct{}, 8)
	cs := connect(t, server, &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
		told <- struct{}{}
	}})
	first := call(t, cs, step("r", "s"), mail{To: "A1"})
	a := wantStatus(t, first, worker.StatusInProgress)
	if a["reason"] != "still_running" || a["retry_at"] == nil || effectID(t, a) == "" {
		t.Errorf("answer %v", a)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := f.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("draining while a tool runs: %v", err)
	}
	close(goOn)
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, call(t, cs, step("r", "s"), mail{To: "A1"}), worker.StatusDone)
	p.want(t, 1)
	if len(told) != 0 {
		t.Error("a client that had its answer was told of progress")
	}
}

// TestOrderRunsTheStoredArguments: after a person's decision the next call under
// the key executes, with the arguments that were recorded first.
func TestOrderRunsTheStoredArguments(t *testing.T) {
	t.Parallel()
	s, p := openStore(t), &provider{}
	broken := true
	server := newServer(func(_ context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, sent, error) {
		out := p.send(in)
		if broken {
			return nil, sent{}, errBroken
		}
		return nil, out, nil
	})
	attach(t, server, s, func(c *landedmcp.Config) { c.Tools[0].IdentityFields = []string{"to"} })
	cs := connect(t, server, nil)
	a := wantStatus(t, call(t, cs, step("r", "s"), mail{To: "A1", Body: "first words"}), worker.StatusUnknown)
	id := effectID(t, a)
	order(t, s, id)
	broken = false
	res := call(t, cs, step("r", "s"), mail{To: "A1", Body: "other words"})
	wantStatus(t, res, worker.StatusDone)
	want := []mail{{To: "A1", Body: "first words"}, {To: "A1", Body: "first words"}}
	if diff := cmp.Diff(want, p.args); diff != "" {
		t.Errorf("the tool ran with (-want +got):\n%s", diff)
	}
	if snap := effect(t, s, id); snap.Effect.State != journal.StateCommitted || snap.Effect.Attempt != 2 {
		t.Errorf("state %s after %d attempts", snap.Effect.State, snap.Effect.Attempt)
	}
}

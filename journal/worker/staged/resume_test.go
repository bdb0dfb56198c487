package staged_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// Every handle is read before one is finished: another may have taken effect.
func TestSeveralHandles(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		first    staged.State // of the handle of attempt 1, at attempt 3
		second   staged.State
		finished string // the handle that attempt 3 finishes
		phase    journal.Phase
	}{
		{"the second took effect", staged.Open, staged.Done, "", journal.PhaseConfirmed},
		{"the first took effect", staged.Done, staged.Open, "", journal.PhaseConfirmed},
		{"the second is under way", staged.Open, staged.Pending, "", journal.PhaseSent},
		{"the first is under way", staged.Pending, staged.Open, "", journal.PhaseSent},
		{"under way and gone", staged.Pending, staged.Gone, "", journal.PhaseSent},
		{"both wait", staged.Open, staged.Open, "h-1", journal.PhaseConfirmed},
		{"one waits", staged.Gone, staged.Open, "h-2", journal.PhaseConfirmed},
		{"none is left, and a person ordered another", staged.Gone, staged.Gone, "h-3", journal.PhaseConfirmed},
		{"a state that is none", "odd", staged.Open, "", journal.PhaseNotSent},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := workertest.NewMemory()
			made, finished := 0, ""
			states := map[string]staged.State{"h-1": staged.Gone}
			steps := staged.Steps{
				Kind: "x",
				Create: func(context.Context) (staged.Handle, error) {
					made++
					return staged.Handle{Value: "h-" + string(rune('0'+made))}, nil
				},
				Read: func(_ context.Context, h staged.Handle) (staged.Reading, error) {
					return staged.Reading{State: states[h.Value], Outcome: worker.Outcome{ProviderID: h.Value}}, nil
				},
				Finish: func(_ context.Context, h staged.Handle) (worker.Outcome, error) {
					if made < 2 || states["h-2"] == "" {
						return worker.Outcome{}, errors.New("the answer is lost")
					}
					finished = h.Value
					return worker.Outcome{ProviderID: h.Value}, nil
				},
			}
			run := func(ctx context.Context) (worker.Outcome, error) { return staged.Run(ctx, steps) }
			for range 2 {
				attempts(t, m, run)
				if err := m.Decide("k", journal.VerbReissue, journal.NewKey); err != nil {
					t.Fatal(err)
				}
			}
			states["h-1"], states["h-2"] = row.first, row.second
			list := attempts(t, m, run)
			if last := list[len(list)-1]; last.Phase != row.phase || finished != row.finished {
				t.Fatalf("attempt %d ended %s (%s) and finished %q; want %s and %q", last.Number, last.Phase, last.Error, finished, row.phase, row.finished)
			}
		})
	}
}

// A handle that can't be read is not passed over: nothing new is made.
func TestAHandleThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	m := workertest.NewMemory()
	made := 0
	steps := staged.Steps{
		Kind:   "x",
		Create: func(context.Context) (staged.Handle, error) { made++; return staged.Handle{Value: "h-1"}, nil },
		Read: func(context.Context, staged.Handle) (staged.Reading, error) {
			return staged.Reading{}, errors.New("503")
		},
		Finish: func(context.Context, staged.Handle) (worker.Outcome, error) {
			return worker.Outcome{}, errors.New("lost")
		},
	}
	run := func(ctx context.Context) (worker.Outcome, error) { return staged.Run(ctx, steps) }
	attempts(t, m, run)
	if err := m.Decide("k", journal.VerbReissue, journal.NewKey); err != nil {
		t.Fatal(err)
	}
	list := attempts(t, m, run)
	if last := list[len(list)-1]; last.Phase != journal.PhaseNotSent || made != 1 {
		t.Fatalf("the attempt ended %s, %d were made", last.Phase, made)
	}
}

// net/http repeats a request with an Idempotency-Key on a connection that
// breaks. Not one of ours.
func TestR06_NoRequestIsRepeatedByTheTransport(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{}`)
			return
		}
		posts.Add(1)
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for range 2 {
		var v map[string]string
		if there, err := staged.Get(t.Context(), client, server.URL, nil, &v); err != nil || !there {
			t.Fatal(there, err) // the next request finds a connection to use again
		}
		req, err := staged.Request(t.Context(), http.MethodPost, server.URL, http.Header{"Idempotency-Key": {"k"}}, []byte(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (worker.Classifier{}).Send(staged.Once(client), req); err == nil {
			t.Error("a lost answer is no error")
		}
	}
	if n := posts.Load(); n != 2 {
		t.Fatalf("the provider got %d requests, want one for each", n)
	}
}

// The attempt's time ends while the connection is made: the request must not be
// written any more, and as the transport may have begun to, the outcome is unknown.
func TestTooLateWhenTheConnectionStands(t *testing.T) {
	t.Parallel()
	s := &shop{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	slow := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		for worker.Preparing(ctx) == nil {
			time.Sleep(time.Millisecond) // until the worker refuses
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	list := attempt(t, func(ctx context.Context) (worker.Outcome, error) {
		return staged.Run(ctx, steps(server.URL, &http.Client{Transport: byPath{finish: slow, other: http.DefaultTransport}}))
	})
	if list[0].Phase != journal.PhaseSent || !strings.Contains(list[0].Error, worker.ErrTooLate.Error()) {
		t.Fatalf("the attempt ended %s: %s", list[0].Phase, list[0].Error)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := &shop{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/capture") && r.URL.RawQuery == "" {
			http.Redirect(w, r, r.URL.Path+"?again", http.StatusFound)
			return
		}
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"id":"looks like success"}`)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	list := attempt(t, func(ctx context.Context) (worker.Outcome, error) {
		return staged.Run(ctx, steps(server.URL, http.DefaultClient))
	})
	if list[0].Phase != journal.PhaseSent || s.count("done") != 0 {
		t.Fatalf("the attempt ended %s, sent %d", list[0].Phase, s.count("done"))
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status int
		body   string
		there  bool
		fails  bool
	}{
		{200, `{"id":"a"}`, true, false},
		{404, `{}`, false, false},
		{410, ``, false, false},
		{200, `<html>`, false, true},
		{403, `{}`, false, true},
		{503, `{}`, false, true},
		{302, ``, false, true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, row.body)
		}))
		t.Cleanup(server.Close)
		var v struct{ ID string }
		there, err := staged.Get(t.Context(), nil, server.URL, nil, &v)
		if there != row.there || (err != nil) != row.fails {
			t.Errorf("%d %s: there %v, %v", row.status, row.body, there, err)
		}
	}
}

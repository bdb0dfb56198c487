package staged_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
	"github.com/landedhq/landed/journal/worker/staged/stagedtest"
)

// shop is a provider of orders: created, then captured.
type shop struct {
	mu     sync.Mutex
	orders []string // their states
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest, _ := strings.CutPrefix(r.URL.Path, "/orders")
	id, captures := strings.CutSuffix(strings.TrimPrefix(rest, "/"), "/capture")
	n := -1
	if id != "" {
		if _, err := fmt.Sscanf(id, "o-%d", &n); err != nil || n >= len(s.orders) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
	}
	switch {
	case r.Method == http.MethodPost && id == "":
		s.orders = append(s.orders, "open")
		n = len(s.orders) - 1
	case captures && s.orders[n] != "open":
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	case captures:
		s.orders[n] = "done"
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"id": fmt.Sprintf("o-%d", n), "state": s.orders[n]})
}

func (s *shop) count(states ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, o := range s.orders {
		for _, want := range states {
			if o == want {
				n++
			}
		}
	}
	return n
}

func (s *shop) turn(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.orders {
		if o == from {
			s.orders[i] = to
		}
	}
}

// steps are those of the shop at url.
func steps(url string, client *http.Client) staged.Steps {
	return staged.Steps{
		Kind: "order",
		Create: func(ctx context.Context) (staged.Handle, error) {
			out, err := post(ctx, client, url+"/orders")
			return staged.Handle{Value: out.ProviderID}, err
		},
		Read: func(ctx context.Context, h staged.Handle) (staged.Reading, error) {
			var o struct{ ID, State string }
			there, err := staged.Get(ctx, client, url+"/orders/"+h.Value, nil, &o)
			if err == nil && !there {
				o.State = string(staged.Gone)
			}
			return staged.Reading{State: staged.State(o.State), Outcome: worker.Outcome{ProviderID: o.ID}}, err
		},
		Finish: func(ctx context.Context, h staged.Handle) (worker.Outcome, error) {
			return post(ctx, client, url+"/orders/"+h.Value+"/capture")
		},
	}
}

func (s *shop) rig() stagedtest.Rig {
	return stagedtest.Rig{
		Kind: "order", Handler: s,
		Step: func(r *http.Request, _ []byte) stagedtest.Step {
			switch {
			case r.Method != http.MethodPost:
				return stagedtest.Look
			case strings.HasSuffix(r.URL.Path, "/capture"):
				return stagedtest.Finish
			}
			return stagedtest.Create
		},
		Run: func(url string, client *http.Client) worker.RunFunc {
			return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
				return staged.Run(ctx, steps(url, client))
			}
		},
		Made:     func() int { return s.count("open", "done", "gone") },
		Sent:     func() int { return s.count("done") },
		Discard:  func() { s.turn("open", "gone") },
		Complete: func() { s.turn("open", "done") },
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig { return (&shop{}).rig() })
}

func TestCasesOfAClassThatRepeats(t *testing.T) {
	t.Parallel()
	stagedtest.Run(t, func(*testing.T) stagedtest.Rig {
		r := (&shop{}).rig()
		r.Class = journal.ClassProviderIdempotent
		return r
	})
}

// silent hides connections from net/http/httptrace, as a transport of another make
// does.
type silent struct{ next http.RoundTripper }

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	return s.next.RoundTrip(r.WithContext(context.WithoutCancel(hidden{r.Context()})))
}

// hidden carries a context's end and no values.
type hidden struct{ context.Context }

func (hidden) Value(any) any { return nil }

// broken answers nothing to a finish and was never seen to connect.
type broken struct{ next http.RoundTripper }

func (b broken) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/capture") {
		return nil, io.ErrUnexpectedEOF
	}
	return b.next.RoundTrip(r)
}

func TestForeignTransports(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		client http.RoundTripper
		phase  journal.Phase
		sent   int
	}{
		{"its answer counts", silent{http.DefaultTransport}, journal.PhaseConfirmed, 1},
		{"its error proves nothing", broken{silent{http.DefaultTransport}}, journal.PhaseSent, 0},
		{"no connection of net/http's proves that nothing left", noFinish(), journal.PhaseNotSent, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			attempts := attempt(t, func(ctx context.Context) (worker.Outcome, error) {
				return staged.Run(ctx, steps(server.URL, &http.Client{Transport: row.client}))
			})
			if len(attempts) != 1 || attempts[0].Phase != row.phase || s.count("done") != row.sent {
				t.Fatalf("%d attempts, the first %s, sent %d; want %s and %d", len(attempts), attempts[0].Phase, s.count("done"), row.phase, row.sent)
			}
		})
	}
}

// noFinish can't connect for a finish.
func noFinish() http.RoundTripper {
	nowhere := &http.Transport{DialContext: dialError}
	return byPath{finish: nowhere, other: http.DefaultTransport}
}

type byPath struct{ finish, other http.RoundTripper }

func (b byPath) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/capture") {
		return b.finish.RoundTrip(r)
	}
	return b.other.RoundTrip(r)
}

func TestErrorsOfTheSteps(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	make1 := func(context.Context) (staged.Handle, error) { return staged.Handle{Value: "h-1"}, nil }
	for _, row := range []struct {
		name   string
		steps  staged.Steps
		phase  journal.Phase
		reason string
	}{
		{"nothing to run", staged.Steps{Kind: "x"}, journal.PhaseNotSent, "the steps need"},
		{"a creation that may have been applied", staged.Steps{Create: func(context.Context) (staged.Handle, error) { return staged.Handle{}, worker.Unknown(boom) }}, journal.PhaseNotSent, "boom"},
		{"a creation without an id", staged.Steps{Create: func(context.Context) (staged.Handle, error) { return staged.Handle{}, nil }}, journal.PhaseNotSent, "gave no id"},
		{"a finish that fails before its request", staged.Steps{Create: make1,
			Finish: func(context.Context, staged.Handle) (worker.Outcome, error) {
				return worker.Outcome{}, worker.NotSent(boom)
			}}, journal.PhaseNotSent, "finishing x h-1"},
		{"a finish that says nothing of how far it got", staged.Steps{Create: make1,
			Finish: func(context.Context, staged.Handle) (worker.Outcome, error) { return worker.Outcome{}, boom }}, journal.PhaseSent, "finishing x h-1"},
		{"a refused finish of what turns out to be pending", staged.Steps{Create: make1,
			Finish: func(context.Context, staged.Handle) (worker.Outcome, error) {
				return worker.Outcome{}, worker.Refused(boom, true)
			},
			Read: func(context.Context, staged.Handle) (staged.Reading, error) {
				return staged.Reading{State: staged.Pending, Detail: "on its way"}, nil
			}}, journal.PhaseSent, "was accepted and is not finished"},
		{"a refused finish of what can't be read", staged.Steps{Create: make1,
			Finish: func(context.Context, staged.Handle) (worker.Outcome, error) {
				return worker.Outcome{}, worker.Refused(boom, true)
			},
			Read: func(context.Context, staged.Handle) (staged.Reading, error) {
				return staged.Reading{}, errors.New("no")
			}}, journal.PhaseRefused, "boom"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := row.steps
			s.Kind = "x"
			if s.Create != nil {
				s.Read, s.Finish = or(s.Read, readNothing), orFinish(s.Finish)
			}
			attempts := attempt(t, func(ctx context.Context) (worker.Outcome, error) { return staged.Run(ctx, s) })
			if a := attempts[0]; a.Phase != row.phase || !strings.Contains(a.Error, row.reason) {
				t.Fatalf("the attempt ended %s: %s; want %s: …%s…", a.Phase, a.Error, row.phase, row.reason)
			}
		})
	}
}

func TestWithoutAGrant(t *testing.T) {
	t.Parallel()
	if _, err := staged.Run(t.Context(), staged.Steps{Kind: "x"}); !errors.Is(err, worker.ErrNoGrant) {
		t.Fatalf("Run = %v, want ErrNoGrant", err)
	}
}

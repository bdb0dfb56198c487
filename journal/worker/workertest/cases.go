package workertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// lease is the shortest that the default policy grants: a crash shows after it.
const lease = time.Second

// RunCases runs the worker cases on journals that open makes, one per case. A
// journal needs no tools; leases of one second must be allowed.
func RunCases(t *testing.T, open func(t *testing.T) worker.Journal) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, j worker.Journal)
	}{
		{"J01_KilledBetweenProviderAndRecord", caseJ01},
		{"J02_OneRunPerAllowedAttempt", caseJ02},
		{"J03_ResumeReturnsTheRecordedBytes", caseJ03},
		{"J04_RedispatchWhileAlive", caseJ04},
		{"J05_SameJobDeliveredFourTimes", caseJ05},
		{"J06_ReplayedMuchLater", caseJ06},
		{"J07_RewordedArguments", caseJ07},
		{"J08_AnotherCallIDSameBusinessObject", caseJ08},
		{"J09_SameKeyOtherArguments", caseJ09},
		{"J10_SameKeyOtherOperation", caseJ10},
		{"J14_FiftyCallersAtOnce", caseJ14},
		{"J17_RefusalIsFinal", caseJ17},
		{"R16_RateLimitIsSafeServerErrorIsNot", caseR16},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

// kit is one worker with one tool that posts to a provider.
type kit struct {
	worker   *worker.Worker
	provider *Provider
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// newKit registers tool names of class and a worker that posts args to p.
func newKit(t *testing.T, j worker.Journal, p *Provider, class journal.Class, o worker.Options, names ...string) kit {
	t.Helper()
	r := worker.NewRegistry()
	for _, name := range names {
		spec := worker.ToolSpec{
			Tool:    journal.Tool{Name: name, Class: class, ClientTimeout: 5 * time.Second},
			Tracked: true, Run: Post(p.URL),
		}
		if class == journal.ClassProviderIdempotent {
			spec.KeyWindow, spec.KeyHeader = 24*time.Hour, "Idempotency-Key"
		}
		if err := r.Register(spec); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Sync(t.Context(), j); err != nil {
		t.Fatalf("syncing the tools: %v", err)
	}
	if o.Logger == nil {
		o.Logger = quiet()
	}
	return kit{worker: worker.New(j, r, o), provider: p}
}

// Post is a tool that posts its arguments to url and classifies the answer.
func Post(url string) worker.RunFunc {
	return func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
		client, err := worker.Client(ctx)
		if err != nil {
			return worker.Outcome{}, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(call.Args)))
		if err != nil {
			return worker.Outcome{}, worker.NotSent(err)
		}
		return worker.Classifier{}.Send(client, req)
	}
}

func call(tool, run, step string) worker.Call {
	return worker.Call{Tool: tool, Run: worker.Run{RootRun: run}, Step: step, Operation: tool, Args: []byte(`{"to":"a"}`), Lease: lease}
}

// mustDo fails unless the call ends with a status.
func (k kit) mustDo(t *testing.T, c worker.Call, want worker.Status) worker.Answer {
	t.Helper()
	a, err := k.worker.Do(t.Context(), c)
	if err != nil || a.Status != want {
		t.Fatalf("Do = %s (%s), %v; want %s", a.Status, a.Reason, err, want)
	}
	return a
}

func (k kit) wantRequests(t *testing.T, want int) {
	t.Helper()
	if got := k.provider.Count(); got != want {
		t.Fatalf("the provider got %d requests, want %d", got, want)
	}
}

// dying is a journal whose worker is killed after the grant: nothing is
// reported any more.
type dying struct{ worker.Journal }

func (dying) Commit(context.Context, journal.CommitRequest) (journal.CommitAnswer, error) {
	return journal.CommitAnswer{}, journal.ErrUnavailable
}

func (dying) Fail(context.Context, journal.FailRequest) (journal.FailAnswer, error) {
	return journal.FailAnswer{}, journal.ErrUnavailable
}

func (dying) Heartbeat(context.Context, journal.Report) (journal.HeartbeatAnswer, error) {
	return journal.HeartbeatAnswer{}, journal.ErrUnavailable
}

func caseJ01(t *testing.T, j worker.Journal) {
	p := NewProvider(t, nil)
	killed := newKit(t, dying{j}, p, journal.ClassAtMostOnce, worker.Options{ReportWithin: 50 * time.Millisecond}, "mail.send")
	a, err := killed.worker.Do(t.Context(), call("mail.send", "j01", "s1"))
	var unrecorded *journal.DoneUnrecordedError
	if !errors.As(err, &unrecorded) || a.Status != worker.StatusDone {
		t.Fatalf("the killed worker got %s, %v; want done and DoneUnrecordedError", a.Status, err)
	}
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{Patience: -1}, "mail.send")
	k.mustDo(t, call("mail.send", "j01", "s1"), worker.StatusInProgress)
	waiting := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{Patience: 20 * time.Second}, "mail.send")
	if a = waiting.mustDo(t, call("mail.send", "j01", "s1"), worker.StatusUnknown); !a.Parked() {
		t.Fatalf("after the lease the directive is %s, want parked: an operator has to see it", a.Directive)
	}
	k.wantRequests(t, 1)
}

func caseJ02(t *testing.T, j worker.Journal) {
	release := make(chan struct{})
	p := NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		select { // it has succeeded; the answer takes longer than the runtime's limit
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(`{"id":"p-2"}`))
	})
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{Patience: -1}, "mail.send")
	first := make(chan worker.Answer, 1)
	go func() {
		a, _ := k.worker.Do(t.Context(), call("mail.send", "j02", "s1"))
		first <- a
	}()
	waitFor(t, func() bool { return p.Count() == 1 })
	for range 2 {
		k.mustDo(t, call("mail.send", "j02", "s1"), worker.StatusInProgress)
	}
	close(release)
	if a := <-first; a.Status != worker.StatusDone {
		t.Fatalf("attempt 1 ended %s, want done", a.Status)
	}
	k.wantRequests(t, 1)
}

func caseJ03(t *testing.T, j worker.Journal) {
	const body = "{\"id\":\"p-3\",  \"html\":\"<b>&amp;</b>\" }\n"
	p := NewProvider(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "mail.send")
	for i := range 5 {
		a := k.mustDo(t, call("mail.send", "run7", "node2"), worker.StatusDone)
		if string(a.Result) != body || a.Repeated != (i > 0) {
			t.Fatalf("call %d: result %q, repeated %v", i+1, a.Result, a.Repeated)
		}
	}
	k.wantRequests(t, 1)
}

func caseJ04(t *testing.T, j worker.Journal) {
	release := make(chan struct{})
	p := NewProvider(t, func(w http.ResponseWriter, _ *http.Request) { <-release; _, _ = w.Write([]byte(`{}`)) })
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{Patience: -1}, "mail.send")
	done := make(chan struct{})
	go func() { defer close(done); _, _ = k.worker.Do(t.Context(), call("mail.send", "j04", "s1")) }()
	waitFor(t, func() bool { return p.Count() == 1 })
	// Beyond the first lease: heartbeats keep the effect with A.
	end := time.Now().Add(lease * 3 / 2)
	for time.Now().Before(end) {
		a := k.mustDo(t, call("mail.send", "j04", "s1"), worker.StatusInProgress)
		if a.EffectID == "" || a.Since < 0 || a.RetryAfter <= 0 {
			t.Fatalf("B got no identity, age or time to ask again: %+v", a)
		}
		_ = tick(t)
	}
	close(release)
	<-done
	k.wantRequests(t, 1)
}

func caseJ05(t *testing.T, j worker.Journal) {
	p := NewProvider(t, nil)
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "mail.send")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 3 {
				c := call("mail.send", "batch9", "mailing")
				c.Item = fmt.Sprint("recipient-", i)
				if a, err := k.worker.Do(t.Context(), c); err != nil || a.Status != worker.StatusDone {
					t.Errorf("Do = %s, %v", a.Status, err)
				}
			}
		})
	}
	wg.Wait()
	k.wantRequests(t, 3)
}

func caseJ06(t *testing.T, j worker.Journal) {
	p := NewProvider(t, nil)
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "mail.send")
	first := k.mustDo(t, call("mail.send", "j06", "s1"), worker.StatusDone)
	again := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "mail.send") // the host was replaced
	a := again.mustDo(t, call("mail.send", "j06", "s1"), worker.StatusDone)
	if a.EffectID != first.EffectID || string(a.Result) != string(first.Result) || a.ProviderID != "p-1" {
		t.Fatalf("the replay got %+v, want the recorded %+v", a, first)
	}
	k.wantRequests(t, 1)
}

func caseJ07(t *testing.T, j worker.Journal) {
	p := NewProvider(t, nil)
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "refund")
	c := call("refund", "r1", "refund")
	c.Item, c.Args = "A1", []byte(`{"order":"A1","note":"late parcel"}`)
	k.mustDo(t, c, worker.StatusDone)
	c.Args = []byte(`{"order":"A1","note":"parcel was late"}`)
	_, err := k.worker.Do(t.Context(), c)
	var reused *journal.KeyReusedError
	if !errors.As(err, &reused) {
		t.Fatalf("reworded arguments under the same key: %v, want KeyReusedError", err)
	}
	k.wantRequests(t, 1)
}

func caseJ08(t *testing.T, j worker.Journal) {
	p := NewProvider(t, nil)
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "ticket.open")
	c := call("ticket.open", "j08", "open")
	c.Item = "order-17"
	first := k.mustDo(t, c, worker.StatusDone)
	c.Run = c.Run.Child("agent-2") // another agent of the same root run repeats it
	if a := k.mustDo(t, c, worker.StatusDone); a.EffectID != first.EffectID || !a.Repeated {
		t.Fatalf("the other agent got effect %s, want %s", a.EffectID, first.EffectID)
	}
	k.wantRequests(t, 1)
}

func caseJ09(t *testing.T, j worker.Journal) {
	p := NewProvider(t, nil)
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "pay")
	c := call("pay", "j09", "s1")
	c.Key, c.Args = "k-9", []byte(`{"amount":500}`)
	first := k.mustDo(t, c, worker.StatusDone)
	c.Args = []byte(`{"amount":600}`)
	a, err := k.worker.Do(t.Context(), c)
	var reused *journal.KeyReusedError
	if !errors.As(err, &reused) {
		t.Fatalf("Do = %v, want KeyReusedError", err)
	}
	if reused.EffectID != first.EffectID || len(reused.Fields) != 1 || reused.Fields[0].Was != "500" || reused.Fields[0].Now != "600" {
		t.Errorf("the difference is %+v, want amount 500 → 600 of effect %s", reused.Fields, first.EffectID)
	}
	if a.Status != worker.StatusReplan {
		t.Errorf("the agent is told %s, want replan", a.Status)
	}
	c.Args = []byte(`{"amount":500}`)
	k.mustDo(t, c, worker.StatusDone) // the first row stands
	k.wantRequests(t, 1)
}

func caseJ10(t *testing.T, j worker.Journal) {
	p := NewProvider(t, nil)
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "invoice.create", "invoice.pay")
	c := call("invoice.create", "j10", "s1")
	c.Key = "k-10"
	k.mustDo(t, c, worker.StatusDone)
	c.Tool, c.Operation = "invoice.pay", "invoice.pay"
	_, err := k.worker.Do(t.Context(), c)
	var reused *journal.KeyReusedError
	if !errors.As(err, &reused) || reused.Tool != "invoice.create" {
		t.Fatalf("Do = %v, want KeyReusedError naming invoice.create", err)
	}
	k.wantRequests(t, 1)
}

func caseJ14(t *testing.T, j worker.Journal) {
	p := NewProvider(t, nil)
	k := [2]kit{
		newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "pay"),
		newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "pay"),
	}
	var mu sync.Mutex
	executed := 0
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			a, err := k[i%2].worker.Do(t.Context(), call("pay", "j14", "s1"))
			if err != nil || a.Status != worker.StatusDone {
				t.Errorf("caller %d: %s, %v", i, a.Status, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !a.Repeated {
				executed++
			}
		})
	}
	wg.Wait()
	if executed != 1 {
		t.Errorf("%d callers executed, want 1", executed)
	}
	k[0].wantRequests(t, 1)
}

func caseJ17(t *testing.T, j worker.Journal) {
	p := NewProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"error":{"code":"bad_currency"}}`))
	})
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "pay")
	for range 3 {
		a := k.mustDo(t, call("pay", "j17", "s1"), worker.StatusRefused)
		if !strings.Contains(a.Reason, "bad_currency") {
			t.Fatalf("the refusal's reason is %q, want the provider's words", a.Reason)
		}
	}
	k.wantRequests(t, 1)
}

func caseR16(t *testing.T, j worker.Journal) {
	var mu sync.Mutex
	n := 0
	p := NewProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch n {
		case 1:
			w.Header().Set("Retry-After", "0.05")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = w.Write([]byte(`{"id":"p"}`))
		}
	})
	k := newKit(t, j, p, journal.ClassAtMostOnce, worker.Options{}, "hook.post")
	if a := k.mustDo(t, call("hook.post", "r16", "s1"), worker.StatusUnknown); !a.Parked() {
		t.Fatalf("after 429 and 503 the directive is %s, want parked", a.Directive)
	}
	k.wantRequests(t, 2)
}

// waitFor polls until ok, or fails after ten seconds.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("waited ten seconds in vain")
		}
		_ = tick(t)
	}
}

// tick is the pause of a poll.
func tick(t *testing.T) error {
	select {
	case <-t.Context().Done():
		return t.Context().Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

package worker_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// scripted answers one status after another, the last one for ever.
func scripted(t *testing.T, answers ...func(w http.ResponseWriter)) *workertest.Provider {
	var n atomic.Int64
	return workertest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		i := min(int(n.Add(1)), len(answers)) - 1
		answers[i](w)
	})
}

func status(code int, body string, kv ...string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(kv); i += 2 {
			w.Header().Set(kv[i], kv[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func TestR11_KeyInProgressIsAskedAgainWithTheSameKey(t *testing.T) {
	t.Parallel()
	busy := status(409, `{"error":{"code":"idempotency_key_in_use"}}`, "Retry-After", "0.02")
	for _, row := range []struct {
		name     string
		answers  []func(http.ResponseWriter)
		want     worker.Status
		requests int
		state    journal.State
	}{
		{"twice, then 200", []func(http.ResponseWriter){busy, busy, status(200, `{"id":"ch_1"}`)}, worker.StatusDone, 3, journal.StateCommitted},
		{"until the budget ends", []func(http.ResponseWriter){busy}, worker.StatusUnknown, journal.DefaultPolicy().RetryBudget, journal.StateParked},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			j, p := workertest.NewMemory(), scripted(t, row.answers...)
			w := newFixture(t, j, spec("charge", journal.ClassProviderIdempotent, workertest.Post(p.URL)))
			a, err := w.Do(t.Context(), on("charge", "k"))
			e, _, _ := j.Effect("k")
			if err != nil || a.Status != row.want || e.State != row.state || p.Count() != row.requests {
				t.Fatalf("Do = %s, %v; state %s, %d requests; want %s, %s, %d", a.Status, err, e.State, p.Count(), row.want, row.state, row.requests)
			}
			want := journal.ProviderKey(journal.Ref("", "k"), 1)
			for i, r := range p.Requests() {
				if got := r.Header.Get("Idempotency-Key"); got != want {
					t.Errorf("request %d has key %q, want %q", i+1, got, want)
				}
			}
		})
	}
}

func TestR12_RepeatWithoutTheFirstAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	j, p := workertest.NewMemory(), scripted(t, status(409, `{"code":"KEY_REUSED","originalStatusCode":null}`))
	w := newFixture(t, j, spec("mail", journal.ClassProviderIdempotent, workertest.Post(p.URL)))
	a, err := w.Do(t.Context(), on("mail", "k"))
	if err != nil || a.Status != worker.StatusUnknown || !a.Parked() || p.Count() != 1 {
		t.Errorf("Do = %s (%s), %v, %d requests; want unknown, parked, 1", a.Status, a.Directive, err, p.Count())
	}
}

func TestR15_ReplayedErrorStopsTheRetries(t *testing.T) {
	t.Parallel()
	j, p := workertest.NewMemory(), scripted(t, status(500, `{}`, "Retry-After", "0.02"), status(500, `{}`, "Idempotent-Replayed", "true"))
	w := newFixture(t, j, spec("charge", journal.ClassProviderIdempotent, workertest.Post(p.URL)))
	a, err := w.Do(t.Context(), on("charge", "k"))
	e, attempts, _ := j.Effect("k")
	if err != nil || a.Status != worker.StatusUnknown || e.ParkedReason != journal.ReasonReplayedError || p.Count() != 2 {
		t.Fatalf("Do = %s, %v; parked %q after %d requests; want unknown, replayed_error, 2", a.Status, err, e.ParkedReason, p.Count())
	}
	if !attempts[1].Replayed || attempts[0].Replayed {
		t.Error("the replay was not recorded on attempt 2 alone")
	}
	keys := p.Requests()
	if keys[0].Header.Get("Idempotency-Key") != keys[1].Header.Get("Idempotency-Key") {
		t.Error("an automatic attempt changed the provider key")
	}
}

func TestOrder_RunsTheStoredArgsUnderANewProviderKey(t *testing.T) {
	t.Parallel()
	j := workertest.NewMemory()
	p := scripted(t, status(504, ``), status(200, `{"id":"m-2"}`))
	s := spec("mail", journal.ClassAtMostOnce, workertest.Post(p.URL))
	s.KeyHeader, s.IdentityFields = "Idempotency-Key", []string{"to"}
	w := newFixture(t, j, s)
	c := on("mail", "k")
	c.Args = []byte(`{"to":"a","text":"first words"}`)
	if a, err := w.Do(t.Context(), c); err != nil || !a.Parked() {
		t.Fatalf("after the 504: %+v, %v", a, err)
	}
	if err := j.Decide("k", journal.VerbReissue, journal.NewKey); err != nil {
		t.Fatal(err)
	}
	c.Args = []byte(`{"to":"a","text":"other words"}`)
	if a, err := w.Do(t.Context(), c); err != nil || a.Status != worker.StatusDone || a.ProviderID != "m-2" || a.Attempt != 2 {
		t.Fatalf("after the order: %+v, %v", a, err)
	}
	if a, err := w.Do(t.Context(), c); err != nil || !a.Repeated || len(a.Drift) != 1 {
		t.Errorf("a reworded repeat: %+v, %v; want the recorded answer and the drift", a, err)
	}
	got := p.Requests()
	if len(got) != 2 || got[0].Body != got[1].Body {
		t.Errorf("bodies %v, want the stored args twice", got)
	}
	if got[0].Header.Get("Idempotency-Key") == got[1].Header.Get("Idempotency-Key") {
		t.Error("the order kept the provider key")
	}
}

func TestDoUntilSettled_WaitsForTheDecisionAndExecutesTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, ran := workertest.NewMemory(), 0
		w := newFixture(t, j, spec("mail", journal.ClassAtMostOnce, func(ctx context.Context, c worker.Call) (worker.Outcome, error) {
			if ran++; ran == 1 {
				_ = worker.Sending(ctx)
				return worker.Outcome{}, errors.New("cut off")
			}
			return confirm(ctx, c)
		}))
		go func() {
			time.Sleep(3 * time.Hour)
			if err := j.Decide("k", journal.VerbReissue, journal.NewKey); err != nil {
				t.Error(err)
			}
		}()
		a, err := w.DoUntilSettled(t.Context(), on("mail", "k"))
		if err != nil || a.Status != worker.StatusDone || a.Attempt != 2 || ran != 2 {
			t.Errorf("DoUntilSettled = %+v, %v after %d runs; want done by attempt 2", a, err, ran)
		}
	})
}

package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// failing makes the named calls of a journal fail, for the first n times.
func failing(n int64, names ...string) func(string) error {
	var left atomic.Int64
	left.Store(n)
	return func(call string) error {
		for _, name := range names {
			if call == name && left.Add(-1) >= 0 {
				return journal.ErrUnavailable
			}
		}
		return nil
	}
}

func TestJ16_ErrorOrPanicAfterSendingIsUnknown(t *testing.T) {
	t.Parallel()
	after := func(f func() error) worker.RunFunc {
		return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
			if err := worker.Sending(ctx); err != nil {
				return worker.Outcome{}, err
			}
			return worker.Outcome{}, f()
		}
	}
	for _, row := range []struct {
		name string
		run  worker.RunFunc
		want journal.Phase
	}{
		{"error while parsing", after(func() error { return errors.New("unexpected end of JSON input") }), journal.PhaseSent},
		{"panic", after(func() error { panic("index out of range") }), journal.PhaseSent},
		{"Goexit", after(func() error { runtime.Goexit(); return nil }), journal.PhaseSent},
		{"the tool is sure that nothing was sent, the record knows better", after(func() error { return worker.NotSent(errors.New("x")) }), journal.PhaseSent},
		{"panic before sending", func(context.Context, worker.Call) (worker.Outcome, error) { panic("nil map") }, journal.PhaseNotSent},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			j := workertest.NewMemory()
			w := newFixtureWith(t, j, spec("pay", journal.ClassAtMostOnce, row.run), worker.Options{Patience: -1})
			a, err := w.Do(t.Context(), on("pay", "k"))
			if err != nil {
				t.Fatal(err)
			}
			e, attempts, ok := j.Effect("k")
			if !ok || attempts[0].Phase != row.want {
				t.Fatalf("phase %s, want %s", attempts[0].Phase, row.want)
			}
			if row.want == journal.PhaseSent && (e.State != journal.StateParked || a.Status != worker.StatusUnknown) {
				t.Errorf("state %s, status %s; want PARKED, unknown", e.State, a.Status)
			}
		})
	}
}

func TestJ19_CommitSurvivesTheCallersCancel(t *testing.T) {
	t.Parallel()
	j := workertest.NewMemory()
	ctx, cancel := context.WithCancel(t.Context())
	p := workertest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"p-19"}`)
	})
	w := newFixture(t, j, spec("pay", journal.ClassAtMostOnce, func(c context.Context, call worker.Call) (worker.Outcome, error) {
		out, err := workertest.Post(p.URL)(c, call)
		cancel() // right after the provider's 200
		return out, err
	}))
	a, err := w.Do(ctx, on("pay", "k"))
	e, _, _ := j.Effect("k")
	if err != nil || a.Status != worker.StatusDone || e.State != journal.StateCommitted || e.ProviderID != "p-19" {
		t.Errorf("Do = %s, %v; state %s, provider id %q; want done, COMMITTED, p-19", a.Status, err, e.State, e.ProviderID)
	}
}

func TestJ20_JournalUnreachable(t *testing.T) {
	t.Parallel()
	t.Run("before: the provider is not called", func(t *testing.T) {
		t.Parallel()
		j := workertest.NewMemory()
		var ran atomic.Int64
		w := newFixtureWith(t, j, spec("pay", journal.ClassAtMostOnce, func(ctx context.Context, c worker.Call) (worker.Outcome, error) {
			ran.Add(1)
			return confirm(ctx, c)
		}), worker.Options{BeginWithin: 50 * time.Millisecond})
		j.Fault(failing(1<<40, "begin"))
		a, err := w.Do(t.Context(), on("pay", "k"))
		if !errors.Is(err, journal.ErrUnavailable) || a.Status != worker.StatusHardStop || a.Reason != "journal_unavailable" {
			t.Errorf("Do = %s (%s), %v; want hard_stop and ErrUnavailable", a.Status, a.Reason, err)
		}
		if ran.Load() != 0 {
			t.Error("the tool ran without a journal")
		}
	})
	t.Run("after: done, not recorded, everything in the log", func(t *testing.T) {
		t.Parallel()
		j := workertest.NewMemory()
		var log syncBuffer
		w := newFixtureWith(t, j, spec("pay", journal.ClassAtMostOnce, confirm),
			worker.Options{ReportWithin: 50 * time.Millisecond, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		j.Fault(failing(1<<40, "commit"))
		a, err := w.Do(t.Context(), on("pay", "secret-key-9"))
		var unrecorded *journal.DoneUnrecordedError
		if !errors.As(err, &unrecorded) || unrecorded.ProviderID != "p-1" || unrecorded.EffectID == "" || unrecorded.Ref == "" {
			t.Fatalf("Do = %v, want DoneUnrecordedError with effect id, reference and provider id", err)
		}
		if a.Status != worker.StatusDone || !strings.Contains(a.Note, "Do not repeat") {
			t.Errorf("the agent is told %s: %q", a.Status, a.Note)
		}
		for _, want := range []string{unrecorded.EffectID, unrecorded.Ref, `"p-1"`, `{\"ok\":true}`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %s", want)
			}
		}
		if strings.Contains(log.String(), "secret-key-9") {
			t.Error("the log holds the key")
		}
	})
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}
func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

// Faults in pairs: a call failed and was not applied, or failed but was.
func TestFaults_PairsAtEveryDurableStep(t *testing.T) {
	t.Parallel()
	refuse := func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
		return worker.Outcome{}, worker.Refused(errors.New("card declined"), true)
	}
	for _, row := range []struct {
		fault string
		run   worker.RunFunc
		want  worker.Status
		state journal.State
	}{
		{"begin", confirm, worker.StatusDone, journal.StateCommitted},
		{"after:begin", confirm, worker.StatusDone, journal.StateCommitted},
		{"commit", confirm, worker.StatusDone, journal.StateCommitted},
		{"after:commit", confirm, worker.StatusDone, journal.StateCommitted},
		{"fail", refuse, worker.StatusRefused, journal.StateRejected},
		{"after:fail", refuse, worker.StatusRefused, journal.StateRejected},
	} {
		t.Run(row.fault, func(t *testing.T) {
			t.Parallel()
			j := workertest.NewMemory()
			var ran atomic.Int64
			w := newFixture(t, j, spec("pay", journal.ClassAtMostOnce, func(ctx context.Context, c worker.Call) (worker.Outcome, error) {
				ran.Add(1)
				return row.run(ctx, c)
			}))
			j.Fault(failing(3, row.fault))
			a, err := w.Do(t.Context(), on("pay", "k"))
			e, attempts, _ := j.Effect("k")
			if err != nil || a.Status != row.want || e.State != row.state || ran.Load() != 1 || len(attempts) != 1 {
				t.Errorf("Do = %s, %v; state %s, ran %d, attempts %d; want %s, %s, 1, 1",
					a.Status, err, e.State, ran.Load(), len(attempts), row.want, row.state)
			}
		})
	}
}

func TestCommit_AContentTheJournalRefusesDoesNotLoseTheConfirmation(t *testing.T) {
	t.Parallel()
	j := workertest.NewMemory()
	w := newFixture(t, picky{j}, spec("pay", journal.ClassAtMostOnce, confirm))
	a, err := w.Do(t.Context(), on("pay", "k"))
	e, _, _ := j.Effect("k")
	if err != nil || a.Status != worker.StatusDone || e.State != journal.StateCommitted || e.ProviderID != "p-1" {
		t.Errorf("Do = %s, %v; state %s, provider id %q; want done, COMMITTED, p-1", a.Status, err, e.State, e.ProviderID)
	}
}

// picky can't hold results.
type picky struct{ *workertest.Memory }

func (p picky) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	if r.Result != nil {
		return journal.CommitAnswer{}, &journal.InvalidError{Field: "result", Detail: "is too large"}
	}
	return p.Memory.Commit(ctx, r)
}

func TestJ22_NoAPITakesATransaction(t *testing.T) {
	t.Parallel()
	// A transaction of the caller can't get in: every parameter is a context, a
	// plain value, a type of this project, or a function of those.
	iface := reflect.TypeFor[worker.Journal]()
	var types []reflect.Type
	for i := range iface.NumMethod() {
		for p := range iface.Method(i).Type.NumIn() {
			types = append(types, iface.Method(i).Type.In(p))
		}
	}
	w := reflect.TypeFor[*worker.Worker]()
	for i := range w.NumMethod() {
		for p := 1; p < w.Method(i).Type.NumIn(); p++ {
			types = append(types, w.Method(i).Type.In(p))
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[worker.Call]()) {
		types = append(types, f.Type)
	}
	for _, typ := range types {
		pkg := typ.PkgPath()
		if pkg != "" && pkg != "context" && pkg != "time" && !strings.HasPrefix(pkg, "github.com/landedhq/landed/journal") {
			t.Errorf("a parameter has type %s", typ)
		}
	}
}

func TestR04_UnknownIsStructuredForTheAgent(t *testing.T) {
	t.Parallel()
	j := workertest.NewMemory()
	w := newFixture(t, j, spec("mail.send", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
		_ = worker.Sending(ctx)
		return worker.Outcome{}, context.DeadlineExceeded
	}))
	a, err := w.Do(t.Context(), on("mail.send", "k"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"status": "unknown", "effect_id": a.EffectID, "ref": journal.Ref("", "k"), "attempt": 1.0,
		"reason": journal.ReasonAtMostOnce, "note": a.Note,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	for _, words := range []string{"Do not repeat", "a person will decide"} {
		if !strings.Contains(a.Note, words) {
			t.Errorf("the note lacks %q: %s", words, a.Note)
		}
	}
}

func TestAnswer_ResultForms(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, result, want string }{
		{"JSON", `{"a":1}`, `{"status":"done","note":"","result":{"a":1}}`},
		{"text", `created`, `{"status":"done","note":"","result_text":"created"}`},
		{"bytes", "\xff\x00", `{"status":"done","note":"","result_base64":"/wA="}`},
		{"none", ``, `{"status":"done","note":""}`},
	} {
		got, err := json.Marshal(worker.Answer{Status: worker.StatusDone, Result: []byte(row.result)})
		if err != nil || string(got) != row.want {
			t.Errorf("%s: %s, %v; want %s", row.name, got, err, row.want)
		}
	}
}

func TestAbandonedAndHandles(t *testing.T) {
	t.Parallel()
	j := workertest.NewMemory()
	w := newFixture(t, j, spec("mail", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
		g, err := worker.Effect(ctx)
		if err != nil {
			return worker.Outcome{}, err
		}
		if err := g.RecordHandle(ctx, "draft", "d-1"); err != nil {
			return worker.Outcome{}, err
		}
		_ = worker.Sending(ctx)
		return worker.Outcome{}, errors.New("cut off")
	}))
	if a, err := w.Do(t.Context(), on("mail", "k")); err != nil || !a.Parked() {
		t.Fatalf("Do = %+v, %v", a, err)
	}
	if hs := j.Handles("k"); len(hs) != 1 || hs[0].Value != "d-1" {
		t.Errorf("handles %v, want draft d-1", hs)
	}
	if err := j.Decide("k", journal.VerbCloseNotLanded, ""); err != nil {
		t.Fatal(err)
	}
	a, err := w.Do(t.Context(), on("mail", "k"))
	if err != nil || a.Status != worker.StatusAbandoned {
		t.Errorf("after close_not_landed: %s, %v; want abandoned", a.Status, err)
	}
}

// TestCorrected: a person did it anew with other arguments; the call that comes
// back follows to the effect in its place and runs those.
func TestCorrected(t *testing.T) {
	t.Parallel()
	j := workertest.NewMemory()
	var ran []string
	w := newFixture(t, j, spec("mail", journal.ClassAtMostOnce, func(ctx context.Context, c worker.Call) (worker.Outcome, error) {
		ran = append(ran, string(c.Args))
		_ = worker.Sending(ctx)
		if len(ran) == 1 {
			return worker.Outcome{}, errors.New("cut off")
		}
		return worker.Outcome{ProviderID: "m-1"}, nil
	}))
	call := on("mail", "k")
	call.Args = []byte(`{"to":"ben"}`)
	if a, err := w.Do(t.Context(), call); err != nil || !a.Parked() {
		t.Fatalf("Do = %+v, %v", a, err)
	}
	if err := j.Correct("k", []byte(`{"to":"benjamin"}`)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is a repeat
		a, err := w.Do(t.Context(), call)
		if err != nil || a.Status != worker.StatusDone || a.ProviderID != "m-1" {
			t.Fatalf("after the correction: %+v, %v", a, err)
		}
	}
	if diff := cmp.Diff([]string{`{"to":"ben"}`, `{"to":"benjamin"}`}, ran); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
}

func TestReadOnlyTool_RunsWithoutTheJournal(t *testing.T) {
	t.Parallel()
	j, p := workertest.NewMemory(), workertest.NewProvider(t, nil)
	w := newFixture(t, j, spec("search", journal.ClassReadOnly, workertest.Post(p.URL)))
	a, err := w.Do(t.Context(), worker.Call{Tool: "search", Args: []byte(`{}`)})
	if err != nil || a.Status != worker.StatusDone || j.Count() != 0 {
		t.Errorf("Do = %s, %v with %d effects; want done with none", a.Status, err, j.Count())
	}
}

func TestErrorText_LeavesCredentialsOut(t *testing.T) {
	t.Parallel()
	j := workertest.NewMemory()
	w := newFixtureWith(t, j, spec("mail", journal.ClassAtMostOnce, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
		return worker.Outcome{}, post(ctx, "http://nowhere.invalid/send?token=secret")
	}), worker.Options{Patience: -1})
	_, _ = w.Do(t.Context(), on("mail", "k"))
	_, attempts, _ := j.Effect("k")
	if text := attempts[0].Error; strings.Contains(text, "secret") || !strings.Contains(text, "nowhere.invalid/send") {
		t.Errorf("the journaled error is %q", text)
	}
}

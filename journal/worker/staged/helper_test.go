package staged_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// attempt runs one attempt and returns what the journal holds.
func attempt(t *testing.T, run func(context.Context) (worker.Outcome, error)) []journal.Attempt {
	t.Helper()
	return attempts(t, workertest.NewMemory(), run)
}

func attempts(t *testing.T, m *workertest.Memory, run func(context.Context) (worker.Outcome, error)) []journal.Attempt {
	t.Helper()
	r := worker.NewRegistry()
	err := r.Register(worker.ToolSpec{
		Tool: journal.Tool{Name: "t", Class: journal.ClassAtMostOnce, ClientTimeout: 5 * time.Second},
		Run:  func(ctx context.Context, _ worker.Call) (worker.Outcome, error) { return run(ctx) },
	})
	if err == nil {
		err = r.Sync(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := worker.New(m, r, worker.Options{Logger: slog.New(slog.DiscardHandler), Patience: -1})
	if _, err := w.Do(t.Context(), worker.Call{Tool: "t", Key: "k", Run: worker.Run{RootRun: "root"}, Step: "s", Lease: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	_, list, _ := m.Effect("k")
	return list
}

func dialError(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no route to the provider")
}

type readFunc = func(context.Context, staged.Handle) (staged.Reading, error)

func or(read, def readFunc) readFunc {
	if read == nil {
		return def
	}
	return read
}

func readNothing(context.Context, staged.Handle) (staged.Reading, error) {
	return staged.Reading{State: staged.Open}, nil
}

func orFinish(finish func(context.Context, staged.Handle) (worker.Outcome, error)) func(context.Context, staged.Handle) (worker.Outcome, error) {
	if finish == nil {
		return func(context.Context, staged.Handle) (worker.Outcome, error) { return worker.Outcome{}, nil }
	}
	return finish
}

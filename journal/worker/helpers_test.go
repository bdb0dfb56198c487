package worker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

func tool(name string, class journal.Class) journal.Tool {
	t := journal.Tool{Name: name, Class: class, ClientTimeout: 5 * time.Second}
	if class == journal.ClassProviderIdempotent {
		t.KeyWindow = 24 * time.Hour
	}
	return t
}

// spec is a tracked tool.
func spec(name string, class journal.Class, run worker.RunFunc) worker.ToolSpec {
	s := worker.ToolSpec{Tool: tool(name, class), Run: run, Tracked: true}
	if class == journal.ClassProviderIdempotent {
		s.KeyHeader = "Idempotency-Key"
	}
	return s
}

func register(t *testing.T, r *worker.Registry, specs ...worker.ToolSpec) {
	t.Helper()
	for _, s := range specs {
		if err := r.Register(s); err != nil {
			t.Fatal(err)
		}
	}
}

func newWorker(t *testing.T, j worker.Journal, r *worker.Registry, o worker.Options) *worker.Worker {
	t.Helper()
	if err := r.Sync(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return worker.New(j, r, o)
}

// newFixture is a worker with one tool and small waits.
func newFixture(t *testing.T, j worker.Journal, s worker.ToolSpec) *worker.Worker {
	t.Helper()
	return newFixtureWith(t, j, s, worker.Options{})
}

func newFixtureWith(t *testing.T, j worker.Journal, s worker.ToolSpec, o worker.Options) *worker.Worker {
	t.Helper()
	r := worker.NewRegistry()
	register(t, r, s)
	if o.Backoff.Base == 0 {
		o.Backoff = worker.Backoff{Base: 2 * time.Millisecond, Cap: 10 * time.Millisecond}
	}
	return newWorker(t, j, r, o)
}

// on is a call of a tool with a fixed key.
func on(tool, key string) worker.Call {
	return worker.Call{Tool: tool, Key: key, Run: worker.Run{RootRun: "root-" + key}, Step: "s", Args: []byte(`{"n":1}`)}
}

// confirm is a tool that sends and gets a confirmation.
func confirm(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
	if err := worker.Sending(ctx); err != nil {
		return worker.Outcome{}, err
	}
	return worker.Outcome{Result: []byte(`{"ok":true}`), ProviderID: "p-1"}, nil
}

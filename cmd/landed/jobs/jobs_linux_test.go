package jobs_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/cmd/landed/jobs"
	"github.com/landedhq/landed/journal/journaltest"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

// TestO02_RoundsThroughPgBouncer migrates and works the background jobs through
// a pooler in transaction mode: they poll, and need no session.
func TestO02_RoundsThroughPgBouncer(t *testing.T) {
	t.Parallel()
	cfg, err := pgxpool.ParseConfig(journaltest.Database(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	through := journaltest.PgBouncer(t, 2)
	pool, err := pgxpool.New(t.Context(), through(cfg.ConnConfig.Database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := jobs.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	sweeps, looks := make(chan struct{}, 100), make(chan struct{}, 100)
	note := func(c chan struct{}) func(context.Context) error {
		return func(context.Context) error { c <- struct{}{}; return nil }
	}
	runner, err := jobs.Start(t.Context(), pool, []jobs.Task{
		{Name: "sweep", Every: time.Second, Limit: time.Second, Run: note(sweeps)},
		{Name: "look", Every: time.Second, Limit: time.Second, Run: note(looks)},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []chan struct{}{sweeps, sweeps, looks, looks} {
		select {
		case <-c:
		case <-time.After(30 * time.Second):
			t.Fatal("a round does not start")
		}
	}
	if err := runner.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

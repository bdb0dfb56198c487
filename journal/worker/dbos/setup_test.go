package dbosworker_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/resume"
	target "github.com/landedhq/landed/providers/resume/dbos"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		runChild(spec)
		return
	}
	journaltest.Main(m)
}

// patience is how long a test waits for what happens by itself.
const patience = 60 * time.Second

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// migrate makes the journal's tables and DBOS's in one database.
func migrate(ctx context.Context, dsn string) error {
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	return dbos.Migrate(ctx, dsn, dbos.WithMigrateLogger(quiet()))
}

// desk is one database with the journal and DBOS in it.
type desk struct {
	t    *testing.T
	dsn  string
	pool *pgxpool.Pool
}

func open(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dsn: journaltest.Database(t, migrate)}
	pool, err := pgxpool.New(t.Context(), d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d.pool = pool
	return d
}

// runtime is a DBOS process in this one. Register before launch.
func (d *desk) runtime(change ...func(*dbos.Config)) dbos.Context {
	d.t.Helper()
	cfg := dbos.Config{AppName: "landed-test", SystemDBPool: d.pool, ApplicationVersion: "1", Logger: quiet()}
	for _, f := range change {
		f(&cfg)
	}
	ctx, err := dbos.NewContext(context.WithoutCancel(d.t.Context()), cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = dbos.Shutdown(ctx, 10*time.Second) })
	return ctx
}

func (d *desk) launch(ctx dbos.Context) {
	d.t.Helper()
	if err := dbos.Launch(ctx); err != nil {
		d.t.Fatal(err)
	}
}

// shared is a target in the journal's database, and other one with connections of
// its own: another process.
func (d *desk) shared() *target.Target {
	d.t.Helper()
	return d.target(target.Config{Name: "dbos", Pool: d.pool})
}

func (d *desk) other() *target.Target {
	d.t.Helper()
	return d.target(target.Config{Name: "dbos", DSN: func() (string, error) { return d.dsn, nil }})
}

func (d *desk) target(c target.Config) *target.Target {
	d.t.Helper()
	t, err := c.Open()
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(t.Close)
	return t
}

func (d *desk) exec(sql string, args ...any) {
	d.t.Helper()
	if _, err := d.pool.Exec(d.t.Context(), sql, args...); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
}

func (d *desk) count(sql string, args ...any) (n int) {
	d.t.Helper()
	if err := d.pool.QueryRow(d.t.Context(), sql, args...).Scan(&n); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (d *desk) messages() int {
	d.t.Helper()
	return d.count("select count(*) from dbos.notifications")
}

// eventually waits until the condition holds.
func (d *desk) eventually(what string, holds func() bool) {
	d.t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			d.t.Fatalf("in vain waited for: %s", what)
		}
		select {
		case <-d.t.Context().Done():
			d.t.Fatal(context.Cause(d.t.Context()))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// message is a resolution for a workflow; the same number, the same resolution.
func message(workflow, number string) resume.Message {
	id := "0190c0de-0000-7000-8000-00000000000" + number
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return resume.Message{ID: id, At: at, Try: 1,
		Data:   resume.Data{ResolutionID: id, EffectID: "e-1", Key: "run-1/refund", Tool: "refund", Resolution: "reissue", At: at, URL: "https://desk.test/e/e-1"},
		Resume: []byte(`{"to":"dbos","workflow_id":"` + workflow + `"}`)}
}

func outcome(err error) journal.HandoverOutcome {
	var f *resume.Failure
	if errors.As(err, &f) {
		return f.Outcome
	}
	return ""
}

func result[R any](t *testing.T, h dbos.WorkflowHandle[R]) R {
	t.Helper()
	r, err := h.GetResult(dbos.WithHandleTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func start[P, R any](t *testing.T, ctx dbos.Context, f dbos.Workflow[P, R], in P, id string) dbos.WorkflowHandle[R] {
	t.Helper()
	h, err := dbos.RunWorkflow(ctx, f, in, dbos.WithWorkflowID(id))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// as is the connection string for a role without a login.
func as(dsn, role string) string {
	switch {
	case !strings.Contains(dsn, "://"):
		return dsn + " options='-c role=" + role + "'"
	case strings.Contains(dsn, "?"):
		return dsn + "&options=-c%20role%3D" + role
	}
	return dsn + "?options=-c%20role%3D" + role
}

package journaltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m) }

// migrations counts how often schema ran.
var migrations atomic.Int32

// schema leaves a session open, as a pool would that closes late.
func schema(ctx context.Context, dsn string) error {
	migrations.Add(1)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE TABLE effect (id int PRIMARY KEY)")
	return err
}

func broken(context.Context, string) error { return errors.New("syntax error at line 7") }

// recorder is a test whose end the real test decides.
type recorder struct {
	testing.TB
	failed   bool
	cleanups []func()
	logs     []string
}

func (r *recorder) Helper()              {}
func (r *recorder) Failed() bool         { return r.failed }
func (r *recorder) Cleanup(f func())     { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Log(args ...any)      { r.logs = append(r.logs, fmt.Sprint(args...)) }
func (r *recorder) Skipf(string, ...any) { runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = true
	r.Log(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// play runs f as a test of its own and then its cleanups.
func (r *recorder) play(f func(testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

func query[T any](t testing.TB, dsn, sql string) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestDatabase_FreshForEveryTestMigratedOnce(t *testing.T) {
	t.Parallel()
	Cluster(t)
	var names sync.Map
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			dsn := Database(t, schema)
			n := query[int](t, dsn, "INSERT INTO effect VALUES (1) RETURNING (SELECT count(*) FROM effect)")
			if n != 0 {
				t.Errorf("%d rows in a fresh database", n)
			}
			if _, twice := names.LoadOrStore(query[string](t, dsn, "SELECT current_database()"), true); twice {
				t.Error("one database for two tests")
			}
		})
	}
	all.Wait()
	if n := migrations.Load(); n != 1 {
		t.Errorf("migrated %d times", n)
	}
}

func TestDatabase_GoesWithAPassedTestOnly(t *testing.T) {
	t.Parallel()
	Cluster(t)
	for name, failed := range map[string]bool{"passed": false, "failed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t, failed: failed}
			var database string
			r.play(func(tb testing.TB) {
				dsn := Database(tb, nil)
				database = query[string](t, dsn, "SELECT current_database()")
				if _, err := pgx.Connect(t.Context(), dsn); err != nil { // left open on purpose
					t.Error(err)
				}
			})
			kept := query[bool](t, Cluster(t).DSN("postgres"), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = '"+database+"')")
			if kept != failed {
				t.Errorf("database kept: %v", kept)
			}
			if said := strings.Contains(strings.Join(r.logs, "\n"), database); said != failed {
				t.Errorf("logged: %q", r.logs)
			}
		})
	}
}

func TestDatabase_BrokenMigrationFailsEveryTest(t *testing.T) {
	t.Parallel()
	Cluster(t)
	for range 2 {
		r := &recorder{TB: t}
		r.play(func(tb testing.TB) { Database(tb, broken) })
		if !r.failed || !strings.Contains(strings.Join(r.logs, "\n"), "syntax error at line 7") {
			t.Errorf("failed %v, logs %q", r.failed, r.logs)
		}
	}
}

func TestDatabase_OnANamedServer(t *testing.T) {
	server := Cluster(t).DSN("postgres")
	t.Setenv(DSNEnv, server)
	dsn := Database(t, schema)
	if n := query[int](t, dsn, "SELECT count(*) FROM effect"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// The run of another test binary leaves nothing, or what was asked to be kept.
func TestMain_RemovesTheServer(t *testing.T) {
	t.Parallel()
	if os.Getenv("TMPDIR_OF_CHILD") != "" {
		t.Skip("this is the other run")
	}
	Cluster(t)
	for _, keep := range []string{"", "1"} {
		t.Run("keep="+keep, func(t *testing.T) {
			t.Parallel()
			base, err := os.MkdirTemp("", "journaltest-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(base) })
			if err := os.Chmod(base, 0o755); err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self, "-test.run=TestDatabase_FreshForEveryTest")
			cmd.Env = append(os.Environ(), "TMPDIR="+base, "TMPDIR_OF_CHILD="+base, KeepEnv+"="+keep, DSNEnv+"=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			left, _ := filepath.Glob(base + "/*/data/PG_VERSION")
			if kept := len(left) == 1; kept != (keep == "1") || strings.Contains(string(out), base) != kept {
				t.Errorf("left %v\n%s", left, out)
			}
		})
	}
}

func TestDatabaseDSN(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"postgres://u:p@h:5433/postgres?sslmode=require":  "postgres://u:p@h:5433/d?sslmode=require",
		"postgres://landed@/postgres?host=%2Ftmp%2Fx%20y": "postgres://landed@/d?host=%2Ftmp%2Fx%20y",
		"postgresql://h":                   "postgresql://h/d",
		"host=/tmp user=u dbname=postgres": "host=/tmp user=u dbname=postgres dbname=d",
	}
	for dsn, want := range tests {
		got, err := databaseDSN(dsn, "d")
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", dsn, got, err)
			continue
		}
		if c, err := pgx.ParseConfig(got); err != nil || c.Database != "d" {
			t.Errorf("%s: pgx reads %+v, %v", got, c, err)
		}
	}
	for _, dsn := range []string{"postgres://h/?dbname=x", "postgres://h:port/"} {
		if got, err := databaseDSN(dsn, "d"); err == nil {
			t.Errorf("%s: %q", dsn, got)
		}
	}
}

package journaltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal/postgres/cluster"
)

const (
	// DSNEnv names the environment variable with the connection string of a
	// server to use instead of a private one. Its role must be a superuser, or
	// may create databases and end the sessions on them.
	DSNEnv = "LANDED_TEST_DSN"
	// KeepEnv names the environment variable that, set to 1, keeps the private
	// server's files and with them the databases of failed tests.
	KeepEnv = "LANDED_TEST_KEEP"
)

// Migrate brings an empty database to the schema under test.
type Migrate = func(ctx context.Context, dsn string) error

// process is what all tests of one process share: one server, and one template
// for each Migrate. It is the one variable of this package: testing hands
// nothing from test to test.
var process shared

type shared struct {
	mu        sync.Mutex
	started   bool
	cluster   *cluster.Cluster
	dir       string // kept on request
	err       error
	templates map[uintptr]*template
}

type template struct {
	once sync.Once
	dsn  string // of the server's database postgres
	name string
	err  error
}

// Main runs the tests, then stops the private server and removes its files.
// Call it from TestMain and return. Without it the server still ends with the
// process; its files go when the next one starts.
func Main(m *testing.M) {
	m.Run() // the testing package keeps the exit code
	if err := process.end(); err != nil {
		fmt.Fprintln(os.Stderr, "journaltest: stopping the private Postgres:", err)
	}
}

// Cluster returns the private server that the tests of this process share. The
// first call starts it. The test is skipped when no PostgreSQL is to be had.
func Cluster(t testing.TB) *cluster.Cluster {
	t.Helper()
	c, err := process.server()
	if errors.Is(err, cluster.ErrNoBinaries) {
		Missing(t, "PostgreSQL", err.Error())
	}
	if err != nil {
		t.Fatalf("starting the private Postgres: %v", err)
	}
	return c
}

// Database returns the DSN of a fresh database for this test, copied from a
// template that migrate filled once per process; nil leaves it empty. Pass the
// same function everywhere: closures of one literal count as one function. The
// database is dropped when the test has passed.
func Database(t testing.TB, migrate Migrate) string {
	t.Helper()
	server := os.Getenv(DSNEnv)
	if server == "" {
		server = Cluster(t).DSN("postgres")
	}
	source, err := process.template(t.Context(), server, migrate)
	if err != nil {
		t.Fatalf("preparing the template database: %v", err)
	}
	name := "landed_test_" + strings.ToLower(rand.Text()[:12])
	if err := execute(t.Context(), server, "CREATE DATABASE "+name+" TEMPLATE "+source); err != nil {
		t.Fatalf("creating a database for the test: %v", err)
	}
	t.Cleanup(func() { drop(t, server, name) })
	dsn, err := databaseDSN(server, name)
	if err != nil {
		t.Fatalf("reading %s: %v", DSNEnv, err)
	}
	return dsn
}

// drop removes the database of a test that has passed. The test's own context
// is done by now.
func drop(t testing.TB, server, name string) {
	if t.Failed() {
		t.Log(fate(name))
		return
	}
	if err := execute(context.Background(), server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		t.Errorf("dropping the test's database: %v", err)
	}
}

// fate says where the database of a failed test is.
func fate(name string) string {
	switch {
	case os.Getenv(DSNEnv) != "":
		return fmt.Sprintf("database %s is kept on the server of %s", name, DSNEnv)
	case os.Getenv(KeepEnv) == "1":
		return fmt.Sprintf("database %s is kept in %s", name, process.dir)
	}
	return fmt.Sprintf("database %s goes with the server at the end of this run; %s=1 keeps it", name, KeepEnv)
}

func (s *shared) server() (*cluster.Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return s.cluster, s.err
	}
	s.started = true
	if os.Getenv(KeepEnv) == "1" {
		if s.dir, s.err = os.MkdirTemp("", "landed-kept-"); s.err != nil {
			return nil, s.err
		}
		if s.err = os.Chmod(s.dir, 0o711); s.err != nil { // the server's account passes through
			return nil, s.err
		}
	}
	// Not a test's context: the server outlives the test that starts it.
	s.cluster, s.err = cluster.Start(context.Background(), cluster.Config{Dir: s.dir, Download: true})
	return s.cluster, s.err
}

// template returns the name of the database that migrate filled. The caller
// that comes first does the work.
func (s *shared) template(ctx context.Context, server string, migrate Migrate) (string, error) {
	if migrate == nil {
		return "template0", nil
	}
	key := reflect.ValueOf(migrate).Pointer()
	s.mu.Lock()
	if s.templates == nil {
		s.templates = map[uintptr]*template{}
	}
	one, ok := s.templates[key]
	if !ok {
		one = &template{dsn: server, name: fmt.Sprintf("landed_template_%d_%s", os.Getpid(), strings.ToLower(rand.Text()[:8]))}
		s.templates[key] = one
	}
	s.mu.Unlock()
	one.once.Do(func() { one.err = one.fill(context.WithoutCancel(ctx), migrate) })
	return one.name, one.err
}

// fill makes the template. Nobody may be connected to it while it is copied, so
// it is closed afterwards, also to sessions that migrate's pool left open.
func (one *template) fill(ctx context.Context, migrate Migrate) error {
	if err := execute(ctx, one.dsn, "CREATE DATABASE "+one.name+" TEMPLATE template0"); err != nil {
		return fmt.Errorf("creating it: %w", err)
	}
	dsn, err := databaseDSN(one.dsn, one.name)
	if err != nil {
		return err
	}
	if err := migrate(ctx, dsn); err != nil {
		return fmt.Errorf("migrating it: %w", err)
	}
	return execute(ctx, one.dsn,
		"ALTER DATABASE "+one.name+" WITH ALLOW_CONNECTIONS false",
		// The second argument waits until the session is gone.
		"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '"+one.name+"'")
}

// end stops the server, or removes the templates from one that is not ours.
func (s *shared) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, one := range s.templates {
		if os.Getenv(DSNEnv) != "" {
			err = errors.Join(err, execute(context.Background(), one.dsn, "DROP DATABASE IF EXISTS "+one.name+" WITH (FORCE)"))
		}
	}
	if s.cluster != nil {
		err = errors.Join(err, s.cluster.Stop())
	}
	if s.dir != "" {
		at := s.dir
		if s.cluster != nil {
			at = s.cluster.Dir()
		}
		fmt.Fprintf(os.Stderr, "journaltest: the databases are kept in %s; remove it when done\n", filepath.Clean(at))
	}
	return err
}

// execute runs statements one by one, outside any transaction.
func execute(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

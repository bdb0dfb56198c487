package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// helperEnv makes the test binary play another process: "hold DIR" starts a
// cluster and keeps it, "connect DSN" tries to connect.
const helperEnv = "LANDED_CLUSTER_TEST_HELPER"

func TestMain(m *testing.M) {
	role, arg, _ := strings.Cut(os.Getenv(helperEnv), " ")
	switch role {
	case "hold":
		hold(arg)
	case "connect":
		connect(arg)
	default:
		os.Exit(m.Run())
	}
}

// hold prints the DSN and the postmaster's id, and keeps the cluster until its
// standard input ends or it is killed.
func hold(dir string) {
	c, err := Start(context.Background(), Config{Dir: dir})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(c.DSN("postgres"), c.PID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = c.Stop()
}

func connect(dsn string) {
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	_ = conn.Close(context.Background())
	fmt.Println("connected")
}

// missing is journaltest.Missing, which this package cannot import: journaltest
// stands on it.
func missing(t testing.TB, what, how string) {
	t.Helper()
	if os.Getenv("LANDED_TEST_REQUIRE") == "all" {
		t.Fatalf("%s is missing (and LANDED_TEST_REQUIRE=all forbids skips): %s", what, how)
	}
	t.Skipf("SKIPPED, %s is missing: %s", what, how)
}

// publicDir is a directory that every user can enter; t.TempDir is not.
func publicDir(t testing.TB) string {
	t.Helper()
	base, err := tempBase()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, "cluster-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start starts a cluster that is stopped when the test ends.
func start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), cfg)
	if errors.Is(err, ErrNoBinaries) {
		missing(t, "PostgreSQL", err.Error())
	}
	if err != nil {
		t.Fatalf("starting: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return c
}

// open connects to dsn.
func open(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec1(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func count(t testing.TB, conn *pgx.Conn, table string) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatalf("counting %s: %v", table, err)
	}
	return n
}

// runnable is a copy of the test binary that every user can run: the original
// is below a folder of the go command that only its user can enter.
func runnable(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(publicDir(t), "cluster.test")
	if err := os.WriteFile(name, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// asUser makes cmd run as the named user; the test must run as root.
func asUser(t testing.TB, cmd *exec.Cmd, name string) {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		missing(t, "user "+name, "add it to the user database")
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	cmd.Dir = "/"
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "root", "run this test as root, for example in a container")
	}
}

// eventually polls until ok, or fails after a while.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("timed out: %s", what)
		case <-tick.C:
		}
	}
}

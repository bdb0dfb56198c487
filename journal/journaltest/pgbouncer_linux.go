package journaltest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// throughPooler is what a connection string needs in front of a pooler in
// transaction mode that knows no prepared statements, as PgBouncer before 1.21
// (https://www.pgbouncer.org/changelog.html#pgbouncer-121x): no statement may be
// used in a later round trip than the one that made it. Of pgx's modes
// (https://pkg.go.dev/github.com/jackc/pgx/v5#QueryExecMode) cache_statement and
// describe_exec do that and can meet another session's statement; exec and
// simple_protocol do not, but guess types and write labels wrongly.
const throughPooler = "cache_describe"

// PgBouncer starts PgBouncer in transaction mode, with so many connections, in
// front of the tests' server, and returns how to reach a database through it. As
// it refuses root, it runs as the server's account. It ends with the test.
func PgBouncer(t testing.TB, connections int) (dsn func(database string) string) {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		bin = "/usr/sbin/pgbouncer"
		if _, err := os.Stat(bin); err != nil {
			Missing(t, "PgBouncer", "apt-get install --no-install-recommends pgbouncer")
		}
	}
	if os.Getenv(DSNEnv) != "" {
		Missing(t, "a private server to put PgBouncer in front of", "unset "+DSNEnv)
	}
	c := Cluster(t)
	server, err := url.Parse(c.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	host, port, _ := net.SplitHostPort(addr)
	ini := filepath.Join(openTempDir(t), "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s\n[pgbouncer]\nlisten_addr = %s\nlisten_port = %s\nunix_socket_dir =\n"+
		"auth_type = any\npool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = %d\n",
		server.Query().Get("host"), server.Query().Get("port"), server.User.Username(), host, port, connections)
	if err := os.WriteFile(ini, []byte(text), 0o644); err != nil { //nolint:gosec // read by another account
		t.Fatal(err)
	}
	cmd := exec.Command(bin, ini) //nolint:gosec // the path is ours
	cmd.Dir, cmd.Env = "/", []string{"LC_ALL=C"}
	cmd.SysProcAttr = asOwnerOf(t, filepath.Join(c.Dir(), "data"))
	runServer(t, cmd, filepath.Join(filepath.Dir(ini), "log"))
	for end := time.Now().Add(10 * time.Second); ; {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("PgBouncer does not listen: %v", err)
		}
		runtime.Gosched()
	}
	return func(database string) string {
		return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable&default_query_exec_mode=%s", server.User.Username(), addr, database, throughPooler)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// openTempDir is a folder that another account may read.
func openTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "landed-")
	if err == nil {
		err = os.Chmod(dir, 0o755) //nolint:gosec // that is the purpose
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// asOwnerOf makes a child that runs as the owner of a file and ends with this
// process.
func asOwnerOf(t testing.TB, path string) *syscall.SysProcAttr {
	t.Helper()
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: st.Uid, Gid: st.Gid}
	}
	return attr
}

// runServer runs a child until the test ends. Its thread is kept: the kernel
// ends the child with it.
func runServer(t testing.TB, cmd *exec.Cmd, log string) {
	t.Helper()
	out, err := os.Create(log) //nolint:gosec // in a folder of ours
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	cmd.Stdout, cmd.Stderr = out, out
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		if t.Failed() {
			b, _ := os.ReadFile(log) //nolint:gosec // as above
			t.Logf("%s said:\n%s", filepath.Base(cmd.Path), b[max(0, len(b)-2000):])
		}
	})
}

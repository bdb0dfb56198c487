package sqltest

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/landedhq/landed/journal/journaltest"
)

// Standby copies the private server, whose programs are in bin and whose files are
// in home, starts the copy as its hot standby and returns dsn, a database of the
// private server, at the standby. It ends with the test.
func Standby(t testing.TB, bin, home, dsn string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(bin, "pg_basebackup")); err != nil {
		journaltest.Missing(t, "pg_basebackup", "apt-get install --no-install-recommends postgresql")
	}
	dir, err := os.MkdirTemp("", "sb") // short: the path of a socket is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	attr := serverAccount(t, home, dir)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	from := "host='" + u.Query().Get("host") + "' port=" + u.Query().Get("port") + " user=" + u.User.Username()
	data := filepath.Join(dir, "data")
	backup := exec.CommandContext(t.Context(), filepath.Join(bin, "pg_basebackup"), "-D", data, "-R", "-X", "stream", "-c", "fast", "-d", from)
	backup.Env, backup.Dir, backup.SysProcAttr = []string{"LC_ALL=C", "TZ=UTC"}, "/", attr
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("copying the primary: %v\n%s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data,
		"-c", "listen_addresses=", "-c", "port=5432", "-c", "unix_socket_directories="+dir, "-c", "shared_buffers=32MB", "-c", "max_connections=500", // as many as the primary, or more
		"-c", "hba_file="+filepath.Join(home, "pg_hba.conf"), "-c", "ident_file="+filepath.Join(home, "pg_ident.conf"))
	server.Env, server.Dir, server.SysProcAttr = []string{"LC_ALL=C", "TZ=UTC"}, "/", attr
	startServer(t, server, filepath.Join(data, "postmaster.pid"))
	q := u.Query()
	q.Set("host", dir)
	q.Set("port", "5432")
	u.RawQuery = q.Encode()
	return u.String()
}

// serverAccount gives dir to the account that the primary runs as, and returns
// how a child becomes it.
func serverAccount(t testing.TB, home, dir string) *syscall.SysProcAttr {
	t.Helper()
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		return attr
	}
	info, err := os.Stat(filepath.Join(home, "data"))
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("the owner of the primary's files can't be read")
	}
	if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	attr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	return attr
}

// startServer starts the server and waits until its pid file says that it takes
// connections. The thread is kept: the kernel ends the child with it.
func startServer(t testing.TB, cmd *exec.Cmd, pidFile string) {
	t.Helper()
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed at the end
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGQUIT)
		<-done
	})
	deadline := time.Now().Add(30 * time.Second)
	for !ready(pidFile) {
		select {
		case <-done:
			t.Fatal("the standby ended at once")
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the standby takes no connections")
		}
	}
}

// ready reports whether the eighth line of a postmaster.pid says that the server
// takes connections.
func ready(pidFile string) bool {
	b, err := os.ReadFile(pidFile)
	lines := bytes.Split(b, []byte("\n"))
	return err == nil && len(lines) > 7 && bytes.Equal(bytes.TrimSpace(lines[7]), []byte("ready"))
}

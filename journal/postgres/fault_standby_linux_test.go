package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/postgres/cluster"
	"github.com/landedhq/landed/journal/worker"
)

// standby is a second server that replays what a primary writes.
type standby struct {
	t       *testing.T
	dir     string // data, sockets, access files
	pid     int
	ended   <-chan struct{}
	sockets string
}

// newStandby copies the primary and follows it. From then on the primary's
// commits wait for it.
func newStandby(t *testing.T, primary *cluster.Cluster) *standby {
	t.Helper()
	bin := primary.Binaries().Dir
	if _, err := os.Stat(filepath.Join(bin, "pg_basebackup")); err != nil {
		journaltest.Missing(t, "pg_basebackup", "apt-get install --no-install-recommends postgresql")
	}
	s := &standby{t: t, dir: shortTempDir(t)}
	s.sockets = filepath.Join(s.dir, "s")
	if err := os.Mkdir(s.sockets, 0o755); err != nil {
		t.Fatal(err)
	}
	owner := ownerOf(t, filepath.Join(primary.Dir(), "data"))
	for _, d := range []string{s.dir, s.sockets} {
		if err := os.Chown(d, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	u, err := url.Parse(primary.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	from := fmt.Sprintf("host='%s' port=%s user=%s application_name=standby", u.Query().Get("host"), u.Query().Get("port"), u.User.Username())
	data := filepath.Join(s.dir, "data")
	backup := exec.CommandContext(t.Context(), filepath.Join(bin, "pg_basebackup"), "-D", data, "-R", "-X", "stream", "-c", "fast", "-d", from)
	backup.Env, backup.Dir, backup.SysProcAttr = []string{"LC_ALL=C", "TZ=UTC"}, "/", as(owner)
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("copying the primary: %v\n%s", err, out)
	}
	args := []string{"-D", data}
	for name, value := range map[string]string{
		"listen_addresses": "", "port": "5432", "unix_socket_directories": s.sockets, "shared_buffers": "32MB", "max_connections": "200",
		"hba_file": filepath.Join(primary.Dir(), "pg_hba.conf"), "ident_file": filepath.Join(primary.Dir(), "pg_ident.conf"),
	} {
		args = append(args, "-c", name+"="+value)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), args...)
	server.Env, server.Dir, server.SysProcAttr = []string{"LC_ALL=C", "TZ=UTC"}, "/", as(owner)
	s.pid, s.ended = startChild(t, server, filepath.Join(s.dir, "log"))
	waitUntil(t, func() bool { return ask(t, primary.DSN("postgres"), "select count(*) from pg_stat_replication") == "1" })
	runSQL(t, primary.DSN("postgres"), "alter system set synchronous_standby_names = 'standby'", "select pg_reload_conf()")
	waitUntil(t, func() bool {
		return ask(t, primary.DSN("postgres"), "select coalesce(max(sync_state), '') from pg_stat_replication") == "sync"
	})
	return s
}

func ownerOf(t *testing.T, path string) *syscall.Credential {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no owner to be read")
	}
	return &syscall.Credential{Uid: st.Uid, Gid: st.Gid}
}

// as makes a child that runs as another user and ends with this process.
func as(who *syscall.Credential) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		attr.Credential = who
	}
	return attr
}

// startChild runs a server until the test ends. Its thread is kept: the kernel
// ends the child with it.
func startChild(t *testing.T, cmd *exec.Cmd, log string) (pid int, ended <-chan struct{}) {
	t.Helper()
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	cmd.Stdout, cmd.Stderr = out, out
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
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
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGCONT)
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGQUIT)
		<-done
		if t.Failed() {
			b, _ := os.ReadFile(log)
			t.Logf("%s said:\n%s", filepath.Base(cmd.Path), b[max(0, len(b)-2000):])
		}
	})
	return cmd.Process.Pid, done
}

// dsn of the standby.
func (s *standby) dsn() string {
	return "postgres://landed@/postgres?" + url.Values{"host": {s.sockets}, "port": {"5432"}, "sslmode": {"disable"}}.Encode()
}

// both is the address of both, the standby first: only target_session_attrs keeps
// a client from staying with the server that takes no writes
// (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-TARGET-SESSION-ATTRS).
func (s *standby) both(t *testing.T, primary *cluster.Cluster) string {
	t.Helper()
	u, err := url.Parse(primary.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", s.sockets+","+q.Get("host"))
	q.Set("port", "5432,"+q.Get("port"))
	q.Set("target_session_attrs", "read-write")
	u.RawQuery = q.Encode()
	return u.String()
}

// pause stops the standby's replay and its answers, as a partition would.
func (s *standby) pause(yes bool) {
	s.t.Helper()
	sig := syscall.SIGCONT
	if yes {
		sig = syscall.SIGSTOP
	}
	// Its children each, too: the one that receives is the one that answers.
	out, err := exec.CommandContext(s.t.Context(), "ps", "-o", "pid=", "--ppid", fmt.Sprint(s.pid)).Output()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, pid := range append(strings.Fields(string(out)), fmt.Sprint(s.pid)) {
		var n int
		if _, err := fmt.Sscan(pid, &n); err == nil {
			_ = syscall.Kill(n, sig)
		}
	}
}

func (s *standby) promote() {
	s.t.Helper()
	waitUntil(s.t, func() bool { return ask(s.t, s.dsn(), "select pg_promote(false)") == "true" })
	waitUntil(s.t, func() bool { return ask(s.t, s.dsn(), "select pg_is_in_recovery()") == "false" })
}

// ask reads one value as text; "" if the server does not answer.
func ask(t *testing.T, dsn, sql string) string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		return ""
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	var v any
	if err := c.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		return ""
	}
	return fmt.Sprint(v)
}

// pair is a primary with a synchronous standby and a store that finds whichever
// takes writes.
func pair(t *testing.T) (*cluster.Cluster, *standby, *desk) {
	t.Helper()
	primary := killable(t, filepath.Join(shortTempDir(t), "c"))
	if err := postgres.Migrate(t.Context(), primary.DSN("postgres")); err != nil {
		t.Fatal(err)
	}
	s := newStandby(t, primary)
	dsn := s.both(t, primary)
	store, err := postgres.Open(t.Context(), dsn, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	for _, tool := range []string{"mail.send", "ticket.create", "pay"} {
		if err := store.RegisterTool(t.Context(), journal.Tool{Name: tool, Class: classOf(tool), Provider: "asked", ClientTimeout: 10 * time.Second, KeyWindow: windowOf(tool)}); err != nil {
			t.Fatal(err)
		}
	}
	return primary, s, &desk{Store: store, t: t, dsn: dsn}
}

// TestFailover kills the primary under workers and promotes the standby: they
// carry on there by themselves, and nothing that was acknowledged is lost.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary, s, d := pair(t)
	l, stop := newLedger(), make(chan struct{})
	acked := &ackedJournal{Journal: d.Store}
	w := newFaultWorker(t, acked, func(ctx context.Context, _ worker.Call) (worker.Outcome, error) { return l.take(ctx) })
	var done atomic.Int64
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("w%d-%d", i, n)
				a, err := w.Do(t.Context(), faultCall([]string{"mail.send", "ticket.create", "pay"}[n%3], key))
				if err != nil || a.Status != worker.StatusDone || l.of(key) != 1 {
					t.Errorf("%s: %s, %v, %d effects", key, a.Status, err, l.of(key))
				}
				done.Add(1)
			}
		})
	}
	waitUntil(t, func() bool { return done.Load() >= 60 })
	if err := syscall.Kill(primary.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-primary.Done()
	s.promote()
	until := done.Load() + 60
	waitUntil(t, func() bool { return done.Load() >= until })
	close(stop)
	all.Wait()
	acked.lost(t, d.Store)
	if at := ask(t, s.dsn(), "select count(*) from effects where state = 'COMMITTED'"); at != fmt.Sprint(done.Load()) {
		t.Errorf("the standby has %s committed effects, %d calls were done", at, done.Load())
	}
	if _, err := d.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFailover_AnswersStandOnTheStandby: while the standby is away, a begin and
// a commit are written on the primary and wait. Their callers give up, which
// makes the rows visible there although no standby has them. Asking again must
// not be answered from such a row: after a failover it would never have been.
func TestFailover_AnswersStandOnTheStandby(t *testing.T) {
	t.Parallel()
	primary, s, d := pair(t)
	again := func(name string, call func(ctx context.Context) error) {
		for try := range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			err := call(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, journal.ErrUnavailable) {
				t.Errorf("%s, try %d: %v, although no standby has it", name, try+1, err)
			}
		}
	}
	first, second := request("mail.send", "begun before"), request("mail.send", "begun while away")
	granted := d.begin(first)
	s.pause(true)
	commit := journal.CommitRequest{Report: report(first, granted), ProviderID: "p-1"}
	again("begin", func(ctx context.Context) error { _, err := d.Begin(ctx, second); return err })
	again("commit", func(ctx context.Context) error { _, err := d.Commit(ctx, commit); return err })
	if err := syscall.Kill(primary.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-primary.Done()
	s.pause(false)
	s.promote()
	if a := beginAgain(t, d.Store, second); a.Directive != journal.DirectiveExecute || a.Attempt != 1 {
		t.Errorf("after the failover begin answers %s, attempt %d", a.Directive, a.Attempt)
	}
	if a, err := d.Commit(t.Context(), commit); err != nil || a.State != journal.StateCommitted {
		t.Errorf("after the failover commit answers %s, %v", a.State, err)
	}
}

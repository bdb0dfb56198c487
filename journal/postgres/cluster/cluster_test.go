package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStart_TemporaryClusterIsDurableAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	conn := open(t, c.DSN("postgres"))
	got := map[string]string{}
	want := map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on",
		"listen_addresses": "", "shared_buffers": "128MB", "max_connections": "200",
		"server_encoding": "UTF8", "TimeZone": "UTC", "lc_messages": "C",
	}
	for name := range want {
		var value string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value); err != nil {
			t.Fatal(err)
		}
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	var role string
	var byteOrder, letters bool
	err := conn.QueryRow(t.Context(), `SELECT current_user, 'B' < 'a', 'ÄRGER' ILIKE 'ärger'`).Scan(&role, &byteOrder, &letters)
	if err != nil || role != "landed" || !byteOrder || !letters {
		t.Errorf("role %q, byte order %v, letters %v, err %v", role, byteOrder, letters, err)
	}

	dir := c.Dir()
	for i := range 2 {
		if err := c.Stop(); err != nil {
			t.Errorf("stop %d: %v", i+1, err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	select {
	case <-c.Done():
		t.Error("Done closed by Stop")
	default:
	}
	if c.Err() != nil {
		t.Errorf("Err after Stop: %v", c.Err())
	}
}

func TestStart_NeedsNoPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(BinEnv, "")
	c := start(t, Config{})
	if c.Binaries().Major < MinMajor {
		t.Errorf("binaries %+v", c.Binaries())
	}
}

func TestStart_SecondStartSaysWhoHoldsTheDirectory(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Dir: filepath.Join(publicDir(t), "demo")})
	_, err := Start(t.Context(), Config{Dir: c.place.dir})
	var inUse *InUseError
	if !errors.Is(err, ErrInUse) || !errors.As(err, &inUse) {
		t.Fatalf("second start: %v", err)
	}
	if diff := cmp.Diff(InUseError{Dir: c.place.dir, PID: c.PID(), Owner: os.Getpid()}, *inUse); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(err.Error(), fmt.Sprint("process ", c.PID())) {
		t.Errorf("the message does not name the process: %v", err)
	}
	open(t, c.DSN("postgres")) // the first one is unharmed
}

// A server that someone started by hand is not ours to stop.
func TestStart_LeavesAForeignServerAlone(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Dir: filepath.Join(publicDir(t), "demo")})
	if err := os.Remove(filepath.Join(c.place.dir, "lock")); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{Dir: c.place.dir})
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.PID != c.PID() || inUse.Owner != 0 {
		t.Fatalf("second start: %v", err)
	}
	open(t, c.DSN("postgres"))
}

func TestStart_ContextEndsTheServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := Start(ctx, Config{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-c.process.ended
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary directory is still there: %v", err)
	}
}

func TestStart_CancelledWhilePreparing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(publicDir(t), "demo")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := Start(ctx, Config{Dir: dir})
		failed <- err
	}()
	eventually(t, "initdb begins", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "data.new-*", "PG_VERSION"))
		return len(found) > 0
	})
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled start: %v", err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "data*")); len(found) > 0 {
		t.Errorf("left behind: %v", found)
	}
	start(t, Config{Dir: dir})
}

func TestStart_KilledServerIsReportedAndRecovers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(publicDir(t), "demo")
	c := start(t, Config{Dir: dir})
	conn := open(t, c.DSN("postgres"))
	exec1(t, conn, "CREATE TABLE effect AS SELECT generate_series(1, 1000)")
	if err := signal(c.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if c.Err() == nil || !strings.Contains(c.Err().Error(), "killed") {
		t.Errorf("Err: %v", c.Err())
	}
	if err := c.Stop(); err != nil {
		t.Errorf("Stop after the loss: %v", err)
	}
	again := start(t, Config{Dir: dir})
	if n := count(t, open(t, again.DSN("postgres")), "effect"); n != 1000 {
		t.Errorf("%d rows after recovery", n)
	}
}

func TestStart_FailureEndsWithTheLog(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Config{Settings: map[string]string{"shared_buffers": "plenty"}})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "shared_buffers"`) {
		t.Errorf("error without the server's words: %v", err)
	}
}

func TestStart_AccessIsNotASetting(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"listen_addresses", "hba_file", "ident_file", "unix_socket_directories", "port"} {
		if _, err := settings(&place{}, map[string]string{name: "x"}); err == nil {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestStart_StaleFileWithALiveNumber(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(publicDir(t), "demo")
	c := start(t, Config{Dir: dir})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	// The number now belongs to a live process of the server's own user that is
	// no server: Postgres alone would refuse to start.
	owner, _, err := c.place.existing()
	if err != nil {
		t.Fatal(err)
	}
	acc, err := chooseAccount(owner)
	if err != nil {
		t.Fatal(err)
	}
	other := sleeper(t, acc)
	data := c.place.data()
	text := fmt.Sprintf("%d\n%s\n1700000000\n5432\n/tmp\n\n0 0\nready\n", other, data)
	name := filepath.Join(data, "postmaster.pid")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := acc.give(name); err != nil {
		t.Fatal(err)
	}
	again := start(t, Config{Dir: dir})
	if again.PID() == other {
		t.Error("took the other process for the server")
	}
}

func TestStart_LongPathsGetAShortSocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(publicDir(t), strings.Repeat("long/", 8), strings.Repeat("l", 120))
	c := start(t, Config{Dir: dir})
	open(t, c.DSN("postgres"))
	sockets := c.place.sockets
	if strings.HasPrefix(sockets, dir) || !socketFits(sockets) {
		t.Errorf("socket directory %s", sockets)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sockets); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", sockets, err)
	}
}

func TestStart_OddDirectoryNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"it's +one %20 ümlaut in $HOME", `a,b "quoted"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, Config{Dir: filepath.Join(publicDir(t), name)})
			open(t, c.DSN("postgres"))
		})
	}
}

func TestStart_RefusesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, content, want string }{
		"a data directory itself":    {"PG_VERSION", "15\n", "itself a Postgres data directory"},
		"a folder of something else": {"data/thesis.txt", "x", "not a Postgres data directory"},
		"an unreadable version":      {"data/PG_VERSION", "fifteen", "not a version"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := publicDir(t)
			write(t, filepath.Join(dir, test.file), test.content)
			_, err := Start(t.Context(), Config{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestSweep_RemovesOnlyWhatIsAbandoned(t *testing.T) {
	t.Parallel()
	base := publicDir(t)
	fresh, held, abandoned := filepath.Join(base, tempPrefix+"fresh"), filepath.Join(base, tempPrefix+"held"), filepath.Join(base, tempPrefix+"abandoned")
	for _, dir := range []string{fresh, held, abandoned} {
		write(t, filepath.Join(dir, "lock"), "owner 1\npostgres 2\nsockets \n")
	}
	l, err := acquire(held)
	if err != nil {
		t.Fatal(err)
	}
	defer l.release()
	for _, dir := range []string{held, abandoned} {
		age(t, filepath.Join(dir, "lock"))
	}
	sweep(base)
	left, _ := filepath.Glob(filepath.Join(base, "*"))
	if diff := cmp.Diff([]string{fresh, held}, left); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package cluster

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// age makes a file older than the grace that sweep gives.
func age(t testing.TB, name string) {
	t.Helper()
	old := time.Now().Add(-2 * tempGrace)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
}

// sleeper is a live process of acc that is no postgres.
func sleeper(t testing.TB, acc account) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Dir, cmd.SysProcAttr = "/", attributes(acc)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	// Start returns in the middle of exec, when there is no command line yet.
	eventually(t, "sleep has its command line", func() bool { return inspect(cmd.Process.Pid, "/") == holderOther })
	return cmd.Process.Pid
}

// holdElsewhere starts a cluster in another process. It returns that process,
// the DSN and the postmaster's id.
func holdElsewhere(t *testing.T, dir string) (*exec.Cmd, string, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"=hold "+dir)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // held open by us
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	dsn, number, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, numErr := strconv.Atoi(number)
	if err != nil || numErr != nil {
		t.Fatalf("the other process answered %q (%v)", line, err)
	}
	return cmd, dsn, pid
}

func TestStart_KilledParentLeavesNoOrphanAndLosesNothing(t *testing.T) {
	t.Parallel()
	probe(t)
	dir := filepath.Join(publicDir(t), "demo")
	parent, dsn, pid := holdElsewhere(t, dir)
	conn := open(t, dsn)
	exec1(t, conn, "CREATE TABLE effect AS SELECT generate_series(1, 5000)")
	exec1(t, conn, "BEGIN")
	exec1(t, conn, "INSERT INTO effect VALUES (0)") // never committed

	_, err := Start(t.Context(), Config{Dir: dir})
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.PID != pid || inUse.Owner != parent.Process.Pid {
		t.Fatalf("while the other process lives: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()

	c := start(t, Config{Dir: dir}) // at once: the old server may still be stopping
	if h := inspect(pid, c.place.data()); h != holderGone && h != holderOther {
		t.Errorf("the old server, process %d, is still there", pid)
	}
	if n := count(t, open(t, c.DSN("postgres")), "effect"); n != 5000 {
		t.Errorf("%d rows, want the 5000 committed ones", n)
	}
}

// Without a next start the server must go as well.
func TestStart_KilledParentEndsTheServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		missing(t, "a parent death signal", "run on Linux")
	}
	probe(t)
	dir := filepath.Join(publicDir(t), "demo")
	parent, _, pid := holdElsewhere(t, dir)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	data := filepath.Join(dir, "data")
	eventually(t, "the server ends", func() bool { return inspect(pid, data) != holderOurs })
	if _, ok := readPIDFile(data); ok {
		t.Error("it did not shut down cleanly")
	}
}

// An orphan that did not get the signal is stopped by the next start.
func TestClearHolder_StopsARecordedServer(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	data := c.place.data()
	if err := clearHolder(t.Context(), c.place.dir, data, c.PID()); err != nil {
		t.Fatal(err)
	}
	if h := inspect(c.PID(), data); h == holderOurs {
		t.Error("it still runs")
	}
	<-c.Done()
}

func TestInspect_PortableAgreesWithProc(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	data := c.place.data()
	other := sleeper(t, account{})
	for name, ask := range map[string]func(int, string) holder{"system": inspect, "ps": inspectPortable} {
		if h := ask(c.PID(), data); h != holderOurs {
			t.Errorf("%s: our server is %v", name, h)
		}
		if h := ask(other, data); h != holderOther {
			t.Errorf("%s: another program is %v", name, h)
		}
		if h := ask(1<<22+1, data); h != holderGone {
			t.Errorf("%s: nobody is %v", name, h)
		}
		if h := ask(c.PID(), data+"-of-another"); h == holderOurs || h == holderGone {
			t.Errorf("%s: a server on another directory is %v", name, h)
		}
	}
}

// probe skips where no server can be had, before a child is asked for one.
func probe(t *testing.T) {
	t.Helper()
	if _, err := FindBinaries(t.Context(), Config{}); errors.Is(err, ErrNoBinaries) {
		missing(t, "PostgreSQL", err.Error())
	}
}

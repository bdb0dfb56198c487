// Package redminetest starts a real Redmine for tests: the Debian package's
// Redmine 5 as a child process on loopback, with a fresh SQLite database in a
// temporary folder. It owns the process and its data; nothing of the machine's
// own Redmine is read but its program, and nothing of it is written. It is for
// tests only.
package redminetest

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal/journaltest"
)

const (
	home      = "/usr/share/redmine"
	sqlite    = "/usr/lib/ruby/vendor_ruby/sqlite3.rb"
	howToGet  = "DEBIAN_FRONTEND=noninteractive apt-get install --no-install-recommends redmine redmine-sqlite"
	startWait = 90 * time.Second
)

//go:embed seed.rb
var seedScript string

// The accounts. All but Worker and Admin are for reading.
const (
	Admin    = "boss"
	Worker   = "worker"   // creates issues in all projects
	Reader   = "reader"   // the pack's account as it should be: sees all issues of desk and archive
	Narrow   = "narrow"   // does not see private issues
	Own      = "own"      // sees its own issues only
	Blind    = "blind"    // is a member without View issues
	Stranger = "stranger" // is a member of no project
)

// The custom fields. Redmine filters by the first one only, and shows the last
// one to nobody but workers.
const (
	Field           = "Landed Ref"
	FieldUnfiltered = "Unfiltered Ref"
	FieldHidden     = "Hidden Ref"
)

// Server is one running Redmine. Safe for concurrent use.
type Server struct {
	URL      string // http://127.0.0.1:port
	Fields   map[string]int
	Projects map[string]int // desk, other, archive
	Statuses map[string]int // New, Closed, Rejected
	tracker  int
	keys     map[string]string
	http     *http.Client
	writes   sync.Mutex // held while something is written: SQLite refuses a second writer
}

// Key returns the API access key of an account.
func (s *Server) Key(account string) string { return s.keys[account] }

// Start sets Redmine up and starts it; that takes about 15 seconds. It ends the
// test with a skip when Redmine is not installed. The process and its data are
// gone when the test ends, or when the test's process dies.
func Start(t testing.TB) *Server {
	t.Helper()
	for _, f := range []string{home + "/config.ru", sqlite} {
		if _, err := os.Stat(f); err != nil {
			journaltest.Missing(t, "Redmine 5", howToGet)
		}
	}
	dir := newDir(t)
	s := &Server{http: &http.Client{Timeout: startWait}}
	s.seed(t, dir)
	port := freePort(t)
	s.URL = "http://127.0.0.1:" + strconv.Itoa(port)
	launch(t, dir, port)
	s.waitReady(t)
	return s
}

// newDir makes the instance's folder, owned by the user that Redmine runs as.
// t.TempDir won't do: its parent is closed to other users.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "landed-redmine-")
	if err != nil {
		t.Fatalf("making a folder for Redmine: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, sub := range []string{"config", "files", "log", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatalf("making a folder for Redmine: %v", err)
		}
	}
	for name, text := range map[string]string{
		"config/database.yml":   "production:\n  adapter: sqlite3\n  database: " + dir + "/redmine.sqlite3\n  timeout: 20000\n",
		"config/secret_key.txt": rand.Text() + rand.Text() + "\n",
		"seed.rb":               seedScript,
		// Redmine's own takes the database's library from the machine's settings,
		// which not everybody may read.
		"Gemfile": "eval_gemfile '" + home + "/Gemfile'\ngem 'sqlite3', '~> 1.4.0'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatalf("configuring Redmine: %v", err)
		}
	}
	if err := giveAway(dir); err != nil {
		t.Fatalf("configuring Redmine: %v", err)
	}
	return dir
}

// command runs a program in Redmine's folder for our instance and nothing else.
// Debian's Redmine looks for an instance below its own folder: the path leads
// back to the root and from there to dir.
func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = home
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "RAILS_ENV=production", "BUNDLE_GEMFILE=" + filepath.Join(dir, "Gemfile"),
		"REDMINE_INSTANCE=" + strings.Repeat("../", 8) + strings.TrimPrefix(dir, "/"),
	}
	confine(cmd)
	return cmd
}

// seed makes the database and reads what the script put into it.
func (s *Server) seed(t testing.TB, dir string) {
	t.Helper()
	cmd := command(dir, "ruby", filepath.Join(dir, "seed.rb"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	runtime.LockOSThread() // the parent-death signal follows the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		t.Fatalf("setting Redmine up: %v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	var seed struct {
		Keys                       map[string]string
		Tracker                    int
		Fields, Projects, Statuses map[string]int
	}
	if err := json.Unmarshal(out.Bytes(), &seed); err != nil {
		t.Fatalf("reading what the seed script made: %v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	s.keys, s.tracker, s.Fields, s.Projects, s.Statuses = seed.Keys, seed.Tracker, seed.Fields, seed.Projects, seed.Statuses
}

// launch starts the server. The goroutine that starts it keeps its thread until
// the child has ended: the kernel's parent-death signal follows that thread.
func launch(t testing.TB, dir string, port int) {
	t.Helper()
	cmd := command(dir, "ruby", "-rwebrick", "-S", "rackup", "-E", "production", "-s", "webrick", "-o", "127.0.0.1", "-p", strconv.Itoa(port), "config.ru")
	var log lockedBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is ended by a signal: its status says nothing
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("starting Redmine: %v", err)
	}
	t.Cleanup(func() {
		stop(cmd, ended)
		if t.Failed() {
			t.Logf("Redmine's log:\n%s", log.String())
		}
	})
}

func (s *Server) waitReady(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(startWait)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := s.http.Get(s.URL + "/users/current.json")
		if err == nil {
			_ = resp.Body.Close() // 401 is an answer
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Redmine did not answer within %v: %v", startWait, err)
		}
		<-tick.C
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("finding a free port: %v", err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// lockedBuffer collects the server's log from its writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%.20000s", b.b.String())
}

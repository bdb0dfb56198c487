// Package rttest starts a real Request Tracker for tests: the Debian package's
// RT 5 as a child process on loopback, with a fresh SQLite database in a
// temporary folder. It owns the process and its data; nothing of the machine's
// own RT is read or written. It is for tests only.
package rttest

import (
	"bytes"
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
	"sync"
	"testing"
	"text/template"
	"time"

	"github.com/landedhq/landed/journal/journaltest"
)

const (
	setupTool  = "/usr/sbin/rt-setup-database-5"
	serverTool = "/usr/share/request-tracker5/libexec/rt-server"
	howToGet   = "apt-get install --no-install-recommends request-tracker5 rt5-db-sqlite rt5-standalone libdbd-pg-perl"
	startWait  = 60 * time.Second
)

//go:embed seed.pl
var seedScript string

//go:embed config.pm.tmpl
var configTemplate string

// Field is the custom field that every queue but Archive has.
const Field = "Landed Ref"

// The queues. Archive lacks the field; the other odd ones are for names.
const (
	Queue          = "Desk"
	QueueArchive   = "Archive"
	QueueQuoted    = "O'Brien & Co"
	QueueUnquoted  = "OBrien & Co"
	QueueNonASCII  = "Größe"
	AccountWorker  = "worker"     // creates tickets
	AccountMute    = "mute"       // creates tickets, may not set the field
	AccountReader  = "reader"     // the adapter's account as it should be
	AccountNoField = "nofield"    // lacks SeeCustomField
	AccountNoShow  = "noticket"   // lacks ShowTicket
	AccountNoQueue = "noqueue"    // lacks SeeQueue
	AccountNothing = "norights"   // has no rights
	AccountGlobal  = "everywhere" // sees all queues
	accountAdmin   = "admin"
)

// Options choose how RT is set up.
type Options struct {
	// HoldBack switches $UseSQLForACLChecks off: RT then leaves out after the query
	// what an account may not see, and tells no totals.
	HoldBack bool
}

// Server is one running RT. Safe for concurrent use.
type Server struct {
	URL     string         // http://127.0.0.1:port
	FieldID int            // of Field
	Queues  map[string]int // name to id
	tokens  map[string]string
	http    *http.Client
}

// Start sets RT up and starts it; that takes about ten seconds. It ends the test
// with a skip when RT is not installed. The process and its data are gone when
// the test ends, or when the test's process dies.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	for _, f := range []string{setupTool, serverTool} {
		if _, err := os.Stat(f); err != nil {
			journaltest.Missing(t, "Request Tracker 5", howToGet)
		}
	}
	dir := newDir(t)
	port := freePort(t)
	writeConfig(t, dir, port, o)
	run(t, dir, setupTool, "--action", "init")
	s := &Server{URL: "http://127.0.0.1:" + strconv.Itoa(port), http: &http.Client{Timeout: startWait}}
	s.seed(t, run(t, dir, "perl", filepath.Join(dir, "seed.pl")))
	launch(t, dir, port)
	s.waitReady(t)
	return s
}

// Token returns the auth token of an account.
func (s *Server) Token(account string) string { return s.tokens[account] }

// newDir makes the data folder, owned by the user that RT runs as. t.TempDir
// won't do: its parent is closed to other users.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "landed-rt-")
	if err != nil {
		t.Fatalf("making a folder for RT: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, sub := range []string{"data", "mason", "session", "conf.d"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatalf("making a folder for RT: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "seed.pl"), []byte(seedScript), 0o644); err != nil {
		t.Fatalf("writing the seed script: %v", err)
	}
	return dir
}

func writeConfig(t testing.TB, dir string, port int, o Options) {
	t.Helper()
	checks := 1
	if o.HoldBack {
		checks = 0
	}
	var b bytes.Buffer
	err := template.Must(template.New("config").Parse(configTemplate)).Execute(&b, map[string]any{"Dir": dir, "Port": port, "SQLChecks": checks})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "RT_SiteConfig.pm"), b.Bytes(), 0o644)
	}
	if err == nil {
		err = giveAway(dir)
	}
	if err != nil {
		t.Fatalf("configuring RT: %v", err)
	}
}

// command runs a tool of RT on dir and nothing else. RT_SITE_CONFIG_DIR points
// away from the machine's own settings, which would win otherwise.
func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8",
		"RT_SITE_CONFIG=" + filepath.Join(dir, "RT_SiteConfig.pm"),
		"RT_SITE_CONFIG_DIR=" + filepath.Join(dir, "conf.d"),
	}
	confine(cmd)
	return cmd
}

func run(t testing.TB, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := command(dir, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes()
}

func (s *Server) seed(t testing.TB, out []byte) {
	t.Helper()
	var seed struct {
		Tokens map[string]string `json:"tokens"`
		Queues map[string]int    `json:"queues"`
		Field  int               `json:"field"`
	}
	if err := json.Unmarshal(out, &seed); err != nil {
		t.Fatalf("reading what the seed script made: %v\n%s", err, out)
	}
	s.tokens, s.Queues, s.FieldID = seed.Tokens, seed.Queues, seed.Field
}

// launch starts the server. The goroutine that starts it keeps its thread until
// the child has ended: the kernel's parent-death signal follows that thread.
func launch(t testing.TB, dir string, port int) {
	t.Helper()
	cmd := command(dir, serverTool, "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--max-workers", "3")
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
		t.Fatalf("starting RT: %v", err)
	}
	t.Cleanup(func() {
		stop(cmd, ended)
		if t.Failed() {
			t.Logf("RT's log:\n%s", log.String())
		}
	})
}

func (s *Server) waitReady(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(startWait)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := s.http.Get(s.URL + "/REST/2.0/rt")
		if err == nil {
			_ = resp.Body.Close() // 401 is an answer
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("RT did not answer within %v: %v", startWait, err)
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

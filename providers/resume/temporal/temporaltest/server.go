// Package temporaltest runs Temporal's development server for tests: a real
// server with its database in memory, as a child process on loopback.
//
// It owns the process, and the few calls of the HTTP API that tests need to set
// a scene without an SDK.
package temporaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/landedhq/landed/journal/journaltest"
)

// Version is the release of the command line that the tests are written for.
const Version = "v1.5.1"

// Namespace is the one that every development server has.
const Namespace = "default"

// Server is a running development server.
type Server struct {
	URL  string // of the HTTP API
	GRPC string // host:port for SDKs
}

// Start starts a server that ends with the test. flags go to `temporal server
// start-dev`.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	bin := find()
	if bin == "" {
		journaltest.Missing(t, "Temporal's command line", "GOBIN=$PWD/.ci/bin go install github.com/temporalio/cli/cmd/temporal@"+Version)
	}
	const tries = 3 // a free port can be taken before the server binds it
	for try := 1; ; try++ {
		s, err := start(t, bin, flags)
		if err == nil {
			return s
		}
		if try == tries {
			t.Fatalf("starting Temporal: %v", err)
		}
	}
}

// find looks in PATH, then in .ci/bin of the working directory and those above.
func find() string {
	if p, err := exec.LookPath("temporal"); err == nil {
		return p
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		p := filepath.Join(dir, ".ci", "bin", "temporal")
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

func start(t testing.TB, bin string, flags []string) (*Server, error) {
	grpc, web := freePort(t), freePort(t)
	s := &Server{URL: fmt.Sprintf("http://127.0.0.1:%d", web), GRPC: fmt.Sprintf("127.0.0.1:%d", grpc)}
	home := t.TempDir() // the command keeps a file there
	var log bytes.Buffer
	//nolint:gosec // the command was found by us, and the flags are the test's
	cmd := exec.Command(bin, append([]string{"server", "start-dev", "--headless", "--ip", "127.0.0.1",
		"--port", fmt.Sprint(grpc), "--http-port", fmt.Sprint(web), "--log-level", "error"}, flags...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = childAttr()
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the kernel ends the child when the thread that started it ends
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // ended by us: its status says nothing
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	end := func() {
		_ = cmd.Process.Kill() // everything is in memory: nothing to flush
		<-ended
	}
	if err := s.await(ended); err != nil {
		end()
		return nil, fmt.Errorf("%w\n%s", err, log.String())
	}
	t.Cleanup(func() {
		end()
		if t.Failed() {
			t.Logf("Temporal's log:\n%s", log.String())
		}
	})
	return s, nil
}

// await polls until the namespace is served.
func (s *Server) await(ended <-chan struct{}) error {
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); {
		req, err := http.NewRequest(http.MethodGet, s.URL+"/api/v1/namespaces/"+Namespace, http.NoBody)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()                                                            // only its status is wanted
			if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusForbidden { // a test may forbid our host
				return nil
			}
		}
		select {
		case <-ended:
			return errors.New("it ended by itself")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return errors.New("it did not get ready in time")
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()                     //nolint:errcheck // nothing was accepted
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of network tcp
}

// Call makes one call of the HTTP API and returns status and body. path is below
// /api/v1/namespaces/default.
func (s *Server) Call(ctx context.Context, t testing.TB, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+"/api/v1/namespaces/"+Namespace+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

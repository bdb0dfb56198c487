package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// process is a child that ends with us.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // how it ended; read after ended
}

// launch starts cmd. The goroutine that starts it keeps its thread until the
// child has ended, because the kernel ties the child to that thread.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	endWithParent(cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	return p, <-started
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends a postmaster: a fast shutdown, then an immediate one, then a kill.
// Anything but the first is an error: the next start has to recover.
func (p *process) stop(patience time.Duration) error {
	steps := []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGINT, patience}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}}
	for i, step := range steps {
		if err := p.cmd.Process.Signal(step.sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("sending %s to process %d: %w", step.sig, p.pid(), err)
		}
		select {
		case <-p.ended:
			if i > 0 {
				return fmt.Errorf("process %d did not end within %s and was stopped by %s", p.pid(), patience, step.sig)
			}
			return nil
		case <-time.After(step.wait):
		}
	}
	return fmt.Errorf("process %d does not end", p.pid())
}

// run starts cmd and waits for it, or stops it when ctx is done first. It
// returns what cmd wrote.
func run(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := launch(cmd)
	if err != nil {
		return "", err
	}
	select {
	case <-p.ended:
		return out.String(), p.err
	case <-ctx.Done():
		_ = p.stop(5 * time.Second)
		return "", ctx.Err()
	}
}

// environment is what the server's programs get of ours: where libraries are,
// and nothing that Postgres reads (PGDATA, PGOPTIONS …) or that changes the
// language of its messages.
func environment() []string {
	env := []string{"LC_ALL=C", "TZ=UTC"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// logTail returns the last lines that were written after offset from.
func logTail(name string, from int64) string {
	const most, lines = 8 << 10, 15
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size()-from > most {
		from = info.Size() - most
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, from, most))
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

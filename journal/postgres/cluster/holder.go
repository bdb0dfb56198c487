package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// holder is what a process named by postmaster.pid turns out to be.
type holder int

const (
	holderGone    holder = iota // no such process
	holderOther                 // the number was reused by something else
	holderUnknown               // a postgres, its directory cannot be seen
	holderOurs                  // a postgres on our data directory
)

// orphanLimit is how long Start waits for a server that was left over.
const orphanLimit = 30 * time.Second

// pidFile is what the postmaster writes about itself into its data directory.
// The lines are described in miscadmin.h of the PostgreSQL sources
// (LOCK_FILE_LINE_…): 1 process id, 8 status.
type pidFile struct {
	pid    int
	status string
}

func parsePIDFile(b []byte) (pidFile, bool) {
	lines := strings.Split(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 {
		return pidFile{}, false
	}
	p := pidFile{pid: pid}
	if len(lines) >= 8 {
		p.status = strings.TrimSpace(lines[7])
	}
	return p, true
}

func readPIDFile(data string) (pidFile, bool) {
	b, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, false
	}
	return parsePIDFile(b)
}

// clearHolder makes sure that no server runs on data. The caller holds the
// directory's lock, so no live process of this package owns one. recorded is the
// postmaster that the last owner noted: that one is stopped, a stranger is not.
// Postgres recovers from a stale file by itself, except when something else has
// got its number (common in containers) or a zombie keeps it: then it is removed.
func clearHolder(ctx context.Context, dir, data string, recorded int) error {
	file, ok := readPIDFile(data)
	if !ok {
		return nil
	}
	switch inspect(file.pid, data) {
	case holderGone, holderOther:
		if signal(file.pid, 0) != nil {
			return nil // Postgres sees the same and recovers, with more checks than we have
		}
		return removeStale(data)
	case holderUnknown:
		return &InUseError{Dir: dir, PID: file.pid}
	}
	if file.pid != recorded {
		return &InUseError{Dir: dir, PID: file.pid}
	}
	return endOrphan(ctx, dir, data, file.pid)
}

func removeStale(data string) error {
	err := os.Remove(filepath.Join(data, "postmaster.pid"))
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("removing the stale postmaster.pid: %w", err)
	}
	return nil
}

// endOrphan waits for a server whose owner was killed. On Linux it is already
// shutting down; a second SIGINT changes nothing there.
func endOrphan(ctx context.Context, dir, data string, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, orphanLimit)
	defer cancel()
	_ = signal(pid, syscall.SIGINT)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for inspect(pid, data) == holderOurs {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for a server that was left over: %w", &InUseError{Dir: dir, PID: pid})
		case <-tick.C:
		}
	}
	if file, ok := readPIDFile(data); ok && file.pid == pid {
		return removeStale(data)
	}
	return nil
}

func isPostgres(command string) bool {
	base := filepath.Base(command)
	return base == "postgres" || base == "postmaster" || strings.HasPrefix(command, "postgres:")
}

// inspectPortable asks ps, where there is no /proc.
func inspectPortable(pid int, data string) holder {
	out, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	line := strings.TrimSpace(string(out))
	if err != nil || line == "" {
		return holderGone
	}
	command, _, _ := strings.Cut(line, " -D ")
	switch {
	case !isPostgres(strings.TrimSpace(command)):
		return holderOther
	case strings.Contains(line, data):
		return holderOurs
	}
	return holderUnknown
}

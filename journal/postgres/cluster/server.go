package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// port only names the socket file.
	port = 5432
	// startLimit bounds a start, crash recovery included.
	startLimit = 3 * time.Minute
	// logLimit is the size at which a start puts the old log aside.
	logLimit = 10 << 20
)

// settings are the server's parameters: durable, small, and on the socket only.
// extra may change any but those that decide who can reach the server.
func settings(p *place, extra map[string]string) (map[string]string, error) {
	s := map[string]string{
		"fsync":              "on",
		"synchronous_commit": "on",
		"full_page_writes":   "on",
		"shared_buffers":     "128MB",
		"max_connections":    "200",
		"max_wal_size":       "512MB",
		"huge_pages":         "off",
		"jit":                "off",
		"timezone":           "UTC",
		"log_timezone":       "UTC",
		"log_destination":    "stderr",
		"logging_collector":  "off",
		"log_line_prefix":    "%m [%p] %d ",
		"cluster_name":       "landed",
	}
	for name, value := range extra {
		s[name] = value
	}
	fixed := map[string]string{
		"listen_addresses":        "",
		"port":                    strconv.Itoa(port),
		"unix_socket_directories": p.sockets,
		"hba_file":                p.hba(),
		"ident_file":              p.ident(),
	}
	for name, value := range fixed {
		if _, ok := extra[name]; ok {
			return nil, fmt.Errorf("setting %s cannot be changed: it decides who reaches the server", name)
		}
		s[name] = value
	}
	return s, nil
}

// writeAccess writes who may connect. The files are ours, not the account's,
// and are written on every start because the user who starts may change.
func writeAccess(p *place, acc account) error {
	hba := "# Written on every start; changes are lost.\nlocal all,replication " + Superuser + " peer map=landed\n"
	var ident strings.Builder
	ident.WriteString("# Written on every start; changes are lost.\n")
	for _, name := range acc.admitted() {
		fmt.Fprintf(&ident, "landed \"%s\" %s\n", strings.ReplaceAll(name, `"`, `""`), Superuser)
	}
	for name, text := range map[string]string{p.hba(): hba, p.ident(): ident.String()} {
		if err := writePublic(name, text); err != nil {
			return fmt.Errorf("writing who may connect: %w", err)
		}
	}
	return nil
}

// writePublic replaces a file that the server's account reads.
func writePublic(name, text string) (err error) {
	f, err := openPlain(name, os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.Chmod(0o644)
}

// placeSockets finds a directory short enough for a socket: the cluster's own,
// else one in a temporary folder.
func placeSockets(p *place, acc account) error {
	p.sockets = filepath.Join(p.home, "sockets")
	if !socketFits(p.sockets) {
		dir, err := shortDir()
		if err != nil {
			return err
		}
		p.sockets, p.outside = dir, true
	}
	err := os.MkdirAll(p.sockets, 0o700)
	if err == nil {
		err = acc.give(p.sockets)
	}
	if err != nil {
		return fmt.Errorf("making the socket directory: %w", err)
	}
	return nil
}

// socketFits also refuses what a list of directories in postgresql.conf or a
// connection string would read differently.
func socketFits(dir string) bool {
	name := filepath.Join(dir, ".s.PGSQL."+strconv.Itoa(port))
	return len(name) <= maxSocketPath && !strings.ContainsAny(dir, `,"`)
}

func shortDir() (string, error) {
	bases := []string{"/tmp", "/var/tmp"}
	if base, err := tempBase(); err == nil {
		bases = slices.Insert(bases, 0, base)
	}
	for _, base := range bases {
		if !socketFits(filepath.Join(base, "landed-0123456789")) {
			continue
		}
		if dir, err := os.MkdirTemp(base, "landed-"); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no folder for the socket: its path must stay within %d bytes, so set TMPDIR to a short one", maxSocketPath)
}

// startServer starts the postmaster and does not wait for it.
func startServer(p *place, b Binaries, acc account, extra map[string]string) (*process, error) {
	set, err := settings(p, extra)
	if err != nil {
		return nil, err
	}
	args := []string{"-D", p.data()}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		args = append(args, "-c", name+"="+set[name])
	}
	out, err := openPlain(p.log(), os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("opening the server log: %w", err)
	}
	defer out.Close()
	cmd := exec.Command(b.path("postgres"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", environment(), attributes(acc)
	cmd.Stdout, cmd.Stderr = out, out
	proc, err := launch(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting %s as user %s: %w", cmd.Path, acc.name, err)
	}
	return proc, nil
}

// ready waits until postmaster.pid names our child and calls it ready. A
// connection would prove less: a server left over from before answers too.
func (p *process) ready(ctx context.Context, data string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready within %s", startLimit))
	defer cancel()
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for {
		if file, ok := readPIDFile(data); ok && file.pid == p.pid() && file.status == "ready" {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the server ended at once (%w)", p.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// logSize says where the log ends before a start. A long log is put aside
// first; one old log is kept.
func logSize(name string) (int64, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return 0, nil // the first start
	}
	if info.Size() <= logLimit {
		return info.Size(), nil
	}
	if err := os.Rename(name, name+".1"); err != nil {
		return 0, fmt.Errorf("putting the old server log aside: %w", err)
	}
	return 0, nil
}

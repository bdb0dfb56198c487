package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tempPrefix names temporary clusters, so that the next one can remove what a
// killed process left behind.
const tempPrefix = "landed-postgres-"

// tempGrace is the age below which a temporary directory is left alone: its
// maker may not have locked it yet.
const tempGrace = time.Minute

// place is where a cluster's files are. home is dir, except when the server's
// account cannot enter dir: then dir holds the lock and a link to home/data.
type place struct {
	dir       string
	home      string
	sockets   string
	outside   bool // sockets is not below home
	temporary bool // everything is removed on Stop
}

func (p *place) data() string  { return filepath.Join(p.home, "data") }
func (p *place) log() string   { return filepath.Join(p.home, "postgres.log") }
func (p *place) hba() string   { return filepath.Join(p.home, "pg_hba.conf") }
func (p *place) ident() string { return filepath.Join(p.home, "pg_ident.conf") }

// newPlace makes the outer directory. An empty dir means a temporary one.
func newPlace(dir string) (*place, error) {
	if dir == "" {
		base, err := tempBase()
		if err != nil {
			return nil, err
		}
		sweep(base)
		made, err := os.MkdirTemp(base, tempPrefix)
		if err != nil {
			return nil, fmt.Errorf("making a temporary directory: %w", err)
		}
		if err := os.Chmod(made, dirMode()); err != nil {
			return nil, fmt.Errorf("opening the temporary directory: %w", err)
		}
		return &place{dir: made, home: made, temporary: true}, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding directory %s: %w", dir, err)
	}
	if strings.ContainsAny(dir, "\n\r") {
		return nil, fmt.Errorf("directory %q holds a line break, which Postgres cannot use", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "PG_VERSION")); err == nil {
		return nil, fmt.Errorf("%s is itself a Postgres data directory; data live in a folder named data below the one given", dir)
	}
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("finding directory %s: %w", dir, err)
	}
	return &place{dir: real, home: real}, nil
}

// dirMode lets the server's account pass through a directory of root's.
func dirMode() os.FileMode {
	if os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	err := os.MkdirAll(dir, dirMode())
	if err == nil {
		err = os.Chmod(dir, dirMode()) // whatever the umask
	}
	if err != nil {
		return fmt.Errorf("making directory %s: %w", dir, err)
	}
	return nil
}

// tempBase is the temporary folder, or one that every user can enter.
func tempBase() (string, error) {
	for _, base := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if real, err := filepath.EvalSymlinks(base); err == nil && (os.Geteuid() != 0 || anyone().reaches(real)) {
			return real, nil
		}
	}
	return "", fmt.Errorf("no temporary folder that the server's account can enter: set TMPDIR")
}

// anyone owns nothing: what it reaches, every account does.
func anyone() account { return account{uid: unowned - 1, gid: unowned - 1, drop: true} }

// existing returns the owner of the data and the major version that made them;
// unowned and 0 when there are none yet. It follows a link that settle left.
func (p *place) existing() (owner, major int, err error) {
	if target, err := os.Readlink(filepath.Join(p.dir, "data")); err == nil {
		p.home = realDir(filepath.Dir(absolute(p.dir, target)))
	}
	info, err := os.Stat(p.data())
	if errors.Is(err, os.ErrNotExist) {
		return unowned, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("looking at the data: %w", err)
	}
	if entries, err := os.ReadDir(p.data()); err == nil && len(entries) == 0 {
		return unowned, 0, nil
	}
	owner, _ = ownerOf(info)
	major, err = dataVersion(p.data())
	return owner, major, err
}

func absolute(base, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(base, name)
}

// realDir resolves links as far as dir exists: the server reports its real one.
func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// dataVersion reads the major version that made a data directory.
func dataVersion(data string) (int, error) {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrPermission) {
		return 0, fmt.Errorf("reading the data's version: %w: run as the owner of %s", err, data)
	}
	if err != nil {
		return 0, fmt.Errorf("%s is not a Postgres data directory: %w", data, err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || major <= 0 {
		return 0, fmt.Errorf("%s/PG_VERSION is not a version: %q", data, b)
	}
	return major, nil
}

// settle decides where new data go. As root, a directory that the server's
// account cannot enter keeps only a link; new data go below /var/lib, or below
// the temporary folder when that cannot be written.
func (p *place) settle(acc account, data bool, log *slog.Logger) error {
	if acc.reaches(p.home) {
		return nil
	}
	if data || p.home != p.dir || p.temporary {
		return fmt.Errorf("user %s cannot enter %s: open the folders above it to others (chmod o+x)", acc.name, p.home)
	}
	home, err := otherHome(acc)
	if err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(home, "data"), filepath.Join(p.dir, "data")); err != nil {
		return errors.Join(fmt.Errorf("linking to the data: %w", err), os.RemoveAll(home))
	}
	log.Warn("the server's account cannot enter the data directory, so the data are kept elsewhere",
		"account", acc.name, "asked", p.dir, "kept", home)
	p.home = home
	return nil
}

func otherHome(acc account) (string, error) {
	base := "/var/lib/landed"
	err := os.MkdirAll(base, 0o711)
	if err != nil || !acc.reaches(base) {
		if base, err = tempBase(); err != nil {
			return "", err
		}
	}
	home, err := os.MkdirTemp(realDir(base), "cluster-")
	if err != nil {
		return "", fmt.Errorf("making a directory that user %s can enter: %w", acc.name, err)
	}
	return home, os.Chmod(home, 0o711)
}

// remove deletes what Stop should not leave.
func (p *place) remove() error {
	var err error
	if p.outside && p.sockets != "" {
		err = os.RemoveAll(p.sockets)
	}
	if p.temporary {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// sweep removes temporary clusters whose owner was killed. What another user
// made, what is locked and what is fresh is left alone, and so is anything that
// a server still runs on.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, tempPrefix+"*"))
	for _, dir := range dirs {
		if !abandoned(dir) {
			continue
		}
		held, err := acquire(dir)
		if err != nil {
			continue
		}
		data := filepath.Join(dir, "data")
		file, ok := readPIDFile(data)
		if !ok || inspect(file.pid, data) < holderUnknown {
			_ = os.RemoveAll(dir)
		}
		_ = held.release()
	}
}

// abandoned reports whether dir is ours and old enough to be looked at.
func abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	lock, err := os.Lstat(filepath.Join(dir, "lock"))
	if err != nil || time.Since(lock.ModTime()) < tempGrace {
		return false
	}
	uid, _ := ownerOf(info)
	return uid == os.Geteuid()
}

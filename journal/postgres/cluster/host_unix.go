//go:build unix && !solaris && !illumos && !aix

package cluster

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// supported is nil where a private Postgres can run.
func supported() error { return nil }

// tryLock takes the advisory lock of f; false when another process has it. The
// kernel drops it when its owner ends, however that happens.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// ownerOf returns the user and group that own a file.
func ownerOf(info fs.FileInfo) (uid, gid int) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return unowned, unowned
	}
	return int(st.Uid), int(st.Gid)
}

// signal sends sig to a process that need not be our child.
func signal(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }

// openPlain opens or makes a private file, and refuses to follow a link.
func openPlain(name string, flag int) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|flag, 0o600)
}

// attributes puts a child into a process group of its own, so that a terminal's
// Ctrl-C reaches us first, and under the account.
func attributes(acc account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if acc.drop {
		attr.Credential = &syscall.Credential{Uid: uint32(acc.uid), Gid: uint32(acc.gid)}
	}
	return attr
}

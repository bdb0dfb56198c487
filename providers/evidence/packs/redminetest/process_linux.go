package redminetest

import (
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// credential is the user that Redmine runs as: ours, or Debian's web server user
// for root, whom Redmine's files are made for.
func credential() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("www-data")
	if err != nil {
		return nil
	}
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if uerr != nil || gerr != nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// confine gives the child its user and a process group of its own, and makes the
// kernel end it when its parent dies.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential(), Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// giveAway makes dir the property of the user that Redmine runs as.
func giveAway(dir string) error {
	c := credential()
	if c == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(c.Uid), int(c.Gid))
	})
}

// stop ends the server.
func stop(cmd *exec.Cmd, ended <-chan struct{}) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have ended by itself
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
}

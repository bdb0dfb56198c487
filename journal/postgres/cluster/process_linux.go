package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// maxSocketPath is sun_path without its final zero byte, see unix(7).
const maxSocketPath = 107

// endWithParent asks the kernel to send SIGINT, a fast shutdown, when the
// thread that started the child ends. launch keeps that thread.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }

// inspect says what process pid has to do with the data directory data.
func inspect(pid int, data string) holder {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		if _, self := os.ReadFile("/proc/self/cmdline"); self != nil {
			return inspectPortable(pid, data)
		}
		return holderGone
	}
	if len(line) == 0 {
		return holderGone // a zombie has no command line
	}
	args := bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0})
	if !isPostgres(string(args[0])) {
		return holderOther
	}
	// The postmaster changes into its data directory; a root without
	// CAP_SYS_PTRACE may not read that link, everyone may read the arguments.
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil {
		if cwd == filepath.Clean(data) {
			return holderOurs
		}
		return holderOther
	}
	for _, arg := range args {
		if string(arg) == data {
			return holderOurs
		}
	}
	return holderUnknown
}

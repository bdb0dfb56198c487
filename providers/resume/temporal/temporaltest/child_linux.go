package temporaltest

import "syscall"

// childAttr puts the child in a group of its own and ends it with this process.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

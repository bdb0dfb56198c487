package imaptest

import "syscall"

// childAttr puts the child in a group of its own and ends it with this process.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func groupAlive(pid int) bool { return syscall.Kill(-pid, 0) == nil }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

//go:build !linux

package imaptest

import (
	"os"
	"syscall"
)

// Elsewhere a killed test may leave the server running.
func childAttr() *syscall.SysProcAttr { return nil }

func groupAlive(int) bool { return false }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

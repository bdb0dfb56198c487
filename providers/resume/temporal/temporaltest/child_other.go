//go:build !linux

package temporaltest

import "syscall"

// Elsewhere a killed test may leave the server running.
func childAttr() *syscall.SysProcAttr { return nil }

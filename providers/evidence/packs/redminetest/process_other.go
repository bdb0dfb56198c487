//go:build !linux

package redminetest

import "os/exec"

// Debian's Redmine exists on Linux only; elsewhere Start skips before it gets here.

func confine(*exec.Cmd) {}

func giveAway(string) error { return nil }

func stop(cmd *exec.Cmd, ended <-chan struct{}) {
	_ = cmd.Process.Kill() // it may have ended by itself
	<-ended
}

//go:build !linux

package cluster

import "syscall"

// maxSocketPath is sun_path of the BSDs and macOS without its final zero byte.
const maxSocketPath = 103

// endWithParent does nothing: only Linux ties a child to its parent. The next
// Start on the same directory stops what was left over.
func endWithParent(*syscall.SysProcAttr) {}

// inspect says what process pid has to do with the data directory data.
func inspect(pid int, data string) holder { return inspectPortable(pid, data) }

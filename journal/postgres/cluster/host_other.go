//go:build !unix || solaris || illumos || aix

package cluster

import (
	"io/fs"
	"os"
	"syscall"
)

func supported() error { return ErrUnsupported }

func tryLock(*os.File) (bool, error) { return false, ErrUnsupported }

func ownerOf(fs.FileInfo) (uid, gid int) { return unowned, unowned }

func signal(int, syscall.Signal) error { return ErrUnsupported }

func openPlain(string, int) (*os.File, error) { return nil, ErrUnsupported }

func attributes(account) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

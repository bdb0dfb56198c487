package cluster

import (
	"errors"
	"fmt"
)

var (
	// ErrInUse is returned by Start when another live server or Start holds the
	// directory. The error in the chain is an *InUseError.
	ErrInUse = errors.New("the directory is in use")
	// ErrNoBinaries is returned by FindBinaries and Start when no usable
	// PostgreSQL is on this machine and none could be downloaded.
	ErrNoBinaries = errors.New("no usable PostgreSQL")
	// ErrVersion is returned by FindBinaries and Start when the data were made
	// by a major version that none of the binaries has.
	ErrVersion = errors.New("no PostgreSQL of the version that made the data")
	// ErrChecksum is returned by FindBinaries and Start when a download is not
	// the file that was pinned. Nothing of it was unpacked or run.
	ErrChecksum = errors.New("the download is not the file that was pinned")
	// ErrUnsupported is returned by Start on systems without Unix sockets and
	// Unix accounts.
	ErrUnsupported = errors.New("a private Postgres is not supported on this system: name a server of your own")
)

// InUseError says who holds a directory. It matches ErrInUse.
type InUseError struct {
	Dir   string
	PID   int // the postmaster; 0 while the other side is still preparing
	Owner int // the process that started it; 0 when it was not started by this package
}

// Error names the directory and both processes, as far as they are known.
func (e *InUseError) Error() string {
	switch {
	case e.PID != 0 && e.Owner != 0:
		return fmt.Sprintf("%s is in use by postgres, process %d, started by process %d", e.Dir, e.PID, e.Owner)
	case e.PID != 0:
		return fmt.Sprintf("%s is in use by postgres, process %d", e.Dir, e.PID)
	case e.Owner != 0:
		return fmt.Sprintf("%s is being prepared by process %d", e.Dir, e.Owner)
	}
	return e.Dir + " is in use by another process"
}

// Is reports whether target is ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

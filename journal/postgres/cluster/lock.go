package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lock is the hold on a directory, for as long as its file is open. Its content
// tells others who holds it, and the next owner what a killed one left behind.
type lock struct {
	file *os.File
	last lockNote // of the previous owner
}

// lockNote is the content of the lock file.
type lockNote struct {
	owner    int    // the process that called Start
	postgres int    // its postmaster; 0 before it was started
	sockets  string // a socket directory outside the cluster's own; "" if none
}

// acquire takes the lock of dir, or returns an *InUseError.
func acquire(dir string) (*lock, error) {
	f, err := openPlain(filepath.Join(dir, "lock"), 0)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of %s: %w", dir, err)
	}
	free, err := tryLock(f)
	note := readNote(f)
	if err != nil || !free {
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", dir, err)
		}
		return nil, &InUseError{Dir: dir, PID: note.postgres, Owner: note.owner}
	}
	l := &lock{file: f, last: note}
	if err := l.write(lockNote{owner: os.Getpid()}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

func readNote(r io.Reader) lockNote {
	var n lockNote
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "owner":
			n.owner, _ = strconv.Atoi(value)
		case "postgres":
			n.postgres, _ = strconv.Atoi(value)
		case "sockets":
			n.sockets = value
		}
	}
	return n
}

// write replaces the note.
func (l *lock) write(n lockNote) error {
	text := fmt.Sprintf("owner %d\npostgres %d\nsockets %s\n", n.owner, n.postgres, n.sockets)
	// Written before it is cut, so that a reader never finds it empty.
	_, err := l.file.WriteAt([]byte(text), 0)
	if err == nil {
		err = l.file.Truncate(int64(len(text)))
	}
	if err != nil {
		return fmt.Errorf("writing the lock of %s: %w", filepath.Dir(l.file.Name()), err)
	}
	return nil
}

// release lets the next owner in. The file stays: removing it would let two
// owners lock two files of one name.
func (l *lock) release() error { return l.file.Close() }

package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"parley.internal/services/hub/internal/filelock"
)

// ErrHeld means that another process has a lock.
var ErrHeld = filelock.ErrHeld

// patience is the time for which [Take] waits for a lock: longer than a look by [Holder] has it.
const patience = 100 * time.Millisecond

// Take takes the lock of a file, which it creates, or returns [ErrHeld] where another process keeps it. The file names this
// process.
func Take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if err = flock(f); err == nil {
			break
		}
		if !errors.Is(err, ErrHeld) || time.Now().After(end) {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprint(f, os.Getpid()) // for people alone
	}
	return f, nil
}

// Release releases a lock that [Take] took.
func Release(f *os.File) error { return filelock.Release(f) }

// Holder returns the process that a lock's file names, or 0 where nobody holds the lock.
func Holder(path string) int {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0
	}
	defer Release(f)
	if err := flock(f); !errors.Is(err, ErrHeld) {
		return 0
	}
	text, _ := io.ReadAll(io.LimitReader(f, 20))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"parley.internal/services/hub/internal/filelock"
)

// ErrHeld means that another process has a lock.
var ErrHeld = filelock.ErrHeld

// Take takes the lock of a file, which it creates, or returns [ErrHeld] at once. The file names this process.
func Take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprint(f, os.Getpid()) // for people alone
	}
	return f, nil
}

// Holder returns the process that a lock's file names, or 0 where nobody holds the lock.
func Holder(path string) int {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	if err := flock(f); !errors.Is(err, ErrHeld) {
		return 0
	}
	text, _ := io.ReadAll(io.LimitReader(f, 20))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

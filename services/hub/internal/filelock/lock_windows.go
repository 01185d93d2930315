package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try takes the lock of a file, or returns [ErrHeld]. The system releases it when the file is closed. It locks a byte
// far behind the text, which others must be able to read.
func Try(f *os.File) error {
	const mode = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), mode, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}

// Release releases the lock of a file and closes it.
func Release(f *os.File) error { return f.Close() }

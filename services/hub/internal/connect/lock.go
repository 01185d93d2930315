package connect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"parley.internal/services/hub/internal/filelock"
	"parley.internal/shared/sleep"
)

// The time for which [Lock] waits, which is more than another run needs between reading and writing, and that between two
// attempts.
const (
	lockPatience = 2 * time.Minute
	lockPause    = 20 * time.Millisecond
)

// Lock lets one process at a time read the records of the connections in the configuration directory of Parley, decide, and
// write them. The lock is a file only while somebody has it.
func Lock(ctx context.Context, home string) (release func() error, err error) {
	path := filepath.Join(home, "connect.lock")
	for end := time.Now().Add(lockPatience); ; {
		f, err := tryLock(path)
		switch {
		case err == nil:
			return func() error {
				// Those who have opened the file look whether it is still there when they get the lock.
				_ = os.Remove(path) // on Windows it stays while others have it open
				return filelock.Release(f)
			}, nil
		case !errors.Is(err, filelock.ErrHeld):
			return nil, fmt.Errorf("the lock of the connections cannot be taken: %w", err)
		case time.Now().After(end):
			return nil, fmt.Errorf("another `parley connect` is at work for %s (it has the lock %s); try again when it has ended",
				lockPatience, path)
		}
		if err := sleep.For(ctx, lockPause); err != nil {
			return nil, err
		}
	}
}

// tryLock takes the lock of a file, or returns [filelock.ErrHeld] also where the file was removed meanwhile.
func tryLock(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	if err == nil {
		var there fs.FileInfo
		there, err = os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(mine, there) {
			err = filelock.ErrHeld
		}
	}
	if err != nil {
		return nil, errors.Join(err, filelock.Release(f))
	}
	return f, nil
}

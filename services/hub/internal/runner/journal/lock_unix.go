//go:build unix

package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file until it is closed or this process ends. It does not wait.
func tryLock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

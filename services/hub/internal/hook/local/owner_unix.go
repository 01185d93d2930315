//go:build !windows

package local

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"parley.internal/services/hub/internal/filelock"
)

func ownOnly(dir string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user; remove it", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others can enter %s; close it with `chmod 700`", dir)
	}
	return nil
}

// flock takes the lock of a file, or returns [ErrHeld].
func flock(f *os.File) error { return filelock.Try(f) }

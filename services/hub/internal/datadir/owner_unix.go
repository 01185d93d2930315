//go:build !windows

package datadir

import (
	"errors"
	"os"
	"syscall"
)

// ownerOf returns the user who owns a file.
func ownerOf(path string) (uid int, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return int(stat.Uid), nil
}

// private returns an error unless the directory is the user's own and closed to others.
func private(info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case int(stat.Uid) != os.Getuid():
		return errors.New("it is another user's")
	case info.Mode().Perm() != 0o700:
		return errors.New("its mode is not 0700")
	}
	return nil
}

//go:build !windows

package connection

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// ownOnly refuses a file of another user, and one that others can read or write.
func ownOnly(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case int(stat.Uid) != os.Geteuid():
		return errors.New("it belongs to another user; remove it, and run `parley connect` again")
	case info.Mode().Perm()&0o077 != 0:
		return errors.New("others can read or write it, so the key may be known; run `parley connect --remove`, which revokes " +
			"the key, and `parley connect` again, or close it with `chmod 600` if nobody else uses this machine")
	}
	return nil
}

// configVariable returns the variable and the directory below it where the user's configuration is.
func configVariable() (name, below string) {
	if runtime.GOOS == "darwin" {
		return "HOME", filepath.Join("Library", "Application Support")
	}
	return "HOME", ".config"
}

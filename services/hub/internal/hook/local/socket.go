package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"parley.internal/services/hub/internal/connect/connection"
)

// longest is a length of paths that every system accepts for a socket, in bytes.
const longest = 100

// named is the file that names the directory of the socket, where the path of the daemon's own directory is too long for one.
func (p Place) named() string { return filepath.Join(p.Dir, "socket") }

// Socket is the path of the daemon's socket. Where the directory's path is too long for one, it is in a directory for temporary
// files that the daemon has made; without a daemon there is none, which is fs.ErrNotExist. A directory that others can enter,
// that is another user's or that is a link is refused.
func (p Place) Socket() (string, error) {
	path := filepath.Join(p.Dir, "s")
	if len(path) <= longest {
		return path, nil
	}
	text, err := os.ReadFile(p.named())
	if err != nil {
		return "", err
	}
	dir := string(text)
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s names no directory; remove it", p.named())
	}
	return filepath.Join(dir, "s"), private(dir)
}

// MakeSocket is [Place.Socket] for the daemon, which has the lock: it removes the socket of a daemon that was killed, and makes a
// directory where one is needed. Nobody can guess its name, so that no other user takes it before.
func (p Place) MakeSocket() (string, error) {
	if path, err := p.Socket(); err == nil {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return path, err
	}
	var refused error
	for _, root := range []string{os.TempDir(), "/tmp"} {
		if err := guarded(root); err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		dir, err := os.MkdirTemp(root, "parley-") // of mode 0700
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		path := filepath.Join(dir, "s")
		if len(path) <= longest {
			if err = os.WriteFile(p.named(), []byte(dir), 0o600); err == nil {
				return path, nil
			}
		}
		refused = errors.Join(refused, err, os.Remove(dir))
	}
	return "", errors.Join(fmt.Errorf("no directory for a socket has a path that is short enough and is safe from other "+
		"users; set %s to a short path", connection.Variable), refused)
}

// RemoveSocket removes the daemon's socket, with the directory that was made for it.
func (p Place) RemoveSocket(path string) {
	_ = os.Remove(path) // else the next daemon does
	if dir := filepath.Dir(path); dir != p.Dir {
		_ = os.Remove(dir)
		_ = os.Remove(p.named())
	}
}

// guarded refuses a directory for temporary files in which others could put something in the place of what this user makes.
func guarded(root string) error {
	info, err := os.Stat(root)
	switch {
	case err != nil:
		return err
	case !filepath.IsAbs(root):
		return fmt.Errorf("%s is no absolute path", root)
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0:
		return fmt.Errorf("others can remove what is in %s; set its sticky bit, or TMPDIR to another directory", root)
	}
	return nil
}

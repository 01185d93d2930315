package local

import (
	"fmt"
	"os"
	"path/filepath"

	"parley.internal/services/hub/internal/connect/connection"
)

// Place is the directory of the daemon.
type Place struct {
	// Dir is the directory, of mode 0700.
	Dir string
	// Connections is the directory of the connections.
	Connections string
}

// Find returns the place of this user, and makes its directory if it is missing.
func Find(env func(string) string) (Place, error) {
	home, err := connection.Home(env)
	if err != nil {
		return Place{}, err
	}
	connections, err := connection.Dir(env)
	if err != nil {
		return Place{}, err
	}
	p := Place{filepath.Join(home, "run"), connections}
	for _, dir := range []string{p.Dir, p.sessions()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return Place{}, err
		}
	}
	shut(p.Dir)
	return p, private(p.Dir)
}

// shut closes a directory of the user's own that others can look into, and in which they could change nothing.
func shut(dir string) {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o022 == 0 && info.Mode().Perm()&0o055 != 0 {
		_ = os.Chmod(dir, 0o700) // private refuses it where this fails
	}
}

// private refuses a directory that others can enter.
func private(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; remove it", dir)
	}
	return ownOnly(dir, info)
}

// Late returns the place of the work that is left for sessions that have ended, and makes its directory if it is missing.
func (p Place) Late() (Place, error) {
	l := Place{filepath.Join(p.Dir, "late"), p.Connections}
	return l, os.MkdirAll(l.sessions(), 0o700)
}

func (p Place) sessions() string { return filepath.Join(p.Dir, "sessions") }

// Lock is the path of the daemon's lock.
func (p Place) Lock() string { return filepath.Join(p.Dir, "lock") }

// Log is the path of the daemon's log.
func (p Place) Log() string { return filepath.Join(p.Dir, "log") }

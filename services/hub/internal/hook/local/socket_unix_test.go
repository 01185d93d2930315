//go:build !windows

package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook/local"
)

// deep returns a place whose path is too long for a socket.
func deep(t *testing.T) local.Place {
	t.Helper()
	home := filepath.Join(t.TempDir(), strings.Repeat("deep", 30))
	p, err := local.Find(func(name string) string {
		if name == connection.Variable {
			return home
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestASocketBelowALongPathIsInADirectoryThatNobodyGuesses(t *testing.T) {
	t.Parallel()
	p := deep(t)
	if path, err := p.Socket(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the daemon: %q, %v", path, err)
	}
	if _, err := p.Dial(t.Context()); !errors.Is(err, local.ErrNoDaemon) {
		t.Errorf("before the daemon: %v", err)
	}
	seen := map[string]bool{}
	for range 3 {
		path, err := p.MakeSocket()
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(filepath.Dir(path))
		if err != nil || info.Mode() != os.ModeDir|0o700 || len(path) > 100 || seen[path] {
			t.Errorf("%s is %v, %v", path, info, err)
		}
		seen[path] = true
		for range 2 { // hooks, and a daemon after one that was killed
			if got, err := p.Socket(); err != nil || got != path {
				t.Errorf("a hook finds %q, %v", got, err)
			}
			if got, err := p.MakeSocket(); err != nil || got != path {
				t.Errorf("the next daemon finds %q, %v", got, err)
			}
		}
		p.RemoveSocket(path)
		if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left behind: %v", filepath.Dir(path), err)
		}
	}
}

func TestAttackADirectoryOfTheSocketThatOthersMadeOrCanEnterIsRefused(t *testing.T) {
	t.Parallel()
	type changed struct {
		change func(dir string) error
		words  string
	}
	cases := map[string]changed{
		"others can enter it": {func(dir string) error { return os.Chmod(dir, 0o755) }, "others can enter"},
		"it is a link":        {func(dir string) error { return errors.Join(os.Rename(dir, dir+"x"), os.Symlink(dir+"x", dir)) }, "is not a directory"},
		"it is a file":        {func(dir string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)) }, "is not a directory"},
	}
	if os.Getuid() == 0 { // who alone gives a directory away
		cases["it is another user's"] = changed{func(dir string) error { return os.Chown(dir, 4242, -1) }, "belongs to another user"}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := deep(t)
			path, err := p.MakeSocket()
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(path)
			t.Cleanup(func() { _ = errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+"x")) })
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Dial(t.Context()); err == nil || errors.Is(err, local.ErrNoDaemon) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("a hook: %v", err)
			}
			other, err := p.MakeSocket()
			if err != nil || other == path {
				t.Errorf("the daemon takes %q, %v", other, err)
			}
			p.RemoveSocket(other)
		})
	}
}

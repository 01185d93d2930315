//go:build !windows

package regular_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"parley.internal/services/hub/internal/hook/regular"
)

func TestNothingButARegularFileIsOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.WriteFile(in("file"), []byte("text"), 0o600), os.Symlink("file", in("link")),
		syscall.Mkfifo(in("pipe"), 0o600), os.Symlink("pipe", in("link to a pipe")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "link"} {
		f, err := regular.Open(in(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = f.Close()
	}
	for _, path := range []string{dir, in("pipe"), in("link to a pipe"), os.DevNull} {
		if _, err := regular.Open(path); !errors.Is(err, regular.ErrOther) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := regular.Open(in("none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

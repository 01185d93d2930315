//go:build unix

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"parley.internal/services/hub/internal/filelock"
)

// A program that is being started has copies of the open files until its own text runs.
func TestAReleasedLockIsFreeWhileACopyOfItsFileIsOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var files [2]*os.File
	for i := range files {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	if err := filelock.Try(files[0]); err != nil {
		t.Fatal(err)
	}
	dup, err := syscall.Dup(int(files[0].Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(dup)
	if err := errors.Join(filelock.Release(files[0]), filelock.Try(files[1])); err != nil {
		t.Errorf("released, and still held: %v", err)
	}
}

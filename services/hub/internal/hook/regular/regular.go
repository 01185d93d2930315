// Package regular opens files whose paths others name: nothing but regular files, without waiting for anything.
package regular

import (
	"errors"
	"os"
)

// ErrOther means that a path names something else than a regular file, such as a pipe, which could hold its reader up.
var ErrOther = errors.New("that is not a regular file")

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|atOnce, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrOther
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

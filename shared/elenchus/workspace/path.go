package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is the maximum number of symbolic links in a path, as on Linux.
const maxLinks = 40

var (
	errEscapes = errors.New("path escapes from the directory")
	errLinks   = errors.New("too many symbolic links")
	errChanged = errors.New("it changed while it was opened; try again")
)

// locate returns the path of a file or directory below r without symbolic links. It fails if it does not exist, if a
// link leaves r, and if the file is never read. given is its name in errors.
func (r *Root) locate(kind, given, name string, dir bool) (string, error) {
	if err := permitName(kind, given, name); err != nil {
		return "", err
	}
	at, err := resolve(r.root, name)
	if err != nil {
		return "", refusal(kind, given, err)
	}
	return at, r.permit(kind, given, at, dir)
}

// permitName returns an error if a part of a path is on the list of secrets.
func permitName(kind, given, p string) error {
	if pattern := secret(p); pattern != "" {
		return fmt.Errorf("%s %q is refused: names like %s are never read, since they may hold secrets", kind, given,
			pattern)
	}
	return nil
}

// permit returns an error if a file or directory is never read. at is its path below r without symbolic links.
func (r *Root) permit(kind, given, at string, dir bool) error {
	if err := permitName(kind, given, at); err != nil {
		return err
	}
	at = path.Join(r.at, at)
	m, err := r.rulesIn(path.Dir(at))
	switch {
	case err != nil:
		return fmt.Errorf("%s %q is refused: %w", kind, given, err)
	case at != "." && m.names(r, at, dir):
		return fmt.Errorf("%s %q is refused: a .gitignore names it", kind, given)
	}
	return nil
}

// resolve returns the path of a file below a directory without symbolic links. It fails if a link leaves the directory.
func resolve(root *os.Root, name string) (string, error) {
	todo := strings.Split(path.Clean(name), "/")
	var done []string
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", errEscapes
			}
			done = done[:len(done)-1]
			continue
		}
		at := filepath.Join(filepath.Join(done...), part)
		info, err := root.Lstat(at)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, part)
			continue
		}
		if links++; links > maxLinks {
			return "", errLinks
		}
		to, err := root.Readlink(at)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) || filepath.VolumeName(to) != "" {
			return "", errEscapes
		}
		todo = append(strings.Split(filepath.ToSlash(to), "/"), todo...)
	}
	return path.Join(append([]string{"."}, done...)...), nil
}

// enter opens a directory below another, given by a path without symbolic links. It fails if a part of the path is
// another one by now. The caller must close the result.
func enter(root *os.Root, at string) (*os.Root, error) {
	dir, err := root.OpenRoot(".")
	if err != nil || at == "." {
		return dir, err
	}
	for part := range strings.SplitSeq(at, "/") {
		next, err := step(dir, part)
		_ = dir.Close() // it was only read
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// step opens a directory in another, unless it is a symbolic link.
func step(dir *os.Root, name string) (*os.Root, error) {
	was, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if was.Mode()&fs.ModeSymlink != 0 {
		return nil, errChanged
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if is, err := next.Stat("."); err != nil || !os.SameFile(was, is) {
		return nil, errors.Join(errChanged, err, next.Close())
	}
	return next, nil
}

// open opens the file or directory at a path below r without symbolic links. It fails if may does for it, or if a part
// of the path is another one by now. kind and given describe it in errors. The caller must close the result.
func (r *Root) open(kind, given, at string, may func(fs.FileInfo) error) (*os.File, error) {
	dir, err := enter(r.root, path.Dir(at))
	if err != nil {
		return nil, refusal(kind, given, err)
	}
	defer dir.Close()
	was, err := dir.Lstat(path.Base(at))
	if err != nil {
		return nil, refusal(kind, given, err)
	}
	if was.Mode()&fs.ModeSymlink != 0 {
		return nil, refusal(kind, given, errChanged)
	}
	// A device or a pipe must not be opened.
	if err := may(was); err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(path.Base(at), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, refusal(kind, given, err)
	}
	is, err := f.Stat()
	if err != nil || !os.SameFile(was, is) {
		return nil, refusal(kind, given, errors.Join(errChanged, err, f.Close()))
	}
	return f, nil
}

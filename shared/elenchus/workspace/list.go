package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Files returns the paths of the regular files in dir itself whose names end in ext and that [Root.Read] does not refuse
// by their names, sorted. An empty dir, or ".", is the root. It returns at most [MaxFiles] paths, from the first 5,000
// entries of the directory.
func (r *Root) Files(dir, ext string) ([]string, error) {
	files, _, err := r.list(dir)
	out := slices.DeleteFunc(files, func(name string) bool { return !strings.HasSuffix(name, ext) })
	return out[:min(len(out), MaxFiles)], err
}

// Tree returns the paths of the files in dir and in the directories below it for which keep returns true and that
// [Root.Read] does not refuse by their names, the nearest first, sorted within a directory. An empty dir, or ".", is the
// root. It follows no symbolic links and returns at most [MaxTree] paths, from the first 500 directories. A directory
// below dir that cannot be read is left out.
func (r *Root) Tree(dir string, keep func(path string) bool) ([]string, error) {
	out, below, err := r.list(dir)
	if err != nil {
		return nil, err
	}
	drop := func(name string) bool { return !keep(name) }
	out = slices.DeleteFunc(out, drop)
	for n := 1; len(below) > 0 && n < maxDirs && len(out) < MaxTree; n++ {
		files, more, err := r.list(below[0])
		below = below[1:]
		if err == nil {
			out, below = append(out, slices.DeleteFunc(files, drop)...), append(below, more...)
		}
	}
	return out[:min(len(out), MaxTree)], nil
}

// list returns the paths of the regular files and of the directories in dir itself that are not refused by their names,
// sorted.
func (r *Root) list(dir string) (files, dirs []string, err error) {
	if dir == "" {
		dir = "."
	}
	if dir != "." {
		if err := check(dir); err != nil {
			return nil, nil, err
		}
	}
	at, err := r.locate("directory", dir, dir, true)
	if err != nil {
		return nil, nil, err
	}
	f, err := r.open("directory", dir, at, func(info fs.FileInfo) error {
		if !info.IsDir() {
			return fmt.Errorf("directory %q is refused: it is a file", dir)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, refusal("directory", dir, err)
	}
	m, err := r.rulesIn(path.Join(r.at, at))
	if err != nil {
		return nil, nil, fmt.Errorf("directory %q is refused: %w", dir, err)
	}
	files, dirs = []string{}, []string{}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		regular := e.Type().IsRegular()
		if !regular && !e.IsDir() || check(name) != nil || secret(e.Name()) != "" ||
			m.names(r, path.Join(r.at, at, e.Name()), e.IsDir()) {
			continue
		}
		if regular {
			files = append(files, name)
		} else {
			dirs = append(dirs, name)
		}
	}
	slices.Sort(files)
	slices.Sort(dirs)
	return files, dirs, nil
}

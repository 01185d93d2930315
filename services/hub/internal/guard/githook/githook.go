package githook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Hooks are the hooks of git that get a guard.
var Hooks = []string{"pre-commit", "pre-push"}

// State is the state of one hook.
type State string

// The states of a hook.
const (
	// Absent hooks have no guard.
	Absent State = "absent"
	// Alone is a hook with the guard and nothing else.
	Alone State = "alone"
	// Chained is a guard before a hook that was there.
	Chained State = "chained"
	// Idle is a guard that git does not run, because the hook's file is not executable.
	Idle State = "idle"
	// Broken is a hook whose guard somebody changed.
	Broken State = "broken"
)

// hook is a file in a directory of hooks.
type hook struct {
	name, path string
	mode       fs.FileMode // 0 where there is no file
	text       []byte      // of a regular file
	rest       []byte      // the text without the guard's lines
	found      bool        // the guard's lines
	whole      bool
	before     bool // a hook that was renamed
}

func read(dir, name string) (*hook, error) {
	h := &hook{name: name, path: filepath.Join(dir, name)}
	_, err := os.Lstat(h.path + saved)
	h.before = err == nil
	info, err := os.Lstat(h.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h, nil
	case err != nil:
		return nil, fmt.Errorf("the hook cannot be read: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, so git runs no such hook; rename it", h.path)
	}
	h.mode = info.Mode()
	if h.mode.IsRegular() {
		if h.text, err = os.ReadFile(h.path); err != nil {
			return nil, fmt.Errorf("the hook cannot be read: %w", err)
		}
		h.rest, h.found, h.whole = cut(h.text)
		h.whole = h.whole && (!h.found || unchanged(h.text))
	}
	return h, nil
}

func (h *hook) state() State {
	switch {
	case !h.found:
		return Absent
	case !h.whole, ours(h.rest) && !bytes.Equal(h.rest, tail(h.name, h.before)):
		return Broken
	case h.mode.Perm()&0o111 == 0:
		return Idle
	case ours(h.rest) && !h.before:
		return Alone
	}
	return Chained
}

// broken is the error about a guard that somebody changed.
func (h *hook) broken() error {
	return fmt.Errorf("%s was changed since the guard was added, so it stays as it is: remove what is between "+
		"\"# >>> parley guard\" and \"# <<< parley guard\" by hand, with the marks; the hook that was there before is %s, "+
		"if there is such a file", h.path, h.path+saved)
}

// Status returns the state of each of the Hooks in a directory.
func Status(dir string) (map[string]State, error) {
	out := map[string]State{}
	for _, name := range Hooks {
		h, err := read(dir, name)
		if err != nil {
			return nil, err
		}
		out[name] = h.state()
	}
	return out, nil
}

// Install adds the guard to the hooks in a directory, or brings one of an older version up to date. The guard's lines call
// the program at a path or, where that is empty, the one in PATH. It changes nothing if one of the hooks cannot be changed.
func Install(dir, program string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the directory of hooks cannot be made: %w", err)
	}
	return each(dir, func(h *hook) (func() error, error) { return h.install(program) })
}

// Uninstall removes the guard from the hooks in a directory: each is again as it was, and one that was not there is not
// there again. It changes nothing if one of the hooks cannot be changed.
func Uninstall(dir string) error {
	return each(dir, (*hook).uninstall)
}

// each plans the change of every hook, and then makes the changes.
func each(dir string, plan func(*hook) (func() error, error)) error {
	var steps []func() error
	for _, name := range Hooks {
		h, err := read(dir, name)
		if err != nil {
			return err
		}
		step, err := plan(h)
		if err != nil {
			return err
		}
		steps = append(steps, step)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("the hook cannot be changed: %w", err)
		}
	}
	return nil
}

func (h *hook) install(program string) (func() error, error) {
	state := h.state()
	inline := h.mode != 0 && h.mode.IsRegular() && h.mode.Perm()&0o111 != 0 && shellScript(h.rest)
	switch {
	case state == Broken:
		return nil, h.broken()
	case state != Absent && ours(h.rest) && h.before:
		return func() error { return write(h.path, caller(h.name, program), 0o755) }, nil
	case state != Absent && ours(h.rest):
		return func() error { return write(h.path, fresh(h.name, program), 0o755) }, nil
	case state != Absent || inline && !h.before:
		return func() error { return write(h.path, insert(h.rest, h.name, program), h.mode.Perm()) }, nil
	case h.mode == 0 && !h.before:
		return func() error { return write(h.path, fresh(h.name, program), 0o755) }, nil
	case h.mode != 0 && h.before:
		return nil, fmt.Errorf("%s is in the way, to which this hook would be renamed; remove one of the two", h.path+saved)
	}
	return func() error {
		if h.mode != 0 { // else an installation was interrupted here
			if err := os.Rename(h.path, h.path+saved); err != nil {
				return err
			}
		}
		return write(h.path, caller(h.name, program), 0o755)
	}, nil
}

func (h *hook) uninstall() (func() error, error) {
	switch {
	case h.state() == Broken:
		return nil, h.broken()
	case h.found && !ours(h.rest):
		return func() error { return write(h.path, h.rest, h.mode.Perm()) }, nil
	case h.before && (h.found || h.mode == 0):
		return func() error { return os.Rename(h.path+saved, h.path) }, nil
	case h.found:
		return func() error { return os.Remove(h.path) }, nil
	}
	return func() error { return nil }, nil
}

// write replaces a file at once.
func write(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".parley-hook-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

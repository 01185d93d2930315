// Package keepout keeps git out of the directories in which the program writes private files, such as keys, because the home
// directory of a person may be a repository. Such a directory has a .gitignore by which git takes nothing in it, and which
// git does not take itself. Directories that others can enter, the roots of repositories and those that have a .gitignore
// are left as they are: the person has decided about them.
package keepout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	name = ".gitignore"
	text = "# Private files of Parley, which no commit takes.\n*\n"
)

// Dir keeps git out of a directory.
func Dir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Leave removes the .gitignore of [Dir] from a directory in which nothing else is left.
func Leave(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		return nil
	}
	path := filepath.Join(dir, name)
	if now, err := os.ReadFile(path); err != nil || string(now) != text {
		return nil
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/git-pkgs/gitignore"
)

const ignoreFile = ".gitignore"

// The limits of a .gitignore. With a larger one, no file below its directory is read.
const (
	maxRules = 1 << 20 // bytes
	maxRule  = 4 << 10 // bytes of a line
)

// rules are the patterns of the .gitignore files on the way to a file. They match names in any case, as those of git do
// on a file system that ignores case.
type rules struct {
	exact, folded gitignore.Matcher
}

// add adds the patterns of the .gitignore in a directory.
func (m *rules) add(dir string, text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for line := range bytes.Lines(text) {
		if len(line) > maxRule {
			return fmt.Errorf("a line of %s is over %d KiB", path.Join(dir, ignoreFile), maxRule>>10)
		}
	}
	m.exact.AddPatterns(text, dir)
	m.folded.AddPatterns([]byte(foldText(string(text))), foldText(dir))
	return nil
}

// match reports whether the patterns name a file or directory.
func (m *rules) match(p string, dir bool) bool {
	return m.exact.MatchPath(p, dir) || m.folded.MatchPath(foldText(p), dir)
}

// rulesIn returns the patterns for the entries of a directory, given by its path below the allowed root without symbolic
// links: those of the .gitignore files from the top of the git repository that contains the root to the directory. It
// fails if one of them cannot be read.
func (r *Root) rulesIn(dir string) (*rules, error) {
	m := &rules{}
	for i, above := range r.above {
		text, err := readRules(os.Stat, os.OpenFile, filepath.Join(above, ignoreFile))
		if err == nil {
			err = m.add(path.Join(r.under[:i]...), text)
		}
		if err != nil {
			return nil, err
		}
	}
	parts := []string{}
	if dir != "." {
		parts = strings.Split(dir, "/")
	}
	for i := range len(parts) + 1 {
		at := path.Join(parts[:i]...)
		text, err := readRules(r.top.Stat, r.top.OpenFile, filepath.FromSlash(path.Join(at, ignoreFile)))
		if err == nil {
			err = m.add(path.Join(path.Join(r.under...), at), text)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// names reports whether the patterns name a file or directory below the allowed root, or a directory above it.
func (m *rules) names(r *Root, p string, dir bool) bool {
	under, parts := path.Join(r.under...), strings.Split(p, "/")
	for i := range parts {
		if m.match(path.Join(under, path.Join(parts[:i+1]...)), dir || i < len(parts)-1) {
			return true
		}
	}
	return false
}

// readRules returns the text of a .gitignore, nil if there is none.
func readRules(
	stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error), name string,
) ([]byte, error) {
	info, err := stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	case info.IsDir():
		return nil, nil // git ignores it
	case !info.Mode().IsRegular() || info.Size() > maxRules:
		return nil, fmt.Errorf("%s is not a file of at most %d KiB", name, maxRules>>10)
	}
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err != nil || len(text) > maxRules {
		return nil, fmt.Errorf("%s cannot be read: %w", name, errors.Join(err, errors.New("it is too large")))
	}
	return text, nil
}

// repository returns the directories from the top of the git repository that contains a directory down to its parent,
// and the names on the way from the top to the directory. Both are empty if it is the top of one, or in none.
func repository(dir string) (above, under []string) {
	for at := dir; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return above, under
		}
		parent := filepath.Dir(at)
		if parent == at {
			return nil, nil
		}
		above, under = append([]string{parent}, above...), append([]string{filepath.Base(at)}, under...)
		at = parent
	}
}

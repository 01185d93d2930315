package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MaxFile is the size of the largest file that can be read, in bytes.
	MaxFile = 256 << 10
	// MaxFiles is the limit of the files listed of a directory.
	MaxFiles = 50
	// MaxTree is the limit of the files listed of a directory and those below it.
	MaxTree = 200
	// maxEntries is the limit of the entries read of a directory, and maxDirs that of the directories of a tree.
	maxEntries = 5000
	maxDirs    = 500
)

// Root is a directory whose files may be read. It is safe for concurrent use.
type Root struct {
	names []string // the absolute path as given, and the one without symbolic links
	root  *os.Root

	top *os.Root // the directory that the operator allowed: this one, or one above it
	at  string   // the path of this directory below top, without symbolic links; "." for top
	// above are the directories over top that belong to the same git repository, from its top, and under is the path of
	// top there.
	above, under []string
}

// Open returns the root of a directory, whose files may then be read. It fails for a directory in a .git, .ssh or .aws.
// The caller must close it.
func Open(dir string) (*Root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("workspace root %q: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("workspace root %q: %w", dir, err)
	}
	for part := range strings.SplitSeq(filepath.ToSlash(abs+"/"+real), "/") {
		if slices.Contains(secretDirs, fold(part)) {
			return nil, fmt.Errorf("workspace root %q is refused: %s is never read", dir, part)
		}
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("workspace root %q: %w", dir, err)
	}
	above, under := repository(real)
	return &Root{names: []string{abs, real}, root: root, top: root, at: ".", above: above, under: under}, nil
}

// Close releases the directory.
func (r *Root) Close() error { return r.root.Close() }

// Dir returns the absolute path of the directory.
func (r *Root) Dir() string { return r.names[0] }

// Sub returns the root of a directory below r, given by its absolute path. It fails for a directory outside r, and for
// one whose files are never read. r must come from [Open]. The caller must close the result, and r after it.
func (r *Root) Sub(dir string) (*Root, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("working directory %q is refused: it must be an absolute path", dir)
	}
	for _, name := range r.names {
		rel, err := filepath.Rel(name, filepath.Clean(dir))
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		at, err := r.locate("working directory", dir, filepath.ToSlash(rel), true)
		if err != nil {
			return nil, err
		}
		sub, err := enter(r.root, at)
		if err != nil {
			return nil, refusal("working directory", dir, err)
		}
		return &Root{names: []string{filepath.Join(name, rel)}, root: sub, top: r.top, at: at, above: r.above,
			under: r.under}, nil
	}
	return nil, fmt.Errorf("working directory %q is refused: it is not under the allowed root %s", dir, r.names[0])
}

// Read returns the text of a file below the root, given by a relative path with slashes. It fails if the path leaves
// the root, by .. or by a symbolic link, if the file or a directory above it has a name of the list of secrets or is
// named by a .gitignore, and if the file is not regular, is larger than [MaxFile], or is not UTF-8 text. The error tells
// the reason. It wraps [fs.ErrNotExist] if there is no such file.
func (r *Root) Read(name string) (string, error) {
	if err := check(name); err != nil {
		return "", err
	}
	at, err := r.locate("file", name, name, false)
	if err != nil {
		return "", err
	}
	f, err := r.open("file", name, at, func(info fs.FileInfo) error { return readable(name, info) })
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	switch {
	case err != nil:
		return "", refusal("file", name, err)
	case len(text) > MaxFile:
		return "", tooLarge(name)
	case bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text):
		return "", fmt.Errorf("file %q is refused: it is binary, not UTF-8 text", name)
	}
	return string(text), nil
}

// check returns an error unless name is a relative path that stays below its directory.
func check(name string) error {
	switch {
	case name == "":
		return errors.New("an empty path is refused: name a file")
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("path %q is refused: it is not text", name)
	case strings.Contains(name, `\`):
		return fmt.Errorf(`path %q is refused: it must use / as separator, not \`, name)
	case path.IsAbs(name) || filepath.IsAbs(name) || filepath.VolumeName(name) != "":
		return fmt.Errorf("path %q is refused: it must be relative to the working directory", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return fmt.Errorf("path %q is refused: it leaves the working directory", name)
		}
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("path %q is refused: it is not a path below the working directory", name)
	}
	return nil
}

func readable(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("file %q is refused: it is a directory", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("file %q is refused: it is a device, a pipe or a socket, not a file", name)
	case info.Size() > MaxFile:
		return tooLarge(name)
	}
	return nil
}

func tooLarge(name string) error {
	return fmt.Errorf("file %q is refused: it is over 256 KiB", name)
}

// refusal returns the error for a file or directory that the system did not open, with the path as the caller gave it.
func refusal(kind, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s %q: %w", kind, name, fs.ErrNotExist)
	case strings.Contains(err.Error(), "escapes"):
		return fmt.Errorf("%s %q is refused: a symbolic link in it leaves the allowed directory", kind, name)
	}
	return fmt.Errorf("%s %q cannot be read: %w", kind, name, err)
}

// Reader reads the working directories of agents below a root.
type Reader struct{ Root *Root }

// Read returns the text of a file in a working directory, as [Root.Read] does. The working directory is an absolute
// path.
func (r Reader) Read(_ context.Context, workingDir, name string) (string, error) {
	sub, err := r.Root.Sub(workingDir)
	if err != nil {
		return "", err
	}
	defer sub.Close()
	return sub.Read(name)
}

// Check returns an error that says why a working directory cannot be read, as [Root.Sub] does.
func (r Reader) Check(_ context.Context, workingDir string) error {
	sub, err := r.Root.Sub(workingDir)
	if err != nil {
		return err
	}
	return sub.Close()
}

// Tree returns the files of a directory in a working directory and of those below it, as [Root.Tree] does.
func (r Reader) Tree(_ context.Context, workingDir, dir string, keep func(string) bool) ([]string, error) {
	sub, err := r.Root.Sub(workingDir)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	return sub.Tree(dir, keep)
}

// Files returns the files of a directory in a working directory, as [Root.Files] does.
func (r Reader) Files(_ context.Context, workingDir, dir, ext string) ([]string, error) {
	sub, err := r.Root.Sub(workingDir)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	return sub.Files(dir, ext)
}

package launch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Job is what a process that waits is to become.
type Job struct {
	// Path is the program, Args its arguments with its name first, and Env its whole environment.
	Path string
	Args []string
	Env  []string
	// Dir is the working directory. Where it is not under Root, after all links, the program is not run.
	Dir, Root string
}

// Exit is how a process ended.
type Exit struct {
	// Code is nil where a signal ended it, and where nobody was there to see.
	Code *int
	// Signal is its name, as SIGTERM.
	Signal string
}

// Find is the program of a name in the directories of a PATH; a name with a slash is the program itself, if it is one.
// Relative directories are passed over.
func Find(name, path string) (string, bool) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(file) {
			return file, true
		}
	}
	return "", false
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// OpenLog opens the file that a process writes to, for appending, and writes the line that parts this start from those
// before.
func OpenLog(file, header string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log: %w", err)
	}
	if _, err := io.WriteString(f, header+"\n"); err != nil {
		_ = f.Close() // the first error is told
		return nil, fmt.Errorf("cannot write the log: %w", err)
	}
	return f, nil
}

// under says whether a directory is a root or lies below it. Both are without links.
func under(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel)
}

// Place is the directory that a server's word means: root itself where it is empty, below root where it is relative.
// Links are followed, and what is not a directory under root is refused. root is without links.
func Place(root, word string) (string, error) {
	dir := word
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	if strings.ContainsRune(word, 0) {
		return "", fmt.Errorf("the working directory %q holds a NUL", word)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("the working directory cannot be entered: %w", err)
	}
	if !under(root, real) {
		return "", outside(word, root)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the working directory %q is no directory", word)
	}
	return real, nil
}

func outside(dir, root string) error {
	return fmt.Errorf("the working directory %q does not lie under %s, the root that this runner was given", dir, root)
}

package launch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Job is the command that a waiting process runs.
type Job struct {
	// Path is the program, Args are its arguments including its name, and Env is its whole environment.
	Path string
	Args []string
	Env  []string
	// Stdin is the file for the standard input; empty means none.
	Stdin string
	// Dir is the working directory. It must be Root or below it after all symbolic links are resolved.
	Dir, Root string
}

// Exit is the exit status of a process.
type Exit struct {
	// Code is the exit code; nil if a signal ended the process or the status is unknown.
	Code *int
	// Signal is the name of the signal, such as SIGTERM.
	Signal string
}

// Find searches a program in the absolute directories of a PATH. A name with a slash is returned unchanged. ok is false
// if the program does not exist or is not executable.
func Find(name, path string) (file string, ok bool) {
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

// OpenLog opens a log for appending and writes the header line of a new start.
func OpenLog(file, header string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log: %w", err)
	}
	if _, err := io.WriteString(f, header+"\n"); err != nil {
		_ = f.Close() // the first error is returned
		return nil, fmt.Errorf("cannot write the log: %w", err)
	}
	return f, nil
}

// contains reports whether dir is root or lies below it. Both must be without symbolic links.
func contains(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel)
}

// ResolveDir resolves a working directory from the server: root for an empty name, below root for a relative one. It
// follows symbolic links, and returns an error unless the result is a directory at or below root. root must be without
// symbolic links.
func ResolveDir(root, name string) (string, error) {
	dir := name
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("the working directory %q must not contain NUL", name)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("cannot enter the working directory: %w", err)
	}
	if !contains(root, real) {
		return "", errOutside(name, root)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the working directory %q must be a directory", name)
	}
	return real, nil
}

func errOutside(dir, root string) error {
	return fmt.Errorf("the working directory %q must be at or below the root %s", dir, root)
}

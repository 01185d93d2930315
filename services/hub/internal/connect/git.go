package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"parley.internal/services/hub/internal/gitcall"
)

// git runs git in a directory.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := gitcall.Call{Dir: dir}.Command(ctx, args...).Output()
	return strings.TrimSpace(string(out)), err
}

// exited reports whether a program ended by itself with an exit code.
func exited(err error, code int) bool {
	var e *exec.ExitError
	return errors.As(err, &e) && e.ExitCode() == code
}

// Exposed reports whether a file that holds a key would be committed whatever connect does: git has it, or it is, perhaps
// behind a link, in another repository than that of the place, which does not ignore it.
func Exposed(ctx context.Context, p Place, path string) (bool, error) {
	real := path
	if _, err := os.Lstat(path); err == nil {
		if real, err = filepath.EvalSymlinks(path); err != nil {
			return false, fmt.Errorf("%s leads nowhere: %w", path, err)
		}
	}
	root, has, takes, err := committed(ctx, real)
	own := root != "" && root == p.Root
	return has || takes && !own, err
}

// TakenIn reports whether a .gitignore of the repository takes a file in, so that git would commit it although it is among the
// excluded ones of .git/info/exclude.
func TakenIn(ctx context.Context, path string) bool {
	dir := filepath.Dir(path)
	for _, err := os.Stat(dir); err != nil && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	out, err := git(ctx, dir, "check-ignore", "--verbose", "--", path)
	return err == nil && takesIn.MatchString(out)
}

// takesIn is the beginning of git's answer, source:line:pattern, where a pattern of a .gitignore takes a file in.
var takesIn = regexp.MustCompile(`^"?(.*/)?\.gitignore"?:[0-9]+:!`)

// committed returns the root of the repository that a file is in, empty for none, whether git has the file, and whether it
// would take it with the next files that are added.
func committed(ctx context.Context, path string) (root string, has, takes bool, err error) {
	dir := filepath.Dir(path)
	for _, err := os.Stat(dir); err != nil && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	root, err = git(ctx, dir, "rev-parse", "--show-toplevel")
	if errors.Is(err, exec.ErrNotFound) || exited(err, 128) {
		return "", false, false, nil // no git, or no repository
	}
	rel, e := filepath.Rel(root, path)
	if err = errors.Join(err, e); err != nil {
		return "", false, false, fmt.Errorf("git does not tell where %s is: %w", path, err)
	}
	out, err := git(ctx, root, "ls-files", "--", ":(top,literal)"+filepath.ToSlash(rel))
	if err == nil {
		_, err = git(ctx, root, "check-ignore", "-q", "--", path)
		takes = exited(err, 1)
	}
	if err != nil && !takes {
		return "", false, false, fmt.Errorf("git does not tell whether it ignores %s: %w", path, err)
	}
	return root, out != "", takes, nil
}

// ignored returns an error if git would commit a file.
func ignored(ctx context.Context, path string) error {
	_, has, takes, err := committed(ctx, path)
	if err == nil && (has || takes) {
		err = fmt.Errorf("git would commit %s, which would hold a key: a .gitignore of the repository takes it in again; "+
			"nothing was written there, connect with --user instead", path)
	}
	return err
}

package connect

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// git runs git in a directory. It runs no program that the repository names.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// exited reports whether a program ended by itself with an exit code.
func exited(err error, code int) bool {
	var e *exec.ExitError
	return errors.As(err, &e) && e.ExitCode() == code
}

// Tracked reports whether git has a file of a worktree.
func Tracked(ctx context.Context, root, path string) (bool, error) {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return false, err
	}
	out, err := git(ctx, root, "ls-files", "--", ":(top,literal)"+filepath.ToSlash(rel))
	if err != nil {
		return false, fmt.Errorf("git does not tell whether it has %s: %w", path, err)
	}
	return out != "", nil
}

// ignored returns an error unless git ignores a file of a worktree, which it does not if it has the file.
func ignored(ctx context.Context, root, path string) error {
	_, err := git(ctx, root, "check-ignore", "-q", "--", path)
	switch {
	case err == nil:
		return nil
	case exited(err, 1):
		return fmt.Errorf("git would commit %s, which would hold a key: a .gitignore of the repository takes it in again; "+
			"nothing was written there, connect with --user instead", path)
	}
	return fmt.Errorf("git does not tell whether it ignores %s: %w", path, err)
}

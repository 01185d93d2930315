package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"parley.internal/services/hub/internal/gitcall"
)

// MainWorktree names the worktree of a clone that was there first. Clones of one repository share it, so reservations
// in them conflict; the other worktrees of a clone have the names that git gave them.
const MainWorktree = "main"

// Checkout is a worktree of a git repository.
type Checkout struct {
	// Root is the directory of the worktree, without symbolic links.
	Root string
	// Common is the directory of the repository that all its worktrees share, usually .git. Git commits nothing in it.
	Common string
	// Project is the repository's id: host/owner/name, or a hash.
	Project string
	// Worktree is MainWorktree, or the name that git gave the worktree.
	Worktree string

	dir    string // where the caller is, without symbolic links
	inHook bool
}

// Find returns the checkout that a directory is in.
func Find(ctx context.Context, dir string) (*Checkout, error) { return find(ctx, dir, false) }

// InHook returns the checkout that a hook of git is called for in a directory: by the variables of git, which say which
// index and which worktree that is.
func InHook(ctx context.Context, dir string) (*Checkout, error) { return find(ctx, dir, true) }

func find(ctx context.Context, dir string, inHook bool) (*Checkout, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("git is not installed, which finds the root of the repository; install it, or call the server")
	}
	here, err := filepath.Abs(dir)
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return nil, fmt.Errorf("there is no directory %s: %w", dir, err)
	}
	c := &Checkout{dir: here, inHook: inHook}
	out, err := c.git(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir", "--git-dir")
	if err != nil {
		return nil, fmt.Errorf("%s is in no worktree of a git repository: %w", here, err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != 3 {
		return nil, fmt.Errorf("git printed %d directories of %s in place of 3; rename directories with line breaks",
			len(lines), here)
	}
	private := filepath.FromSlash(lines[2])
	c.Root, c.Common = filepath.FromSlash(lines[0]), filepath.FromSlash(lines[1])
	c.Worktree = MainWorktree
	if filepath.Clean(private) != filepath.Clean(c.Common) {
		c.Worktree = filepath.Base(private)
	}
	c.Project = c.project(ctx)
	return c, nil
}

// HooksDir returns the directory of the hooks that git runs for this worktree, whether it exists or not.
func (c *Checkout) HooksDir(ctx context.Context) (string, error) {
	out, err := c.run(ctx, gitcall.Call{Dir: c.Root, InHook: c.inHook, Hooks: true}, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return "", fmt.Errorf("git does not tell the directory of its hooks: %w", err)
	}
	dir := filepath.FromSlash(strings.TrimSuffix(string(out), "\n"))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.Root, dir)
	}
	return dir, nil
}

// git runs git where the caller is and returns its output.
func (c *Checkout) git(ctx context.Context, args ...string) ([]byte, error) {
	return c.at(ctx, c.dir, args...)
}

func (c *Checkout) at(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return c.run(ctx, gitcall.Call{Dir: dir, InHook: c.inHook}, args...)
}

func (c *Checkout) run(ctx context.Context, call gitcall.Call, args ...string) ([]byte, error) {
	cmd := call.Command(ctx, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if said, _, _ := strings.Cut(strings.TrimSpace(errOut.String()), "\n"); said != "" {
			return nil, fmt.Errorf("git %s: %s", args[0], said)
		}
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}

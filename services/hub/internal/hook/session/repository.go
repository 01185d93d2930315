package session

import (
	"context"
	"encoding/hex"
	"io"
	"path/filepath"
	"strings"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/guard/memory"
	"parley.internal/services/hub/internal/hook/regular"
)

// Locate finds the repository of the session's directory, unless it is known.
func (s *State) Locate(ctx context.Context) {
	if s.Dir == "" || s.Repo.Dir == s.Dir {
		return
	}
	if r, ok := Locate(ctx, s.Dir); ok { // else the next call tries again
		s.Repo = r
	}
}

// Locate finds the repository of a directory. It is not ok where ctx ended before.
func Locate(ctx context.Context, dir string) (r Repository, ok bool) {
	c, err := checkout.Find(ctx, dir)
	switch {
	case ctx.Err() != nil:
		return Repository{}, false
	case err != nil:
		return Repository{Dir: dir}, true
	}
	return Repository{dir, c.Root, c.Common, c.Project, c.Worktree}, true
}

// Branch returns the branch that is checked out, or the first digits of a commit.
func (r Repository) Branch() string {
	line := r.head()
	if name, ok := strings.CutPrefix(line, "ref: refs/heads/"); ok {
		return name
	}
	return line[:min(len(line), 12)]
}

// Head returns the commit that is checked out, empty where only git finds it.
func (r Repository) Head() string {
	line := r.head()
	if name, ok := strings.CutPrefix(line, "ref: "); ok {
		line = ""
		if filepath.IsLocal(name) && strings.HasPrefix(name, "refs/") {
			line = firstLine(filepath.Join(r.Common, filepath.FromSlash(name)))
		}
	}
	if _, err := hex.DecodeString(line); err != nil {
		return ""
	}
	return line
}

// head returns the content of the worktree's file HEAD.
func (r Repository) head() string {
	if r.Common == "" {
		return ""
	}
	if r.Worktree != checkout.MainWorktree {
		return firstLine(filepath.Join(r.Common, "worktrees", r.Worktree, "HEAD"))
	}
	return firstLine(filepath.Join(r.Common, "HEAD"))
}

// firstLine returns the text of a file of one line, empty where it is none.
func firstLine(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1001))
	if err != nil || len(text) > 1000 {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Files returns paths as the server names them, relative to the root. Those outside of the repository are left out: nobody
// reserves them.
func (r Repository) Files(dir string, paths []string) []string {
	if r.Root == "" {
		return nil
	}
	c := checkout.Checkout{Root: r.Root, Common: r.Common, Project: r.Project, Worktree: r.Worktree}
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		if name, err := c.File(p); err == nil && len(name) <= maxFile && len(out) < maxFiles {
			out = append(out, name)
		}
	}
	return out
}

// The bounds of the server on paths.
const (
	maxFile  = 300
	maxFiles = 100
)

// Strict reports whether the project refuses edits while the server cannot be asked, as the server said last.
func (r Repository) Strict() bool {
	return r.Common != "" && memory.Recall(r.Common, r.Project).Strict
}

// Learn remembers the settings of the project.
func (r Repository) Learn(strict, auto bool) error {
	if r.Common == "" {
		return nil
	}
	return memory.Recall(r.Common, r.Project).Learn(r.Common, r.Project, strict, auto)
}

package session

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/guard/memory"
)

// Locate finds the repository of the session's directory, unless it is known.
func (s *State) Locate(ctx context.Context) {
	if s.Dir == "" || s.Repo.Dir == s.Dir {
		return
	}
	c, err := checkout.Find(ctx, s.Dir)
	if ctx.Err() != nil {
		return // the next call tries again
	}
	s.Repo = Repository{Dir: s.Dir}
	if err == nil {
		s.Repo = Repository{s.Dir, c.Root, c.Common, c.Project, c.Worktree}
	}
}

// Branch returns the branch that is checked out, or the first digits of a commit.
func (r Repository) Branch() string {
	if r.Common == "" {
		return ""
	}
	head := filepath.Join(r.Common, "HEAD")
	if r.Worktree != checkout.MainWorktree {
		head = filepath.Join(r.Common, "worktrees", r.Worktree, "HEAD")
	}
	text, err := os.ReadFile(head)
	if err != nil || len(text) > 1000 {
		return ""
	}
	line := strings.TrimSpace(string(text))
	if name, ok := strings.CutPrefix(line, "ref: refs/heads/"); ok {
		return name
	}
	return line[:min(len(line), 12)]
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

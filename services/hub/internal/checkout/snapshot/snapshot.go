package snapshot

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"parley.internal/services/hub/internal/gitcall"
)

// The bounds of a snapshot: its files, and the size and number of those whose contents are compared. Of the others size and time
// are.
const (
	maxFiles    = 2000
	maxContents = 200
	maxContent  = 64 << 10
)

// Grain is how far the times of files are behind the clock.
const Grain = 10 * time.Millisecond

// Snapshot is the state of a worktree at the beginning of a command. The zero value of the fields that Take fills in stands
// for a worktree that nobody looked at: all files changed since then count as changed by the command.
type Snapshot struct {
	// Root is the directory of the worktree, and Since the time at which the command began.
	Root  string
	Since time.Time
	// Head is the commit that was checked out, where it is known.
	Head string

	taken bool
	until time.Time
	files map[string]file
}

// file is the state of a file that differs from the last commit.
type file struct {
	missing bool
	size    int64
	mode    fs.FileMode
	// time is that of the last change: of the directory for a file that is missing.
	time time.Time
	sum  [sha256.Size]byte
	read bool // whether sum is known
}

// Take looks at the worktree. It may be called when the command runs already: files changed meanwhile count as changed
// by it. A Head that is known is kept.
func (s *Snapshot) Take(ctx context.Context) error {
	call, err := gitcall.Call{Dir: s.Root}.WithoutFilters(ctx)
	if err != nil {
		return err
	}
	head, names, err := status(ctx, call)
	if err != nil {
		return err
	}
	if s.Head == "" {
		s.Head = head
	}
	s.files = look(ctx, s.Root, names)
	s.taken, s.until = true, time.Now()
	return ctx.Err()
}

// Changed returns the files that differ from the snapshot, sorted and relative to the root. Files of which only the commit is a
// new one are not among them.
func (s *Snapshot) Changed(ctx context.Context) ([]string, error) {
	call, err := gitcall.Call{Dir: s.Root}.WithoutFilters(ctx)
	if err != nil {
		return nil, err
	}
	head, names, err := status(ctx, call)
	if err != nil {
		return nil, err
	}
	var commits []string
	if s.Head != "" || s.taken {
		if commits, err = moved(ctx, call, s.Head, head); err != nil {
			return nil, err
		}
	}
	dirty := map[string]bool{}
	for _, name := range names {
		dirty[name] = true
	}
	all := slices.Concat(names, commits, slices.Collect(maps.Keys(s.files)))
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > 2*maxFiles {
		return nil, ErrTooMany
	}
	now := look(ctx, s.Root, all)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return slices.DeleteFunc(all, func(name string) bool { return !s.differs(name, now[name], dirty[name]) }), nil
}

// differs reports whether a file was changed since the command began. What was changed while the snapshot was taken was.
func (s *Snapshot) differs(name string, now file, dirty bool) bool {
	before, known := s.files[name]
	switch {
	case known && s.during(before):
		return true
	case known:
		return !before.same(now)
	case dirty && s.taken:
		return true
	}
	return s.since(now)
}

// since reports whether a file was last changed after the command began.
func (s *Snapshot) since(f file) bool { return !f.time.Before(s.Since.Add(-Grain)) }

// during reports whether a file was last changed between the beginning of the command and the end of the snapshot.
func (s *Snapshot) during(f file) bool { return s.since(f) && !f.time.After(s.until) }

func (f file) same(other file) bool {
	if f.missing || other.missing {
		return f.missing == other.missing
	}
	if f.size == other.size && f.mode == other.mode && f.time.Equal(other.time) {
		return true
	}
	return f.read && other.read && f.mode == other.mode && f.sum == other.sum
}

// look returns the states of files of a worktree.
func look(ctx context.Context, root string, names []string) map[string]file {
	out := make(map[string]file, len(names))
	contents := 0
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		info, err := os.Lstat(path)
		if err != nil {
			out[name] = file{missing: true, time: gone(path)}
			continue
		}
		f := file{size: info.Size(), mode: info.Mode(), time: info.ModTime()}
		if contents < maxContents && info.Mode().IsRegular() && info.Size() <= maxContent {
			contents++
			if text, err := os.ReadFile(path); err == nil {
				f.sum, f.read = sha256.Sum256(text), true
			}
		}
		out[name] = f
	}
	return out
}

// gone returns the time at which a file that is missing may have been removed: that of the last change of its nearest directory.
func gone(path string) time.Time {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil {
			return info.ModTime()
		} else if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return time.Time{}
		}
	}
}

package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley.internal/services/hub/internal/checkout/checkouttest"
	"parley.internal/services/hub/internal/checkout/snapshot"
)

// tree is a repository with two commits: base.txt, other.txt and kept.txt are clean, and mine.txt, gone.txt and new.txt differ.
type tree struct {
	*testing.T
	env  []string
	root string
}

func newTree(t *testing.T) *tree {
	t.Helper()
	w := &tree{T: t, env: checkouttest.Env(t), root: checkouttest.Dir(t)}
	w.git("init", "--quiet")
	for _, name := range []string{"base.txt", "other.txt", "kept.txt", "mine.txt", "gone.txt", "dir/a b.txt"} {
		w.write(name, "1\n")
	}
	w.write(".gitignore", "build/\n")
	w.commit("one")
	w.write("kept.txt", "2\n")
	w.commit("two")
	w.write("mine.txt", "mine\n")
	w.write("new.txt", "new\n")
	w.remove("gone.txt")
	w.older()
	return w
}

func (w *tree) git(args ...string) { w.Helper(); checkouttest.Git(w.T, w.env, w.root, args...) }

func (w *tree) write(name, text string) { w.Helper(); checkouttest.Write(w.T, w.root, name, text) }

func (w *tree) commit(message string) {
	w.Helper()
	w.git("add", "-A")
	w.git("commit", "--quiet", "-m", message)
}

func (w *tree) remove(name string) {
	w.Helper()
	if err := os.Remove(filepath.Join(w.root, name)); err != nil {
		w.Fatal(err)
	}
}

// older makes everything look as if it was written a minute ago.
func (w *tree) older() {
	w.Helper()
	past := time.Now().Add(-time.Minute)
	err := filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		return errors.Join(err, os.Chtimes(path, past, past))
	})
	if err != nil {
		w.Fatal(err)
	}
}

// changed returns the files that a command has changed. It is begun before the snapshot is taken where it runs early.
func (w *tree) changed(command func(), early bool) []string {
	w.Helper()
	s := snapshot.Snapshot{Root: w.root, Since: time.Now()}
	if early {
		command()
	}
	if err := s.Take(w.Context()); err != nil {
		w.Fatal(err)
	}
	if !early {
		command()
	}
	names, err := s.Changed(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return names
}

func TestWhatACommandChangedIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command func(w *tree)
		// want are the files that the command has changed, and late those of them that are seen if it ran before the
		// snapshot was taken.
		want, late []string
	}{
		"nothing": {func(*tree) {}, nil, nil},
		"an edit": {func(w *tree) { w.write("base.txt", "x\n") }, []string{"base.txt"}, []string{"base.txt"}},
		"an edit of a file that was edited": {func(w *tree) { w.write("mine.txt", "more\n") },
			[]string{"mine.txt"}, []string{"mine.txt"}},
		"new files in a new directory": {func(w *tree) { w.write("new dir/ü.txt", "1"); w.write("b", "1") },
			[]string{"b", "new dir/ü.txt"}, []string{"b", "new dir/ü.txt"}},
		"a removal":               {func(w *tree) { w.remove("dir/a b.txt") }, []string{"dir/a b.txt"}, []string{"dir/a b.txt"}},
		"a touch":                 {func(w *tree) { w.write("mine.txt", "mine\n"); w.write("base.txt", "1\n") }, nil, []string{"mine.txt"}},
		"a file with an old time": {func(w *tree) { w.write("base.txt", "x\n"); w.older() }, []string{"base.txt"}, nil},
		"an edit that is committed": {func(w *tree) { w.write("base.txt", "x\n"); w.git("commit", "--quiet", "-m", "x", "base.txt") },
			[]string{"base.txt"}, nil},
		"a commit of earlier edits": {func(w *tree) { w.commit("x") }, nil, nil},
		"a stash":                   {func(w *tree) { w.git("stash", "--quiet") }, []string{"gone.txt", "mine.txt"}, nil},
		"a commit that is taken back": {func(w *tree) { w.git("stash", "-u", "--quiet"); w.git("reset", "--quiet", "--hard", "HEAD~1") },
			[]string{"gone.txt", "kept.txt", "mine.txt", "new.txt"}, nil},
		"files that git ignores": {func(w *tree) { w.write("build/x.o", "1") }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTree(t)
			if got := w.changed(func() { c.command(w) }, false); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			w = newTree(t)
			if got := w.changed(func() { c.command(w) }, true); !containsAll(got, c.late) {
				t.Errorf("begun before the snapshot: got %q, want at least %q", got, c.late)
			}
		})
	}
}

func containsAll(got, want []string) bool {
	return !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(got, name) })
}

func TestAKnownHeadTellsOfACommitThatWasFasterThanTheSnapshot(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	head := checkouttest.Git(t, w.env, w.root, "rev-parse", "HEAD")
	s := snapshot.Snapshot{Root: w.root, Since: time.Now(), Head: head[:len(head)-1]}
	w.write("base.txt", "x\n")
	w.git("commit", "--quiet", "-m", "x", "base.txt")
	if err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Changed(t.Context()); err != nil || !slices.Equal(got, []string{"base.txt"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWithoutALookBeforeTheCommandTheTimesOfFilesTell(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	s := snapshot.Snapshot{Root: w.root, Since: time.Now()}
	w.write("base.txt", "x\n")
	w.remove("dir/a b.txt")
	if got, err := s.Changed(t.Context()); err != nil || !slices.Equal(got, []string{"base.txt", "dir/a b.txt"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWhatAPullBringsIsOfOthers(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.git("stash", "-u", "--quiet")
	origin := filepath.Join(checkouttest.Dir(t), "origin.git")
	w.git("clone", "--quiet", "--bare", ".", origin)
	w.git("remote", "add", "origin", origin)
	w.write("base.txt", "theirs\n")
	w.commit("three")
	w.git("push", "--quiet", "origin", "main")
	w.git("reset", "--quiet", "--hard", "HEAD~1")
	w.older()
	got := w.changed(func() { w.git("pull", "--quiet", "--ff-only", "origin", "main") }, false)
	if len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestNoProgramOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.git("branch", "old", "HEAD~1")
	for _, name := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.process", "diff.external", "diff.evil.textconv",
		"gpg.program", "core.pager"} {
		w.git("config", name, "touch "+filepath.Join(w.root, "build", "ran"))
	}
	w.git("config", "log.showSignature", "true")
	w.git("config", "filter.evil.required", "true")
	w.write("build/x", "")
	w.write(".gitattributes", "* filter=evil diff=evil\n")
	w.changed(func() { w.write("base.txt", "x\n"); w.git("update-ref", "HEAD", "refs/heads/old") }, false)
	if _, err := os.Stat(filepath.Join(w.root, "build", "ran")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a program of the repository's configuration ran", err)
	}
}

func TestAWorktreeThatIsTooLargeOrTooSlowHasNoSnapshot(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	s := snapshot.Snapshot{Root: w.root, Since: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Take(ctx); err == nil {
		t.Error("it was taken after its time")
	}
	for i := range 2001 {
		w.write(fmt.Sprintf("many/%d", i), "")
	}
	if err := s.Take(t.Context()); !errors.Is(err, snapshot.ErrTooMany) {
		t.Errorf("got %v", err)
	}
	if err := (&snapshot.Snapshot{Root: t.TempDir(), Since: time.Now()}).Take(t.Context()); err == nil {
		t.Error("there is no repository")
	}
}

package datadir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/datadir"
)

// tree is a directory tree of a test: work is below clone, which is below home.
type tree struct {
	*testing.T
	home, clone, work string
}

func newTree(t *testing.T) tree {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := tree{t, home, filepath.Join(home, "src", "clone"), filepath.Join(home, "src", "clone", "deep", "down")}
	f.do(os.MkdirAll(f.work, 0o700))
	return f
}

func (f tree) do(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// data makes the data directory of a directory with a mode.
func (f tree) data(in string, mode os.FileMode) {
	f.Helper()
	dir := filepath.Join(in, ".parley")
	f.do(os.MkdirAll(dir, 0o700))
	f.do(os.WriteFile(filepath.Join(dir, "keys.env"), []byte("export PARLEY_URL=http://192.0.2.1/mcp\n"), 0o600))
	f.do(os.Chmod(dir, mode))
}

func (f tree) git(args ...string) {
	f.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = f.clone
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("git %v: %v, %s", args, err, out)
	}
}

func TestTheNearestTrustedDirectoryIsTakenElseThatAtHome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(tree)
		want func(tree) string
		said []string // nothing at all, if empty
	}{
		"none":        {func(tree) {}, func(f tree) string { return f.home }, nil},
		"one at home": {func(f tree) { f.data(f.home, 0o700) }, func(f tree) string { return f.home }, nil},
		"one above, in no repository": {func(f tree) { f.data(f.clone, 0o700) },
			func(f tree) string { return f.clone }, nil},
		"one above, which git ignores": {func(f tree) {
			f.git("init", "-q")
			f.do(os.WriteFile(filepath.Join(f.clone, ".gitignore"), []byte("/.parley/\n"), 0o600))
			f.git("add", ".gitignore")
			f.data(f.clone, 0o700)
		}, func(f tree) string { return f.clone }, nil},
		"one above and one at home": {func(f tree) { f.data(f.clone, 0o700); f.data(f.home, 0o700) },
			func(f tree) string { return f.clone }, []string{"is SRC/.parley", "there is HOME/.parley as well", "--data"}},
		"two above": {func(f tree) { f.data(f.clone, 0o700); f.data(f.work, 0o700) },
			func(f tree) string { return f.work }, []string{"is WORK/.parley", "there is SRC/.parley as well"}},
		"one that others can read": {func(f tree) { f.data(f.clone, 0o755) }, func(f tree) string { return f.home },
			[]string{"SRC/.parley is not used: its mode is not 0700", "is HOME/.parley"}},
		"one that is a link": {func(f tree) {
			f.data(f.home, 0o700)
			f.do(os.Symlink(filepath.Join(f.home, ".parley"), filepath.Join(f.clone, ".parley")))
		}, func(f tree) string { return f.home }, []string{"SRC/.parley is not used: it is not a directory"}},
		"one that a repository brought": {func(f tree) {
			f.git("init", "-q")
			f.data(f.clone, 0o700)
			f.git("add", "-f", ".parley/keys.env")
			f.git("commit", "-qm", "a server of theirs")
		}, func(f tree) string { return f.home }, []string{"SRC/.parley is not used: git tracks it"}},
		"one that a repository tracks in capitals": {func(f tree) {
			f.git("init", "-q")
			f.do(os.MkdirAll(filepath.Join(f.clone, ".Parley"), 0o700))
			f.do(os.WriteFile(filepath.Join(f.clone, ".Parley", "keys.env"), nil, 0o600))
			f.git("add", ".Parley/keys.env")
			f.data(f.clone, 0o700)
		}, func(f tree) string { return f.home }, []string{"git tracks it"}},
		"one in a bare repository that a repository brought": {func(f tree) {
			f.git("init", "-q")
			f.do(os.MkdirAll(filepath.Join(f.clone, "refs"), 0o700))
			f.do(os.MkdirAll(filepath.Join(f.clone, "objects"), 0o700))
			f.do(os.WriteFile(filepath.Join(f.clone, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
			f.do(os.WriteFile(filepath.Join(f.clone, "config"), []byte("[core]\n\tbare = false\n\tworktree = .\n"), 0o600))
			f.do(os.Rename(filepath.Join(f.clone, ".git"), filepath.Join(filepath.Dir(f.clone), ".git")))
			f.data(f.clone, 0o700)
		}, func(f tree) string { return f.home }, []string{"has the files of a bare repository"}},
		"one in a repository that git cannot read": {func(f tree) {
			f.do(os.WriteFile(filepath.Join(f.clone, ".git"), []byte("gitdir: /nowhere\n"), 0o600))
			f.data(f.clone, 0o700)
		}, func(f tree) string { return f.home }, []string{"git does not tell whether it is tracked"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTree(t)
			c.make(f)
			got := datadir.Find(t.Context(), f.work, f.home)
			if want := filepath.Join(c.want(f), ".parley"); got.Dir != want {
				t.Errorf("got %s, want %s", got.Dir, want)
			}
			if (len(c.said) == 0) != (got.Note == "") {
				t.Errorf("it says %q", got.Note)
			}
			for _, words := range c.said {
				words = strings.NewReplacer("WORK", f.work, "SRC", f.clone, "HOME", f.home).Replace(words)
				if !strings.Contains(got.Note, words) {
					t.Errorf("it says %q, without %q", got.Note, words)
				}
			}
		})
	}
}

func TestWithoutAHomeDirectoryOnlyATrustedOneIsTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(tree)
		want string // below the tree's home
		said string
	}{
		"none":                           {func(tree) {}, "", ""},
		"one above":                      {func(f tree) { f.data(f.clone, 0o700) }, "src/clone/.parley", ""},
		"one here":                       {func(f tree) { f.data(f.work, 0o700) }, "src/clone/deep/down/.parley", ""},
		"one here that others can read":  {func(f tree) { f.data(f.work, 0o755) }, "", "is not used: its mode is not 0700 (name one"},
		"one above that others can read": {func(f tree) { f.data(f.clone, 0o755) }, "", "is not used: its mode is not 0700 (name one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTree(t)
			c.make(f)
			want := ""
			if c.want != "" {
				want = filepath.Join(f.home, c.want)
			}
			got := datadir.Find(t.Context(), f.work, "")
			if got.Dir != want || (c.said == "") != (got.Note == "") || !strings.Contains(got.Note, c.said) {
				t.Errorf("got %+v, want %q, %q", got, want, c.said)
			}
		})
	}
}

// The configuration of a repository may name programs; a repository that was unpacked, not cloned, brings its own.
func TestAttackTheConfigurationOfARepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	f := newTree(t)
	f.git("init", "-q")
	f.data(f.clone, 0o700)
	ran := filepath.Join(f.home, "ran")
	program := filepath.Join(f.home, "program")
	f.do(os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700))
	for _, name := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "diff.external"} {
		f.git("config", name, program)
	}
	if got := datadir.Find(t.Context(), f.work, f.home); got.Dir != filepath.Join(f.clone, ".parley") {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it ran a program of the repository")
	}
}

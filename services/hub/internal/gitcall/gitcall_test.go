package gitcall_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/checkout/checkouttest"
	"parley.internal/services/hub/internal/executabletest"
	"parley.internal/services/hub/internal/gitcall"
	"parley.internal/shared/store/emulator"
)

func TestNoVariableThatGitCallsLocalReachesIt(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--local-env-vars").Output()
	if err != nil {
		t.Fatal(err)
	}
	var environ []string
	for _, name := range append(strings.Fields(string(out)), "GIT_CEILING_DIRECTORIES", "GIT_LITERAL_PATHSPECS", "Git_Dir") {
		environ = append(environ, name+"=x")
	}
	keep := []string{"PATH=/bin", "GITHUB_TOKEN=x", "GIT_CONFIG_GLOBAL=/g", "GIT_EXEC_PATH=/e", "X=GIT_DIR=y"}
	if got := gitcall.Env(slices.Concat(environ, keep)); !slices.Equal(got, keep) {
		t.Errorf("got %q, want %q", got, keep)
	}
}

// A repository in which every look of git at the worktree runs programs, which write the file marker.
func trap(t *testing.T) (dir, marker string, env []string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "the programs are scripts of a shell")
	}
	env, dir = checkouttest.Env(t), checkouttest.Dir(t)
	marker = filepath.Join(dir, "marker")
	program := filepath.Join(dir, "program")
	executabletest.Write(t, program, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+marker+"'\ncat\n"))
	repo := filepath.Join(dir, "repo")
	checkouttest.Git(t, env, dir, "init", "--quiet", repo)
	checkouttest.Write(t, repo, "a.txt", "1\n")
	checkouttest.Git(t, env, repo, "add", "a.txt")
	checkouttest.Git(t, env, repo, "commit", "--quiet", "-m", "one")
	checkouttest.Write(t, repo, ".git/info/attributes", "* filter=a=b.c\n")
	checkouttest.Write(t, repo, ".git/own", "[filter \"a=b.c\"]\n\tclean = "+program+" clean\n\tsmudge = "+program+" smudge\n\trequired\n"+
		"[filter \"plain\"]\n\tclean = "+program+" plain\n[core]\n\tfsmonitor = "+program+
		"\n[alias]\n\tstatus = !"+program+"\n\tconfig = !"+program+"\n")
	checkouttest.Git(t, env, repo, "config", "include.path", "own")
	executabletest.Write(t, filepath.Join(repo, ".git", "hooks", "post-index-change"), []byte("#!/bin/sh\nexec "+program+" hook </dev/null\n"))
	// Of the same size and another time, so that git has to compare the contents.
	checkouttest.Write(t, repo, "a.txt", "2\n")
	if err := os.Chtimes(filepath.Join(repo, "a.txt"), time.Now(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	return repo, marker, env
}

func TestNoProgramThatARepositoryNamesIsRun(t *testing.T) {
	t.Parallel()
	dir, marker, env := trap(t)
	call, err := gitcall.Call{Dir: dir}.WithoutFilters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := call.Command(t.Context(), "status", "--porcelain").Output()
	if err != nil || string(out) != " M a.txt\n" {
		t.Errorf("git says %q, %v", out, err)
	}
	if text, err := os.ReadFile(marker); err == nil {
		t.Errorf("programs were run:\n%s", text)
	}
	checkouttest.Git(t, env, dir, "status")
	if text, err := os.ReadFile(marker); err != nil || !strings.Contains(string(text), "clean") {
		t.Errorf("the repository has no trap, so this test shows nothing: %q, %v", text, err)
	}
}

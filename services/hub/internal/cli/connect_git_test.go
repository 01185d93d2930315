package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A hook of git, and each program that it starts, has variables that name the repository of the hook.
func TestGitsOwnVariablesDoNotMisleadConnect(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	other := filepath.Join(d.home, "other")
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", other).CombinedOutput(); err != nil {
		t.Fatalf("git: %v\n%s", err, out)
	}
	before := d.files()
	plain := d.env
	d.env = append(d.env[:len(d.env):len(d.env)], "GIT_DIR="+filepath.Join(other, ".git"), "GIT_WORK_TREE="+other,
		"GIT_INDEX_FILE="+filepath.Join(other, ".git", "index"), "GIT_PREFIX=x/", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=core.excludesFile", "GIT_CONFIG_VALUE_0="+filepath.Join(other, "none"))
	out := d.ok("codex")
	if strings.Contains(out, other) || !strings.Contains(out, "created "+filepath.Join(d.project, ".codex", "config.toml")) ||
		!strings.Contains(out, "changed "+filepath.Join(d.project, ".git", "info", "exclude")) {
		t.Errorf("connect said\n%s", out)
	}
	with := d.files()
	d.env = plain
	if again := d.ok("codex"); !strings.Contains(again, "up to date") || d.files() != with {
		t.Errorf("without the variables connect says\n%s", again)
	}
	d.ok("codex", "--remove")
	if d.files() != before {
		t.Errorf("after removing there is\n%s", d.files())
	}
}

func TestNoKeyIsCommittedWhereTheHomeDirectoryIsARepository(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", d.home}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	before := d.files()
	d.ok("claude", "--user")
	d.ok("codex", "--user")
	git("check-ignore", "-q", ".config/parley/connections/claude-user.json")
	git("add", "-A")
	if staged := git("diff", "--cached"); strings.Contains(staged, "parley_") || !strings.Contains(staged, ".claude.json") {
		t.Errorf("git would commit\n%s", staged)
	}
	d.ok("all", "--user", "--remove")
	if d.files() != before {
		t.Errorf("after removing there is\n%s", d.files())
	}
}

func TestADryRunShowsWhereALinkLeads(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	mine, link := filepath.Join(d.home, "mcp.json"), filepath.Join(d.project, ".cursor", "mcp.json")
	err := errors.Join(os.WriteFile(mine, []byte("{}"), 0o600), os.Mkdir(filepath.Dir(link), 0o755), os.Symlink(mine, link))
	if err != nil {
		t.Fatal(err)
	}
	want := "link     " + link + " -> " + mine
	if out := d.ok("cursor", "--dry-run"); !strings.Contains(out, want) {
		t.Errorf("there is no %q:\n%s", want, out)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", d.project, "add", ".cursor").CombinedOutput(); err != nil {
		t.Fatalf("git: %v\n%s", err, out)
	}
	before := d.files()
	if _, errOut, code := d.run("cursor", "--dry-run"); code != 1 || !strings.Contains(errOut, "which the repository brought") {
		t.Errorf("exit %d, %s", code, errOut)
	}
	if d.files() != before {
		t.Errorf("there is\n%s", d.files())
	}
}

package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley.internal/services/hub/internal/checkout/checkouttest"
	"parley.internal/shared/files"
)

// repository is a remote with two clones, and a server that two agents call.
type repository struct {
	t              *testing.T
	env            []string
	remote, a, b   string
	server         *process
	alpha, beta    []string // the environments of the agents
	human, project string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	dir, data := checkouttest.Dir(t), t.TempDir()
	r := &repository{t: t, env: checkouttest.Env(t), remote: filepath.Join(dir, "remote.git"), a: filepath.Join(dir, "a"),
		b: filepath.Join(dir, "b"), server: serve(t, nil, local(data)...), project: "github.com/acme/app"}
	vars := keysEnv(t, data)
	r.human = vars["PARLEY_HUMAN_KEY"]
	url := "PARLEY_URL=" + r.server.URL
	r.alpha = append(slices.Clone(r.env), url, "PARLEY_KEY="+vars["PARLEY_KEY"])
	r.beta = append(slices.Clone(r.env), url, "PARLEY_KEY="+vars["PARLEY_KEY_BETA"])
	checkouttest.Git(t, r.env, dir, "init", "--quiet", "--bare", r.remote)
	for clone, origin := range map[string]string{r.a: "git@GitHub.com:acme/app.git", r.b: "https://ann@github.com:443/acme/app"} {
		checkouttest.Git(t, r.env, dir, "clone", "--quiet", r.remote, clone)
		checkouttest.Git(t, r.env, clone, "remote", "set-url", "--push", "origin", r.remote)
		checkouttest.Git(t, r.env, clone, "remote", "set-url", "origin", origin)
	}
	return r
}

// parley runs a command in a directory and checks its exit code and its output.
func (r *repository) parley(env []string, dir string, code int, want string, args ...string) {
	r.t.Helper()
	out, errOut, got := command(r.t, env, append(args, "--repo", dir)...)
	if text := out + errOut; got != code || !strings.Contains(text, want) {
		r.t.Errorf("parley %q: exit %d, %s; want %d and %q", args, got, text, code, want)
	}
}

// edit changes a file and stages it.
func (r *repository) edit(dir, file, text string) {
	r.t.Helper()
	checkouttest.Write(r.t, dir, file, text)
	checkouttest.Git(r.t, r.env, dir, "add", "--", file)
}

// passes runs git as an agent and expects success; refused expects a failure. The output must have all given texts.
func (r *repository) passes(env []string, dir string, want []string, args ...string) {
	r.t.Helper()
	r.git(env, dir, true, want, args...)
}

func (r *repository) refused(env []string, dir string, want []string, args ...string) {
	r.t.Helper()
	r.git(env, dir, false, want, args...)
}

func (r *repository) git(env []string, dir string, good bool, want []string, args ...string) {
	r.t.Helper()
	out, err := checkouttest.Try(r.t, env, dir, args...)
	if (err == nil) != good {
		r.t.Fatalf("git %q: %v; want it to pass: %t\n%s", args, err, good, out)
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			r.t.Errorf("git %q printed no %q:\n%s", args, w, out)
		}
	}
	if len(want) == 0 && strings.Contains(out, "parley") {
		r.t.Errorf("git %q:\n%s", args, out)
	}
}

func (r *repository) set(s files.SettingsInput) {
	r.t.Helper()
	s.Project = r.project
	if _, err := r.server.as(r.human).SetFileSettings(r.t.Context(), s); err != nil {
		r.t.Fatal(err)
	}
}

func TestACommitOfWhatAnotherHoldsIsRefusedUntilItIsReleased(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	for _, dir := range []string{r.a, r.b} {
		r.parley(r.env, dir, 0, "pre-push: guarded\n", "guard", "install")
	}
	r.parley(r.alpha, r.a, 0, "yours until", "files", "reserve", "src/", "--reason", "a new grammar")
	r.edit(r.a, "src/lexer.go", "alpha's")
	r.passes(r.alpha, r.a, nil, "commit", "-m", "one")

	r.edit(r.b, "src/lexer.go", "beta's")
	r.edit(r.b, "main.go", "beta's")
	r.parley(r.beta, r.b, 3, `held  "alpha" holds src/ until`, "files", "check", filepath.Join(r.b, "src/lexer.go"))
	r.refused(r.beta, r.b, []string{"the commit is refused, because others hold 1 of its 2 files",
		`src/lexer.go: "alpha" holds src/ until`, `"a new grammar"`, `send_message to "alpha"`}, "commit", "-m", "two")
	r.parley(r.beta, r.b, 3, `"alpha" holds src/`, "files", "reserve", "src/lexer.go")
	r.passes(r.beta, r.b, nil, "commit", "-m", "two", "--", "main.go")

	r.edit(r.b, "src/lexer.go", "beta's")
	checkouttest.Git(t, r.beta, r.b, "commit", "--no-verify", "-m", "three")
	r.refused(r.beta, r.b, []string{"the push is refused", `"alpha" holds src/`}, "push", "origin", "HEAD")
	r.parley(r.alpha, r.a, 0, "released", "files", "release", "src/")
	r.passes(r.beta, r.b, []string{"HEAD -> main"}, "push", "origin", "HEAD")
	r.parley(r.alpha, r.a, 0, "free", "files", "check", "src/lexer.go")
}

func TestWorktreesOfOneRepositoryWarnEachOtherOrRefuse(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.parley(r.env, r.a, 0, "guarded", "guard", "install")
	r.edit(r.a, "web/index.html", "1")
	r.passes(r.alpha, r.a, nil, "commit", "-m", "one")
	redesign := filepath.Join(filepath.Dir(r.a), "redesign")
	checkouttest.Git(t, r.env, r.a, "worktree", "add", "-b", "redesign", redesign)
	r.parley(r.env, redesign, 0, "worktree redesign", "guard", "status")

	r.parley(r.alpha, r.a, 0, "yours", "files", "reserve", "web")
	r.edit(redesign, "web/index.html", "2")
	const warning = `warning: web/index.html: in the worktree "main" (branch "main") "alpha" holds web/ until`
	r.passes(r.beta, redesign, []string{warning, "1 file changed"}, "commit", "-m", "two")
	r.set(files.SettingsInput{RefuseWorktrees: true})
	r.edit(redesign, "web/index.html", "3")
	r.refused(r.beta, redesign, []string{`"alpha" holds web/`}, "commit", "-m", "three")
	r.parley(r.alpha, r.a, 0, "released", "files", "release")
	r.passes(r.beta, redesign, []string{"1 file changed"}, "commit", "-m", "three")
}

func TestAServerThatIsAwayLetsPassWithAWarningAndStrictRefuses(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.parley(r.env, r.a, 0, "guarded", "guard", "install")
	r.parley(r.env, r.b, 0, "guarded", "guard", "install")
	r.edit(r.b, "b.txt", "1")
	r.passes(r.beta, r.b, nil, "commit", "-m", "before it is strict")
	r.set(files.SettingsInput{Strict: true})
	r.edit(r.a, "a.txt", "1")
	r.passes(r.alpha, r.a, nil, "commit", "-m", "learns that it is strict")
	r.parley(r.env, r.a, 0, "strict true", "guard", "status")
	r.server.stop(syscall.SIGTERM)

	r.edit(r.b, "b.txt", "2")
	r.passes(r.beta, r.b, []string{"parley guard: warning: nobody knows whether others hold these files"}, "commit", "-m", "away")
	r.edit(r.a, "a.txt", "2")
	r.refused(r.alpha, r.a, []string{"the commit is refused", "This project is strict"}, "commit", "-m", "away")
	r.parley(r.alpha, r.a, 1, "parley:", "files", "check", "a.txt")
	r.parley(r.env, r.a, 0, "no guard", "guard", "uninstall")
	r.passes(r.alpha, r.a, []string{"1 file changed"}, "commit", "-m", "without a guard")
	if left, err := filepath.Glob(filepath.Join(r.a, ".git", "*parley*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestTheGuardLeavesNoKeyInTheRepository(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	data := t.TempDir()
	r.parley(append(r.alpha, "PARLEY_HUMAN_KEY="+r.human), r.a, 0, "guarded", "guard", "install", "--url", r.server.URL,
		"--data", data)
	r.set(files.SettingsInput{Strict: true})
	r.edit(r.a, "a.txt", "1")
	r.passes(r.alpha, r.a, nil, "commit", "-m", "one")
	err := filepath.WalkDir(r.a, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if secret.Match(text) {
			t.Errorf("%s holds a key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := checkouttest.Git(t, r.env, r.a, "status", "--porcelain"); out != "" {
		t.Errorf("git would commit %s", out)
	}
}

func TestAReservationSaysTheWorktreeAndTheBranch(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	checkouttest.Git(t, r.env, r.a, "checkout", "--quiet", "-b", "grammar")
	r.parley(r.alpha, r.a, 0, `"worktree": "main"`, "files", "reserve", "--json", "src/")
	r.parley(r.alpha, r.a, 0, `"branch": "grammar"`, "files", "list", "--json")
	checkouttest.Git(t, r.env, r.a, "commit", "--quiet", "--allow-empty", "-m", "one")
	checkouttest.Git(t, r.env, r.a, "checkout", "--quiet", "--detach")
	r.parley(r.alpha, r.a, 0, `"pattern": "docs/"`, "files", "reserve", "--json", "docs/")
}

package cli_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/checkout/checkouttest"
	"parley.internal/services/hub/internal/guard"
	"parley.internal/shared/files"
)

func TestTheGuardFollowsCoreHooksPath(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	const script = "#!/usr/bin/env sh\necho \"$(basename \"$0\") of the worktree\"\n"
	checkouttest.Write(t, r.a, ".husky/_/pre-commit", script)
	hook := filepath.Join(r.a, ".husky", "_", "pre-commit")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	checkouttest.Git(t, r.env, r.a, "config", "core.hooksPath", ".husky/_")
	r.parley(r.env, r.a, 0, "git may commit them; they find parley by PATH", "guard", "install")
	text, err := os.ReadFile(hook)
	if err != nil || strings.Contains(string(text), filepath.Dir(binary)) || strings.Contains(string(text), r.server.URL) {
		t.Errorf("the hook in the worktree has something of this machine: %v\n%s", err, text)
	}
	path := "PATH=" + filepath.Dir(binary) + string(filepath.ListSeparator) + os.Getenv("PATH")
	r.alpha, r.beta = append(r.alpha, path), append(r.beta, path)
	r.parley(r.alpha, r.a, 0, "yours", "files", "reserve", "*.go")
	r.edit(r.a, "main.go", "1")
	r.refused(r.beta, r.a, []string{`"alpha" holds *.go`}, "commit", "-m", "one")
	r.passes(r.alpha, r.a, []string{"pre-commit of the worktree"}, "commit", "-m", "one")
	r.parley(r.env, r.a, 0, "no guard", "guard", "uninstall")
	if text, err := os.ReadFile(hook); err != nil || string(text) != script {
		t.Errorf("after the guard was removed: %v\n%s", err, text)
	}

	outside := checkouttest.Dir(t)
	checkouttest.Git(t, r.env, r.b, "config", "core.hooksPath", outside)
	r.parley(r.env, r.b, 1, "which other repositories may share; give --shared", "guard", "install")
	r.parley(r.env, r.b, 3, "no guard", "guard", "status")
	r.parley(r.env, r.b, 0, "guarded", "guard", "install", "--shared")
	r.parley(r.env, r.b, 0, `"pre-push": "alone"`, "guard", "status", "--json")
	r.parley(r.env, r.b, 0, "no guard", "guard", "uninstall", "--shared")
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestHooksOfOneWorktreeAreGuardedByThemselves(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	checkouttest.Git(t, r.env, r.a, "commit", "--allow-empty", "-m", "one")
	side := filepath.Join(filepath.Dir(r.a), "side")
	checkouttest.Git(t, r.env, r.a, "worktree", "add", "-b", "side", side)
	checkouttest.Git(t, r.env, r.a, "config", "extensions.worktreeConfig", "true")
	checkouttest.Git(t, r.env, side, "config", "--worktree", "core.hooksPath", filepath.Join(side, "hooks"))
	r.parley(r.env, side, 0, filepath.Join(side, "hooks", "pre-commit")+": guarded", "guard", "install")
	r.parley(r.env, r.a, 3, "no guard", "guard", "status")
	r.parley(r.env, r.a, 0, "guarded", "guard", "install")
	r.parley(r.env, side, 0, "no guard", "guard", "uninstall")
	r.parley(r.env, r.a, 0, "guarded", "guard", "status")
}

func TestAServerThatDoesNotAnswerInTimeLetsACommitPass(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and answers none
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r.parley(r.env, r.a, 0, "guarded", "guard", "install")
	r.edit(r.a, "a.txt", "1")
	r.passes(append(r.alpha, "PARLEY_URL=http://"+silent.Addr().String()), r.a,
		[]string{"warning: nobody knows whether others hold these files: no answer within 2s"}, "commit", "-m", "one")
	r.edit(r.a, "a.txt", "2")
	r.passes(r.env, r.a, []string{"warning: nobody knows", "no key: set PARLEY_KEY"}, "commit", "-m", "two")
	r.edit(r.a, "a.txt", "3")
	wrong := append(r.env, "PARLEY_KEY=parley_wrong", "PARLEY_URL="+r.server.URL)
	r.passes(wrong, r.a, []string{"warning: nobody knows"}, "commit", "-m", "three")
}

func TestACommandAboutFilesDoesNotWaitForAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and answers none
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	env, said := append(r.alpha, "PARLEY_URL=http://"+silent.Addr().String()), "has not answered within 10s; check that it is well"
	var wg sync.WaitGroup
	for _, args := range [][]string{{"check", "a"}, {"reserve", "a"}, {"release"}, {"list"}} {
		wg.Go(func() { r.parley(env, r.a, 1, said, append([]string{"files"}, args...)...) })
	}
	wg.Go(func() { r.parley(env, r.a, 1, "has not answered within 11s", "files", "reserve", "a", "--wait", "1s") })
	wg.Wait()
}

func TestAnInstalledGuardKnowsThatItsProjectIsStrict(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.set(files.SettingsInput{Strict: true})
	r.parley(r.beta, r.b, 0, "guarded", "guard", "install")
	r.parley(r.env, r.b, 0, "strict true", "guard", "status")
	r.edit(r.b, "b.txt", "1")
	r.refused(append(r.beta, "PARLEY_URL=http://127.0.0.1:1"), r.b, []string{"This project is strict"}, "commit", "-m", "one")
	r.parley(r.env, r.a, 0, "it has none yet", "guard", "install")
}

func TestTheGuardRemembersOnlyTheDirectoryThatItWasGiven(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	recalled := func() guard.Memory {
		c, err := checkout.Find(t.Context(), r.a)
		if err != nil {
			t.Fatal(err)
		}
		return guard.Recall(c)
	}
	r.parley(r.env, r.a, 0, "guarded", "guard", "install", "--url", r.server.URL)
	if m := recalled(); m.Data != "" || m.URL != r.server.URL {
		t.Errorf("remembered without --data: %+v", m)
	}
	given := t.TempDir()
	r.parley(r.env, r.a, 0, "guarded", "guard", "install", "--data", given)
	if m := recalled(); m.Data != given {
		t.Errorf("remembered with --data: %+v", m)
	}
}

func TestFilesAreReservedCheckedListedAndReleasedFromTheShell(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	human := append(r.env, "PARLEY_URL="+r.server.URL, "PARLEY_HUMAN_KEY="+r.human)
	other := append(r.env, "PARLEY_URL="+r.server.URL, "OTHER="+strings.TrimPrefix(r.beta[len(r.beta)-1], "PARLEY_KEY="))
	wrong := append(r.env, "PARLEY_URL="+r.server.URL, "PARLEY_KEY=parley_wrong")
	for _, step := range []struct {
		env  []string
		code int
		want string
		args []string
	}{
		{r.alpha, 0, "Nothing is reserved.", []string{"files", "list"}},
		{r.alpha, 0, "Nothing stands in the way.", []string{"files", "reserve", "src/", "--dry-run"}},
		{r.alpha, 0, "src/  exclusive  yours until", []string{"files", "reserve", "src/", "--reason", "a grammar"}},
		{r.alpha, 0, "yours", []string{"files", "check", "src/a.go"}},
		{r.beta, 3, `"state": "held"`, []string{"files", "check", "src/a.go", "b.go", "--json"}},
		{r.beta, 3, `"alpha" holds src/ until`, []string{"files", "check", "src/a.go", "b.go"}},
		{r.beta, 3, "others stand in the way; nothing was reserved", []string{"files", "reserve", "src/a.go", "--dry-run"}},
		{r.beta, 3, `send_message to "alpha"`, []string{"files", "reserve", "src/a.go", "--wait", "50ms"}},
		{r.beta, 3, "give --wait to wait for your turn", []string{"files", "reserve", "src/a.go"}},
		{other, 3, `send_message to "alpha"`, []string{"files", "reserve", "src/a.go", "--key-env", "OTHER"}},
		{human, 3, `"alpha" holds src/`, []string{"files", "check", "src/a.go"}},
		{r.beta, 0, "shared", []string{"files", "reserve", "go.mod", "--shared", "--lease", "1h"}},
		{r.alpha, 0, "shared", []string{"files", "reserve", "go.mod", "--shared"}},
		{r.beta, 0, "github.com/acme/app: go.mod  shared", []string{"files", "list", "--all", "--program", "beta"}},
		{r.beta, 0, `"pattern": "src/"`, []string{"files", "list", "src/*.go", "--json"}},
		{r.alpha, 0, "none.go  not reserved", []string{"files", "release", "src/", "none.go"}},
		{r.beta, 0, "free", []string{"files", "check", "src/a.go"}},
		{append(r.beta, "PARLEY_SESSION=beta/2"), 3, `"beta" holds`, []string{"files", "reserve", "go.mod"}},
		{r.beta, 1, "OTHER holds no key", []string{"files", "check", "a", "--key-env", "OTHER"}},
		{r.env, 1, "no key: set PARLEY_KEY", []string{"files", "check", "a"}},
		{wrong, 1, "refuses the key of the variable PARLEY_KEY", []string{"files", "check", "a"}},
		{r.beta, 1, "is not in the repository", []string{"files", "check", "../../x"}},
		{r.beta, 1, "--lease must be from 1m to 24h", []string{"files", "reserve", "a", "--lease", "5s"}},
		{r.beta, 1, "--lease must be a time", []string{"files", "reserve", "a", "--lease", "-1h"}},
	} {
		r.parley(step.env, r.a, step.code, step.want, step.args...)
	}
	r.parley(r.alpha, t.TempDir(), 1, "is in no worktree of a git repository", "files", "list")
}

func TestAttackTextsOfAServerReachTheTerminalEscaped(t *testing.T) {
	t.Parallel()
	dir, env := checkouttest.Dir(t), checkouttest.Env(t)
	checkouttest.Git(t, env, dir, "init", "--quiet")
	checkouttest.Write(t, dir, "a", "1")
	checkouttest.Git(t, env, dir, "add", "a")
	const evil = "\x1b]0;owned\a\u202e"
	held := []object{{"path": "a", "state": "held", "by": []object{{"holder": evil, "pattern": evil, "reason": evil}}}}
	s := newFake(t, func(r *http.Request, _ string) (int, any) {
		if r.Method == "GET" {
			return 200, object{"reservations": held[0]["by"]}
		}
		return 200, object{"paths": held}
	})
	vars := map[string]string{"PARLEY_KEY": goodKey, "PARLEY_URL": s.URL, "HOME": t.TempDir()}
	for _, c := range []struct {
		code int
		args []string
	}{
		{3, []string{"files", "check", "a"}}, {3, []string{"files", "check", "a", "--json"}},
		{0, []string{"files", "list"}}, {0, []string{"files", "list", "--json"}},
		{3, []string{"guard", "run", "pre-commit"}},
	} {
		out, errOut, code := inProcess(t, vars, append(c.args, "--repo", dir)...)
		if text := out + errOut; code != c.code || !strings.Contains(text, "owned") || strings.ContainsAny(text, "\x1b\a\u202e") {
			t.Errorf("parley %q: exit %d, %q", c.args, code, text)
		}
	}
}

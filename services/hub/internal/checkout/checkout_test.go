package checkout_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/checkout/checkouttest"
)

func TestEverySpellingOfAnOriginIsOneProject(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"https://github.com/acme/app":                    "github.com/acme/app",
		"https://ann:secret@GitHub.com:443/acme/app.git": "github.com/acme/app",
		"https://github.com/acme/app.git/":               "github.com/acme/app",
		"git@github.com:acme/app.git":                    "github.com/acme/app",
		"github.com:/acme/app":                           "github.com/acme/app",
		"ssh://git@github.com:22/acme/app.git":           "github.com/acme/app",
		"git://github.com//acme/app":                     "github.com/acme/app",
		"https://gitlab.com/a/group/App":                 "gitlab.com/a/group/App",
		"https://example.org/a/my%20app":                 "example.org/a/my%20app",
		"/srv/git/app.git":                               "",
		"../app":                                         "",
		"./a:b":                                          "",
		"file:///srv/git/app":                            "",
		`C:\git\app`:                                     "",
		"https://":                                       "",
		"https://github.com/":                            "",
		"codecommit::eu-west-1://app":                    "",
	} {
		if got, ok := checkout.ID(origin); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t; want %q", origin, got, ok, want)
		}
	}
}

// find returns the checkout of a directory.
func find(t *testing.T, dir string) *checkout.Checkout {
	t.Helper()
	c, err := checkout.Find(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClonesOfADirectoryAndTheDirectoryAreOneProjectWithBranchesOfTheirOwn(t *testing.T) {
	t.Parallel()
	env, dir := checkouttest.Env(t), checkouttest.Dir(t)
	checkouttest.Git(t, env, dir, "init", "--quiet", "app")
	app := filepath.Join(dir, "app")
	checkouttest.Git(t, env, app, "commit", "--allow-empty", "-m", "one")
	checkouttest.Git(t, env, dir, "clone", "--quiet", "app", "clone")
	checkouttest.Git(t, env, app, "worktree", "add", "--quiet", "../side")
	checkouttest.Git(t, env, dir, "init", "--quiet", "other")
	origin := find(t, app)
	if !strings.HasPrefix(origin.Project, "local-") || origin.Worktree != checkout.MainWorktree || origin.Root != app {
		t.Errorf("got %+v", origin)
	}
	if clone := find(t, filepath.Join(dir, "clone")); clone.Project != origin.Project || clone.Worktree != "main" {
		t.Errorf("the clone is %+v; want the project %s", clone, origin.Project)
	}
	if side := find(t, filepath.Join(dir, "side")); side.Project != origin.Project || side.Worktree != "side" ||
		side.Common != origin.Common {
		t.Errorf("the worktree is %+v; want the project %s", side, origin.Project)
	}
	checkouttest.Git(t, env, app, "checkout", "--quiet", "-b", "trunk")
	checkouttest.Git(t, env, filepath.Join(dir, "clone"), "checkout", "--quiet", "--detach")
	long := strings.Repeat("x", 240)
	checkouttest.Git(t, env, filepath.Join(dir, "other"), "checkout", "--quiet", "-b", long)
	for name, want := range map[string]string{"app": "trunk", "side": "side", "clone": "", "other": long[:200]} {
		if got, err := find(t, filepath.Join(dir, name)).Branch(t.Context()); err != nil || got != want {
			t.Errorf("%s is on the branch %q, %v; want %q", name, got, err, want)
		}
	}
	if other := find(t, filepath.Join(dir, "other")); other.Project == origin.Project {
		t.Error("two repositories are one project")
	}
	if _, err := checkout.Find(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "in no worktree") {
		t.Errorf("outside of a repository: %v", err)
	}
}

func TestPathsAreRelativeToTheRoot(t *testing.T) {
	t.Parallel()
	env, dir := checkouttest.Env(t), checkouttest.Dir(t)
	checkouttest.Git(t, env, dir, "init", "--quiet", "app")
	app := filepath.Join(dir, "app")
	checkouttest.Write(t, app, "web/[id]/page.tsx", "")
	checkouttest.Write(t, app, "web/a.ts", "")
	if err := os.Symlink(app, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	c := find(t, filepath.Join(dir, "link", "web"))
	for _, p := range []struct{ in, file, pattern string }{
		{"a.ts", "web/a.ts", "web/a.ts"},
		{"./new.ts", "web/new.ts", "web/new.ts"},
		{"../go.mod", "go.mod", "go.mod"},
		{"[id]/page.tsx", "web/[id]/page.tsx", "web/[[]id]/page.tsx"},
		{"[id]", "web/[id]", "web/[[]id]/"},
		{"*.ts", "web/*.ts", "web/*.ts"},
		{"../**/*_test.go", "**/*_test.go", "**/*_test.go"},
		{"new/", "web/new", "web/new/"},
		{"..", "", "."},
		{filepath.Join(app, "cmd/*.go"), "cmd/*.go", "cmd/*.go"},
		{filepath.Join(dir, "link", "docs/x.md"), "docs/x.md", "docs/x.md"},
		{"../../elsewhere", "", ""},
		{filepath.Join(dir, "elsewhere"), "", ""},
		{"a\nb", "", ""},
		{"{a", "web/{a", ""},
	} {
		file, err := c.File(p.in)
		if file != p.file || (err == nil) != (p.file != "") {
			t.Errorf("the file %q: got %q, %v; want %q", p.in, file, err, p.file)
		}
		pattern, err := c.Pattern(p.in)
		if pattern != p.pattern || (err == nil) != (p.pattern != "") {
			t.Errorf("the pattern %q: got %q, %v; want %q", p.in, pattern, err, p.pattern)
		}
	}
	below := find(t, filepath.Join(app, "web", "[id]"))
	if got, err := below.Pattern("*.tsx"); got != "web/[[]id]/*.tsx" || err != nil {
		t.Errorf("below a directory with special characters: %q, %v", got, err)
	}
}

func TestStagedFilesOfAMergeAreThoseThatDifferFromBothParents(t *testing.T) {
	t.Parallel()
	env, app := checkouttest.Env(t), checkouttest.Dir(t)
	git := func(args ...string) { t.Helper(); checkouttest.Git(t, env, app, args...) }
	commit := func(message string) { t.Helper(); git("add", "-A"); git("commit", "--quiet", "-m", message) }
	git("init", "--quiet")
	c := find(t, app)
	staged := func(want ...string) {
		t.Helper()
		if got, err := c.Staged(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("staged are %q, %v; want %q", got, err, want)
		}
	}
	checkouttest.Write(t, app, "both", "1\n")
	checkouttest.Write(t, app, "naïve name\n", "1\n")
	git("add", "-A")
	staged("both", "naïve name\n")
	commit("one")
	staged()
	git("mv", "both", "moved")
	staged("both", "moved")
	git("reset", "--quiet", "--hard")
	git("checkout", "--quiet", "-b", "side")
	checkouttest.Write(t, app, "both", "2\n")
	checkouttest.Write(t, app, "theirs", "1\n")
	commit("two")
	git("checkout", "--quiet", "main")
	checkouttest.Write(t, app, "both", "3\n")
	commit("three")
	if out, err := checkouttest.Try(t, env, app, "merge", "side"); err == nil {
		t.Fatal("the merge has no conflict:", out)
	}
	checkouttest.Write(t, app, "both", "2 and 3\n")
	git("add", "-A")
	staged("both")
}

func TestPushedFilesAreThoseThatTheRemoteDoesNotHave(t *testing.T) {
	t.Parallel()
	env, dir := checkouttest.Env(t), checkouttest.Dir(t)
	checkouttest.Git(t, env, dir, "init", "--quiet", "--bare", "remote.git")
	checkouttest.Git(t, env, dir, "clone", "--quiet", "remote.git", "app")
	app := filepath.Join(dir, "app")
	git := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(checkouttest.Git(t, env, app, args...))
	}
	c := find(t, app)
	const none = "0000000000000000000000000000000000000000"
	push := func(remote, updates string, want ...string) {
		t.Helper()
		if got, err := c.Pushed(t.Context(), remote, strings.NewReader(updates)); err != nil || !slices.Equal(got, want) {
			t.Errorf("a push to %s has %q, %v; want %q", remote, got, err, want)
		}
	}
	checkouttest.Write(t, app, "old", "1")
	git("add", "-A")
	git("commit", "--quiet", "-m", "one")
	push("origin", "refs/heads/main "+git("rev-parse", "HEAD")+" refs/heads/main "+none+"\n", "old")
	git("push", "--quiet", "origin", "main")
	was := git("rev-parse", "HEAD")
	for _, name := range []string{"a", "b"} {
		checkouttest.Write(t, app, "sub/"+name, "1")
		git("add", "-A")
		git("commit", "--quiet", "-m", name)
	}
	update := "refs/heads/main " + git("rev-parse", "HEAD") + " refs/heads/main " + was + "\n"
	push("origin", update, "sub/a", "sub/b")
	push("https://github.com/acme/app", update, "sub/a", "sub/b")
	push("origin", update+"refs/heads/x "+was+" refs/heads/x "+none+"\n", "sub/a", "sub/b")
	push("origin", "(delete) "+none+" refs/heads/main "+was+"\n")
	push("origin", "")
	if _, err := c.Pushed(t.Context(), "origin", strings.NewReader("a line\n")); err == nil {
		t.Error("an update that cannot be read is taken for none")
	}
	git("checkout", "--quiet", "-b", "side", was)
	checkouttest.Write(t, app, "side", "1")
	git("add", "-A")
	git("commit", "--quiet", "-m", "side")
	git("push", "--quiet", "origin", "side")
	git("checkout", "--quiet", "main")
	git("merge", "--quiet", "-m", "merge", "side")
	push("origin", "refs/heads/main "+git("rev-parse", "HEAD")+" refs/heads/main "+was+"\n", "sub/a", "sub/b")
}

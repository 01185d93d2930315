package keepout_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"parley.internal/services/hub/internal/checkout/checkouttest"
	"parley.internal/services/hub/internal/keepout"
	"parley.internal/shared/store/emulator"
)

func TestGitTakesNothingOfAPrivateDirectory(t *testing.T) {
	t.Parallel()
	env, home := checkouttest.Env(t), checkouttest.Dir(t)
	checkouttest.Git(t, env, home, "init", "--quiet")
	checkouttest.Write(t, home, ".gitignore", "!*\n!.parley/**\n")
	checkouttest.Git(t, env, home, "add", "-A")
	dir := filepath.Join(home, ".parley")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := keepout.Dir(dir); err != nil {
			t.Fatal(err)
		}
	}
	checkouttest.Write(t, dir, "keys.env", "secret")
	checkouttest.Git(t, env, home, "check-ignore", "-q", ".parley/keys.env")
	checkouttest.Git(t, env, home, "add", "-A")
	if got := checkouttest.Git(t, env, home, "ls-files"); got != ".gitignore\n" {
		t.Errorf("git has %q", got)
	}
	if err := keepout.Leave(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".gitignore")); err != nil {
		t.Error("git is let in while there is a private file:", err)
	}
	if err := os.Remove(filepath.Join(dir, "keys.env")); err != nil {
		t.Fatal(err)
	}
	if err := keepout.Leave(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestADirectoryThatThePersonDecidedAboutStays(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "modes say nothing on Windows")
	}
	for name, make := range map[string]func(dir string) error{
		"one that others can enter": func(dir string) error { return os.Chmod(dir, 0o755) },
		"the root of a repository":  func(dir string) error { return os.Mkdir(filepath.Join(dir, ".git"), 0o700) },
		"one with a .gitignore":     func(dir string) error { return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("!a\n"), 0o600) },
	} {
		dir := filepath.Join(t.TempDir(), "x")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
		if err := keepout.Dir(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, ".gitignore")); string(after) != string(before) {
			t.Errorf("%s: the .gitignore is %q", name, after)
		}
	}
}

package githook_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/executabletest"
	"parley.internal/services/hub/internal/guard/githook"
)

// snapshot returns the names, modes, links and contents of a directory.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(b)
		} else if text, err = os.Readlink(path); err != nil {
			return err
		}
		all.WriteString(d.Name() + " " + info.Mode().String() + "\n" + text + "\n--\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if mode&0o100 != 0 {
		executabletest.Write(t, path, []byte(text))
	} else if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// stub returns a program in place of parley, which prints its arguments and its input and exits with a code.
func stub(t *testing.T, code string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's parley")
	write(t, path, "#!/bin/sh\necho \"guard: $*\"\n"+
		"if [ \"$3\" = pre-push ]; then sed 's/^/guard read: /'; fi\nexit "+code+"\n", 0o755)
	return path
}

// run runs a hook as git does.
func run(t *testing.T, dir, hook, input string, args ...string) (out string, code int) {
	t.Helper()
	text, state, err := executabletest.Output(func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, hook), args...)
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(input)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		return cmd
	})
	if state == nil {
		t.Fatal(err)
	}
	return string(text), state.ExitCode()
}

// The hook that is there prints its name, arguments and input.
const (
	shellHook  = "#!/bin/sh -eu\necho \"$(basename \"$0\") got $*\"\nsed 's/^/it read: /'\nexit 5\n"
	pythonHook = "#!/usr/bin/env python3\nimport sys\nprint('python got', *sys.argv[1:], sys.stdin.read())\nsys.exit(5)\n"
)

func TestHooksAreChainedAndRestoredByteForByte(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make  func(t *testing.T, dir string)
		state githook.State
		want  string // of the hook that was there
		code  int    // of the hook where the guard passes
	}{
		"no hook": {func(*testing.T, string) {}, githook.Alone, "", 0},
		"a shell script": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "pre-push"), shellHook, 0o750)
		}, githook.Chained, "pre-push got origin url\nit read: a b c d\nit read: e f g h\n", 5},
		"env bash": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "pre-push"), "#!/usr/bin/env bash\nset -euo pipefail\ncat\nexit 5", 0o755)
		}, githook.Chained, "a b c d\ne f g h\n", 5},
		"another language": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "pre-push"), "#!/bin/cat\nit was run\n", 0o755)
		}, githook.Chained, "it was run\n", 1}, // there are no files with the names of its arguments
		"no second line": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "pre-push"), "#!/bin/sh", 0o755)
		}, githook.Chained, "", 0},
		"a link": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "real"), shellHook, 0o755)
			if err := os.Symlink("real", filepath.Join(dir, "pre-push")); err != nil {
				t.Fatal(err)
			}
		}, githook.Chained, "it read: a b c d\nit read: e f g h\n", 5},
		"a script that git does not run": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "pre-push"), shellHook, 0o644)
		}, githook.Chained, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.make(t, dir)
			before := snapshot(t, dir)
			for range 2 { // again is the same
				if err := githook.Install(dir, stub(t, "0")); err != nil {
					t.Fatal(err)
				}
			}
			states, err := githook.Status(dir)
			if err != nil || states["pre-push"] != c.state || states["pre-commit"] != githook.Alone {
				t.Errorf("states are %v, %v", states, err)
			}
			const input = "a b c d\ne f g h\n"
			out, code := run(t, dir, "pre-push", input, "origin", "url")
			const asked = "guard: guard run pre-push origin url\nguard read: a b c d\nguard read: e f g h\n"
			if code != c.code || !strings.HasPrefix(out, asked) || !strings.Contains(out, c.want) {
				t.Errorf("exit %d, printed\n%s", code, out)
			}
			if err := githook.Install(dir, stub(t, "3")); err != nil {
				t.Fatal(err)
			}
			if out, code := run(t, dir, "pre-push", input, "origin", "url"); code != 1 || strings.Contains(out, "it read") {
				t.Errorf("a refusal: exit %d, printed\n%s", code, out)
			}
			if err := githook.Uninstall(dir); err != nil {
				t.Fatal(err)
			}
			if after := snapshot(t, dir); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

func TestAnEmptyPushReachesTheHookWithoutInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pre-push"), "#!/bin/sh\nwc -l | tr -d ' '\n", 0o755)
	if err := githook.Install(dir, stub(t, "0")); err != nil {
		t.Fatal(err)
	}
	if out, code := run(t, dir, "pre-push", "", "origin", "url"); code != 0 || !strings.HasSuffix(out, "\n0\n") {
		t.Errorf("exit %d, printed\n%s", code, out)
	}
}

func TestAGuardThatDoesNotRunPassesUnlessTheProjectIsStrict(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"/nonexistent/parley", stub(t, "1"), stub(t, "127")} {
		dir := t.TempDir()
		if err := githook.Install(dir, program); err != nil {
			t.Fatal(err)
		}
		if out, code := run(t, dir, "pre-commit", ""); code != 0 || !strings.Contains(out, "nothing was checked") {
			t.Errorf("%s: exit %d, printed\n%s", program, code, out)
		}
		repo := t.TempDir()
		if err := exec.CommandContext(t.Context(), "git", "init", "--quiet", repo).Run(); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(repo, ".git", "parley-guard.json"), "{\n  \"strict\": true\n}\n", 0o600)
		out, _, err := executabletest.Output(func() *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "pre-commit"))
			cmd.Dir, cmd.Env = repo, []string{"PATH=/usr/bin:/bin"}
			return cmd
		})
		if err == nil || !bytes.Contains(out, []byte("the project is strict")) {
			t.Errorf("%s, strict: %v, printed\n%s", program, err, out)
		}
	}
}

func TestWhatSomebodyChangedIsNotOverwritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(text string) string{
		"a mark is missing":        func(s string) string { return strings.Replace(s, "# <<< parley guard <<<\n", "", 1) },
		"lines were added":         func(s string) string { return s + "echo more\n" },
		"a line between the marks": func(s string) string { return strings.Replace(s, "exit 1", "exit 0", 1) },
		"a command after the program": func(s string) string {
			return strings.Replace(s, "parley_guard=''\n", "parley_guard=''\necho more\n", 1)
		},
		"the lines are doubled": func(s string) string { return s + s },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := githook.Install(dir, ""); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "pre-push")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, change(string(text)), 0o755)
			before := snapshot(t, dir)
			if states, err := githook.Status(dir); err != nil || states["pre-push"] != githook.Broken {
				t.Errorf("states are %v, %v", states, err)
			}
			for what, err := range map[string]error{"install": githook.Install(dir, ""), "uninstall": githook.Uninstall(dir)} {
				if err == nil || !strings.Contains(err.Error(), "by hand") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if after := snapshot(t, dir); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

func TestAHookOfAnotherVersionIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	const end = "# <<< parley guard <<<\n"
	for name, lines := range map[string]string{
		"without a sum": "parley guard run pre-commit || exit 1\n",
		"with a sum":    "# The sum of these lines: e013cc57546c24f4\nparley guard run pre-commit || exit 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "pre-commit")
			write(t, path, "#!/bin/sh\necho mine\n", 0o755)
			before := snapshot(t, dir)
			install := func() string {
				t.Helper()
				if err := githook.Install(dir, ""); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			now := install()
			head, rest, _ := strings.Cut(now, ">>>\n")
			_, rest, _ = strings.Cut(rest, end)
			write(t, path, head+">>>\n"+lines+end+rest, 0o755)
			if got := install(); got != now {
				t.Errorf("got\n%s\nwant\n%s", got, now)
			}
			if err := githook.Uninstall(dir); err != nil {
				t.Fatal(err)
			}
			if after := snapshot(t, dir); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

func TestAHookThatWasMadeExecutableByNobodyIsIdle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := githook.Install(dir, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "pre-commit"), 0o644); err != nil {
		t.Fatal(err)
	}
	if states, err := githook.Status(dir); err != nil || states["pre-commit"] != githook.Idle {
		t.Errorf("states are %v, %v", states, err)
	}
}

func TestAnInterruptedInstallationIsCompletedOrUndone(t *testing.T) {
	t.Parallel()
	for _, next := range []func(dir string) error{
		func(dir string) error { return githook.Uninstall(dir) },
		func(dir string) error {
			if err := githook.Install(dir, ""); err != nil {
				return err
			}
			return githook.Uninstall(dir)
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "pre-commit")
		write(t, path, pythonHook, 0o755)
		before := snapshot(t, dir)
		if err := os.Rename(path, path+".before-parley"); err != nil {
			t.Fatal(err)
		}
		if err := next(dir); err != nil {
			t.Fatal(err)
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	}
}

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// written returns the files that write makes, by their names below the directory.
func written(t *testing.T) map[string]string {
	t.Helper()
	dir, files := t.TempDir(), map[string]string{}
	if err := write(dir, "v1.2.3", time.Unix(1_700_000_000, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryVisibleCommandHasAPageWithTheVersionAndTheDate(t *testing.T) {
	t.Parallel()
	files := written(t)
	for page, want := range map[string]string{
		"parley": "The meeting ground", "parley-serve": "data", "parley-key-create": "program", "parley-task-show": "task",
	} {
		text := files["man/man1/"+page+".1"]
		for _, want := range []string{want, `"Nov 2023" "parley v1.2.3"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the page of %s lacks %q: %.200s", page, want, text)
			}
		}
	}
	for name, text := range files {
		if strings.Contains(name, "runner-") {
			t.Errorf("%s is the page of a hidden command", name)
		}
		if strings.Contains(text, "Auto generated") {
			t.Errorf("%s holds the note of the generator", name)
		}
	}
}

func TestTwoRunsWriteTheSameBytes(t *testing.T) {
	t.Parallel()
	one, two := written(t), written(t)
	if len(one) < 20 || len(one) != len(two) {
		t.Fatalf("%d files and %d", len(one), len(two))
	}
	for name := range one {
		if one[name] != two[name] {
			t.Errorf("%s differs", name)
		}
	}
}

func TestShellsTakeTheirCompletions(t *testing.T) {
	t.Parallel()
	files := written(t)
	var read []string
	for name, shell := range map[string]string{"parley.bash": "bash", "_parley": "zsh", "parley.fish": "fish"} {
		script := files["completions/"+name]
		if !strings.Contains(script, "__complete") {
			t.Errorf("%s does not ask parley: %.100s", name, script)
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue // its script is still checked above, and bash runs below
		}
		read = append(read, shell)
		cmd := exec.CommandContext(t.Context(), shell, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	if !slices.Contains(read, "bash") {
		t.Error("bash is missing: install it, since the build needs it too")
	}
}

func TestADirectoryAndAVersionMustBeGiven(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"", "v1"}, {t.TempDir(), ""}} {
		if err := write(c[0], c[1], time.Time{}); err == nil || !strings.Contains(err.Error(), "-version") {
			t.Errorf("%q: %v", c, err)
		}
	}
}

//go:build unix

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func all(string) bool { return true }

func TestATreeHasTheFilesBelowADirectoryTheNearestFirst(t *testing.T) {
	t.Parallel()
	root, _ := tree(t)
	r := open(t, root)
	for dir, want := range map[string]string{
		"":    "a.go bin full latin1.txt over src/b.ts src/c.ts deep/er/d.py",
		".":   "a.go bin full latin1.txt over src/b.ts src/c.ts deep/er/d.py",
		"src": "src/b.ts src/c.ts", "deep": "deep/er/d.py", "indir": "indir/b.ts indir/c.ts",
	} {
		if got, err := r.Tree(dir, all); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", dir, got, err)
		}
	}
	only := func(p string) bool { return strings.HasSuffix(p, ".ts") }
	if got, err := r.Tree("", only); err != nil || strings.Join(got, " ") != "src/b.ts src/c.ts" {
		t.Errorf("%q, %v", got, err)
	}
	for _, dir := range []string{"outdir", "..", "/etc", "etc", "up", "a.go", "nowhere", "loop"} {
		if got, err := r.Tree(dir, all); err == nil {
			t.Errorf("%q: %q", dir, got)
		}
	}
}

func TestAttackATreeHasNoSecrets(t *testing.T) {
	t.Parallel()
	r := open(t, writeTree(t, map[string]string{
		"a.go": "", ".env": hidden, "src/.env.local": hidden, ".git/config": hidden, "src/.ssh/id_rsa": hidden,
		"my-credentials/x.go": hidden, "src/built/x.go": hidden, "src/.gitignore": "built/\n*.log\n", "src/deep/x.log": hidden,
		"src/deep/b.go": "", "src/key.pem": hidden,
	}))
	if got, err := r.Tree("", all); err != nil || strings.Join(got, " ") != "a.go src/.gitignore src/deep/b.go" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestATreeIsBoundedAndLeavesOutWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a/0.go": ""}
	for i := range MaxTree {
		files[fmt.Sprintf("b/%04d.go", i)] = ""
	}
	root := writeTree(t, files)
	// The rules of a .gitignore that is no file cannot be read, and with them nothing below it.
	if err := os.Mkdir(filepath.Join(root, "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "c", ".gitignore"), make([]byte, maxRules+1), 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, root)
	got, err := r.Tree("", all)
	if err != nil || len(got) != MaxTree || got[0] != "a/0.go" || !slices.IsSorted(got) {
		t.Errorf("%d files from %q, %v", len(got), got[:1], err)
	}
	if got, err := r.Tree("", func(p string) bool { return strings.HasPrefix(p, "c/") }); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := r.Tree("c", all); err == nil {
		t.Errorf("%q", got)
	}
}

func TestAReaderSaysWhyAWorkingDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	root, outside := tree(t)
	r := Reader{open(t, root)}
	for dir, words := range map[string]string{
		root: "", filepath.Join(root, "src"): "", outside: "is not under the allowed root " + root,
		"src": "must be an absolute path", filepath.Join(root, "none"): "there is no working directory",
	} {
		err := r.Check(t.Context(), dir)
		if (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", dir, err)
		}
		if got, err := r.Tree(t.Context(), dir, "", all); (err == nil) != (words == "") || (err == nil) != (len(got) > 0) {
			t.Errorf("%q: %q, %v", dir, got, err)
		}
	}
}

//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTree writes files below a new directory, or symbolic links where the text begins with "-> ".
func writeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	base := t.TempDir()
	for name, text := range files {
		p := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(to, p)
		} else {
			err = os.WriteFile(p, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return base
}

func TestAttackSecretsBelowTheRootAreNotRead(t *testing.T) {
	t.Parallel()
	secrets := []string{".env", ".env.local", ".ENV", "app/.Env.production", ".envrc", ".git/config", "app/.git/HEAD",
		".GIT/index", "server.pem", "TLS/Server.PEM", "tls/server.key", "id_rsa", "keys/id_ed25519.pub", ".ssh/config",
		".aws/config", ".netrc", "app/.NETRC", "credentials.json", "gcp-Credentials-2.txt", "credentials/token",
		".e\u200bnv", ".\u017fsh/known_hosts", "\uff0eenv", "app.\u212aey", ".netrc.", ".env ", "git-CREDENTIALS"}
	files := map[string]string{"a.go": "package a\n", "keys.go": "", "environment.md": "", "grid_test.go": "",
		"git/config": "", "link.txt": "-> .env", "dir": "-> .git", "far.txt": "-> one", "one": "-> tls/server.key",
		"up/x": "-> ../.ssh/config", ".env.example.txt": "-> a.go"}
	for _, name := range secrets {
		files[name] = hidden
	}
	r := open(t, writeTree(t, files))
	for _, name := range append(secrets, "link.txt", "dir/config", "far.txt", "one", "up/x", "./.env", "app/./.git/HEAD",
		".env.example.txt", ".env/", ".ssh", ".git/none", ".env.none") {
		got, err := r.Read(name)
		if got != "" || err == nil || !strings.Contains(err.Error(), "since they may hold secrets") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"a.go", "keys.go", "environment.md", "grid_test.go", "git/config"} {
		if _, err := r.Read(name); err != nil {
			t.Error(err)
		}
	}
	if got, err := r.Files("", ""); err != nil ||
		!slices.Equal(got, []string{"a.go", "environment.md", "grid_test.go", "keys.go"}) {
		t.Errorf("listed %q, %v", got, err)
	}
	for _, dir := range []string{".git", "dir", ".ssh", "app/.git", "credentials"} {
		if got, err := r.Files(dir, ""); err == nil {
			t.Errorf("%s: listed %q", dir, got)
		}
		if sub, err := r.Sub(filepath.Join(r.Dir(), dir)); err == nil {
			t.Errorf("%s is a working directory: %s", dir, sub.Dir())
		}
	}
}

func TestADirectoryOfSecretsIsNoRoot(t *testing.T) {
	t.Parallel()
	base := writeTree(t, map[string]string{".ssh/config": "", "repo/.git/hooks/x": "", "link": "-> .ssh"})
	for _, dir := range []string{".ssh", "repo/.git", "repo/.git/hooks", "link"} {
		if r, err := Open(filepath.Join(base, dir)); err == nil || !strings.Contains(err.Error(), "is never read") {
			t.Errorf("%s is the root %v, %v", dir, r, err)
		}
	}
}

func TestAttackFilesThatAGitignoreNamesAreNotRead(t *testing.T) {
	t.Parallel()
	base := writeTree(t, map[string]string{
		"repo/.git/HEAD":         "",
		"repo/.gitignore":        "\ufeff*.log\r\n/tmp/\n!keep.log\nsub/*.local\n# *.go\n",
		"repo/root/.gitignore":   "build/\nsecret?.txt\n!/build/public.txt\n**/cache/**\nDATA\n",
		"repo/root/a.go":         "package a\n",
		"repo/root/a.log":        hidden,
		"repo/root/keep.log":     "kept",
		"repo/root/secret1.txt":  hidden,
		"repo/root/SECRET2.TXT":  hidden,
		"repo/root/data":         hidden,
		"repo/root/secret10.txt": "kept",
		"repo/root/build/x.go":   hidden,
		// git does not look into a directory that is ignored.
		"repo/root/build/public.txt":    hidden,
		"repo/root/app/.gitignore":      "/own.txt\n!secret3.txt\n",
		"repo/root/app/own.txt":         hidden,
		"repo/root/app/secret3.txt":     "kept",
		"repo/root/app/deep/own.txt":    "kept",
		"repo/root/app/cache/x/y.txt":   hidden,
		"repo/root/app/build/z.go":      hidden,
		"repo/root/link.txt":            "-> app/own.txt",
		"repo/root/out":                 "-> build",
		"repo/root/tmp/x.txt":           "kept",
		"repo/root/big/x.txt":           hidden,
		"repo/root/big/.gitignore":      strings.Repeat("x\n", maxRules/2+1),
		"repo/root/long/x.txt":          hidden,
		"repo/root/long/.gitignore":     strings.Repeat("x", maxRule+1) + "\nx.txt",
		"repo/root/away/x.txt":          hidden,
		"repo/root/away/.gitignore":     "-> /etc/hostname",
		"repo/root/dir/x.txt":           "kept",
		"repo/root/dir/.gitignore/file": "",
		"other/.gitignore":              "*",
		"other/x.txt":                   hidden,
	})
	r := open(t, filepath.Join(base, "repo/root"))
	all := map[string]string{}
	if err := filepath.WalkDir(r.Dir(), func(p string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(r.Dir(), p); err == nil && !d.IsDir() && d.Name() != ignoreFile {
			all[rel] = ""
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		text, err := r.Read(name)
		if strings.Contains(text, hidden) {
			t.Errorf("%s was read", name)
		}
		if err == nil {
			all[name] = "read"
		} else if !strings.Contains(err.Error(), ".gitignore") && name != "out" {
			t.Error(err)
		}
		// The same from a working directory below.
		dir, base := filepath.Split(name)
		if got, subErr := (Reader{r}).Read(t.Context(), filepath.Join(r.Dir(), dir), base); (err == nil) !=
			(subErr == nil) && name != "link.txt" || strings.Contains(got, hidden) {
			t.Errorf("%s: %v, but %v in %s", name, err, subErr, dir)
		}
	}
	for _, name := range []string{"a.go", "keep.log", "secret10.txt", "app/secret3.txt", "app/deep/own.txt", "tmp/x.txt"} {
		if all[name] != "read" {
			t.Errorf("%s was not read", name)
		}
	}
	if got, err := r.Files("", ""); err != nil ||
		!slices.Equal(got, []string{".gitignore", "a.go", "keep.log", "secret10.txt"}) {
		t.Errorf("listed %q, %v", got, err)
	}
	for _, dir := range []string{"build", "out", "app/cache/x", "big"} {
		if got, err := r.Files(dir, ""); err == nil {
			t.Errorf("%s: listed %q", dir, got)
		}
	}
	// Without a repository above, only files from the root on count.
	if _, err := open(t, filepath.Join(base, "other")).Read("x.txt"); err == nil {
		t.Error("x.txt was read")
	}
}

// A link that is put in the place of a file or directory between the check and the opening is not followed.
func TestAttackAPathThatChangesWhileItIsOpened(t *testing.T) {
	t.Parallel()
	r := open(t, writeTree(t, map[string]string{".env": hidden, "plain": "-> .env", "dir": "-> .git", ".git/config": hidden,
		"sub/plain": "-> ../.env"}))
	for _, at := range []string{"plain", "dir/config", "sub/plain"} {
		if f, err := r.open("file", at, at, func(os.FileInfo) error { return nil }); err == nil {
			_ = f.Close()
			t.Errorf("%s was opened", at)
		}
	}
}

//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const hidden = "SECRET: never read"

// tree makes a root with links of every kind, beside a directory that nobody may read.
func tree(t testing.TB) (root, outside string) {
	t.Helper()
	base := t.TempDir()
	root, outside = filepath.Join(base, "root"), filepath.Join(base, "outside")
	for name, text := range map[string]string{
		"root/a.go": "package a\n", "root/src/b.ts": "export {}\n", "root/src/c.ts": "", "root/deep/er/d.py": "pass\n",
		"outside/secret.txt": hidden, "outside/dir/x.go": hidden, "rooted/secret.txt": hidden,
		"root/bin": "a\x00b", "root/latin1.txt": "caf\xe9", "root/full": strings.Repeat("x", MaxFile),
		"root/over": strings.Repeat("x", MaxFile+1),
	} {
		p := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"in": "a.go", "indir": "src", "src/up": "../a.go", "out": "../outside/secret.txt", "outdir": "../outside",
		"outabs": filepath.Join(outside, "secret.txt"),
		"chain":  "outdir/dir/x.go", "loop": "loop", "src/twice": "../../outside/secret.txt", "etc": "/etc",
		"dangling": "nowhere", "self": ".", "up": "..",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root, outside
}

func open(t testing.TB, dir string) *Root {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestFilesUnderTheRootAreRead(t *testing.T) {
	t.Parallel()
	dir, _ := tree(t)
	r := open(t, dir)
	for name, want := range map[string]string{
		"a.go": "package a\n", "./a.go": "package a\n", "src/b.ts": "export {}\n", "src/c.ts": "", "in": "package a\n",
		"indir/b.ts": "export {}\n",
		"src/up":     "package a\n", "self/self/a.go": "package a\n", "full": strings.Repeat("x", MaxFile),
	} {
		if got, err := r.Read(name); err != nil || got != want {
			t.Errorf("%s: %.40q, %v", name, got, err)
		}
	}
}

func TestARefusalHasAReason(t *testing.T) {
	t.Parallel()
	dir, outside := tree(t)
	r := open(t, dir)
	for name, why := range map[string]string{
		"":                            "an empty path is refused: name a file",
		"../outside/secret.txt":       "it leaves the working directory",
		"src/../../outside":           "it leaves the working directory",
		"src/../a.go":                 "it leaves the working directory",
		"..":                          "it leaves the working directory",
		outside + "/secret.txt":       "it must be relative to the working directory",
		dir + "/a.go":                 "it must be relative to the working directory",
		`src\b.ts`:                    `it must use / as separator, not \`,
		"a.go\x00.txt":                "it is not text",
		"a\xff":                       "it is not text",
		"out":                         "a symbolic link in it leaves the allowed directory",
		"outdir/secret.txt":           "a symbolic link in it leaves the allowed directory",
		"outabs":                      "a symbolic link in it leaves the allowed directory",
		"chain":                       "a symbolic link in it leaves the allowed directory",
		"src/twice":                   "a symbolic link in it leaves the allowed directory",
		"etc/passwd":                  "a symbolic link in it leaves the allowed directory",
		"up/outside/secret.txt":       "a symbolic link in it leaves the allowed directory",
		"self/up/outside/secret.txt":  "a symbolic link in it leaves the allowed directory",
		"indir/../outside/secret.txt": "it leaves the working directory",
		"loop":                        "cannot be read",
		"dangling":                    "there is no file",
		"missing.go":                  "there is no file",
		"src":                         "it is a directory",
		"indir":                       "it is a directory",
		"pipe":                        "it is a device, a pipe or a socket, not a file",
		"bin":                         "it is binary, not UTF-8 text",
		"latin1.txt":                  "it is binary, not UTF-8 text",
		"over":                        "it is over 256 KiB",
	} {
		got, err := r.Read(name)
		if got != "" || err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %.40q, %v; want %s", name, got, err, why)
		}
	}
}

func TestOnlyWorkingDirectoriesUnderTheRootAreAllowed(t *testing.T) {
	t.Parallel()
	dir, outside := tree(t)
	link := filepath.Join(filepath.Dir(dir), "link")
	if err := os.Symlink("root", link); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Root{open(t, dir), open(t, link)} {
		reader := Reader{r}
		for _, wd := range []string{r.Dir() + "/src", r.Dir() + "/deep/../src/", r.Dir() + "/indir"} {
			if got, err := reader.Read(t.Context(), wd, "b.ts"); err != nil || got != "export {}\n" {
				t.Errorf("%s: %q, %v", wd, got, err)
			}
			// Other files of the root are outside this working directory.
			if got, err := reader.Read(t.Context(), wd, "up"); err == nil {
				t.Errorf("%s: read %q", wd, got)
			}
		}
		for _, wd := range []string{
			outside, filepath.Dir(dir), dir + "ed", "/", "src", "", ".", r.Dir() + "/outdir", r.Dir() + "/../outside",
			r.Dir() + "/up", r.Dir() + "/a.go", r.Dir() + "/none",
		} {
			for _, name := range []string{"secret.txt", "b.ts", "a.go", "outside/secret.txt", "etc/passwd"} {
				if got, err := reader.Read(t.Context(), wd, name); err == nil || got != "" {
					t.Errorf("%s in %q: read %q", name, wd, got)
				}
			}
			if got, err := reader.Files(t.Context(), wd, "", ""); err == nil {
				t.Errorf("%q: listed %q", wd, got)
			}
		}
	}
}

func TestOnlyRegularFilesAreListed(t *testing.T) {
	t.Parallel()
	dir, _ := tree(t)
	r := open(t, dir)
	for _, c := range []struct{ dir, ext, want string }{
		{"", "", "a.go,bin,full,latin1.txt,over"}, {".", ".go", "a.go"}, {"src", ".ts", "src/b.ts,src/c.ts"},
		{"indir", ".ts", "indir/b.ts,indir/c.ts"}, {"deep", "", ""},
	} {
		if got, err := r.Files(c.dir, c.ext); err != nil || strings.Join(got, ",") != c.want {
			t.Errorf("%s %s: %v, %v", c.dir, c.ext, got, err)
		}
	}
	for _, bad := range []string{"outdir", "up", "..", "/etc", "etc", "a.go", "none", "src/..", "pipe"} {
		if got, err := r.Files(bad, ""); err == nil {
			t.Errorf("%s: %v", bad, got)
		}
	}
	many := filepath.Join(dir, "many")
	if err := os.Mkdir(many, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range MaxFiles + 5 {
		if err := os.WriteFile(filepath.Join(many, strings.Repeat("x", i+1)+".go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.Files("many", ".go"); err != nil || len(got) != MaxFiles {
		t.Errorf("%d files, %v", len(got), err)
	}
}

func TestOnlyADirectoryCanBeARoot(t *testing.T) {
	t.Parallel()
	dir, _ := tree(t)
	for _, bad := range []string{filepath.Join(dir, "a.go"), filepath.Join(dir, "none"), filepath.Join(dir, "loop")} {
		if r, err := Open(bad); err == nil {
			t.Errorf("%s is the root %s", bad, r.Dir())
		}
	}
}

// No path reads a file outside the root.
func FuzzNothingOutsideOfTheRootIsRead(f *testing.F) {
	dir, outside := tree(f)
	r := open(f, dir)
	for _, name := range []string{
		"a.go", "../outside/secret.txt", "out", "outdir/secret.txt", "outdir/dir/x.go", "chain",
		"up/outside/secret.txt", "self/../outside",
		"src/twice", outside + "/secret.txt", "..\\outside\\secret.txt", "indir/up", "./././out", "etc/passwd",
		"self/self/up/rooted/secret.txt", "%2e%2e/outside/secret.txt",
		"\u2025/outside/secret.txt", "a.go/../../outside/secret.txt", "/proc/self/environ",
	} {
		f.Add(name, "")
		f.Add(name, "/"+name)
		f.Add(name, "/src")
	}
	f.Fuzz(func(t *testing.T, name, sub string) {
		text, err := r.Read(name)
		within(t, dir, name, text, err)
		text, err = Reader{r}.Read(t.Context(), dir+sub, name)
		if strings.Contains(text, hidden) || strings.Contains(text, "root:") || (err != nil && text != "") {
			t.Fatalf("%q in %q: %q, %v", name, dir+sub, text, err)
		}
		list, err := r.Files(name, "")
		for _, p := range list {
			if strings.Contains(p, "secret") || strings.Contains(p, "passwd") || err != nil {
				t.Fatalf("%q lists %q", name, list)
			}
		}
	})
}

// within compares a text that was read with the file at the path, which must be under the root.
func within(t *testing.T, dir, name, text string, err error) {
	if err != nil {
		if text != "" {
			t.Fatalf("%q: %q and %v", name, text, err)
		}
		return
	}
	real, evalErr := filepath.EvalSymlinks(filepath.Join(dir, name))
	if evalErr != nil {
		t.Fatalf("%q was read and is not there: %v", name, evalErr)
	}
	base, _ := filepath.EvalSymlinks(dir)
	want, readErr := os.ReadFile(real)
	if !strings.HasPrefix(real, base+string(filepath.Separator)) || readErr != nil || string(want) != text {
		t.Fatalf("%q read %q of %s", name, text, real)
	}
}

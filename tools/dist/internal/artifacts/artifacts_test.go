package artifacts

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/tools/dist/internal/fake"
	"parley.internal/tools/dist/internal/release"
)

// made makes the artifacts in a new directory and returns it.
func made(t *testing.T, platforms ...release.Platform) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	if err := Make(t.Context(), fake.Source{}, fake.Release, platforms, out, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTwoRunsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	one, two := made(t, release.Platforms...), made(t, release.Platforms...)
	if a, b := read(t, one, sums), read(t, two, sums); a != b || strings.Count(a, "\n") < 30 {
		t.Errorf("%s\nand\n%s", a, b)
	}
}

func TestAReleaseHasEveryArtifactAndItsChecksum(t *testing.T) {
	t.Parallel()
	dir := made(t, release.Platforms...)
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if !d.IsDir() && !strings.Contains(name, "/blobs/") {
			names = append(names, name)
		}
		return err
	})
	want := strings.Fields(`checksums.txt latest.json parley-1.2.3-1.aarch64.rpm parley-1.2.3-1.x86_64.rpm parley.rb
		parley-hub-parley-1.2.3.tgz parley-hub-parley-darwin-arm64-1.2.3.tgz parley-hub-parley-darwin-x64-1.2.3.tgz
		parley-hub-parley-linux-arm64-1.2.3.tgz parley-hub-parley-linux-x64-1.2.3.tgz
		parley-hub-parley-win32-arm64-1.2.3.tgz parley-hub-parley-win32-x64-1.2.3.tgz
		parley_1.2.3-1_amd64.deb parley_1.2.3-1_arm64.deb parley_1.2.3.image/index.json parley_1.2.3.image/oci-layout
		parley_1.2.3_darwin_amd64.cdx.json parley_1.2.3_darwin_amd64.tar.gz
		parley_1.2.3_darwin_arm64.cdx.json parley_1.2.3_darwin_arm64.tar.gz
		parley_1.2.3_linux_amd64.cdx.json parley_1.2.3_linux_amd64.image.tar parley_1.2.3_linux_amd64.tar.gz
		parley_1.2.3_linux_arm64.cdx.json parley_1.2.3_linux_arm64.image.tar parley_1.2.3_linux_arm64.tar.gz
		parley_1.2.3_windows_amd64.cdx.json parley_1.2.3_windows_amd64.zip
		parley_1.2.3_windows_arm64.cdx.json parley_1.2.3_windows_arm64.zip`)
	slices.Sort(want)
	slices.Sort(names)
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%v\n%q, not\n%q", err, names, want)
	}
	listed := read(t, dir, sums)
	for _, name := range names {
		if name != sums && !strings.Contains(listed, "  "+name+"\n") {
			t.Errorf("%s has no checksum", name)
		}
	}
}

func TestEverybodyMayReadEveryFileAndNoneIsAProgram(t *testing.T) {
	t.Parallel()
	dir, files := made(t, release.Platforms...), 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o644)
		if d.IsDir() {
			want = fs.ModeDir | 0o755
		} else {
			files++
		}
		if info.Mode() != want {
			t.Errorf("%s has the mode %v, not %v", path, info.Mode(), want)
		}
		return nil
	})
	if err != nil || files < 30 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestTheFormulaNamesTheHashesOfTheArchives(t *testing.T) {
	t.Parallel()
	dir := made(t, release.Platforms...)
	formula := read(t, dir, "parley.rb")
	for line := range strings.Lines(read(t, dir, sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		archive := strings.HasSuffix(name, ".tar.gz")
		if archive && !strings.Contains(formula, `"https://example.org/releases/v1.2.3/`+name+"\"\n      sha256 \""+sum+`"`) {
			t.Errorf("the formula lacks %s", line)
		}
	}
	if n := strings.Count(formula, "sha256"); n != 4 {
		t.Errorf("it has %d hashes:\n%s", n, formula)
	}
}

func TestAPartOfThePlatformsHasNoFormula(t *testing.T) {
	t.Parallel()
	dir := made(t, release.Platform{OS: "linux", Arch: "amd64"})
	if _, err := os.Stat(filepath.Join(dir, "parley.rb")); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	if names := read(t, dir, sums); strings.Contains(names, "darwin") || !strings.Contains(names, "linux_amd64.tar.gz") {
		t.Error(names)
	}
}

func TestAFailureLeavesTheArtifactsOfTheEarlierRunAndNothingElse(t *testing.T) {
	t.Parallel()
	out := made(t, release.Platforms[0])
	before := read(t, out, sums)
	err := Make(t.Context(), fake.Source{Fails: release.Platforms[1]}, fake.Release, release.Platforms, out, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "does not compile") {
		t.Errorf("%v", err)
	}
	if read(t, out, sums) != before {
		t.Error("the earlier ones changed")
	}
	if list, err := os.ReadDir(filepath.Dir(out)); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestADirectoryOfOtherFilesIsNotReplaced(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	mine := filepath.Join(out, "mine.txt")
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := Make(t.Context(), fake.Source{}, fake.Release, release.Platforms, out, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "name another directory") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

func TestAReleaseWithoutAVersionMakesNothing(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "dist")
	r := fake.Release
	r.Version = "devel"
	err := Make(t.Context(), fake.Source{}, r, release.Platforms, out, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "give VERSION") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

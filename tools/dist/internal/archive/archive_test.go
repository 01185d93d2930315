package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"parley.internal/tools/dist/internal/fake"
	"parley.internal/tools/dist/internal/release"
)

func build(t *testing.T, p release.Platform) release.Build {
	t.Helper()
	b, err := fake.Source{}.Build(t.Context(), fake.Release, p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// held are the files of an archive below its directory.
var held = []string{"LICENSE", "README.md", "SECURITY.md", "THIRD_PARTY_LICENSES", "completions/_parley",
	"completions/parley.bash", "completions/parley.fish", "completions/parley.ps1", "docs/install.md",
	"docs/screenshots/agents.png", "man/man1/parley.1"}

func TestATarHoldsEverythingInOneDirectoryOfTheUserRootAtTheTimeOfTheRelease(t *testing.T) {
	t.Parallel()
	data, extension, err := Release(fake.Release, build(t, release.Platform{OS: "linux", Arch: "arm64"}), fake.Docs)
	if err != nil || extension != ".tar.gz" {
		t.Fatal(extension, err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !plain.ModTime.IsZero() || plain.Name != "" {
		t.Errorf("the compression has the name %q and the time %v", plain.Name, plain.ModTime)
	}
	var names []string
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(fake.Release.Time) {
			t.Errorf("%s is of %d and %q at %v", h.Name, h.Uid, h.Uname, h.ModTime)
		}
		name, in := strings.CutPrefix(h.Name, "parley_1.2.3_linux_arm64/")
		if !in {
			t.Errorf("%s is outside", h.Name)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		names = append(names, name)
		if program := strings.HasPrefix(name, "parley"); program != (h.Mode == 0o755) || !program && h.Mode != 0o644 {
			t.Errorf("%s has the mode %o", name, h.Mode)
		}
	}
	if want := append(slices.Clone(held), "parley", "parley-hook"); !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
}

func TestAWindowsArchiveIsAZip(t *testing.T) {
	t.Parallel()
	data, extension, err := Release(fake.Release, build(t, release.Platform{OS: "windows", Arch: "amd64"}), fake.Docs)
	if err != nil || extension != ".zip" {
		t.Fatal(extension, err)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, strings.TrimPrefix(f.Name, "parley_1.2.3_windows_amd64/"))
		if !f.Modified.Equal(fake.Release.Time) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	if want := append(slices.Clone(held), "parley-hook.exe", "parley.exe"); !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
}

package licenses

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module writes the files of a module and returns it, with a package in each of the directories.
func module(t *testing.T, path string, files map[string]string, packages ...string) Module {
	t.Helper()
	m := Module{Path: path, Version: "v1.2.3", Dir: t.TempDir()}
	for name, text := range files {
		file := filepath.Join(m.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range packages {
		m.Packages = append(m.Packages, filepath.Join(m.Dir, filepath.FromSlash(dir)))
	}
	return m
}

func TestEachModuleIsNamedAndFollowedByItsLicensesAndNotices(t *testing.T) {
	t.Parallel()
	b := module(t, "example.org/b", map[string]string{"LICENSE.txt": "\r\nb allows\r\n", "NOTICE": "b notes", "PATENTS": "b's patents",
		"license.go": "package b", "README.md": "b is", "in/third_party/x/COPYING": "x allows", "other/LICENSE": "not linked"}, ".", "in/third_party/x")
	a := module(t, "example.org/a", map[string]string{"LICENSE-MIT": "a allows\n"}, ".")
	got, err := Text([]Module{b, a})
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("=", 100)
	want := head + "\n" + line + "\nexample.org/a v1.2.3\n" + line + "\n\n--- LICENSE-MIT\n\na allows\n\n" +
		line + "\nexample.org/b v1.2.3\n" + line + "\n\n--- LICENSE.txt\n\nb allows\n\n--- NOTICE\n\nb notes\n\n--- PATENTS\n\n" +
		"b's patents\n\n--- in/third_party/x/COPYING\n\nx allows\n"
	if string(got) != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	again := []Module{a, b}
	slices.Reverse(again[1].Packages)
	if other, err := Text(again); err != nil || !bytes.Equal(got, other) {
		t.Errorf("another order gives %s, %v", other, err)
	}
}

func TestAModuleWithoutALicenseIsNamed(t *testing.T) {
	t.Parallel()
	good := module(t, "example.org/good", map[string]string{"LICENSE": "yes"}, ".")
	for name, files := range map[string]map[string]string{
		"nothing": {"README.md": "none"}, "a notice alone": {"NOTICE": "mine"}, "a program": {"license.go": "package license"},
		"a package that is not linked": {"other/LICENSE": "for it alone"},
	} {
		_, err := Text([]Module{good, module(t, "example.org/bad", files, ".")})
		if err == nil || !strings.Contains(err.Error(), "example.org/bad v1.2.3 has no file such as LICENSE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPackageOutsideItsModuleIsRefused(t *testing.T) {
	t.Parallel()
	m := module(t, "example.org/a", map[string]string{"LICENSE": "yes"}, "..")
	if _, err := Text([]Module{m}); err == nil || !strings.Contains(err.Error(), "example.org/a v1.2.3: its package") {
		t.Errorf("%v", err)
	}
}

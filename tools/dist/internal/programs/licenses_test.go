package programs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/tools/dist/internal/licenses"
	"parley.internal/tools/dist/internal/release"
)

func TestTheLinkedModulesAreThoseOfOthersWithTheirPackages(t *testing.T) {
	t.Parallel()
	got, err := linked("\nexample.org/a\tv1.0.0\t/mod/a\t/mod/a\n\nparley.internal/shared\t\t/src/shared\t/src/shared/app\n" +
		"example.org/b\tv2.0.0\t/mod/b\t/mod/b/x\nexample.org/a\tv1.0.0\t/mod/a\t/mod/a/y\n")
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []licenses.Module{{Path: "example.org/a", Version: "v1.0.0", Dir: "/mod/a", Packages: []string{"/mod/a", "/mod/a/y"}},
		{Path: "example.org/b", Version: "v2.0.0", Dir: "/mod/b", Packages: []string{"/mod/b/x"}}} {
		if got[i].Path != want.Path || got[i].Version != want.Version || got[i].Dir != want.Dir || !slices.Equal(got[i].Packages, want.Packages) {
			t.Errorf("%+v, not %+v", got[i], want)
		}
	}
	for _, line := range []string{"\t/mod/a\n", "example.org/a\tv1.0.0\t\t/mod/a\n"} {
		if _, err := linked(line); err == nil || !strings.Contains(err.Error(), "its license is unknown") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestTheModulesOfEverySystemHaveALicense(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, os := range []string{"darwin", "linux", "windows"} {
		p := release.Platform{OS: os, Arch: "arm64"}
		text, err := Builder{Root: root}.licenses(t.Context(), p)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		for _, want := range []string{"\nmodernc.org/sqlite v", "\n--- LICENSE-SQLITE\n", "\nGo, its runtime and standard library go1.",
			"Redistributions in binary form must reproduce", "\n--- internal/third_party/uritemplates/LICENSE\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: it lacks %q", p, want)
			}
		}
		if windows := strings.Contains(string(text), "\ngithub.com/danieljoos/wincred v"); windows != (p.OS == "windows") {
			t.Errorf("%s: it names what Windows alone links: %v", p, windows)
		}
		if strings.Contains(string(text), "\n"+own) || strings.Contains(string(text), root) {
			t.Errorf("%s: it names the repository's own modules", p)
		}
	}
}

package system

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cavaliergopher/rpm"

	"parley.internal/tools/dist/internal/fake"
	"parley.internal/tools/dist/internal/release"
)

func made(t *testing.T, format, arch string) ([]byte, string) {
	t.Helper()
	b, err := fake.Source{}.Build(t.Context(), fake.Release, release.Platform{OS: "linux", Arch: arch})
	if err != nil {
		t.Fatal(err)
	}
	data, name, err := Package(format, fake.Release, b, fake.Docs, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return data, name
}

func TestThePackageOfAnArchitectureHasTheNameOfItsDistribution(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		"parley_1.2.3-1_amd64.deb": {"deb", "amd64"}, "parley_1.2.3-1_arm64.deb": {"deb", "arm64"},
		"parley-1.2.3-1.x86_64.rpm": {"rpm", "amd64"}, "parley-1.2.3-1.aarch64.rpm": {"rpm", "arm64"},
	} {
		if _, name := made(t, c[0], c[1]); name != want {
			t.Errorf("%v is %s", c, name)
		}
	}
}

func TestThePackageIsTheSameFromAnotherDirectory(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"deb", "rpm"} {
		one, _ := made(t, format, "amd64")
		if two, _ := made(t, format, "amd64"); !bytes.Equal(one, two) {
			t.Errorf("%s differs", format)
		}
	}
}

func TestARPMHoldsItsFilesForRootAndNamesNoMachine(t *testing.T) {
	t.Parallel()
	data, _ := made(t, "rpm", "amd64")
	p, err := rpm.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if p.BuildHost() != "localhost" || p.Version() != "1.2.3" || p.License() != "Apache-2.0" || !p.BuildTime().Equal(fake.Release.Time) {
		t.Errorf("it is %s %s of %s at %v", p.Version(), p.License(), p.BuildHost(), p.BuildTime())
	}
	var names []string
	for _, f := range p.Files() {
		names = append(names, f.Name())
		if f.Owner() != "root" || f.Group() != "root" || !f.ModTime().Equal(fake.Release.Time) || f.Mode()&0o022 != 0 {
			t.Errorf("%s is of %s:%s at %v with the mode %v",
				f.Name(), f.Owner(), f.Group(), f.ModTime(), f.Mode())
		}
	}
	want := []string{"/usr/bin/parley", "/usr/bin/parley-hook", "/usr/share/bash-completion/completions/parley",
		"/usr/share/doc/parley/README.md", "/usr/share/doc/parley/SECURITY.md", "/usr/share/doc/parley/docs/install.md",
		"/usr/share/doc/parley/docs/screenshots/agents.png", "/usr/share/doc/parley/parley.cdx.json",
		"/usr/share/fish/vendor_completions.d/parley.fish", "/usr/share/licenses/parley/LICENSE", "/usr/share/licenses/parley/THIRD_PARTY_LICENSES",
		"/usr/share/man/man1/parley.1.gz", "/usr/share/zsh/site-functions/_parley"}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
}

func TestAVersionBeforeAReleaseIsOlderThanIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3~rc.1",
		"v0.0.0-20261122234500-37f06080aaaa": "0.0.0~20261122234500.37f06080aaaa"} {
		if got := version(release.Release{Version: in}); got != want {
			t.Errorf("%s is %s, not %s", in, got, want)
		}
	}
}

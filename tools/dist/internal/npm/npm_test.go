package npm

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/tools/dist/internal/fake"
	"parley.internal/tools/dist/internal/release"
)

// described returns package.json.
func described(t *testing.T, p Package) (m manifest) {
	t.Helper()
	for _, f := range p.Files {
		if f.Name == "package.json" {
			if err := json.Unmarshal(f.Data, &m); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

func platform(t *testing.T, p release.Platform) Package {
	t.Helper()
	b, err := fake.Source{}.Build(t.Context(), fake.Release, p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Platform(fake.Release, b, fake.Docs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheLauncherNamesThePackageOfEachPlatformAtItsOwnVersion(t *testing.T) {
	t.Parallel()
	start, err := Start(fake.Release, release.Platforms, fake.Docs)
	if err != nil {
		t.Fatal(err)
	}
	m := described(t, start)
	if m.Name != "@parley-hub/parley" || m.Version != "1.2.3" || m.Bin["parley"] != "bin/parley.js" || len(m.Optional) != 6 ||
		len(m.OS)+len(m.CPU) != 0 {
		t.Errorf("%+v", m)
	}
	for _, p := range release.Platforms {
		own := described(t, platform(t, p))
		if m.Optional[own.Name] != own.Version || own.Version != "1.2.3" || len(own.OS) != 1 || len(own.CPU) != 1 ||
			own.Name != "@parley-hub/parley-"+own.OS[0]+"-"+own.CPU[0] {
			t.Errorf("%s: %+v", p, own)
		}
	}
	if own := described(t, platform(t, release.Platform{OS: "windows", Arch: "amd64"})); own.OS[0] != "win32" || own.CPU[0] != "x64" {
		t.Errorf("%+v", own)
	}
}

func TestAReadmeOfAPackageLeadsToNoFileThatItLacks(t *testing.T) {
	t.Parallel()
	start, err := Start(fake.Release, release.Platforms, fake.Docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Package{start, platform(t, release.Platforms[0])} {
		i := slices.IndexFunc(p.Files, func(f release.File) bool { return f.Name == "README.md" })
		if i < 0 {
			t.Errorf("%s has no readme", p.Name)
			continue
		}
		text := string(p.Files[i].Data)
		for _, want := range []string{"npm install -g " + Launcher + "\n", "parley serve\n", "`docs/` in the"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: its readme lacks %q", p.Name, want)
			}
		}
		if strings.Contains(text, "](") || strings.Contains(text, "://") {
			t.Errorf("%s: its readme has a link:\n%s", p.Name, text)
		}
	}
}

func TestThePackageOfAPlatformHoldsTheLicensesOfTheModulesAndNPMPacksThem(t *testing.T) {
	t.Parallel()
	p := platform(t, release.Platforms[0])
	i := slices.IndexFunc(p.Files, func(f release.File) bool { return f.Name == "THIRD_PARTY_LICENSES" })
	if i < 0 || string(p.Files[i].Data) != "the licenses of others\n" || !slices.Contains(described(t, p).Files, p.Files[i].Name) {
		t.Errorf("%+v", p)
	}
}

// unpack writes packages to the directory that Node reads them from.
func unpack(t *testing.T, packages ...Package) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, p := range packages {
		for _, f := range p.Files {
			name := filepath.Join(dir, "node_modules", filepath.FromSlash(p.Name), filepath.FromSlash(f.Name))
			mode := os.FileMode(0o644)
			if f.Executable {
				mode = 0o755
			}
			err := os.MkdirAll(filepath.Dir(name), 0o755)
			if err == nil {
				err = os.WriteFile(name, f.Data, mode)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// started runs the launcher of a name with Node, and returns its output and its exit code.
func started(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("REQUIRE_EMULATOR") != "" {
			t.Fatal("node is missing, and REQUIRE_EMULATOR is set")
		}
		t.Skip("node is missing: install Node 18 or newer")
	}
	cmd := exec.CommandContext(t.Context(), "node",
		append([]string{filepath.Join(dir, "node_modules", filepath.FromSlash(Launcher), "bin", name+".js")}, args...)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// here returns the platform of Node, as Go names it.
func here(t *testing.T) release.Platform {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOHOSTOS", "GOHOSTARCH").Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) != 2 {
		t.Fatalf("%s, %v", out, err)
	}
	return release.Platform{OS: words[0], Arch: words[1]}
}

func TestTheLauncherPassesArgumentsAndTheExitCode(t *testing.T) {
	t.Parallel()
	start, err := Start(fake.Release, release.Platforms, fake.Docs)
	if err != nil {
		t.Fatal(err)
	}
	dir := unpack(t, start, platform(t, here(t)))
	for _, name := range []string{"parley", "parley-hook"} {
		if said, code := started(t, dir, name, " a b", "c"); said != "v1.2.3 a b c\n" || code != 3 {
			t.Errorf("%s printed %q and ended with %d", name, said, code)
		}
	}
}

func TestTheLauncherWithoutThePackageOfItsPlatformSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		platforms []release.Platform
		want      string
	}{
		{release.Platforms, "is missing: install again without --omit=optional"},
		{nil, "build it from source"},
	} {
		start, err := Start(fake.Release, c.platforms, fake.Docs)
		if err != nil {
			t.Fatal(err)
		}
		if said, code := started(t, unpack(t, start), "parley"); !strings.Contains(said, c.want) || code != 1 {
			t.Errorf("it printed %q and ended with %d", said, code)
		}
	}
}

func TestNoPackageRunsAScriptWhenItIsInstalled(t *testing.T) {
	t.Parallel()
	start, err := Start(fake.Release, release.Platforms, fake.Docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Package{start, platform(t, release.Platforms[0])} {
		i := slices.IndexFunc(p.Files, func(f release.File) bool { return f.Name == "package.json" })
		if i < 0 || strings.Contains(string(p.Files[i].Data), `"scripts"`) {
			t.Errorf("%s: %v", p.Name, p.Files)
		}
	}
}

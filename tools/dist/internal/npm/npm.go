package npm

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"parley.internal/tools/dist/internal/archive"
	"parley.internal/tools/dist/internal/licenses"
	"parley.internal/tools/dist/internal/release"
)

// Launcher is the name of the package that users install. Those of platforms have it as the start of theirs.
const Launcher = "@parley-hub/parley"

// launch is the program of the launcher. Its name tells it which program of the platform to start.
//
//go:embed launch.js
var launch []byte

// Each package has a readme of its own: that of the repository is about a clone, and leads to pages that no package has.
var (
	//go:embed launcher.md
	launcherReadme []byte
	//go:embed platform.md
	platformReadme []byte
)

// Package is a package of npm: its files below the directory of the package.
type Package struct {
	Name  string
	Files []release.File
}

// manifest is package.json.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Homepage     string            `json:"homepage"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Files        []string          `json:"files"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"`
}

// names are those that npm and Node use, where they differ from Go's.
var names = map[string]string{"windows": "win32", "amd64": "x64"}

func node(name string) string {
	if other, ok := names[name]; ok {
		return other
	}
	return name
}

// platformName returns the name of a platform's package.
func platformName(p release.Platform) string { return Launcher + "-" + node(p.OS) + "-" + node(p.Arch) }

func pack(m manifest, r release.Release, d release.Docs, readme []byte, files ...release.File) (Package, error) {
	m.Version, m.Description, m.License, m.Homepage = r.Number(), release.Summary, release.License, r.URL
	text, err := json.MarshalIndent(m, "", "  ")
	files = append(files, release.File{Name: "package.json", Data: append(text, '\n')},
		release.File{Name: "LICENSE", Data: d.License}, release.File{Name: "README.md", Data: readme})
	return Package{m.Name, files}, err
}

// Platform returns the package of a platform.
func Platform(r release.Release, b release.Build, d release.Docs) (Package, error) {
	programs := b.Programs()
	for i := range programs {
		programs[i].Name = "bin/" + programs[i].Name
	}
	return pack(manifest{Name: platformName(b.Platform), OS: []string{node(b.OS)}, CPU: []string{node(b.Arch)},
		Files: []string{"bin", licenses.Name}, PreferUnplug: true}, r, d, platformReadme,
		append(programs, release.File{Name: licenses.Name, Data: b.Licenses})...)
}

// Start returns the launcher for the platforms given.
func Start(r release.Release, platforms []release.Platform, d release.Docs) (Package, error) {
	optional := map[string]string{}
	for _, p := range platforms {
		optional[platformName(p)] = r.Number()
	}
	return pack(manifest{Name: Launcher, Engines: map[string]string{"node": ">=18"},
		Bin:   map[string]string{"parley": "bin/parley.js", "parley-hook": "bin/parley-hook.js"},
		Files: []string{"bin"}, Optional: optional}, r, d, launcherReadme,
		release.File{Name: "bin/parley.js", Executable: true, Data: launch},
		release.File{Name: "bin/parley-hook.js", Executable: true, Data: launch})
}

// Archive returns the package as npm pack and the registry have it, and the name of its file.
func (p Package) Archive(r release.Release) (data []byte, file string, err error) {
	var files []release.File
	for _, f := range p.Files {
		f.Name = "package/" + f.Name
		files = append(files, f)
	}
	// npm takes archives with and without entries of directories; without, as its own are.
	var entries []archive.Entry
	for _, e := range archive.Entries(files) {
		if !e.Mode.IsDir() {
			entries = append(entries, e)
		}
	}
	if data, err = archive.Tar(entries, r.Time); err == nil {
		data, err = archive.Gzip(data)
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(p.Name)
	return data, fmt.Sprintf("%s-%s.tgz", name, r.Number()), err
}

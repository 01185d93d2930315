package system

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the formats register themselves
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"

	"parley.internal/tools/dist/internal/archive"
	"parley.internal/tools/dist/internal/licenses"
	"parley.internal/tools/dist/internal/release"
)

// Package returns the package of a format, deb or rpm, and its conventional name. dir must be an empty directory, to
// which the files of the package are written.
func Package(format string, r release.Release, b release.Build, d release.Docs, dir string) (data []byte, name string, err error) {
	packager, err := nfpm.Get(format)
	if err != nil {
		return nil, "", err
	}
	contents, err := place(dir, format, r, b, d)
	if err != nil {
		return nil, "", err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: release.Name, Arch: b.Arch, Platform: b.OS, MTime: r.Time, Section: "devel", Priority: "optional",
		Version: version(r), VersionSchema: "none", Release: "1",
		Maintainer: release.Maintainer, Vendor: "Parley", Description: release.Summary + "\n" + release.Description,
		Homepage: r.URL, License: release.License, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents,
			RPM: nfpm.RPM{Summary: release.Summary, Group: "Development/Tools", BuildHost: "localhost"}},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return nil, "", fmt.Errorf("%s for %s: %w", format, b.Platform, err)
	}
	return out.Bytes(), packager.ConventionalFileName(info), nil
}

// version returns the version as both formats order it: ~ comes before the end, so that a version with a suffix is older
// than the one without. A hyphen is not allowed.
func version(r release.Release) string {
	number, suffix, has := strings.Cut(r.Number(), "-")
	if !has {
		return number
	}
	return number + "~" + strings.ReplaceAll(suffix, "-", ".")
}

// shells are the places of completions. That of zsh differs.
func shells(format string) map[string]string {
	zsh := "/usr/share/zsh/site-functions/_parley"
	if format == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/_parley"
	}
	return map[string]string{
		"parley.bash": "/usr/share/bash-completion/completions/parley",
		"_parley":     zsh,
		"parley.fish": "/usr/share/fish/vendor_completions.d/parley.fish",
	}
}

// installed returns the files of the package by their absolute paths.
func installed(format string, b release.Build, d release.Docs) ([]release.File, error) {
	var out []release.File
	for _, p := range b.Programs() {
		out = append(out, release.File{Name: "/usr/bin/" + p.Name, Executable: true, Data: p.Data})
	}
	for _, page := range d.Pages {
		data, err := archive.Gzip(page.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, release.File{Name: "/usr/share/man/man1/" + page.Name + ".gz", Data: data})
	}
	for name, path := range shells(format) {
		data, err := d.Completion(name)
		if err != nil {
			return nil, err
		}
		out = append(out, release.File{Name: path, Data: data})
	}
	for _, f := range d.Beside {
		out = append(out, release.File{Name: "/usr/share/doc/parley/" + f.Name, Data: f.Data})
	}
	license, others := "/usr/share/doc/parley/copyright", "/usr/share/doc/parley/"+licenses.Name
	if format == "rpm" {
		license, others = "/usr/share/licenses/parley/LICENSE", "/usr/share/licenses/parley/"+licenses.Name
	}
	return append(out, release.File{Name: license, Data: d.License}, release.File{Name: others, Data: b.Licenses},
		release.File{Name: "/usr/share/doc/parley/README.md", Data: d.Readme},
		release.File{Name: "/usr/share/doc/parley/parley.cdx.json", Data: b.SBOM}), nil
}

// place writes the files of a package below dir and returns its contents.
func place(dir, format string, r release.Release, b release.Build, d release.Docs) (files.Contents, error) {
	list, err := installed(format, b, d)
	if err != nil {
		return nil, err
	}
	var out files.Contents
	for _, e := range archive.Entries(list) {
		if e.Mode.IsDir() {
			continue // those of the distribution
		}
		source, err := write(dir, len(out), e.Data)
		if err != nil {
			return nil, err
		}
		info := files.ContentFileInfo{Owner: "root", Group: "root", Mode: e.Mode, MTime: r.Time}
		out = append(out, &files.Content{Source: source, Destination: e.Name, FileInfo: &info})
	}
	return out, nil
}

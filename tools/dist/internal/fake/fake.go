package fake

import (
	"context"
	"errors"
	"time"

	"parley.internal/tools/dist/internal/release"
)

// Release is a release.
var Release = release.Release{Version: "v1.2.3", Commit: "37f06080aaaabbbbccccddddeeeeffff00001111",
	Time: time.Unix(1_700_000_000, 0).UTC(), URL: "https://example.org/releases"}

// Docs are the files of all platforms.
var Docs = release.Docs{License: []byte("the license\n"), Readme: []byte("# Parley\n"),
	Beside: []release.File{{Name: "SECURITY.md", Data: []byte("# Security\n")}, {Name: "docs/install.md", Data: []byte("# Install\n")},
		{Name: "docs/screenshots/agents.png", Data: []byte("a picture")}},
	Pages: []release.File{{Name: "parley.1", Data: []byte(".TH PARLEY 1\n")}},
	Completions: []release.File{{Name: "parley.bash", Data: []byte("# bash\n")}, {Name: "_parley", Data: []byte("#compdef parley\n")},
		{Name: "parley.fish", Data: []byte("# fish\n")}, {Name: "parley.ps1", Data: []byte("# PowerShell\n")}}}

// Source is a source whose programs hold the names of their platforms.
type Source struct {
	// Fails is a platform that cannot be built.
	Fails release.Platform
}

// Build returns programs that run as scripts of a shell.
func (s Source) Build(_ context.Context, r release.Release, p release.Platform) (release.Build, error) {
	if p == s.Fails {
		return release.Build{}, errors.New("it does not compile")
	}
	script := func(name string) []byte {
		return []byte("#!/bin/sh\n# " + name + " for " + p.String() + "\necho " + r.Version + "\"$*\"; exit 3\n")
	}
	return release.Build{Platform: p, Parley: script("parley"), Hook: script("parley-hook"), SBOM: []byte("{}\n"),
		Licenses: []byte("the licenses of others\n")}, nil
}

// Docs returns the files of all platforms.
func (Source) Docs(context.Context, release.Release) (release.Docs, error) { return Docs, nil }

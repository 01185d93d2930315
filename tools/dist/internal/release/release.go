package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Release is a version of Parley.
type Release struct {
	// Version is a semantic version with a leading v.
	Version string
	// Commit is the hash of the commit.
	Commit string
	// Time is that of the commit. It is the time of every file.
	Time time.Time
	// URL is the address of the releases: an artifact is at URL/Version/NAME.
	URL string
	// Notes is the URL of a page about the release, empty for none.
	Notes string
}

// These describe the program in packages.
const (
	Name        = "parley"
	Summary     = "The meeting ground for AI agents"
	Description = "Parley gives AI agents a task queue, messages that are not lost, a view of each other, and a human to ask: " +
		"one MCP URL and one bearer key."
	License    = "Apache-2.0"
	Maintainer = "The Parley authors <parley@localhost>"
)

var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// Check returns an error that names the fields which are missing, or are not usable in every artifact.
func (r Release) Check() error {
	if !semantic.MatchString(r.Version) {
		return fmt.Errorf("the version %q is not like v1.2.3 or v1.2.3-rc.1: set a tag of that form, or give VERSION", r.Version)
	}
	if r.Time.Unix() <= 0 {
		return errors.New("the time of the release is missing: set SOURCE_DATE_EPOCH to that of the commit")
	}
	if u, err := url.Parse(r.URL); err != nil || u.Scheme != "https" || u.Host == "" || strings.ContainsAny(r.URL, "\"'\\#?") {
		return fmt.Errorf("the address of releases %q is not an https URL without a query: set DIST_URL", r.URL)
	}
	if u, err := url.Parse(r.Notes); r.Notes != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("the notes are at %q, which is no https URL: set DIST_NOTES, or leave it out", r.Notes)
	}
	return nil
}

// Number returns the version without its v.
func (r Release) Number() string { return strings.TrimPrefix(r.Version, "v") }

// Address returns the URL of an artifact.
func (r Release) Address(name string) string {
	return strings.TrimSuffix(r.URL, "/") + "/" + r.Version + "/" + name
}

// Newest returns the document that tells programs of the release, for the address URL/latest.json.
func (r Release) Newest() ([]byte, error) {
	text, err := json.MarshalIndent(struct {
		Version string    `json:"version"`
		Date    time.Time `json:"date"`
		Notes   string    `json:"notes,omitempty"`
	}{r.Version, r.Time.UTC(), r.Notes}, "", "  ")
	return append(text, '\n'), err
}

// Platform is an operating system and a processor, as Go names them.
type Platform struct{ OS, Arch string }

// Platforms are all for which there is a release.
var Platforms = []Platform{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"}}

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Parse returns the platforms of a list such as linux/amd64,darwin/arm64, and all for an empty one.
func Parse(list string) ([]Platform, error) {
	if list == "" {
		return Platforms, nil
	}
	var out []Platform
	for name := range strings.SplitSeq(list, ",") {
		found := false
		for _, p := range Platforms {
			if p.String() == name {
				out, found = append(out, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no release for %q: name some of %v, with commas", name, Platforms)
		}
	}
	return out, nil
}

// Program returns the name of a program's file.
func (p Platform) Program(name string) string {
	if p.OS == "windows" {
		return name + ".exe"
	}
	return name
}

// File is a file of an artifact.
type File struct {
	Name       string
	Executable bool
	Data       []byte
}

// Docs are the files that are the same on all platforms.
type Docs struct {
	License, Readme []byte
	// Beside are the files to which the readme leads, by their names beside it, with slashes.
	Beside []File
	// Pages are those of the manual, and Completions those of shells, both by their names without a directory.
	Pages, Completions []File
}

// Completion returns the completions of a name.
func (d Docs) Completion(name string) ([]byte, error) {
	for _, f := range d.Completions {
		if f.Name == name {
			return f.Data, nil
		}
	}
	return nil, fmt.Errorf("there are no completions %s", name)
}

// Build is the result of a build for a platform.
type Build struct {
	Platform
	// Parley and Hook are the programs, and SBOM is the bill of materials of both.
	Parley, Hook, SBOM []byte
	// Licenses are those of the modules that the programs hold.
	Licenses []byte
}

// Programs returns the files of both programs.
func (b Build) Programs() []File {
	return []File{{b.Program("parley"), true, b.Parley}, {b.Program("parley-hook"), true, b.Hook}}
}

// Base returns the name of a platform's artifacts, without its extension.
func (r Release) Base(p Platform) string { return Name + "_" + r.Number() + "_" + p.OS + "_" + p.Arch }

package releases

import (
	"io/fs"
	"path"
	"strings"
)

// Method is a way in which the program is installed.
type Method string

// The ways, as install.md lists them.
const (
	Archive  Method = "archive"
	Debian   Method = "deb"
	RPM      Method = "rpm"
	Homebrew Method = "homebrew"
	NPM      Method = "npm"
	Image    Method = "image"
	Source   Method = "source"
)

// Program is the program that is to be updated.
type Program struct {
	// Path is its file, without symbolic links and with slashes.
	Path string
	// OS and Arch are those of the machine, as Go names them.
	OS, Arch string
	// Root is the file system of the machine from its root on; of Windows it is not read.
	Root fs.FS
}

// Method tells how the program was installed.
func (p Program) Method() Method {
	switch {
	case strings.Contains(p.Path, "/node_modules/@parley-hub/"):
		return NPM
	case strings.Contains(p.Path, "/Cellar/parley/"):
		return Homebrew
	case p.above("go.work") && p.above("services/hub/main.go"):
		return Source
	case p.OS == "linux" && p.Path == "/usr/bin/parley" && p.has("/var/lib/dpkg/info/parley.list"):
		return Debian
	case p.OS == "linux" && p.Path == "/usr/bin/parley" && p.has("/usr/share/licenses/parley/LICENSE"):
		return RPM
	case p.OS == "linux" && p.Path == "/parley":
		return Image
	}
	return Archive
}

// has reports whether a file exists.
func (p Program) has(name string) bool {
	if p.OS == "windows" {
		return false
	}
	_, err := fs.Stat(p.Root, strings.TrimPrefix(path.Clean(name), "/"))
	return err == nil
}

// above reports whether a file of the repository exists, where the program is in its bin.
func (p Program) above(name string) bool { return p.has(path.Join(path.Dir(p.Path), "..", name)) }

// How says how to update a program of the method to a version, or to any where it is empty.
func (p Program) How(version string) string {
	number := "VERSION"
	if version != "" {
		number = strings.TrimPrefix(version, "v")
	}
	dir := path.Dir(p.Path)
	switch p.Method() {
	case NPM:
		tag := "latest"
		if version != "" {
			tag = number
		}
		return "npm install -g @parley-hub/parley@" + tag
	case Homebrew:
		return "put the new parley.rb into your tap, then: brew upgrade parley"
	case Debian:
		return "sudo apt install ./parley_" + packaged(number) + "-1_" + p.Arch + ".deb"
	case RPM:
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[p.Arch]
		return "sudo dnf install ./parley-" + packaged(number) + "-1." + arch + ".rpm"
	case Image:
		return "start the container from the image of the new version, with the same volume"
	case Source:
		return "in " + path.Dir(dir) + ": git pull && make build"
	}
	extension, programs := ".tar.gz", "parley and parley-hook"
	if p.OS == "windows" {
		extension, programs = ".zip", "parley.exe and parley-hook.exe"
	}
	return "unpack parley_" + number + "_" + p.OS + "_" + p.Arch + extension + ", and copy " + programs + " from it to " + dir
}

// packaged returns a version as packages of Linux distributions have it.
func packaged(number string) string {
	if number == "VERSION" {
		return number
	}
	first, rest, has := strings.Cut(number, "-")
	if !has {
		return first
	}
	return first + "~" + strings.ReplaceAll(rest, "-", ".")
}

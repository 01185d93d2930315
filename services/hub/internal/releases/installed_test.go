package releases

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheAdviceIsForTheWayInWhichTheProgramWasInstalled(t *testing.T) {
	t.Parallel()
	files := func(names ...string) fstest.MapFS {
		m := fstest.MapFS{}
		for _, name := range names {
			m[name] = &fstest.MapFile{}
		}
		return m
	}
	for _, c := range []struct {
		path, os, arch string
		root           fstest.MapFS
		method         Method
		some, any      string
	}{
		{"/usr/bin/parley", "linux", "amd64", files("var/lib/dpkg/info/parley.list"), Debian,
			"sudo apt install ./parley_1.3.0~rc.1-1_amd64.deb", "sudo apt install ./parley_VERSION-1_amd64.deb"},
		{"/usr/bin/parley", "linux", "arm64", files("usr/share/licenses/parley/LICENSE"), RPM,
			"sudo dnf install ./parley-1.3.0~rc.1-1.aarch64.rpm", "sudo dnf install ./parley-VERSION-1.aarch64.rpm"},
		{"/usr/bin/parley", "linux", "amd64", files(), Archive,
			"unpack parley_1.3.0-rc.1_linux_amd64.tar.gz, and copy parley and parley-hook from it to /usr/bin", "unpack parley_VERSION_linux"},
		{"/usr/local/bin/parley", "linux", "amd64", files("var/lib/dpkg/info/parley.list"), Archive, "to /usr/local/bin", "to /usr/local/bin"},
		{"/usr/local/lib/node_modules/@parley-hub/parley-linux-x64/bin/parley", "linux", "amd64", files(), NPM,
			"npm install -g @parley-hub/parley@1.3.0-rc.1", "npm install -g @parley-hub/parley@latest"},
		{"C:/npm/node_modules/@parley-hub/parley-win32-x64/bin/parley.exe", "windows", "amd64", nil, NPM,
			"npm install -g @parley-hub/parley@1.3.0-rc.1", "@latest"},
		{"/opt/homebrew/Cellar/parley/1.2.3/bin/parley", "darwin", "arm64", files(), Homebrew, "brew upgrade parley", "brew upgrade parley"},
		{"/parley", "linux", "amd64", files("parley"), Image, "the image of the new version", "with the same volume"},
		{"/home/u/src/bin/parley", "linux", "amd64", files("home/u/src/go.work", "home/u/src/services/hub/main.go"), Source,
			"in /home/u/src: git pull && make build", "make build"},
		{"/home/u/other/bin/parley", "linux", "amd64", files("home/u/other/go.work"), Archive, "to /home/u/other/bin", "VERSION"},
		{"C:/Tools/parley.exe", "windows", "arm64", nil, Archive,
			"unpack parley_1.3.0-rc.1_windows_arm64.zip, and copy parley.exe and parley-hook.exe from it to C:/Tools", "VERSION"},
	} {
		p := Program{Path: c.path, OS: c.os, Arch: c.arch, Root: c.root}
		if got := p.Method(); got != c.method {
			t.Errorf("%s: %s, not %s", c.path, got, c.method)
		}
		if got := p.How("v1.3.0-rc.1"); !strings.Contains(got, c.some) {
			t.Errorf("%s: %s, not %s", c.path, got, c.some)
		}
		if got := p.How(""); !strings.Contains(got, c.any) {
			t.Errorf("%s: %s, not %s", c.path, got, c.any)
		}
	}
}

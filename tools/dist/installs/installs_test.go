package installs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cavaliergopher/cpio"
	"github.com/cavaliergopher/rpm"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// installed checks the version of a program in a root and the hook's program beside it, and makes a first call of a tool.
func installed(t *testing.T, parley string) {
	t.Helper()
	home := t.TempDir()
	if said := done(t, command(t, home, nil, parley, "version")); said != version+"\n" {
		t.Errorf("its version is %q", said)
	}
	hook, err := os.Stat(filepath.Join(filepath.Dir(parley), "parley-hook"))
	if err != nil || hook.Mode()&0o111 == 0 {
		t.Errorf("parley-hook: %v, %v", hook, err)
	}
	firstCall(t, command(t, home, nil, parley, "serve", "--data", filepath.Join(home, "data"), "--addr", "127.0.0.1:0"))
}

func TestAnArchiveMakesAFirstCall(t *testing.T) {
	need(t, "tar")
	root := t.TempDir()
	done(t, exec.CommandContext(t.Context(), "tar", "-xzf", artifact(t, base+".tar.gz"), "-C", root))
	dir := filepath.Join(root, base)
	if list, err := filepath.Glob(filepath.Join(dir, "man", "man1", "parley-*.1")); err != nil || len(list) < 20 {
		t.Errorf("the manual has %d pages, %v", len(list), err)
	}
	for name, want := range map[string]string{"THIRD_PARTY_LICENSES": "\nmodernc.org/sqlite v", "docs/install.md": "# Install\n",
		"docs/screenshots/agents.png": "PNG"} {
		if !bytes.Contains(read(t, filepath.Join(dir, filepath.FromSlash(name))), []byte(want)) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	installed(t, filepath.Join(dir, "parley"))
	completes(t, filepath.Join(dir, "completions", "parley.bash"), dir)
}

// completes lets bash complete the start of a command by the completions of a file.
func completes(t *testing.T, file, path string) {
	t.Helper()
	need(t, "bash")
	cmd := command(t, t.TempDir(), []string{"PATH=" + path + ":/usr/bin:/bin"}, "bash", "--norc", "-c",
		`_init_completion() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
_get_comp_words_by_ref() { _init_completion; }
compopt() { :; } # it works in a completion alone
. "$1"; COMP_WORDS=(parley back); COMP_CWORD=1; COMP_LINE="parley back"; COMP_POINT=11; COMP_TYPE=9
__start_parley; printf '%s\n' "${COMPREPLY[@]}"`, "bash", file)
	if said := done(t, cmd); strings.TrimSpace(said) != "backup" {
		t.Errorf("bash completes %q", said)
	}
}

func TestADebInstallsIntoAnEmptyRootAndMakesAFirstCall(t *testing.T) {
	onLinux(t)
	need(t, "dpkg")
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	deb := artifact(t, "parley_9.9.9~installs-1_"+here.Arch+".deb")
	done(t, exec.CommandContext(t.Context(), "dpkg", "--root="+root, "--log=/dev/null", "--force-not-root", "--force-bad-path", "-i", deb))
	if said := done(t, exec.CommandContext(t.Context(), "dpkg", "--root="+root, "-s", "parley")); !strings.Contains(said,
		"Status: install ok installed") || !strings.Contains(said, "Version: 9.9.9~installs-1") {
		t.Error(said)
	}
	if page := read(t, filepath.Join(root, "usr/share/man/man1/parley-serve.1.gz")); !bytes.HasPrefix(page, []byte{0x1f, 0x8b}) {
		t.Error("the page of serve is not compressed")
	}
	installed(t, filepath.Join(root, "usr/bin/parley"))
}

func TestAnRPMUnpacksIntoAnEmptyRootAndMakesAFirstCall(t *testing.T) {
	onLinux(t)
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[here.Arch]
	file := bytes.NewReader(read(t, artifact(t, "parley-9.9.9~installs-1."+arch+".rpm")))
	p, err := rpm.Read(file)
	if err != nil || p.PayloadCompression() != "gzip" || p.PayloadFormat() != "cpio" {
		t.Fatalf("%+v, %v", p, err)
	}
	plain, err := gzip.NewReader(file) // the text after the headers
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for r := cpio.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, filepath.FromSlash(h.Name)), h.FileInfo().Mode(), r)
	}
	installed(t, filepath.Join(root, "usr/bin/parley"))
}

// write writes a file or makes a directory, with the directories above it.
func write(t *testing.T, name string, mode fs.FileMode, from io.Reader) {
	t.Helper()
	dir := name
	if !mode.IsDir() {
		dir = filepath.Dir(name)
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil && !mode.IsDir() {
		var data []byte
		if data, err = io.ReadAll(from); err == nil {
			err = os.WriteFile(name, data, 0o644)
		}
	}
	if err == nil {
		err = os.Chmod(name, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheNPMPackagesInstallWithoutARegistryAndMakeAFirstCall(t *testing.T) {
	need(t, "npm")
	node := map[string]string{"amd64": "x64"}
	arch := here.Arch
	if other, ok := node[arch]; ok {
		arch = other
	}
	start := artifact(t, "parley-hub-parley-"+number+".tgz")
	own := artifact(t, "parley-hub-parley-"+here.OS+"-"+arch+"-"+number+".tgz")
	prefix := t.TempDir()
	npm := func(dir string, args ...string) string {
		cmd := command(t, dir, []string{"PATH=" + os.Getenv("PATH"), "npm_config_cache=" + filepath.Join(prefix, "cache"),
			"npm_config_update_notifier=false"}, "npm", args...)
		return done(t, cmd)
	}
	npm(prefix, "install", "--offline", "--no-audit", "--no-fund", "--prefix", prefix, start, own)
	parley := filepath.Join(prefix, "node_modules", ".bin", "parley")
	path := []string{"PATH=" + os.Getenv("PATH")}
	if said := done(t, command(t, prefix, path, parley, "version")); said != version+"\n" {
		t.Errorf("its version is %q", said)
	}
	firstCall(t, command(t, prefix, path, parley, "serve", "--data", filepath.Join(prefix, "data"), "--addr", "127.0.0.1:0"))

	// npm packs the same files as the package holds.
	said := npm(filepath.Join(prefix, "node_modules", "@parley-hub", "parley"), "pack", "--json", "--dry-run", "--offline")
	for _, file := range []string{"package.json", "bin/parley.js", "bin/parley-hook.js", "LICENSE", "README.md"} {
		if !strings.Contains(said, `"path": "`+file+`"`) {
			t.Errorf("npm pack leaves out %s: %s", file, said)
		}
	}
}

// unpacked unpacks the image of this platform into an empty root, and returns how it is started.
func unpacked(t *testing.T, root string) (args, env []string) {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(artifact(t, "parley_"+number+".image"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := outer.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = inner.IndexManifest(); err != nil || len(m.Manifests) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	img, err := inner.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.Labels["org.opencontainers.image.version"] != version {
		t.Errorf("its labels are %v", config.Config.Labels)
	}
	files := mutate.Extract(img)
	defer files.Close()
	extract(t, files, root)
	return slices.Concat(config.Config.Entrypoint, config.Config.Cmd), config.Config.Env
}

func extract(t *testing.T, files io.Reader, root string) {
	t.Helper()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(root, filepath.FromSlash(h.Name))
		write(t, name, h.FileInfo().Mode(), r)
		if os.Getuid() == 0 {
			if err := os.Chown(name, h.Uid, h.Gid); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// As root the image's root is that of the server, and its user is that of the image; otherwise its program runs here.
func TestTheImagesServerRunsInItsOwnRootAndMakesAFirstCall(t *testing.T) {
	onLinux(t)
	root := t.TempDir()
	args, env := unpacked(t, root)
	if !slices.Equal(args, []string{"/parley", "serve"}) {
		t.Fatalf("it starts %q", args)
	}
	env = append(slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "PORT=") }), "PORT=0",
		"GOMEMLIMIT=512MiB") // a container has /proc, from which the server would read its limit; this root has none
	if os.Getuid() != 0 {
		home := t.TempDir()
		firstCall(t, command(t, home, env, filepath.Join(root, args[0]), args[1:]...))
		return
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "/home/nonroot", env, args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	firstCall(t, cmd)
}

func TestTheTarballOfTheImageNamesItsLayersForDockerLoad(t *testing.T) {
	onLinux(t)
	need(t, "tar")
	file := artifact(t, base+".image.tar")
	text := done(t, exec.CommandContext(t.Context(), "tar", "-xOf", file, "manifest.json"))
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal([]byte(text), &manifest); err != nil || len(manifest) != 1 || len(manifest[0].Layers) != 2 ||
		!strings.HasSuffix(manifest[0].RepoTags[0], "parley:"+version) {
		t.Fatalf("%s, %v", text, err)
	}
	names := strings.Fields(done(t, exec.CommandContext(t.Context(), "tar", "-tf", file)))
	for _, want := range append(manifest[0].Layers, manifest[0].Config) {
		if !slices.Contains(names, want) {
			t.Errorf("it lacks %s: %q", want, names)
		}
	}
}

package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"parley.internal/tools/dist/internal/fake"
	"parley.internal/tools/dist/internal/release"
)

// images returns the images of both architectures.
func images(t *testing.T) (out []Named) {
	t.Helper()
	for _, arch := range []string{"amd64", "arm64"} {
		p := release.Platform{OS: "linux", Arch: arch}
		b, err := fake.Source{}.Build(t.Context(), fake.Release, p)
		if err != nil {
			t.Fatal(err)
		}
		img, err := Image(fake.Release, b, fake.Docs)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Named{p, img})
	}
	return out
}

// instructions returns those of the last stage of the Dockerfile, by their names.
func instructions(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../../services/hub/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "FROM" {
			clear(out)
		}
		out[name] = append(out[name], args)
	}
	return out
}

func TestTheImageStartsTheServerAsThatOfTheDockerfileDoes(t *testing.T) {
	t.Parallel()
	last, config := instructions(t), Config(fake.Release)
	list := func(name string) (out []string) {
		if len(last[name]) != 1 || json.Unmarshal([]byte(last[name][0]), &out) != nil {
			t.Fatalf("%s is %q", name, last[name])
		}
		return out
	}
	if !slices.Equal(config.Entrypoint, list("ENTRYPOINT")) || !slices.Equal(config.Cmd, list("CMD")) {
		t.Errorf("it starts %q %q", config.Entrypoint, config.Cmd)
	}
	if !slices.Equal(last["USER"], []string{config.User}) {
		t.Errorf("its user is %s, not %q", config.User, last["USER"])
	}
	for _, variable := range last["ENV"] {
		if !slices.Contains(config.Env, variable) {
			t.Errorf("it lacks %s: %q", variable, config.Env)
		}
	}
	for _, port := range last["EXPOSE"] {
		if _, ok := config.ExposedPorts[port+"/tcp"]; !ok {
			t.Errorf("it does not expose %s", port)
		}
	}
	if !slices.Equal(last["COPY"], []string{"--from=build /out/parley /parley"}) {
		t.Errorf("the Dockerfile copies %q, and the image holds /parley", last["COPY"])
	}
	labels := map[string]string{}
	for _, label := range last["LABEL"] {
		name, value, _ := strings.Cut(label, "=")
		labels[name] = strings.Trim(strings.ReplaceAll(value, "$VERSION", fake.Release.Version), `"`)
	}
	delete(config.Labels, "org.opencontainers.image.revision") // a docker build is not told the commit
	if fmt.Sprint(labels) != fmt.Sprint(config.Labels) {
		t.Errorf("its labels are %v, not %v", config.Labels, labels)
	}
}

func TestTheLayoutHasAnIndexOfBothArchitecturesAndTheVersion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "image")
	made := images(t)
	if err := Layout(dir, fake.Release, made); err != nil {
		t.Fatal(err)
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := outer.IndexManifest()
	if err != nil || len(m.Manifests) != 1 || m.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("%+v, %v", m, err)
	}
	inner, err := outer.ImageIndex(m.Manifests[0].Digest)
	if err == nil {
		m, err = inner.IndexManifest()
	}
	if err != nil || len(m.Manifests) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	for i, d := range m.Manifests {
		img, err := inner.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil || d.Platform.Architecture != made[i].Arch || config.Architecture != made[i].Arch || config.OS != "linux" ||
			config.Config.Labels["org.opencontainers.image.version"] != "v1.2.3" || !config.Created.Equal(fake.Release.Time) {
			t.Errorf("%+v has %+v, %v", d, config, err)
		}
	}
}

func TestTheTarballIsTheImageWithItsTag(t *testing.T) {
	t.Parallel()
	for _, i := range images(t) {
		file := filepath.Join(t.TempDir(), "image.tar")
		if err := Tarball(file, fake.Release, i); err != nil {
			t.Fatal(err)
		}
		m, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) })
		if err != nil || len(m) != 1 || !slices.Equal(m[0].RepoTags, []string{"index.docker.io/library/parley:v1.2.3"}) &&
			!slices.Equal(m[0].RepoTags, []string{"parley:v1.2.3"}) {
			t.Fatalf("%+v, %v", m, err)
		}
		img, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := digest(t, img), digest(t, i.Image); got != want {
			t.Errorf("its configuration is %s, not %s", got, want)
		}
	}
}

func digest(t *testing.T, img v1.Image) v1.Hash {
	t.Helper()
	h, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestTheImageHoldsNothingThatItsUserCanChangeButItsHomeAndTmp(t *testing.T) {
	t.Parallel()
	found := map[string]*tar.Header{}
	for r := tar.NewReader(mutate.Extract(images(t)[0].Image)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = h
		if !h.ModTime.Equal(fake.Release.Time) {
			t.Errorf("%s is of %v", h.Name, h.ModTime)
		}
		own := h.Name == "home/nonroot/" || h.Name == "home/nonroot"
		if own != (h.Uid == nonroot) || !own && !strings.HasPrefix(h.Name, "tmp") && h.Mode&0o022 != 0 {
			t.Errorf("%s is of %d with the mode %o", h.Name, h.Uid, h.Mode)
		}
	}
	for name, mode := range map[string]int64{"parley": 0o755, "tmp": 0o1777, "etc/passwd": 0o644,
		"usr/share/doc/parley/parley.cdx.json": 0o644, "usr/share/doc/parley/LICENSE": 0o644,
		"usr/share/doc/parley/THIRD_PARTY_LICENSES": 0o644} {
		if found[name] == nil && found[name+"/"] == nil {
			t.Errorf("%s is missing: %v", name, found)
		} else if h := found[name]; h != nil && h.Mode != mode {
			t.Errorf("%s has the mode %o", name, h.Mode)
		}
	}
}

package image

import (
	"bytes"
	"io"
	"io/fs"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"parley.internal/tools/dist/internal/archive"
	"parley.internal/tools/dist/internal/licenses"
	"parley.internal/tools/dist/internal/release"
)

// nonroot is the id of the user and of the group that run the server.
const nonroot = 65532

// base are the files of each image that are not Parley's.
var base = []archive.Entry{
	{Name: "etc", Mode: fs.ModeDir | 0o755},
	{Name: "etc/group", Mode: 0o644, Data: []byte("root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n")},
	{Name: "etc/nsswitch.conf", Mode: 0o644, Data: []byte("hosts: files dns\n")},
	{Name: "etc/passwd", Mode: 0o644, Data: []byte("root:x:0:0:root:/root:/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
		"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
	{Name: "home", Mode: fs.ModeDir | 0o755},
	{Name: "home/nonroot", Mode: fs.ModeDir | 0o700, UID: nonroot},
	{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
}

// Labels returns the labels of the images of a release.
func Labels(r release.Release) map[string]string {
	out := map[string]string{
		"org.opencontainers.image.title":       "Parley",
		"org.opencontainers.image.description": release.Summary,
		"org.opencontainers.image.licenses":    release.License,
		"org.opencontainers.image.version":     r.Version,
	}
	if r.Commit != "" {
		out["org.opencontainers.image.revision"] = r.Commit
	}
	return out
}

// Config returns how the server is started.
func Config(r release.Release) v1.Config {
	return v1.Config{
		User: "65532:65532", WorkingDir: "/home/nonroot",
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PORT=8080"},
		Entrypoint: []string{"/parley"}, Cmd: []string{"serve"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}}, Labels: Labels(r),
	}
}

// Image returns the image of a build for Linux: a layer of the base, and one of the program with its license, those of
// its modules, and its bill of materials.
func Image(r release.Release, b release.Build, d release.Docs) (v1.Image, error) {
	files := []release.File{{Name: "parley", Executable: true, Data: b.Parley},
		{Name: "usr/share/doc/parley/LICENSE", Data: d.License}, {Name: "usr/share/doc/parley/parley.cdx.json", Data: b.SBOM},
		{Name: "usr/share/doc/parley/" + licenses.Name, Data: b.Licenses}}
	img, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		types.OCIConfigJSON), &v1.ConfigFile{Architecture: b.Arch, OS: b.OS, Created: v1.Time{Time: r.Time.UTC()},
		Config: Config(r), RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		return nil, err
	}
	for _, l := range []struct {
		what    string
		entries []archive.Entry
	}{{"an empty base", base}, {"parley " + r.Version, archive.Entries(files)}} {
		data, err := archive.Tar(l.entries, r.Time)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
			History: v1.History{CreatedBy: l.what, Created: v1.Time{Time: r.Time.UTC()}}}); err != nil {
			return nil, err
		}
	}
	return img, nil
}

// Named is an image with the platform that it is for.
type Named struct {
	release.Platform
	Image v1.Image
}

// Layout writes an OCI layout with an index of the images to dir, which must not exist.
func Layout(dir string, r release.Release, images []Named) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: i.Image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: i.OS, Architecture: i.Arch}}})
	}
	path, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.Version}))
}

// Tarball writes the image to a file that docker load takes, with the tag parley:VERSION.
func Tarball(file string, r release.Release, i Named) error {
	tag, err := name.NewTag(release.Name + ":" + r.Version)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, i.Image)
}

package artifacts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"parley.internal/tools/dist/internal/archive"
	"parley.internal/tools/dist/internal/homebrew"
	"parley.internal/tools/dist/internal/image"
	"parley.internal/tools/dist/internal/npm"
	"parley.internal/tools/dist/internal/release"
	"parley.internal/tools/dist/internal/system"
)

// Source builds the contents of the artifacts.
type Source interface {
	Build(ctx context.Context, r release.Release, p release.Platform) (release.Build, error)
	Docs(ctx context.Context, r release.Release) (release.Docs, error)
}

// Make writes the artifacts of the platforms to the directory out, in place of those of an earlier run. Where it fails
// it leaves the earlier ones. tell is called with the name of each step as it begins.
func Make(ctx context.Context, s Source, r release.Release, platforms []release.Platform, out string, tell func(string)) (err error) {
	if err := r.Check(); err != nil {
		return err
	}
	if err := replaceable(out); err != nil {
		return err
	}
	next, err := os.MkdirTemp(filepath.Dir(out), ".dist-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(next)) }()
	m := maker{release: r, dir: filepath.Join(next, "dist"), scratch: filepath.Join(next, "scratch"), tell: tell}
	for _, dir := range []string{m.dir, m.scratch} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := m.all(ctx, s, platforms); err != nil {
		return err
	}
	if err := readable(m.dir); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.Rename(m.dir, out)
}

// sums is the name of the file with the checksums.
const sums = "checksums.txt"

// newest is the name of the document that tells programs of the release.
const newest = "latest.json"

// replaceable returns an error if a directory holds files that this package did not write.
func replaceable(dir string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == sums }) {
		return fmt.Errorf("%s holds files and no %s, so they are not those of an earlier run: move them, or name another directory",
			dir, sums)
	}
	return nil
}

// readable lets everybody read the files of a directory, whatever the umask and the libraries that wrote them say. None
// of them is a program.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
}

// maker makes the artifacts of one release.
type maker struct {
	release      release.Release
	docs         release.Docs
	dir, scratch string
	images       []image.Named
	tell         func(string)
}

func (m *maker) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(m.dir, name), data, 0o644)
}

func (m *maker) all(ctx context.Context, s Source, platforms []release.Platform) (err error) {
	m.tell("the manual and the completions")
	if m.docs, err = s.Docs(ctx, m.release); err != nil {
		return err
	}
	for _, p := range platforms {
		m.tell(p.String())
		b, err := s.Build(ctx, m.release, p)
		if err != nil {
			return err
		}
		if err := m.platform(b); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	m.tell("the artifacts of several platforms")
	start, err := npm.Start(m.release, platforms, m.docs)
	if err != nil {
		return err
	}
	if err := m.npm(start); err != nil {
		return err
	}
	if len(m.images) > 0 {
		dir := filepath.Join(m.dir, release.Name+"_"+m.release.Number()+".image")
		if err := image.Layout(dir, m.release, m.images); err != nil {
			return err
		}
	}
	if err := m.homebrew(platforms); err != nil {
		return err
	}
	text, err := m.release.Newest()
	if err == nil {
		err = m.write(newest, text)
	}
	if err != nil {
		return err
	}
	list, err := hashes(m.dir)
	if err != nil {
		return err
	}
	return m.write(sums, lines(list))
}

// platform writes the artifacts of one platform.
func (m *maker) platform(b release.Build) error {
	data, extension, err := archive.Release(m.release, b, m.docs)
	if err != nil {
		return err
	}
	name := m.release.Base(b.Platform)
	if err := errors.Join(m.write(name+extension, data), m.write(name+".cdx.json", b.SBOM)); err != nil {
		return err
	}
	p, err := npm.Platform(m.release, b, m.docs)
	if err != nil {
		return err
	}
	if err := m.npm(p); err != nil || b.OS != "linux" {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := m.system(format, b); err != nil {
			return err
		}
	}
	img, err := image.Image(m.release, b, m.docs)
	if err != nil {
		return err
	}
	named := image.Named{Platform: b.Platform, Image: img}
	m.images = append(m.images, named)
	return image.Tarball(filepath.Join(m.dir, name+".image.tar"), m.release, named)
}

func (m *maker) npm(p npm.Package) error {
	data, file, err := p.Archive(m.release)
	if err != nil {
		return err
	}
	return m.write(file, data)
}

func (m *maker) system(format string, b release.Build) error {
	dir, err := os.MkdirTemp(m.scratch, "")
	if err != nil {
		return err
	}
	data, name, err := system.Package(format, m.release, b, m.docs, dir)
	if err != nil {
		return err
	}
	return m.write(name, data)
}

// homebrew writes the formula, if all archives that it names were made.
func (m *maker) homebrew(platforms []release.Platform) error {
	for _, p := range release.Platforms {
		if p.OS != "windows" && !slices.Contains(platforms, p) {
			m.tell("no formula for Homebrew, since " + p.String() + " was left out")
			return nil
		}
	}
	list, err := hashes(m.dir)
	if err != nil {
		return err
	}
	text, err := homebrew.Formula(m.release, list)
	if err != nil {
		return err
	}
	return m.write(release.Name+".rb", text)
}

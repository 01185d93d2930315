package programs

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"parley.internal/tools/dist/internal/release"
)

// Builder builds from the sources of a repository.
type Builder struct {
	// Root is the directory of the repository.
	Root string
	// Flags are those of the linker.
	Flags string
	// Work is a directory for files that are read again.
	Work string
}

func (b Builder) hub() string     { return filepath.Join(b.Root, "services", "hub") }
func (b Builder) harness() string { return filepath.Join(b.hub(), "harness") }

// free is the environment without the variables that would change the output of a compiler.
func free() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFLAGS", "GOFIPS140",
			"CGO_ENABLED", "GOWORK", "GODEBUG"}, name)
	})
	return append(env, "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
}

// platform returns the variables that build for a platform.
func platform(p release.Platform) []string { return []string{"GOOS=" + p.OS, "GOARCH=" + p.Arch} }

// run runs the go command in a directory, and returns its output.
func run(ctx context.Context, dir string, env, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(free(), env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

// Build builds the programs of a platform.
func (b Builder) Build(ctx context.Context, r release.Release, p release.Platform) (release.Build, error) {
	dir := filepath.Join(b.Work, p.OS+"-"+p.Arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return release.Build{}, err
	}
	_, err := run(ctx, b.hub(), platform(p),
		append([]string{"build", "-trimpath", "-ldflags", b.Flags, "-o", dir + string(filepath.Separator)}, sources...))
	if err != nil {
		return release.Build{}, fmt.Errorf("building for %s: %w", p, err)
	}
	// The name of the hub's program is the last part of its module's path.
	hub, hook := filepath.Join(dir, p.Program("hub")), filepath.Join(dir, p.Program("parley-hook"))
	parley := filepath.Join(dir, p.Program("parley"))
	if err := os.Rename(hub, parley); err != nil {
		return release.Build{}, err
	}
	out := release.Build{Platform: p}
	if out.Parley, err = os.ReadFile(parley); err == nil {
		out.Hook, err = os.ReadFile(hook)
	}
	if err == nil {
		err = covers(out.Parley, out.Hook)
	}
	if err == nil {
		out.Licenses, err = b.licenses(ctx, p, out.Parley, out.Hook)
	}
	if err == nil {
		out.SBOM, err = b.materials(ctx, r, parley)
	}
	return out, err
}

// covers returns an error unless the bill of materials of the first program names all modules of the other one.
func covers(parley, hook []byte) error {
	modules := func(program []byte) (map[string]string, error) {
		info, err := buildinfo.Read(bytes.NewReader(program))
		if err != nil {
			return nil, err
		}
		out := map[string]string{}
		for _, d := range info.Deps {
			out[d.Path] = d.Version
		}
		return out, nil
	}
	all, err := modules(parley)
	if err != nil {
		return fmt.Errorf("parley: %w", err)
	}
	some, err := modules(hook)
	if err != nil {
		return fmt.Errorf("parley-hook: %w", err)
	}
	for path, version := range some {
		if all[path] != version {
			return fmt.Errorf("parley-hook holds %s %s, and the bill of materials of parley would not name it", path, version)
		}
	}
	return nil
}

// materials returns the bill of materials of a program, as "make sbom" makes it.
func (b Builder) materials(ctx context.Context, r release.Release, program string) ([]byte, error) {
	raw, err := run(ctx, b.harness(), nil, []string{"tool", "-modfile=cmd/sbom/tool.mod", "cyclonedx-gomod", "bin", "-json",
		"-noserial", "-std", "-version", r.Version, program})
	if err != nil {
		return nil, err
	}
	file := program + ".cdx.json"
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/sbom", "-o", file)
	cmd.Dir, cmd.Env, cmd.Stdin = b.harness(), free(), bytes.NewReader(raw)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go run ./cmd/sbom: %w\n%s", err, text)
	}
	return os.ReadFile(file)
}

// Docs returns the files that are the same for all platforms.
func (b Builder) Docs(ctx context.Context, r release.Release) (d release.Docs, err error) {
	dir := filepath.Join(b.Work, "manual")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return d, err
	}
	_, err = run(ctx, b.harness(), nil, []string{"run", "-trimpath", "./cmd/manual", "-o", dir, "-version", r.Version, "-time",
		strconv.FormatInt(r.Time.Unix(), 10)})
	if err != nil {
		return d, err
	}
	if d.Pages, err = read(filepath.Join(dir, "man", "man1")); err != nil {
		return d, err
	}
	if d.Completions, err = read(filepath.Join(dir, "completions")); err != nil {
		return d, err
	}
	if d.License, err = os.ReadFile(filepath.Join(b.Root, "LICENSE")); err != nil {
		return d, err
	}
	if d.Readme, err = os.ReadFile(filepath.Join(b.Root, "README.md")); err != nil {
		return d, err
	}
	d.Beside, err = beside(b.Root)
	return d, err
}

// beside returns the pages of a repository to which its readme leads, and their pictures.
func beside(root string) ([]release.File, error) {
	names := []string{"CHANGELOG.md", "SECURITY.md", "infra/README.md"}
	tree := os.DirFS(root)
	for _, pattern := range []string{"docs/*.md", "docs/screenshots/*.png"} {
		found, err := fs.Glob(tree, pattern)
		if err != nil || len(found) == 0 {
			return nil, errors.Join(fmt.Errorf("%s has no %s", root, pattern), err)
		}
		names = append(names, found...)
	}
	var out []release.File
	for _, name := range names {
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		out = append(out, release.File{Name: name, Data: data})
	}
	return out, nil
}

// read returns the files of a directory.
func read(dir string) (out []release.File, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, release.File{Name: e.Name(), Data: data})
	}
	return out, nil
}

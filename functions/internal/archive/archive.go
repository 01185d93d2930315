package archive

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// entries are the packages that the archive can build: the root package, which the buildpack builds, and the local
// server, which keeps the framework's server among the vendored packages.
var entries = []string{".", "./cmd/local"}

// Write writes the archive of the functions of the repository at root, which contains the modules functions and shared.
// It runs the go command, which may download modules.
func Write(ctx context.Context, w io.Writer, root string) error {
	dir, err := os.MkdirTemp("", "parley-archive-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "functions")
	if err := stage(ctx, to, filepath.Join(root, "functions")); err != nil {
		return err
	}
	shared, err := filepath.Abs(filepath.Join(root, "shared"))
	if err != nil {
		return err
	}
	if err := os.Symlink(shared, filepath.Join(dir, "shared")); err != nil {
		return err
	}
	if _, err := goCommand(ctx, to, "mod", "vendor"); err != nil {
		return err
	}
	return pack(w, to)
}

// goCommand runs the go command in the directory, without a workspace and for the platform of the functions.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, &said)
	}
	return out.Bytes(), nil
}

// stage copies the module's own files of the archive.
func stage(ctx context.Context, to, from string) error {
	out, err := goCommand(ctx, from, append([]string{"list", "-deps", "-json=Dir,Module,GoFiles,EmbedFiles"},
		entries...)...)
	if err != nil {
		return err
	}
	files := []string{"go.mod", "go.sum"}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *struct {
				Main bool
				Dir  string
			}
			GoFiles, EmbedFiles []string
		}
		if err := list.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if p.Module == nil || !p.Module.Main {
			continue
		}
		at, err := filepath.Rel(p.Module.Dir, p.Dir)
		if err != nil {
			return err
		}
		for _, name := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			files = append(files, filepath.Join(at, name))
		}
	}
	for _, name := range files {
		if err := copyFile(filepath.Join(to, name), filepath.Join(from, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// newYear1980 is the earliest date that an archive can represent.
const newYear1980 = 1<<5 | 1

// pack writes the files below dir, sorted by name, all with the same time and mode.
func pack(w io.Writer, dir string) error {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, name := range names {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		//lint:ignore SA1019 Modified would add a field that holds the time once more
		h.ModifiedDate = newYear1980
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(text); err != nil {
			return err
		}
	}
	return z.Close()
}

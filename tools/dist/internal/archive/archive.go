package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io/fs"
	"path"
	"slices"
	"time"

	"parley.internal/tools/dist/internal/licenses"
	"parley.internal/tools/dist/internal/release"
)

// Release returns the archive of a platform, and the extension of its name. On Windows it is a zip.
func Release(r release.Release, b release.Build, d release.Docs) (data []byte, extension string, err error) {
	files := append(b.Programs(), release.File{Name: "LICENSE", Data: d.License}, release.File{Name: "README.md", Data: d.Readme},
		release.File{Name: licenses.Name, Data: b.Licenses})
	files = append(files, d.Beside...)
	for _, f := range d.Completions {
		files = append(files, release.File{Name: "completions/" + f.Name, Data: f.Data})
	}
	for _, f := range d.Pages {
		files = append(files, release.File{Name: "man/man1/" + f.Name, Data: f.Data})
	}
	for i := range files {
		files[i].Name = r.Base(b.Platform) + "/" + files[i].Name
	}
	if b.OS == "windows" {
		data, err = Zip(files, r.Time)
		return data, ".zip", err
	}
	data, err = TarGz(files, r.Time)
	return data, ".tar.gz", err
}

// ordered returns the files in the order of their names.
func ordered(files []release.File) []release.File {
	return slices.SortedFunc(slices.Values(files), func(a, b release.File) int { return cmp.Compare(a.Name, b.Name) })
}

// Entry is a file or a directory of a tar archive.
type Entry struct {
	Name string
	// Mode holds the permissions, and fs.ModeDir for a directory.
	Mode fs.FileMode
	UID  int
	Data []byte
}

// Entries returns the files in the order of their names, with their directories before them.
func Entries(files []release.File) (out []Entry) {
	made := map[string]bool{".": true, "/": true}
	var enter func(dir string)
	enter = func(dir string) {
		if !made[dir] {
			enter(path.Dir(dir))
			made[dir] = true
			out = append(out, Entry{Name: dir, Mode: fs.ModeDir | 0o755})
		}
	}
	for _, f := range ordered(files) {
		enter(path.Dir(f.Name))
		out = append(out, Entry{Name: f.Name, Mode: permissions(f), Data: f.Data})
	}
	return out
}

func permissions(f release.File) fs.FileMode {
	if f.Executable {
		return 0o755
	}
	return 0o644
}

// Tar returns a tar archive of the entries, in their order.
func Tar(entries []Entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Size: int64(len(e.Data)), Mode: int64(e.Mode.Perm()),
			ModTime: at, Uid: e.UID, Gid: e.UID, Format: tar.FormatPAX}
		if e.Mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if e.Mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, e.Name+"/"
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.Data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// TarGz returns a compressed tar archive of the files.
func TarGz(files []release.File, at time.Time) ([]byte, error) {
	data, err := Tar(Entries(files), at)
	if err != nil {
		return nil, err
	}
	return Gzip(data)
}

// Gzip returns the data compressed, without a name or a time.
func Gzip(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// Zip returns a zip archive of the files.
func Zip(files []release.File, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range ordered(files) {
		h := zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(permissions(f))
		to, err := w.CreateHeader(&h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.Data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

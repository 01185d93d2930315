package elenchus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// FileInput is a file that an agent gives to the context.
type FileInput struct {
	Path    string `json:"path" allow:"nonempty,max=300" jsonschema:"relative to workingDir, with /"`
	Content string `json:"content" allow:"max=262144" jsonschema:"its text, at most 256 KiB"`
}

// incoming is a file on its way into the context. A file that the server read by itself is left out of a full context.
type incoming struct {
	File
	text  string
	given bool
}

func newIncoming(p, text string, layer Layer, given bool) incoming {
	sum := sha256.Sum256([]byte(text))
	return incoming{
		File{Path: p, Layer: layer, Bytes: int64(len(text)), Sum: hex.EncodeToString(sum[:16])},
		text,
		given,
	}
}

// readFiles checks the files of a call. It returns [fault.Invalid] with a problem for each malformed one.
func readFiles(given []FileInput, layer Layer) ([]incoming, error) {
	var out []incoming
	var wrong []fault.Problem
	seen := map[string]bool{}
	for i, f := range given {
		p, why := source.Clean(f.Path)
		switch {
		case why == "" && seen[p]:
			why = "is listed twice"
		case why == "" && len(f.Content) > maxFile:
			wrong = append(wrong,
				fault.Problem{Path: fieldPath("files", i, "content"), Message: "must be at most 256 KiB"})
		case why == "" && strings.Contains(f.Content, "\x00"):
			wrong = append(wrong,
				fault.Problem{Path: fieldPath("files", i, "content"), Message: "must be text; this is binary"})
		}
		if why != "" {
			wrong = append(wrong, fault.Problem{Path: fieldPath("files", i, "path"), Message: why})
		}
		seen[p] = true
		out = append(out, newIncoming(p, f.Content, layer, true))
	}
	if len(wrong) > 0 {
		return nil, fault.Problems(wrong...)
	}
	return out, nil
}

// fileID returns the id of a path's document; a path may not be an id itself.
func fileID(p string) string {
	sum := sha256.Sum256([]byte(p))
	return hex.EncodeToString(sum[:16])
}

// fileSet is the part of a session's files that a call needs.
type fileSet struct {
	files map[string]*File // by path, nil for one that does not exist
	fetch []*store.Fetch
}

// fileSetOf prepares to read the files of the paths.
func fileSetOf(id string, paths []string) *fileSet {
	set := &fileSet{files: map[string]*File{}}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		f := new(File)
		set.files[p] = f
		set.fetch = append(set.fetch, files.Under(id).Fetch(fileID(p), f))
	}
	return set
}

// dropMissing forgets the files that the fetch did not find.
func (set *fileSet) dropMissing() {
	paths := make([]string, 0, len(set.files))
	for p := range set.files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for i, p := range paths {
		if !set.fetch[i].Found {
			set.files[p] = nil
		}
	}
}

// load reads the set.
func (set *fileSet) load(ctx context.Context, r store.Reader) error {
	if len(set.fetch) == 0 {
		return nil
	}
	if err := store.Load(ctx, r, set.fetch...); err != nil {
		return err
	}
	set.dropMissing()
	return nil
}

// has reports whether the set has one of the paths of a reference, or whether packages has its directory.
func (set *fileSet) has(w source.Reference, packages []string) bool {
	if w.IsDir {
		return slices.Contains(packages, w.Dir)
	}
	return slices.ContainsFunc(w.Paths, func(p string) bool { return set.files[p] != nil })
}

// wanted returns the paths of the local references that the set does not have, at most 50. The Go files of a directory
// are named as dir/*.go.
func (set *fileSet) wanted(references []source.Reference, packages []string) []string {
	out := []string{}
	for _, w := range references {
		if !w.Local || set.has(w, packages) {
			continue
		}
		paths := w.Paths
		if w.IsDir {
			paths = []string{path.Join(w.Dir, "*.go")}
		}
		for _, p := range paths {
			if !slices.Contains(out, p) && len(out) < maxWanted {
				out = append(out, p)
			}
		}
	}
	return out
}

// placed is the result of placing the files of a call.
type placed struct {
	added     []string
	replaced  []string
	unchanged int
	before    []fileBefore
	writes    []func(tx *store.Tx)
}

// place adds files to the context. It changes the counts of the session; the documents change when the caller runs the
// writes. The set must have been loaded for the paths of the files. It returns [fault.Precondition] if a file that an
// agent gave does not fit, and leaves out others that do not.
func (s *Session) place(id string, set *fileSet, in []incoming) (placed, error) {
	out := placed{added: []string{}, replaced: []string{}}
	for _, f := range in {
		have := set.files[f.Path]
		if have != nil && have.Sum == f.Sum && have.Bytes == f.Bytes {
			out.unchanged++
			continue
		}
		if !f.given && have != nil {
			continue // A file that an agent gave is not replaced by one that the server read.
		}
		grow, spare := f.Bytes, int64(0)
		if have != nil && have.Tick > s.CheckpointTick {
			spare = have.Bytes // No checkpoint needs the old text.
		}
		if s.Bytes+grow-spare > maxBytes || (have == nil && s.Files == maxFiles) {
			if f.given {
				return out, fault.New(fault.Precondition,
					"verification %s is full: it holds %d of %d files and %d of %d bytes, and %s does not fit",
					id, s.Files, maxFiles, s.Bytes, maxBytes, f.Path)
			}
			continue
		}
		s.Bytes += grow - spare
		file := f.File
		file.Tick = s.Tick
		if have == nil {
			s.Files++
			out.added = append(out.added, f.Path)
			out.before = append(out.before, fileBefore{New: true, File: file})
		} else {
			file.Layer = have.Layer
			out.replaced = append(out.replaced, f.Path)
			out.before = append(out.before, fileBefore{File: *have})
			if spare > 0 {
				old := contentID(*have)
				out.writes = append(out.writes, func(tx *store.Tx) { contents.Under(id).Delete(tx, old) })
			}
		}
		out.writes = append(out.writes, func(tx *store.Tx) {
			files.Under(id).Put(tx, fileID(file.Path), file)
			contents.Under(id).Put(tx, contentID(file), content{f.text})
		})
		set.files[f.Path] = &file
		s.recordPackage(file.Path, f.text)
	}
	return out, nil
}

const (
	maxModules  = 20
	maxPackages = 100
)

// recordPackage records the Go module of a go.mod, and the directory of a Go file.
func (s *Session) recordPackage(p, text string) {
	dir := source.Dir(p)
	if path.Base(p) == "go.mod" {
		s.Modules = slices.DeleteFunc(slices.Clone(s.Modules), func(m source.Module) bool { return m.Dir == dir })
		if m := source.ModulePath(text); m != "" && len(s.Modules) < maxModules {
			s.Modules = append(s.Modules, source.Module{Dir: dir, Path: m})
		}
	}
	if source.Ext(p) == "go" && len(s.Packages) < maxPackages && !slices.Contains(s.Packages, dir) {
		s.Packages = append(s.Packages, dir)
	}
}

package elenchus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// FileInput is a file that an agent gives to the context.
type FileInput struct {
	Path    string `json:"path" allow:"nonempty,max=300" jsonschema:"relative to workingDir, with /"`
	Content string `json:"content" allow:"max=262144" jsonschema:"its text, at most 256 KiB"`
}

// incoming is a file on its way into the context. One that nobody gave, which the
// server read by itself, is left out where there is no room.
type incoming struct {
	File
	text  string
	given bool
}

func arriving(p, text string, layer Layer, given bool) incoming {
	sum := sha256.Sum256([]byte(text))
	return incoming{File{Path: p, Layer: layer, Bytes: int64(len(text)), Sum: hex.EncodeToString(sum[:16])}, text, given}
}

// checkFiles reads the files that a call brings. Every problem is reported at once.
func checkFiles(given []FileInput, layer Layer) ([]incoming, error) {
	var out []incoming
	var wrong []fault.Problem
	seen := map[string]bool{}
	for i, f := range given {
		p, why := cleanPath(f.Path)
		switch {
		case why == "" && seen[p]:
			why = "stands twice"
		case why == "" && len(f.Content) > maxFile:
			wrong = append(wrong, fault.Problem{Path: at("files", i, "content"), Message: "must be at most 256 KiB"})
		case why == "" && strings.Contains(f.Content, "\x00"):
			wrong = append(wrong, fault.Problem{Path: at("files", i, "content"), Message: "must be text; this is binary"})
		}
		if why != "" {
			wrong = append(wrong, fault.Problem{Path: at("files", i, "path"), Message: why})
		}
		seen[p] = true
		out = append(out, arriving(p, f.Content, layer, true))
	}
	if len(wrong) > 0 {
		return nil, fault.Problems(wrong...)
	}
	return out, nil
}

// shelf is a session's files as far as a call needs them.
type shelf struct {
	files map[string]*File // by path, nil for one that is missing
	fetch []*store.Fetch
}

// shelfOf prepares to read what is known of the paths.
func shelfOf(id string, paths []string) *shelf {
	sh := &shelf{files: map[string]*File{}}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		f := new(File)
		sh.files[p] = f
		sh.fetch = append(sh.fetch, files.Under(id).Fetch(fileID(p), f))
	}
	return sh
}

// settle marks what was not found.
func (sh *shelf) settle() {
	paths := make([]string, 0, len(sh.files))
	for p := range sh.files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for i, p := range paths {
		if !sh.fetch[i].Found {
			sh.files[p] = nil
		}
	}
}

// load reads the shelf on its own.
func (sh *shelf) load(ctx context.Context, r store.Reader) error {
	if len(sh.fetch) == 0 {
		return nil
	}
	if err := store.Load(ctx, r, sh.fetch...); err != nil {
		return err
	}
	sh.settle()
	return nil
}

// has says whether the context satisfies a wish.
func (sh *shelf) has(w wish, packages []string) bool {
	if w.isDir {
		return slices.Contains(packages, w.dir)
	}
	return slices.ContainsFunc(w.paths, func(p string) bool { return sh.files[p] != nil })
}

// wanted are the paths of the wishes that nothing in the context satisfies, at most
// 50. The Go files of a directory are named as dir/*.go.
func (sh *shelf) wanted(wishes []wish, packages []string) []string {
	out := []string{}
	for _, w := range wishes {
		if !w.sure || sh.has(w, packages) {
			continue
		}
		paths := w.paths
		if w.isDir {
			paths = []string{path.Join(w.dir, "*.go")}
		}
		for _, p := range paths {
			if !slices.Contains(out, p) && len(out) < maxWanted {
				out = append(out, p)
			}
		}
	}
	return out
}

// placed is what became of the files of a call.
type placed struct {
	added     []string
	replaced  []string
	unchanged int
	before    []fileBefore
	writes    []func(tx *store.Tx)
}

// place puts files into the context: the session's counters change now, the
// documents when the writes are made. The shelf must know the files' paths.
func (s *Session) place(id string, sh *shelf, in []incoming) (placed, error) {
	out := placed{added: []string{}, replaced: []string{}}
	for _, f := range in {
		have := sh.files[f.Path]
		if have != nil && have.Sum == f.Sum && have.Bytes == f.Bytes {
			out.unchanged++
			continue
		}
		if !f.given && have != nil {
			continue // what the agents gave stands
		}
		grow, spare := f.Bytes, int64(0)
		if have != nil && have.Tick > s.CheckpointTick {
			spare = have.Bytes // no checkpoint needs the old one
		}
		if s.Bytes+grow-spare > maxBytes || (have == nil && s.Files == maxFiles) {
			if f.given {
				return out, fault.New(fault.Precondition, "verification %s is full: it holds %d of %d files and %d of %d bytes, and %s does not fit", id, s.Files, maxFiles, s.Bytes, maxBytes, f.Path)
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
		sh.files[f.Path] = &file
		s.learn(file.Path, f.text)
	}
	return out, nil
}

const (
	maxModules  = 20
	maxPackages = 100
)

// learn remembers what a Go file says about where packages are.
func (s *Session) learn(p, text string) {
	dir := dirOf(p)
	if path.Base(p) == "go.mod" {
		s.Modules = slices.DeleteFunc(slices.Clone(s.Modules), func(m Module) bool { return m.Dir == dir })
		if m := modulePath(text); m != "" && len(s.Modules) < maxModules {
			s.Modules = append(s.Modules, Module{dir, m})
		}
	}
	if extOf(p) == "go" && len(s.Packages) < maxPackages && !slices.Contains(s.Packages, dir) {
		s.Packages = append(s.Packages, dir)
	}
}

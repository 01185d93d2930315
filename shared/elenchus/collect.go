package elenchus

import (
	"context"
	"path"
	"slices"
	"strings"

	"parley.internal/shared/elenchus/source"
)

// Reader reads the working directory of an agent, where the server runs on the same machine and its operator allows it.
// Paths are relative and use / as separator.
type Reader interface {
	// Read returns the text of a file. Its error says why the file cannot be read.
	Read(ctx context.Context, workingDir, path string) (string, error)
	// Check returns nil if the files of a working directory can be read at all. Its error says why they cannot.
	Check(ctx context.Context, workingDir string) error
	// Tree returns the paths of the files in dir, empty for the working directory, and in the directories below it, for
	// which keep returns true, the nearest first, at most 200.
	Tree(ctx context.Context, workingDir, dir string, keep func(path string) bool) ([]string, error)
	// Files returns the paths of the files in dir itself, empty for the working directory, that end in ext, at most 50.
	Files(ctx context.Context, workingDir, dir, ext string) ([]string, error)
}

// maxRead is the number of bytes that one call reads from a disk.
const maxRead = 4 << 20

// collector reads the files that one call needs from a disk, within the bounds of a call.
type collector struct {
	from       Reader
	workingDir string
	layer      Layer
	left       int // files that the call may still take
	got        []incoming
	bytes      int
	known      *fileSet
}

// full reports whether the call takes no more files.
func (c *collector) full() bool { return c.left <= 0 || c.bytes >= maxRead }

// read reads a file, unless it is known, and reports whether there is one.
func (c *collector) read(ctx context.Context, p string) bool {
	if c.from == nil || c.full() || ctx.Err() != nil {
		return false
	}
	if c.known.files[p] != nil {
		return true
	}
	text, err := c.from.Read(ctx, c.workingDir, p)
	if err != nil || len(text) > maxFile || strings.Contains(text, "\x00") {
		return false
	}
	in := newIncoming(p, text, c.layer, false)
	c.got = append(c.got, in)
	c.known.files[p] = &in.File
	c.left--
	c.bytes += len(text)
	return true
}

// dir reads the files of a directory that end in ext.
func (c *collector) dir(ctx context.Context, dir, ext string) {
	if c.from == nil {
		return
	}
	list, err := c.from.Files(ctx, c.workingDir, dir, ext)
	if err != nil {
		return
	}
	for _, p := range list {
		if p, why := source.Clean(p); why == "" && source.IsText(p) && !strings.HasSuffix(p, "_test.go") {
			c.read(ctx, p)
		}
	}
}

// tree reads the files of a directory and of those below it, and returns those that the bounds of a call left out. ok is
// false if there is no such directory.
func (c *collector) tree(ctx context.Context, dir string) (left []string, ok bool) {
	if c.from == nil {
		return nil, false
	}
	list, err := c.from.Tree(ctx, c.workingDir, dir, source.OfTarget)
	for _, p := range list {
		if !c.read(ctx, p) && c.full() {
			left = append(left, p)
		}
	}
	return left, err == nil
}

// collect reads the files of references.
func (c *collector) collect(ctx context.Context, references []source.Reference, packages []string) {
	for _, w := range references {
		switch {
		case c.known.has(w, packages):
		case w.IsDir:
			c.dir(ctx, w.Dir, ".go")
		default:
			for _, p := range w.Paths {
				if c.read(ctx, p) {
					break
				}
			}
		}
	}
}

// ofTarget returns the files of a call that are the target, or in it.
func (s *Session) ofTarget(in []incoming) []incoming {
	t, ok := source.Target(s.WorkingDir, s.Target)
	return slices.DeleteFunc(slices.Clone(in), func(f incoming) bool {
		return !ok || (t != "" && f.Path != t && !strings.HasPrefix(f.Path, t+"/"))
	})
}

// dependencies returns the direct dependencies of the targets, which are among the new files in. It keeps Go imports in
// the session until a go.mod resolves them.
func (s *Session) dependencies(targets, in []incoming) []source.Reference {
	for _, f := range in {
		s.recordPackage(f.Path, f.text)
	}
	var out []source.Reference
	for _, f := range targets {
		out = append(out, source.Imports(f.Path, f.text, s.Modules)...)
		for _, p := range source.Unplaced(f.Path, f.text, s.Modules) {
			if len(s.Unplaced) < maxPackages && !slices.Contains(s.Unplaced, p) {
				s.Unplaced = append(s.Unplaced, p)
			}
		}
	}
	if len(s.Modules) > 0 {
		for _, p := range s.Unplaced {
			for _, m := range s.Modules {
				out = append(out, m.Package(p)...)
			}
		}
		s.Unplaced = []string{}
	}
	return source.Limit(out)
}

// collectTarget reads the target, a file or a directory, and returns references to the missing files. Without a disk
// those are the file, or all files of a path that may be a directory, unless some were given.
func (s *Session) collectTarget(ctx context.Context, c *collector, given bool) []source.Reference {
	t, ok := source.Target(s.WorkingDir, s.Target)
	if !ok || t != "" && c.read(ctx, t) {
		return nil
	}
	left, found := c.tree(ctx, t)
	switch {
	case found || given && !source.IsText(t):
	case source.IsText(t):
		left = []string{t}
	case !strings.ContainsAny(t, " \t"): // A name of several words is no directory.
		left = []string{source.Below(t)}
	}
	var out []source.Reference
	for _, p := range left {
		out = append(out, source.Reference{Paths: []string{p}, Local: true})
	}
	return out
}

// collectBase returns the base files of a new session: the given ones, and from the disk, if it can be read, the target
// and its direct dependencies. It also returns the references to those.
func (s *Session) collectBase(ctx context.Context, from Reader, given []incoming) (
	in []incoming, references []source.Reference,
) {
	set := &fileSet{files: map[string]*File{}}
	for i := range given {
		set.files[given[i].Path] = &given[i].File
	}
	c := &collector{from: from, workingDir: s.WorkingDir, layer: Base, left: maxPerCall - len(given), known: set}
	references = s.collectTarget(ctx, c, len(s.ofTarget(given)) > 0)
	in = slices.Concat(given, c.got)
	targets := s.ofTarget(in)
	if len(targets) == 0 {
		targets = in
	}
	for _, f := range targets {
		if source.Ext(f.Path) == "go" {
			for d := source.Dir(f.Path); !c.read(ctx, path.Join(d, "go.mod")) && d != ""; {
				d = source.Dir(d)
			}
		}
	}
	in = slices.Concat(given, c.got)
	references = append(references, s.dependencies(targets, in)...)
	c.collect(ctx, references, s.Packages)
	return slices.Concat(given, c.got), references
}

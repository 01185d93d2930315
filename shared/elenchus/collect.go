package elenchus

import (
	"context"
	"path"
	"slices"
	"strings"
)

// Reader reads the working directory of an agent, where the server stands on the
// same machine and its operator allows it. Paths are relative, with /.
type Reader interface {
	// Read is the text of a file. An error says why there is none to be had.
	Read(ctx context.Context, workingDir, path string) (string, error)
	// Files are the paths of the files in dir itself, empty for the working directory,
	// that end in ext, at most 50.
	Files(ctx context.Context, workingDir, dir, ext string) ([]string, error)
}

// maxRead is how many bytes one call reads from a disk.
const maxRead = 4 << 20

// errand reads files for one call, within its bounds.
type errand struct {
	from       Reader
	workingDir string
	layer      Layer
	room       int // files
	got        []incoming
	bytes      int
	shelf      *shelf
}

// read takes a file in and says whether it is there.
func (e *errand) read(ctx context.Context, p string) bool {
	if e.from == nil || e.room <= 0 || e.bytes >= maxRead || ctx.Err() != nil {
		return false
	}
	if e.shelf.files[p] != nil {
		return true
	}
	text, err := e.from.Read(ctx, e.workingDir, p)
	if err != nil || len(text) > maxFile || strings.Contains(text, "\x00") {
		return false
	}
	in := arriving(p, text, e.layer, false)
	e.got = append(e.got, in)
	e.shelf.files[p] = &in.File
	e.room--
	e.bytes += len(text)
	return true
}

// dir takes in the files of a directory that end in ext.
func (e *errand) dir(ctx context.Context, dir, ext string) {
	if e.from == nil {
		return
	}
	list, err := e.from.Files(ctx, e.workingDir, dir, ext)
	if err != nil {
		return
	}
	for _, p := range list {
		if p, why := cleanPath(p); why == "" && textFiles[extOf(p)] && !strings.HasSuffix(p, "_test.go") {
			e.read(ctx, p)
		}
	}
}

// grant reads what is wished for.
func (e *errand) grant(ctx context.Context, wishes []wish, packages []string) {
	for _, w := range wishes {
		switch {
		case e.shelf.has(w, packages):
		case w.isDir:
			e.dir(ctx, w.dir, ".go")
		default:
			for _, p := range w.paths {
				if e.read(ctx, p) {
					break
				}
			}
		}
	}
}

// targetPath is the target as a path of the working directory, empty where it is none.
func (s *Session) targetPath() string { return within(s.WorkingDir, strings.TrimRight(s.Target, "/")) }

// ofTarget are the files of a call that the target names or holds.
func (s *Session) ofTarget(in []incoming) []incoming {
	t := s.targetPath()
	return slices.DeleteFunc(slices.Clone(in), func(f incoming) bool {
		return t == "" || (f.Path != t && !strings.HasPrefix(f.Path, t+"/"))
	})
}

// depend are the direct dependencies of files that arrive. What a go.mod must place
// first is remembered until there is one.
func (s *Session) depend(targets, in []incoming) []wish {
	for _, f := range in {
		s.learn(f.Path, f.text)
	}
	var out []wish
	for _, f := range targets {
		out = append(out, imported(f.Path, f.text, s.Modules)...)
		if _, known := moduleOf(f.Path, s.Modules); known || extOf(f.Path) != "go" {
			continue
		}
		for _, p := range goPaths(f.Path, f.text) {
			if foreign(p) && len(s.Unplaced) < maxPackages && !slices.Contains(s.Unplaced, p) {
				s.Unplaced = append(s.Unplaced, p)
			}
		}
	}
	if len(s.Modules) > 0 {
		for _, p := range s.Unplaced {
			for _, m := range s.Modules {
				out = append(out, m.wish(p)...)
			}
		}
		s.Unplaced = []string{}
	}
	return capped(out)
}

// survey gathers a new session's base: the files given, and from the disk, where it
// can be read, the target and its direct dependencies. wishes are what those are.
func (s *Session) survey(ctx context.Context, from Reader, given []incoming) (in []incoming, wishes []wish) {
	sh := &shelf{files: map[string]*File{}}
	for i := range given {
		sh.files[given[i].Path] = &given[i].File
	}
	e := &errand{from: from, workingDir: s.WorkingDir, layer: Base, room: maxPerCall - len(given), shelf: sh}
	t := s.targetPath()
	if t != "" && !e.read(ctx, t) {
		e.dir(ctx, t, "")
		if textFiles[extOf(t)] {
			wishes = append(wishes, wish{paths: []string{t}, sure: true})
		}
	}
	in = slices.Concat(given, e.got)
	targets := s.ofTarget(in)
	if len(targets) == 0 {
		targets = in
	}
	for _, f := range targets {
		if extOf(f.Path) == "go" {
			for d := dirOf(f.Path); !e.read(ctx, path.Join(d, "go.mod")) && d != ""; {
				d = dirOf(d)
			}
		}
	}
	in = slices.Concat(given, e.got)
	wishes = append(wishes, s.depend(targets, in)...)
	e.grant(ctx, wishes, s.Packages)
	return slices.Concat(given, e.got), wishes
}

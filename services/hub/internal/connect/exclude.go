package connect

import (
	"path/filepath"
	"slices"
	"strings"
)

// leave takes the connection out of files of the same place in which it has no entry any more.
func (p *Plan) leave(files []file) error {
	for _, t := range p.old.Files {
		if slices.ContainsFunc(files, func(f file) bool { return f.path == t.Path }) || t.Path == p.excludeFile() {
			continue
		}
		if t.Root != "" && t.Root != p.place.Root {
			p.new.Files = append(p.new.Files, t) // another worktree's
			continue
		}
		if err := p.drop(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) excludeFile() string {
	if p.place.Common == "" || p.place.User() {
		return ""
	}
	return filepath.Join(p.place.Common, "info", "exclude")
}

// exclude keeps git from the files that hold a key or that were made for this machine.
func (p *Plan) exclude(files []file) error {
	path := p.excludeFile()
	if path == "" {
		return nil
	}
	var names []string
	for _, e := range p.Edits {
		i := slices.IndexFunc(files, func(f file) bool { return f.path == e.Path })
		rel, inside := p.inside(e.Path)
		if i >= 0 && inside && !e.drop && (e.Secret || e.record.Created && !files[i].shared) {
			names = append(names, "/"+filepath.ToSlash(rel))
		}
	}
	for _, t := range p.new.Files { // those of other worktrees
		if rel, err := filepath.Rel(t.Root, t.Path); err == nil && t.Root != "" && t.Root != p.place.Root {
			names = append(names, "/"+filepath.ToSlash(rel))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	t, known := p.old.of(path)
	switch {
	case len(names) > 0:
		f := file{path: path, blocks: []lines{{hash, p.id, strings.Join(names, "\n") + "\n"}}}
		if err := p.add(f); err != nil {
			return err
		}
	case known:
		if err := p.drop(t); err != nil {
			return err
		}
	default:
		return nil
	}
	last := len(p.Edits) - 1 // git has to ignore a file before it holds a key
	p.Edits = slices.Insert(p.Edits[:last], 0, p.Edits[last])
	return nil
}

// inside returns a path relative to the worktree.
func (p *Plan) inside(path string) (rel string, ok bool) {
	if p.place.User() {
		return "", false
	}
	rel, err := filepath.Rel(p.place.Root, path)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

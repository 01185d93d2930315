package connect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// trustedLinks refuses a file of the worktree behind a link that the repository brought and that leads out of it: who wrote the
// repository would choose which file of the person is changed. Links that the person made are followed, and so are those by
// which an earlier run went.
func (p *Plan) trustedLinks(ctx context.Context, path string) error {
	rel, inside := p.inside(path)
	if _, earlier := p.old.of(path); !inside || earlier || p.place.Common == "" {
		return nil
	}
	link := p.place.Root
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		link = filepath.Join(link, name)
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		to := behind(link)
		if p.within(to) {
			continue
		}
		short, _ := p.inside(link)
		out, err := git(ctx, p.place.Root, "ls-files", "--stage", "--", ":(top,literal,icase)"+filepath.ToSlash(short))
		if err != nil {
			return fmt.Errorf("git does not tell whether the repository brought the link %s: %w; nothing was changed", link, err)
		}
		const symlink = "120000 "
		if strings.HasPrefix(out, symlink) || strings.Contains(out, "\n"+symlink) {
			return fmt.Errorf("%s is behind the link %s, which the repository brought, and which leads out of it to %s; nothing was "+
				"changed; make it a file or directory of the repository (`git rm --cached %s`, if the link is to stay yours alone), or "+
				"connect with --user", path, link, to, filepath.ToSlash(short))
		}
	}
	return nil
}

// within reports whether a path is in the worktree, and not among git's own files.
func (p *Plan) within(path string) bool {
	if _, ok := p.inside(path); !ok {
		return false
	}
	rel, err := filepath.Rel(p.place.Common, path)
	return err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// behind returns the path to which the links of a path lead, as far as its directories exist.
func behind(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(behind(filepath.Dir(path)), to)
		}
		return filepath.Clean(to) // to nowhere
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(behind(dir), filepath.Base(path))
	}
	return path
}

// Links returns the files of the plan that are behind links, as `path -> real path`.
func (p *Plan) Links() (all []string) {
	for _, e := range p.Edits {
		if to := behind(e.Path); e.Change() != "" && to != e.Path {
			all = append(all, e.Path+" -> "+to)
		}
	}
	return all
}

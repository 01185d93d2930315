package connect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"parley.internal/services/hub/internal/connect/block"
	"parley.internal/services/hub/internal/connect/jsonedit"
)

// Plan are the changes of files when a client is connected, or when its connection is taken back.
type Plan struct {
	Edits []Edit
	// Left are the files in which a section of rules stays, because a person has changed it.
	Left []string

	home, id string
	place    Place
	old, new record
	others   map[string]record // those of other connections that change too, by id
}

// Edit is the change of one file.
type Edit struct {
	// Path is the file, and Real the one that it links to.
	Path, Real string
	// Secret is set for a file that will hold a key.
	Secret bool

	existed, drop bool
	mode, want    fs.FileMode
	before, after []byte
	record        touched
}

// Change names the change of the file: created, changed, closed to others or removed. It is empty for none.
func (e Edit) Change() string {
	switch {
	case e.drop && e.existed:
		return "removed"
	case e.drop:
		return ""
	case !e.existed && len(e.after) > 0:
		return "created"
	case !bytes.Equal(e.before, e.after):
		return "changed"
	case e.existed && e.mode != e.want:
		return "closed to others"
	}
	return ""
}

// Changes reports whether the plan changes a file.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.Edits, func(e Edit) bool { return e.Change() != "" })
}

// NewPlan returns the changes when a client is connected, in the files beside those of the configuration directory
// home. It changes nothing.
func NewPlan(ctx context.Context, home string, c Client, p Place, s Setup) (*Plan, error) {
	old, err := readRecord(home, s.ID)
	if err != nil {
		return nil, err
	}
	if c.oneWorktree {
		p.Root = p.Main
	}
	plan := &Plan{home: home, id: s.ID, place: p, old: old}
	if s.Trust == "" {
		s.Trust = old.body(s.ID + "-trust")
	}
	files, err := c.files(p, s)
	if err != nil {
		return nil, err
	}
	if s.Rules || old.has(rulesID) {
		path, err := rulesFile(c, p)
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: path, shared: true, blocks: []lines{{markdown, rulesID, Rules}}})
	}
	files = merged(files)
	for _, f := range files {
		if err := plan.trustedLinks(ctx, f.path); err != nil {
			return nil, err
		}
		if !f.secret {
			continue
		}
		exposed, err := Exposed(ctx, p, f.path)
		if err == nil && exposed {
			err = fmt.Errorf("git has %s or would commit it, and it would hold a key", f.path)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if err := plan.add(f); err != nil {
			return nil, err
		}
	}
	if err := plan.leave(files); err != nil {
		return nil, err
	}
	return plan, plan.exclude(files)
}

// Loose returns the JSON files that the plan leaves with comments or with commas at the end of lists.
func (p *Plan) Loose() (paths []string) {
	for _, e := range p.Edits {
		if text := e.after; !e.drop && isJSON(e.Path) && !jsonedit.Blank(text) && !jsonedit.Strict(text) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// merged joins the files of one path.
func merged(files []file) (out []file) {
	for _, f := range files {
		i := slices.IndexFunc(out, func(o file) bool { return o.path == f.path })
		if i < 0 {
			out = append(out, f)
			continue
		}
		out[i].blocks = append(out[i].blocks, f.blocks...)
		out[i].secret = out[i].secret || f.secret
	}
	return out
}

// rulesFile returns the file that gets the rules.
func rulesFile(c Client, p Place) (string, error) {
	if !p.User() {
		return filepath.Join(p.Root, c.Rules), nil
	}
	switch c.Name {
	case "claude":
		if dir := p.Env("CLAUDE_CONFIG_DIR"); dir != "" {
			return filepath.Join(dir, c.Rules), nil
		}
		return filepath.Join(p.Home, ".claude", c.Rules), nil
	case "codex":
		return filepath.Join(CodexHome(p), c.Rules), nil
	case "gemini":
		return filepath.Join(p.Home, ".gemini", c.Rules), nil
	}
	return "", fmt.Errorf("%s has no file of rules for every directory that Parley knows; run this in a project, without --user",
		c.Title)
}

// add plans the change of a file.
func (p *Plan) add(f file) error {
	if f.later {
		t, _ := p.old.of(f.path)
		p.new.Files = append(p.new.Files, t)
		return nil
	}
	e, t, err := p.look(f.path)
	if err != nil {
		return err
	}
	if f.whole != nil {
		return p.replace(e, t, f)
	}
	e.Secret = f.secret
	if _, inside := p.inside(f.path); inside {
		t.Root = p.place.Root
	}
	if !f.current(e.before, p.id, t) {
		base, err := strip(e.before, p.id, f.merge(t))
		if errors.Is(err, block.ErrChanged) && f.merge(t).prose() {
			p.Left = append(p.Left, f.path)
			p.new.Files = append(p.new.Files, f.merge(t))
			return nil
		}
		if err == nil {
			made := still(base, t) // around entries of other connections
			e.after, err = f.apply(base, &t)
			t.Made = union(made, t.Made)
		}
		if err != nil {
			return fmt.Errorf("%s: %w; nothing was changed", f.path, err)
		}
		if !e.existed {
			t.Created, t.Folders = true, missing(filepath.Dir(e.Real))
		}
		t.Sum = sum(e.after)
	} else if !isJSON(f.path) {
		t = f.merge(t)
	}
	if e.want = e.mode; f.secret {
		if e.want = e.mode &^ 0o077; e.want != e.mode && t.Mode == 0 && e.existed {
			t.Mode = e.mode
		}
	}
	return p.plan(e, t)
}

// replace plans a file that is the connection's alone, and that no other user reads.
func (p *Plan) replace(e Edit, t touched, f file) error {
	folders := f.folders
	if !e.existed {
		folders = slices.Concat(folders, missing(filepath.Dir(e.Real)))
	}
	for _, dir := range folders {
		if !slices.Contains(t.Folders, dir) {
			t.Folders = append(slices.Clone(t.Folders), dir)
		}
	}
	t.Whole, t.Created, t.Sum = true, true, sum(f.whole)
	e.after, e.want = f.whole, 0o600
	return p.plan(e, t)
}

// merge returns a record that also names the lines that the file is to have, which are there when a record was lost.
func (f file) merge(t touched) touched {
	t.Path = f.path
	for _, b := range f.blocks {
		if ref := (blockRef{b.style, b.id}); !slices.Contains(t.Blocks, ref) {
			t.Blocks = append(slices.Clone(t.Blocks), ref)
		}
	}
	return t
}

// drop plans that a file has nothing of the connection any more.
func (p *Plan) drop(t touched) error {
	e, _, err := p.look(t.Path)
	if err != nil {
		return err
	}
	if e.existed {
		if rulesElsewhere(p.home, p.id, t.Path) {
			t.Blocks = slices.DeleteFunc(slices.Clone(t.Blocks), func(b blockRef) bool { return b.ID == rulesID })
		}
		e.after, err = p.withdraw(e.before, t)
		if errors.Is(err, block.ErrChanged) && t.prose() {
			p.Left = append(p.Left, t.Path)
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.Path, err)
		}
		e.drop = t.Created && empty(t.Path, e.after)
	}
	if e.want = e.mode; t.Mode != 0 {
		e.want = t.Mode
	}
	e.record = t
	p.Edits = append(p.Edits, e)
	return p.writable(e)
}

func (p *Plan) plan(e Edit, t touched) error {
	e.record = t
	p.Edits = append(p.Edits, e)
	p.new.Files = append(p.new.Files, t)
	return p.writable(e)
}

// look reads a file and the record about it.
func (p *Plan) look(path string) (e Edit, t touched, err error) {
	t, _ = p.old.of(path)
	e = Edit{Path: path, Real: path, mode: 0o644}
	if rel, ok := p.inside(path); !ok || rel == "" {
		e.mode = 0o600
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return e, t, nil
	}
	if e.Real, err = filepath.EvalSymlinks(path); err != nil {
		return e, t, fmt.Errorf("%s leads nowhere: %w; nothing was changed", path, err)
	}
	info, err := os.Stat(e.Real)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err == nil {
		e.existed, e.mode = true, info.Mode().Perm()
		e.before, err = os.ReadFile(e.Real)
	}
	e.after = e.before
	if err != nil {
		return e, t, fmt.Errorf("%s cannot be read: %w; nothing was changed", path, err)
	}
	return e, t, nil
}

// writable refuses a file that its owner made read-only. The file is replaced, so its directory decides otherwise.
func (p *Plan) writable(e Edit) error {
	if e.Change() != "" && e.existed && e.mode&0o200 == 0 {
		return fmt.Errorf("%s is read-only; make it writable (chmod u+w), and run this again; nothing was changed", e.Path)
	}
	return nil
}

// missing returns the directories that have to be made for one, the outermost first.
func missing(dir string) (out []string) {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			slices.Reverse(out)
			return out
		}
		out = append(out, dir)
		dir = filepath.Dir(dir)
	}
}

// bearer is a key in a header, also one of another server.
var bearer = regexp.MustCompile(`Bearer [^"'\s$]+`)

// Diff returns the changes as a unified diff, in which the secrets and all bearer keys are left out.
func (p *Plan) Diff(secrets ...string) string {
	var b strings.Builder
	for _, e := range p.Edits {
		if e.Change() == "" {
			continue
		}
		d := difflib.UnifiedDiff{A: splitLines(e.before), B: splitLines(e.after),
			FromFile: e.Path, ToFile: e.Path, Context: 3}
		if !e.existed {
			d.A, d.FromFile = nil, "/dev/null"
		}
		if e.drop {
			d.B, d.ToFile = nil, "/dev/null"
		}
		text, err := difflib.GetUnifiedDiffString(d)
		if err != nil {
			continue // a builder takes every text
		}
		b.WriteString(text)
		if text == "" {
			fmt.Fprintf(&b, "%s: the mode becomes %v\n", e.Path, e.want)
		}
	}
	out := bearer.ReplaceAllString(b.String(), "Bearer …")
	for _, s := range secrets {
		if s != "" {
			out = strings.ReplaceAll(out, s, "…")
		}
	}
	return out
}

// splitLines returns the lines of a text, each with a line end.
func splitLines(text []byte) (out []string) {
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.TrimSuffix(line, "\n")+"\n")
	}
	return out
}

// has reports whether lines of an id were added to a file.
func (r record) has(id string) bool {
	return slices.ContainsFunc(r.Files, func(t touched) bool {
		return slices.ContainsFunc(t.Blocks, func(b blockRef) bool { return b.ID == id })
	})
}

// body returns the lines of an id as they are, empty for none.
func (r record) body(id string) string {
	for _, t := range r.Files {
		for _, b := range t.Blocks {
			if text, err := os.ReadFile(t.Path); b.ID == id && err == nil {
				body, _, _ := b.Style.style().Find(text, id)
				return body
			}
		}
	}
	return ""
}

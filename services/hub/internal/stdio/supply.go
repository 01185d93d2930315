package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/shared/elenchus/workspace"
)

// The tools whose answers may want files, and those that the bridge calls by itself.
const (
	toolStart   = "elenchus_start_session"
	toolRound   = "elenchus_submit_round"
	toolAdd     = "elenchus_add_files"
	toolContext = "elenchus_get_context"
)

// The limits of what is given after one answer.
const (
	// maxPasses is how often what the given files want in their turn is looked at.
	maxPasses = 3
	maxGiven  = 200     // files
	maxBytes  = 8 << 20 // of text
	// maxWanted is how many paths an answer may still want.
	maxWanted = 50
	// maxPath is how many characters of a path a server takes.
	maxPath = 300
	// supplying is how long the answer is held at most.
	supplying = 30 * time.Second
	// maxDirs is how many working directories are remembered.
	maxDirs = 1000
)

// file is a file as the server takes it.
type file struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// supply gives files to one verification after one answer.
type supply struct {
	*run
	req  *request
	ctx  context.Context
	id   string // the verification's
	root *workspace.Root
	room int // how many bytes the files of one call may have

	seen    map[string]bool // what was wanted so far
	taken   map[string]bool // paths that were read
	given   []string        // the same, in their order
	lacking []lack
	bytes   int
	full    bool

	// What the server said of it.
	added        int
	intervention json.RawMessage
}

// lack is a wanted path that could not be given.
type lack struct {
	path string
	// absent says that there is no such file, rather than that it was refused.
	absent bool
}

// supplied is the answer to pass on. Where it wants files that stand under the
// workspace those are given to the server first, and the answer says what that
// changed. Where nothing is given, or it fails, the answer stays as it was.
func (r *run) supplied(req *request, line []byte) []byte {
	tool := req.name()
	if r.Workspace == nil || req.method != string(mcp.MethodToolsCall) || (tool != toolStart && tool != toolRound) {
		return line
	}
	a, ok := readAnswer(line)
	if !ok {
		return line
	}
	if tool == toolStart {
		r.remember(a.session, req.workingDir())
	}
	if len(a.wanted) == 0 {
		return line
	}
	ctx, cancel := context.WithTimeout(req.ctx, supplying)
	defer cancel()
	s := &supply{run: r, req: req, ctx: ctx, id: a.session, seen: map[string]bool{}, taken: map[string]bool{}}
	err := s.give(a.wanted)
	if err == nil && len(s.given) > 0 {
		var changed []byte
		if changed, err = a.with(s, tool); err == nil {
			return changed
		}
	}
	if err != nil && req.ctx.Err() == nil {
		r.complain("%s: verification %q was not given the files that it wants: %v", req.what(), a.session, err)
	}
	return line
}

// workingDir is the working directory that a start names, empty for none.
func (q *request) workingDir() string {
	var p struct {
		Arguments struct {
			WorkingDir string `json:"workingDir"`
		} `json:"arguments"`
	}
	if json.Unmarshal(q.params, &p) != nil {
		return ""
	}
	return p.Arguments.WorkingDir
}

func (r *run) remember(session, dir string) {
	if dir == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.dirs) >= maxDirs {
		clear(r.dirs) // they can be asked for again
	}
	r.dirs[session] = dir
}

// give reads what is wanted, and what that wants in its turn, and sends it.
func (s *supply) give(wanted []string) error {
	dir, err := s.where()
	if err != nil {
		return err
	}
	if s.root, err = s.Workspace.Sub(dir); err != nil {
		return err
	}
	defer s.root.Close()
	s.room = maxMessage - len(s.compose(toolAdd, map[string]any{"sessionId": s.id, "files": []file{}}).text)
	for range maxPasses {
		var next []string
		for _, files := range s.batches(s.gather(wanted)) {
			more, err := s.add(files)
			if err != nil {
				return err
			}
			next = append(next, more...)
		}
		if wanted = next; len(wanted) == 0 {
			return nil
		}
	}
	for _, w := range wanted {
		if !s.seen[w] {
			s.lack(w, false)
		}
	}
	return nil
}

// where is the verification's working directory. One that was not started through
// this bridge is asked for once; a server that does not say means the root.
func (s *supply) where() (string, error) {
	s.mu.Lock()
	dir := s.dirs[s.id]
	s.mu.Unlock()
	if dir != "" {
		return dir, nil
	}
	said, err := s.call(toolContext, map[string]any{"sessionId": s.id})
	if err != nil {
		return "", err
	}
	var out struct {
		WorkingDir string `json:"workingDir"`
	}
	if err := json.Unmarshal(said, &out); err != nil {
		return "", fmt.Errorf("%s answered what cannot be read: %w", toolContext, err)
	}
	if out.WorkingDir == "" {
		out.WorkingDir = s.Workspace.Dir()
	}
	s.remember(s.id, out.WorkingDir)
	return out.WorkingDir, nil
}

// gather reads what is wanted and was not before.
func (s *supply) gather(wanted []string) []file {
	var out []file
	for _, w := range wanted {
		if s.seen[w] {
			continue
		}
		s.seen[w] = true
		dir, base := path.Split(w)
		if base != "*.go" {
			if f, err := s.read(w); err == nil {
				out = append(out, f...)
			} else {
				s.refuse(w, err)
			}
			continue
		}
		names, err := s.root.Files(strings.TrimSuffix(dir, "/"), ".go")
		if err != nil {
			s.refuse(w, err)
			continue
		}
		files, some := s.readAll(names)
		out = append(out, files...)
		if !some {
			s.lack(w, true)
		}
	}
	return out
}

// readAll reads the files of a Go package, without its tests, and says whether it has
// any of them.
func (s *supply) readAll(names []string) (out []file, some bool) {
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := s.read(name)
		if err != nil {
			s.say(err)
			continue
		}
		some, out = true, append(out, f...)
	}
	return out, some
}

var errFull = fmt.Errorf("no more than %d files and %d MiB are given after one answer; the rest is left out", maxGiven, maxBytes>>20)

// read is a file as a list, empty where it was read before.
func (s *supply) read(name string) ([]file, error) {
	if s.taken[name] {
		return nil, nil
	}
	if odd(name) {
		return nil, fmt.Errorf("file %q is refused: the server does not take such a name", name)
	}
	if len(s.given) >= maxGiven || s.bytes >= maxBytes {
		return nil, errFull
	}
	text, err := s.root.Read(name)
	if err != nil {
		return nil, err
	}
	f := file{name, text}
	if len(encoded(f)) > s.room {
		return nil, fmt.Errorf("file %q is refused: it does not fit into a message of 1 MiB", name)
	}
	s.taken[name], s.given = true, append(s.given, name)
	s.bytes += len(text)
	return []file{f}, nil
}

// odd says whether a server would refuse the path, and all that comes with it.
func odd(name string) bool {
	return utf8.RuneCountInString(name) > maxPath || strings.ContainsFunc(name, unicode.IsControl) || strings.HasPrefix(name, "~") ||
		(len(name) > 1 && name[1] == ':')
}

// refuse notes what could not be given. That a file is not there is no news: what is
// wanted holds alternatives.
func (s *supply) refuse(wanted string, err error) {
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	s.lack(wanted, absent)
	if !absent {
		s.say(err)
	}
}

// say tells why a file is not given; that there are too many, once.
func (s *supply) say(err error) {
	if errors.Is(err, errFull) && s.full {
		return
	}
	s.full = s.full || errors.Is(err, errFull)
	s.complain("%s: %v", s.req.what(), err)
}

func (s *supply) lack(path string, absent bool) {
	if !slices.ContainsFunc(s.lacking, func(l lack) bool { return l.path == path }) && !s.taken[path] {
		s.lacking = append(s.lacking, lack{path, absent})
	}
}

// wanting are the paths that the verification still lacks. Alternatives that are
// absent are not among them where another one was given.
func (s *supply) wanting() []string {
	stems := map[string]bool{}
	for _, p := range s.given {
		stems[stem(p)] = true
	}
	out := []string{}
	for _, l := range s.lacking {
		if (!l.absent || !stems[stem(l.path)]) && len(out) < maxWanted {
			out = append(out, l.path)
		}
	}
	return out
}

// stem is what the paths share at which one imported module may stand.
func stem(p string) string {
	p = strings.TrimSuffix(p, path.Ext(p))
	if base := path.Base(p); base == "index" || base == "__init__" {
		return path.Dir(p)
	}
	return p
}

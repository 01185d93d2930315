package supply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley.internal/services/hub/internal/stdio"
	"parley.internal/shared/elenchus/workspace"
)

// The tools whose results may want files, and the tools that the supplier calls.
const (
	toolStart   = "elenchus_start_session"
	toolRound   = "elenchus_submit_round"
	toolAdd     = "elenchus_add_files"
	toolContext = "elenchus_get_context"
)

// The limits of the files sent for one result.
const (
	// maxPasses is the number of times that the server may ask for further files.
	maxPasses = 3
	maxFiles  = 200
	maxBytes  = 8 << 20 // of text
	// maxTime is the time that a result is held.
	maxTime = 30 * time.Second
	// maxDirs is the number of working directories that a supplier remembers.
	maxDirs = 1000
)

// The limits of the server.
const (
	// maxWanted is the maximum number of wanted paths in a result.
	maxWanted = 50
	// maxPath is the maximum length of a path, in characters.
	maxPath = 300
	// maxMessage is the maximum size of a request, in bytes.
	maxMessage = 1 << 20
	// maxPerCall is the maximum number of files in one call.
	maxPerCall = 50
)

// Supplier is a [stdio.Hook] that sends wanted files. Root must be set. A Supplier is safe for concurrent use.
type Supplier struct {
	// Root is the directory whose files may be read and sent.
	Root *workspace.Root

	mu   sync.Mutex
	dirs map[string]string // the working directories by the ID of the verification
}

var _ stdio.Hook = (*Supplier)(nil)

// Wants reports whether the tool's results may want files.
func (s *Supplier) Wants(tool string) bool { return tool == toolStart || tool == toolRound }

// Result sends the files that the result of a tool wants, and returns the result with those files included. It returns
// nil if no file was sent.
func (s *Supplier) Result(ctx context.Context, call *stdio.Call, content json.RawMessage) (json.RawMessage, error) {
	r, ok := readResult(content)
	if !ok {
		return nil, nil
	}
	if call.Tool() == toolStart {
		s.remember(r.session, workingDir(call.Arguments()))
	}
	if len(r.wanted) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	v := &supply{call: call, ctx: ctx, session: r.session, seen: map[string]bool{}, read: map[string]bool{}}
	err := s.supply(v, r.wanted)
	if err == nil && len(v.sent) > 0 {
		var changed json.RawMessage
		if changed, err = r.with(v, call.Tool()); err == nil {
			return changed, nil
		}
	}
	if err != nil {
		err = fmt.Errorf("cannot send the files that verification %q wants: %w", r.session, err)
	}
	return nil, err
}

// workingDir returns the working directory in the arguments of a start, empty for none.
func workingDir(arguments json.RawMessage) string {
	var a struct {
		WorkingDir string `json:"workingDir"`
	}
	if json.Unmarshal(arguments, &a) != nil {
		return ""
	}
	return a.WorkingDir
}

func (s *Supplier) remember(session, dir string) {
	if dir == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirs == nil {
		s.dirs = map[string]string{}
	}
	if len(s.dirs) >= maxDirs {
		clear(s.dirs) // the server returns them on request
	}
	s.dirs[session] = dir
}

// workingDir returns the verification's working directory. For a verification that was not started through this bridge
// it asks the server once; if the server has none, it is the root.
func (s *Supplier) workingDir(v *supply) (string, error) {
	s.mu.Lock()
	dir := s.dirs[v.session]
	s.mu.Unlock()
	if dir != "" {
		return dir, nil
	}
	content, err := v.call.Follow(v.ctx, toolContext, map[string]any{"sessionId": v.session})
	if err != nil {
		return "", err
	}
	var out struct {
		WorkingDir string `json:"workingDir"`
	}
	if err := json.Unmarshal(content, &out); err != nil {
		return "", fmt.Errorf("the answer of %s cannot be read: %w", toolContext, err)
	}
	if out.WorkingDir == "" {
		out.WorkingDir = s.Root.Dir()
	}
	s.remember(v.session, out.WorkingDir)
	return out.WorkingDir, nil
}

// supply reads and sends the wanted files, and then the files that those want.
func (s *Supplier) supply(v *supply, wanted []string) error {
	dir, err := s.workingDir(v)
	if err != nil {
		return err
	}
	if v.root, err = s.Root.Sub(dir); err != nil {
		return err
	}
	defer v.root.Close()
	v.space = maxMessage - v.call.Size(toolAdd, map[string]any{"sessionId": v.session, "files": []file{}})
	for range maxPasses {
		var next []string
		for _, files := range v.batches(v.gather(wanted)) {
			more, err := v.add(files)
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
		if !v.seen[w] {
			v.lack(w, false)
		}
	}
	return nil
}

// batches splits files into batches of the size of one call.
func (v *supply) batches(files []file) [][]file {
	var out [][]file
	left := 0
	for _, f := range files {
		size := len(stdio.Encode(f)) + 1
		if last := len(out) - 1; last >= 0 && size <= left && len(out[last]) < maxPerCall {
			out[last] = append(out[last], f)
		} else {
			out, left = append(out, []file{f}), v.space
		}
		left -= size
	}
	return out
}

// add sends files and returns the paths that they want.
func (v *supply) add(files []file) (wanted []string, err error) {
	content, err := v.call.Follow(v.ctx, toolAdd, map[string]any{"sessionId": v.session, "files": files})
	if err != nil {
		return nil, err
	}
	var out struct {
		Added        int             `json:"added"`
		FilesWanted  []string        `json:"filesWanted"`
		Intervention json.RawMessage `json:"intervention"`
	}
	if err := json.Unmarshal(content, &out); err != nil {
		return nil, fmt.Errorf("the answer of %s cannot be read: %w", toolAdd, err)
	}
	v.added += out.Added
	if len(out.Intervention) > 0 {
		v.intervention = out.Intervention
	}
	return out.FilesWanted, nil
}

// lack records a wanted path that was not sent, once.
func (v *supply) lack(path string, absent bool) {
	if !slices.ContainsFunc(v.missing, func(m missing) bool { return m.path == path }) && !v.read[path] {
		v.missing = append(v.missing, missing{path, absent})
	}
}

package supply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"parley.internal/services/hub/internal/stdio"
	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/elenchus/workspace"
)

// The tools whose results may want files, and the tools that the supplier calls.
const (
	toolStart = "elenchus_start_session"
	toolRound = "elenchus_submit_round"
	toolAdd   = "elenchus_add_files"
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
	dirs *lru.Cache[string, string] // the working directories by the ID of the verification
}

var _ stdio.Hook = (*Supplier)(nil)

// Wants reports whether the tool's results may want files.
func (s *Supplier) Wants(tool string) bool { return tool == toolStart || tool == toolRound }

// Result sends the files that the result of a tool wants, and returns the result with those files included. It returns
// nil if no file was sent. If the agent's working directory cannot be read, the result of a start says so.
func (s *Supplier) Result(ctx context.Context, call *stdio.Call, content json.RawMessage) (json.RawMessage, error) {
	r, ok := readResult(content)
	if !ok {
		return nil, nil
	}
	dir, target, err := s.workingDir(call, r.session)
	if len(r.wanted) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	v := &supply{call: call, ctx: ctx, session: r.session, dir: dir, target: target, seen: map[string]bool{}, read: map[string]bool{}}
	if err == nil {
		v.root, err = s.Root.Sub(v.dir)
	}
	if err != nil && target != "" {
		call.Report("no files are sent for verification %q: %v", r.session, err)
		return r.noted(fmt.Sprintf("the bridge sends no files for this verification: %v. Give them with %s", err, toolAdd)), nil
	}
	if err == nil {
		defer v.root.Close()
		err = s.supply(v, r.wanted)
	}
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

// workingDir returns the directory whose files may be given for the result of a call: the one that the agent named in
// the call, or for a round that names none in an earlier call through this bridge about the same verification. The server
// cannot choose among the directories of several verifications: the ID of a round is that of the call, and an ID that
// the server returns for a second start keeps the directory of the first.
// target is the wanted path of all files of the target that the agent named in a start, empty for a round.
func (s *Supplier) workingDir(call *stdio.Call, session string) (dir, target string, err error) {
	var a struct {
		SessionID  string `json:"sessionId"`
		WorkingDir string `json:"workingDir"`
		Target     string `json:"target"`
	}
	_ = json.Unmarshal(call.Arguments(), &a) // the server has accepted them
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirs == nil {
		s.dirs, _ = lru.New[string, string](maxDirs) // fails only for a size that is not positive
	}
	if call.Tool() == toolStart {
		if a.WorkingDir == "" {
			return "", "", errors.New("the call names no working directory")
		}
		if was, ok := s.dirs.Get(session); ok && was != a.WorkingDir {
			return "", "", errors.New("the server returned the ID of another verification")
		}
		s.dirs.Add(session, a.WorkingDir)
		if t, ok := source.Target(a.WorkingDir, a.Target); ok {
			target = source.Below(t)
		}
		return a.WorkingDir, target, nil
	}
	if a.SessionID != session {
		return "", "", fmt.Errorf("the call is about verification %q", a.SessionID)
	}
	if a.WorkingDir != "" {
		s.dirs.Add(session, a.WorkingDir)
	}
	dir, ok := s.dirs.Get(session)
	if !ok {
		return "", "", fmt.Errorf("no call through this bridge named its working directory; name it in workingDir, or "+
			"send them with %s", toolAdd)
	}
	return dir, "", nil
}

// supply reads and sends the wanted files, and then the files that those want.
func (s *Supplier) supply(v *supply, wanted []string) error {
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
	for _, f := range files {
		v.call.Report("gave %q, %d bytes, to %s", filepath.Join(v.dir, filepath.FromSlash(f.Path)), len(f.Content),
			v.call.Server())
	}
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

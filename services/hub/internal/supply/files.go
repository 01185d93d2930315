package supply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"parley.internal/services/hub/internal/stdio"
	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/elenchus/workspace"
)

// file is a file in the form of elenchus_add_files.
type file struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// supply is the state of the files sent for one result.
type supply struct {
	call    *stdio.Call
	ctx     context.Context
	session string
	dir     string          // the verification's working directory
	root    *workspace.Root // the same
	target  string          // the wanted path of all files of the target that the call names, empty for a round
	space   int             // for the files of one call, in bytes

	seen    map[string]bool // wanted paths that were handled
	read    map[string]bool // paths of files that were read
	sent    []string        // the same paths in order
	missing []missing
	bytes   int
	full    bool // errFull was reported

	// From the server's answers to the files.
	added        int
	intervention json.RawMessage
}

// missing is a wanted path that was not sent.
type missing struct {
	path   string
	absent bool // no such file exists; false if it was refused
}

// gather reads the files of the wanted paths that were not handled before.
func (v *supply) gather(wanted []string) []file {
	var out []file
	for _, w := range wanted {
		if v.seen[w] {
			continue
		}
		v.seen[w] = true
		dir, base := path.Split(w)
		if base == "**" {
			out = append(out, v.readTarget(w, strings.TrimSuffix(dir, "/"))...)
			continue
		}
		if base != "*.go" {
			if f, err := v.readFile(w); err == nil {
				out = append(out, f...)
			} else {
				v.refuse(w, err)
			}
			continue
		}
		names, err := v.root.Files(strings.TrimSuffix(dir, "/"), ".go")
		if err != nil {
			v.refuse(w, err)
			continue
		}
		files, some := v.readPackage(names)
		out = append(out, files...)
		if !some {
			v.lack(w, true)
		}
	}
	return out
}

// readTarget reads the files of a target and of the directories below it, or the target itself if it is a file. It reads
// no other directory than the target that the client's agent named in its call.
func (v *supply) readTarget(wanted, dir string) (out []file) {
	if wanted != v.target {
		v.refuse(wanted, fmt.Errorf("directory %q is refused: it is not the target that the call names", wanted))
		return nil
	}
	if dir != "" {
		if f, err := v.readFile(dir); err == nil {
			return f
		}
	}
	names, err := v.root.Tree(dir, source.OfTarget)
	if err != nil {
		v.refuse(wanted, err)
		return nil
	}
	for _, name := range names {
		f, err := v.readFile(name)
		if err != nil {
			v.report(err)
			continue
		}
		out = append(out, f...)
	}
	if len(out) == 0 {
		v.lack(wanted, true)
	}
	return out
}

// readPackage reads the files of a Go package without its tests. some reports whether any of them was read, now or
// before.
func (v *supply) readPackage(names []string) (out []file, some bool) {
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := v.readFile(name)
		if err != nil {
			v.report(err)
			continue
		}
		some, out = true, append(out, f...)
	}
	return out, some
}

var errFull = fmt.Errorf("at most %d files and %d MiB are sent for one answer; the rest is left out",
	maxFiles, maxBytes>>20)

// readFile returns the file in a list, or an empty list for a file that was read before.
func (v *supply) readFile(name string) ([]file, error) {
	if v.read[name] {
		return nil, nil
	}
	if invalid(name) {
		return nil, fmt.Errorf("file %q is refused: the server does not accept its name", name)
	}
	if len(v.sent) >= maxFiles || v.bytes >= maxBytes {
		return nil, errFull
	}
	text, err := v.root.Read(name)
	if err != nil {
		return nil, err
	}
	f := file{name, text}
	if len(stdio.Encode(f)) > v.space {
		return nil, fmt.Errorf("file %q is refused: it does not fit into a message of 1 MiB", name)
	}
	v.read[name], v.sent = true, append(v.sent, name)
	v.bytes += len(text)
	return []file{f}, nil
}

// invalid reports whether the server would refuse the path, and with it the whole call.
func invalid(name string) bool {
	return utf8.RuneCountInString(name) > maxPath || strings.ContainsFunc(name, unicode.IsControl) ||
		strings.HasPrefix(name, "~") || (len(name) > 1 && name[1] == ':')
}

// refuse records a wanted path that cannot be sent. A missing file is not reported, because the wanted paths of an
// import are alternatives.
func (v *supply) refuse(wanted string, err error) {
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	v.lack(wanted, absent)
	if !absent {
		v.report(err)
	}
}

// report reports why a file is not sent. errFull is reported once.
func (v *supply) report(err error) {
	if errors.Is(err, errFull) && v.full {
		return
	}
	v.full = v.full || errors.Is(err, errFull)
	v.call.Report("%v", err)
}

// stillWanted returns the wanted paths that were not sent. It omits missing alternatives to a file that was sent.
func (v *supply) stillWanted() []string {
	modules := map[string]bool{}
	for _, p := range v.sent {
		modules[module(p)] = true
	}
	out := []string{}
	for _, m := range v.missing {
		if (!m.absent || !modules[module(m.path)]) && len(out) < maxWanted {
			out = append(out, m.path)
		}
	}
	return out
}

// module returns the part of a path that all alternatives for one imported module share.
func module(p string) string {
	p = strings.TrimSuffix(p, path.Ext(p))
	if base := path.Base(p); base == "index" || base == "__init__" {
		return path.Dir(p)
	}
	return p
}

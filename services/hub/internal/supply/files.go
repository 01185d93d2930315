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
	"parley.internal/shared/elenchus/workspace"
)

// file is a file as the server takes it.
type file struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// supply is the state of supplying one verification because of one result.
type supply struct {
	call    *stdio.Call
	ctx     context.Context
	session string
	root    *workspace.Root // the verification's working directory
	space   int             // bytes for the files of one call

	seen    map[string]bool // wanted paths that were looked at
	read    map[string]bool // paths of files that were read
	sent    []string        // the same, in their order
	missing []missing
	bytes   int
	full    bool // errFull was reported

	// The server's answers to the files.
	added        int
	intervention json.RawMessage
}

// missing is a wanted path that was not sent.
type missing struct {
	path   string
	absent bool // there is no such file; false where it was refused
}

// gather reads the wanted files that were not wanted before.
func (v *supply) gather(wanted []string) []file {
	var out []file
	for _, w := range wanted {
		if v.seen[w] {
			continue
		}
		v.seen[w] = true
		dir, base := path.Split(w)
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

// readPackage reads the files of a Go package, without its tests; some reports whether any of them could be read, now
// or before.
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

var errFull = fmt.Errorf("no more than %d files and %d MiB are sent after one answer; the rest is left out",
	maxFiles, maxBytes>>20)

// readFile returns a file as a list, which is empty for one that was read before.
func (v *supply) readFile(name string) ([]file, error) {
	if v.read[name] {
		return nil, nil
	}
	if invalid(name) {
		return nil, fmt.Errorf("file %q is refused: the server does not take such a name", name)
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

// invalid reports whether the server would refuse the path, and every file that comes with it.
func invalid(name string) bool {
	return utf8.RuneCountInString(name) > maxPath || strings.ContainsFunc(name, unicode.IsControl) ||
		strings.HasPrefix(name, "~") || (len(name) > 1 && name[1] == ':')
}

// refuse notes a wanted path that cannot be sent. A file that does not exist is not reported: the wanted paths of an
// import are alternatives.
func (v *supply) refuse(wanted string, err error) {
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	v.lack(wanted, absent)
	if !absent {
		v.report(err)
	}
}

// report tells why a file is not sent; errFull once.
func (v *supply) report(err error) {
	if errors.Is(err, errFull) && v.full {
		return
	}
	v.full = v.full || errors.Is(err, errFull)
	v.call.Report(err)
}

// stillWanted returns the paths that the verification lacks, without absent alternatives to a file that was sent.
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

// module returns the part of a path that all alternatives for the file of one imported module share.
func module(p string) string {
	p = strings.TrimSuffix(p, path.Ext(p))
	if base := path.Base(p); base == "index" || base == "__init__" {
		return path.Dir(p)
	}
	return p
}

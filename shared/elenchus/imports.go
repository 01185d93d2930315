package elenchus

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// wish is a file that the context would like to have: one of its paths, the likeliest
// first, or the Go files of a directory.
type wish struct {
	paths []string
	dir   string
	isDir bool
	// sure says that the path is inside the working directory if it is anywhere. What is
	// not sure is only looked for on a disk.
	sure bool
}

// maxCandidates is how many paths the wishes of one call may have in all.
const maxCandidates = 120

// capped is the first wishes, as many as a call looks up, each once.
func capped(wishes []wish) []wish {
	seen := map[string]bool{}
	var out []wish
	n := 0
	for _, w := range wishes {
		key := w.dir + "\x00" + strings.Join(w.paths, "\x00")
		if seen[key] || (len(w.paths) == 0 && !w.isDir) {
			continue
		}
		if n += max(1, len(w.paths)); n > maxCandidates {
			break
		}
		seen[key] = true
		out = append(out, w)
	}
	return out
}

// imported are the files that a file imports directly and that may stand inside the
// working directory. A file that cannot be parsed has those that could be read.
func imported(from, code string, modules []Module) []wish {
	var out []wish
	switch ext := extOf(from); ext {
	case "go":
		out = goImports(from, code, modules)
	case "ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs":
		for _, spec := range scriptImports(code) {
			if w := scriptWish(from, spec); len(w.paths) > 0 {
				out = append(out, w)
			}
		}
	case "py", "pyi":
		for _, i := range pythonImports(code) {
			out = append(out, i.wishes(from)...)
		}
	}
	return capped(out)
}

// goImports are the packages of the file's own module. Where no go.mod is known, that
// is what is wanted.
func goImports(from, code string, modules []Module) []wish {
	m, known := moduleOf(from, modules)
	var out []wish
	for _, p := range goPaths(from, code) {
		if known {
			out = append(out, m.wish(p)...)
		} else if foreign(p) {
			return []wish{{paths: []string{"go.mod"}, sure: true}}
		}
	}
	return out
}

// goPaths are the import paths of a Go file.
func goPaths(from, code string) []string {
	f, _ := parser.ParseFile(token.NewFileSet(), from, code, parser.ImportsOnly)
	if f == nil {
		return nil
	}
	var out []string
	for _, i := range f.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// foreign says whether a path is not of the standard library, so that it may be the
// module's own.
func foreign(p string) bool {
	first, _, below := strings.Cut(p, "/")
	return below && strings.Contains(first, ".")
}

// wish is where a package of the module stands; nothing for one of another's.
func (m Module) wish(p string) []wish {
	if p == m.Path {
		return []wish{{dir: m.Dir, isDir: true, sure: true}}
	}
	if rest, ok := strings.CutPrefix(p, m.Path+"/"); ok {
		if dir := below(m.Dir, rest); dir != "" {
			return []wish{{dir: dir, isDir: true, sure: true}}
		}
	}
	return nil
}

// moduleOf is the module with the nearest go.mod above a file.
func moduleOf(from string, modules []Module) (best Module, found bool) {
	for _, m := range modules {
		if (m.Dir == "" || strings.HasPrefix(from, m.Dir+"/")) && (!found || len(m.Dir) > len(best.Dir)) {
			best, found = m, true
		}
	}
	return best, found
}

// modulePath is the path that a go.mod declares, empty for none.
func modulePath(mod string) string {
	for line := range strings.Lines(mod) {
		line, _, _ = strings.Cut(line, "//")
		if f := strings.Fields(line); len(f) == 2 && f[0] == "module" {
			if p, err := strconv.Unquote(f[1]); err == nil {
				return p
			}
			return f[1]
		}
	}
	return ""
}

// scriptWish is where a TypeScript or JavaScript import may stand. Only relative
// imports are followed: others name packages, or need a bundler's settings.
func scriptWish(from, spec string) wish {
	if !strings.HasPrefix(spec, "./") && !strings.HasPrefix(spec, "../") && spec != "." && spec != ".." {
		return wish{}
	}
	spec, _, _ = strings.Cut(spec, "?")
	base := path.Join(dirOf(from), spec)
	if base == ".." || strings.HasPrefix(base, "../") {
		return wish{}
	}
	own, other := []string{".ts", ".tsx"}, ".js"
	if strings.HasSuffix(from, "js") || strings.HasSuffix(from, "jsx") {
		own, other = []string{".js", ".jsx"}, ".ts"
	}
	index := path.Join(base, "index")
	names := []string{base + own[0], base + own[1], index + own[0], base + other}
	switch ext := extOf(base); {
	case spec == "." || spec == ".." || strings.HasSuffix(spec, "/"):
		names = []string{index + own[0], index + own[1], index + other}
	case slices.Contains([]string{"js", "jsx", "mjs", "cjs"}, ext):
		// TypeScript names the file that it will become.
		ts := strings.TrimSuffix(base, "."+ext) + "." + strings.Replace(ext, "js", "ts", 1)
		names = []string{base, ts}
		if own[0] == ".ts" {
			names = []string{ts, base}
		}
	case textFiles[ext]:
		names = []string{base}
	}
	w := wish{sure: true}
	for _, n := range names {
		if p, why := cleanPath(n); why == "" {
			w.paths = append(w.paths, p)
		}
	}
	return w
}

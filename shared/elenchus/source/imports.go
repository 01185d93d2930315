package source

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Reference is a file that a text or a program refers to: one of several paths, or the Go files of a directory.
type Reference struct {
	// Paths are the alternatives, the likeliest first; empty for a directory.
	Paths []string
	// Dir is the directory where IsDir is set; empty is the working directory.
	Dir   string
	IsDir bool
	// Local reports that the file, if it exists, is inside the working directory. Other references may be to installed
	// packages; they are looked up on a disk but not requested from agents.
	Local bool
}

// maxCandidates is the number of paths that the references of one call may have in all.
const maxCandidates = 120

// Limit returns the first references without repetitions, with at most 120 paths in all, which bounds the paths that a
// call looks up.
func Limit(references []Reference) []Reference {
	seen := map[string]bool{}
	var out []Reference
	n := 0
	for _, w := range references {
		key := w.Dir + "\x00" + strings.Join(w.Paths, "\x00")
		if seen[key] || (len(w.Paths) == 0 && !w.IsDir) {
			continue
		}
		if n += max(1, len(w.Paths)); n > maxCandidates {
			break
		}
		seen[key] = true
		out = append(out, w)
	}
	return out
}

// Imports returns the files that a Go, TypeScript, JavaScript or Python file imports directly, as far as they may be
// inside the working directory, within the bounds of [Limit]. from is the path of the file, and modules are the known
// Go modules. For a file that cannot be parsed it returns the imports that can be read, and none for other languages.
func Imports(from, code string, modules []Module) []Reference {
	var out []Reference
	switch ext := Ext(from); ext {
	case "go":
		out = goImports(from, code, modules)
	case "ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs":
		for _, spec := range scriptImports(code) {
			if w := scriptReference(from, spec); len(w.Paths) > 0 {
				out = append(out, w)
			}
		}
	case "py", "pyi":
		for _, i := range pythonImports(code) {
			out = append(out, i.references(from)...)
		}
	}
	return Limit(out)
}

// goImports returns the imported packages of the file's own module, or a reference to go.mod if that is not known.
func goImports(from, code string, modules []Module) []Reference {
	m, known := moduleOf(from, modules)
	var out []Reference
	for _, p := range goPaths(from, code) {
		if known {
			out = append(out, m.Package(p)...)
		} else if !standard(p) {
			return []Reference{{Paths: []string{"go.mod"}, Local: true}}
		}
	}
	return out
}

// Unplaced returns the import paths of a Go file that may be packages of its own module, if no go.mod above it is
// known.
func Unplaced(from, code string, modules []Module) []string {
	if _, known := moduleOf(from, modules); known || Ext(from) != "go" {
		return nil
	}
	return slices.DeleteFunc(goPaths(from, code), standard)
}

// goPaths returns the import paths of a Go file.
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

// standard reports whether an import path, like those of the standard library, cannot be that of a package below the
// root of a module.
func standard(p string) bool {
	first, _, below := strings.Cut(p, "/")
	return !below || !strings.Contains(first, ".")
}

// Module is a Go module: the directory of its go.mod, and its path.
type Module struct {
	Dir  string `json:"dir"`
	Path string `json:"path"`
}

// Package returns the directory of a package by its import path, or nil if the package is not in the module.
func (m Module) Package(p string) []Reference {
	if p == m.Path {
		return []Reference{{Dir: m.Dir, IsDir: true, Local: true}}
	}
	if rest, ok := strings.CutPrefix(p, m.Path+"/"); ok {
		if dir := below(m.Dir, rest); dir != "" {
			return []Reference{{Dir: dir, IsDir: true, Local: true}}
		}
	}
	return nil
}

// moduleOf returns the module with the nearest go.mod above a file.
func moduleOf(from string, modules []Module) (best Module, found bool) {
	for _, m := range modules {
		if (m.Dir == "" || strings.HasPrefix(from, m.Dir+"/")) && (!found || len(m.Dir) > len(best.Dir)) {
			best, found = m, true
		}
	}
	return best, found
}

// ModulePath returns the module path in the text of a go.mod, or "".
func ModulePath(mod string) string {
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

// scriptReference returns the file of a TypeScript or JavaScript import. Only relative imports are followed: others
// name packages, or depend on the settings of a bundler.
func scriptReference(from, spec string) Reference {
	if !strings.HasPrefix(spec, "./") && !strings.HasPrefix(spec, "../") && spec != "." && spec != ".." {
		return Reference{}
	}
	spec, _, _ = strings.Cut(spec, "?")
	base := path.Join(Dir(from), spec)
	if base == ".." || strings.HasPrefix(base, "../") {
		return Reference{}
	}
	own, other := []string{".ts", ".tsx"}, ".js"
	if strings.HasSuffix(from, "js") || strings.HasSuffix(from, "jsx") {
		own, other = []string{".js", ".jsx"}, ".ts"
	}
	index := path.Join(base, "index")
	names := []string{base + own[0], base + own[1], index + own[0], base + other}
	switch ext := Ext(base); {
	case spec == "." || spec == ".." || strings.HasSuffix(spec, "/"):
		names = []string{index + own[0], index + own[1], index + other}
	case slices.Contains([]string{"js", "jsx", "mjs", "cjs"}, ext):
		// A TypeScript import names the compiled file.
		ts := strings.TrimSuffix(base, "."+ext) + "." + strings.Replace(ext, "js", "ts", 1)
		names = []string{base, ts}
		if own[0] == ".ts" {
			names = []string{ts, base}
		}
	case textFiles[ext]:
		names = []string{base}
	}
	w := Reference{Local: true}
	for _, n := range names {
		if p, why := Clean(n); why == "" {
			w.Paths = append(w.Paths, p)
		}
	}
	return w
}

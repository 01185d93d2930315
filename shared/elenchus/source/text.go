package source

import (
	"regexp"
	"strings"
)

// textFiles holds the extensions of text files. It leaves out com and the like, which would match host names.
var textFiles = func() map[string]bool {
	m := map[string]bool{}
	for ext := range strings.FieldsSeq(`
		go mod ts tsx mts cts js jsx mjs cjs py pyi java kt kts rs rb php c h cc cpp cxx hpp cs fs swift m mm scala sh
		bash sql json yaml yml toml md rst txt html css scss less vue svelte proto graphql tf xml gradle ex exs erl clj
		lua dart zig hs ml r pl ini cfg conf env`) {
		m[ext] = true
	}
	return m
}()

// longestToken is beyond the longest path, in bytes, with its line number and brackets around it.
const longestToken = 4 << 10

// maxNamed limits the files that are found in a text.
const maxNamed = 50

var (
	pathToken = regexp.MustCompile(`[\p{L}\p{N}_@.+/\\\-\[\]~$]+(?:://\S*)?(:\d+)?`)
	fenceLine = regexp.MustCompile("^\\s{0,3}(`{3,}|~{3,})\\s*([\\w+#.-]*)(.*)$")
)

// fence is a block of code in a text.
type fence struct {
	ext  string // the extension of files in its language
	file string // the file in its label, or empty
	code string
}

// fenceLanguages holds the extension of files by the language of a fence.
var fenceLanguages = map[string]string{
	"go":         "go",
	"golang":     "go",
	"ts":         "ts",
	"typescript": "ts",
	"tsx":        "tsx",
	"js":         "js",
	"javascript": "js",
	"jsx":        "jsx",
	"mjs":        "mjs",
	"cjs":        "cjs",
	"mts":        "mts",
	"cts":        "cts",
	"py":         "py",
	"python":     "py",
	"python3":    "py",
	"pyi":        "pyi",
}

// Named returns the files that a text names, as paths relative to the working directory, without repetitions, in the
// order of the text, and at most 50. It finds paths with a line number, paths with a directory, and the labels of code
// fences. It leaves out paths outside the directory.
func Named(text, workingDir string) []string {
	var out []string
	seen := map[string]bool{}
	for _, token := range pathToken.FindAllString(text, -1) {
		if len(token) > longestToken || strings.Contains(token, "://") {
			continue
		}
		p, line, _ := strings.Cut(strings.TrimRight(token, "."), ":")
		p = unbracketed(p)
		// Without a line number, a word must have a directory, and ./x is the import of a file rather than its path.
		if line == "" && (!strings.Contains(p, "/") || strings.HasPrefix(p, "./")) {
			continue
		}
		p = Within(workingDir, p)
		if p == "" || seen[p] || !IsText(p) {
			continue
		}
		seen[p] = true
		if out = append(out, p); len(out) == maxNamed {
			break
		}
	}
	return out
}

// unbracketed returns a word without unpaired brackets at its ends.
func unbracketed(p string) string {
	for strings.HasPrefix(p, "[") && strings.Count(p, "[") != strings.Count(p, "]") {
		p = p[1:]
	}
	for strings.HasSuffix(p, "]") && strings.Count(p, "[") != strings.Count(p, "]") {
		p = p[:len(p)-1]
	}
	return p
}

// IsText reports whether a path has the extension of a text file: source code, markup or configuration.
func IsText(p string) bool { return textFiles[Ext(p)] }

// Ext returns the extension of a path in lower case and without its dot, or "".
func Ext(p string) string {
	base := p[strings.LastIndexByte(p, '/')+1:]
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		return strings.ToLower(base[i+1:])
	}
	return ""
}

// fences returns the blocks of code in a text.
func fences(text, workingDir string) []fence {
	var out []fence
	var f fence
	mark, start, at := "", 0, 0
	for line := range strings.Lines(text) {
		from := at
		at += len(line)
		m := fenceLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		switch {
		case mark == "" && m != nil:
			mark, start = m[1], at
			f = fence{ext: fenceLanguages[strings.ToLower(m[2])]}
			f.label(m[2]+m[3], workingDir)
		case mark != "" && m != nil && strings.HasPrefix(m[1], mark) && m[2]+strings.TrimSpace(m[3]) == "":
			f.code, mark = text[start:from], ""
			out = append(out, f)
		case mark != "" && from == start && f.file == "" && comment(line):
			f.label(line, workingDir)
		}
	}
	if mark != "" {
		f.code = text[start:]
		out = append(out, f)
	}
	return out
}

// label sets the file of a fence from a line that may name it.
func (f *fence) label(line, workingDir string) {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n:=\"'`{}()", r) })
	for _, w := range words[:min(len(words), 10)] {
		if names := Named(w+":1", workingDir); len(names) > 0 {
			f.file, f.ext = names[0], Ext(names[0])
			return
		}
	}
}

func comment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "/*")
}

// References returns the files that a text names, and those that the code in its fences imports. It limits them as
// [Limit] does.
func References(text, workingDir string, modules []Module) []Reference {
	var out []Reference
	for _, p := range Named(text, workingDir) {
		out = append(out, Reference{Paths: []string{p}, Local: true})
	}
	for _, f := range fences(text, workingDir) {
		from := f.file
		if from == "" {
			from = "fence." + f.ext
		}
		out = append(out, Imports(from, f.code, modules)...)
	}
	return Limit(out)
}

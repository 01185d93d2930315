package source

import (
	"path"
	"strings"
)

// pythonImport is one import statement of a Python file.
type pythonImport struct {
	level  int      // leading dots
	module string   // the name after the dots
	names  []string // the imported names, for a from statement
}

// pythonImports returns the import statements of a file, in their order. It skips comments and strings. A statement may
// continue in parentheses or after a backslash.
func pythonImports(code string) []pythonImport {
	var out []pythonImport
	for _, s := range pythonStatements(code) {
		if strings.HasPrefix(s, "from.") {
			s = "from " + s[len("from"):]
		}
		word, rest, _ := strings.Cut(s, " ")
		switch word {
		case "import":
			for part := range strings.SplitSeq(rest, ",") {
				if f := strings.Fields(part); len(f) > 0 && dotted(f[0]) {
					out = append(out, pythonImport{module: f[0]})
				}
			}
		case "from":
			module, names, ok := strings.Cut(rest, " import ")
			module = strings.ReplaceAll(module, " ", "")
			bare := strings.TrimLeft(module, ".")
			if !ok || module == "" || (bare != "" && !dotted(bare)) {
				continue
			}
			i := pythonImport{level: len(module) - len(bare), module: bare}
			for part := range strings.SplitSeq(names, ",") {
				if f := strings.Fields(part); len(f) > 0 && dotted(f[0]) {
					i.names = append(i.names, f[0])
				}
			}
			out = append(out, i)
		}
	}
	return out
}

// dotted reports whether s consists of names separated by dots.
func dotted(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" ||
			strings.ContainsFunc(part, func(r rune) bool { return r < 0x80 && !wordByte(byte(r)) || r == '$' }) {
			return false
		}
	}
	return true
}

// maxStatement is the number of bytes that are kept of a statement, which is enough for an import.
const maxStatement = 8 << 10

// pythonStatements returns the logical lines of a file, split at semicolons and after colons. Strings are replaced by a
// quotation mark, brackets and runs of white space by a blank, and comments are removed.
func pythonStatements(code string) []string {
	var out []string
	var b strings.Builder
	depth := 0
	end := func() {
		if s := strings.Join(strings.Fields(b.String()), " "); s != "" {
			out = append(out, s)
		}
		b.Reset()
	}
	for i := 0; i < len(code); i++ {
		c := code[i]
		switch {
		case c == '#':
			for i+1 < len(code) && code[i+1] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			i = pythonString(code, i)
			b.WriteByte('"')
		case c == '\\' && i+1 < len(code) && (code[i+1] == '\n' || code[i+1] == '\r'):
			i++
		case strings.IndexByte("([{", c) >= 0:
			depth++
			b.WriteByte(' ')
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(0, depth-1)
			b.WriteByte(' ')
		case depth == 0 && (c == '\n' || c == ';' || c == ':'):
			end()
		case b.Len() < maxStatement:
			b.WriteByte(c)
		}
	}
	end()
	return out
}

// pythonString returns the index of the last byte of the string that starts at i.
func pythonString(code string, i int) int {
	quote := code[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(code[i:], triple) {
		for j := i + 3; j < len(code); j++ {
			if code[j] == '\\' {
				j++
			} else if strings.HasPrefix(code[j:], triple) {
				return j + 2
			}
		}
		return len(code)
	}
	for j := i + 1; j < len(code); j++ {
		switch code[j] {
		case '\\':
			j++
		case quote[0]:
			return j
		case '\n':
			return j - 1 // The end of the line ends an unclosed string.
		}
	}
	return len(code)
}

// references returns the files that an import in the file from may name. A relative import is local, and so is one that
// begins with the name of a directory above the file.
func (i pythonImport) references(from string) []Reference {
	dir := Dir(from)
	if i.level > 0 {
		for range i.level - 1 {
			if dir == "" {
				return nil
			}
			dir = Dir(dir)
		}
		return i.in(dir, true)
	}
	first, _, _ := strings.Cut(i.module, ".")
	for d := dir; d != ""; d = Dir(d) {
		if path.Base(d) == first {
			return i.in(Dir(d), true)
		}
	}
	out := i.in(dir, false)
	if dir != "" {
		out = append(out, i.in("", false)...)
	}
	return out
}

func (i pythonImport) in(dir string, local bool) []Reference {
	if i.module != "" {
		return []Reference{moduleReference(below(dir, strings.ReplaceAll(i.module, ".", "/")), local)}
	}
	var out []Reference
	for _, n := range i.names {
		out = append(out, moduleReference(below(dir, n), local))
	}
	return out
}

func moduleReference(p string, local bool) Reference {
	if p == "" {
		return Reference{}
	}
	return Reference{Paths: []string{p + ".py", p + "/__init__.py"}, Local: local}
}

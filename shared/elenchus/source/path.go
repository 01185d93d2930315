package source

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPath is the longest path, in characters.
const maxPath = 300

// Clean returns the shortest form of a path relative to the working directory. If p is not such a path, or leaves the
// directory, clean is empty and why states the rule that p breaks, as in "must not be empty".
func Clean(p string) (clean, why string) {
	switch {
	case p == "":
		return "", "must not be empty"
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return "", "must be text without control characters"
	case utf8.RuneCountInString(p) > maxPath:
		return "", "must be at most 300 characters"
	case strings.Contains(p, `\`):
		return "", "must use / as separator, not \\"
	case strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~"),
		len(p) > 1 && p[1] == ':' && unicode.IsLetter(rune(p[0])):
		return "", "must be relative to the working directory"
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", "must not leave the working directory"
		}
	}
	if clean = path.Clean(p); clean == "." || strings.HasSuffix(p, "/") {
		return "", "must name a file"
	}
	return clean, ""
}

// Within returns a path that a text names relative to the working directory. It accepts absolute paths below the
// directory, and returns "" for a path outside.
func Within(workingDir, p string) string {
	if dir := strings.TrimRight(workingDir, "/"); dir != "" && strings.HasPrefix(p, dir+"/") {
		p = strings.TrimLeft(p[len(dir):], "/")
	}
	clean, _ := Clean(p)
	return clean
}

// Target returns the target of a verification relative to the working directory, "" for the directory itself. ok is false
// for a target that is outside, and for one that is a name rather than a path.
func Target(workingDir, target string) (p string, ok bool) {
	dir := strings.TrimRight(workingDir, "/")
	switch p = strings.TrimRight(target, "/"); {
	case target != "" && path.Clean(target) == ".", p == dir && strings.HasPrefix(target, "/"):
		return "", true
	}
	p = Within(workingDir, p)
	return p, p != ""
}

// Below returns the wanted path that stands for all files of a directory and of those below it, "" being the working
// directory.
func Below(dir string) string { return path.Join(dir, "**") }

// OfTarget reports whether a file below a target that is a directory belongs to it: text, and no test of Go.
func OfTarget(p string) bool {
	clean, _ := Clean(p)
	return clean == p && IsText(p) && !strings.HasSuffix(p, "_test.go")
}

// IsAbs reports whether p is an absolute path of any system: the machine of an agent may have another one than the
// server's.
func IsAbs(p string) bool {
	drive := len(p) > 2 && p[1] == ':' && unicode.IsLetter(rune(p[0])) && (p[2] == '/' || p[2] == '\\')
	return drive || strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\\`)
}

// Dir returns the directory of a path, or "" for the working directory.
func Dir(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

// below joins a directory, where "" is the working directory, with a relative path. It returns "" if the result leaves
// the working directory.
func below(dir, rel string) string {
	p := path.Join(dir, rel)
	if p == ".." || strings.HasPrefix(p, "../") {
		return ""
	}
	clean, _ := Clean(p)
	return clean
}

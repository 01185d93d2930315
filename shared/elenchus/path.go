package elenchus

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPath     = 300       // characters
	maxFile     = 256 << 10 // bytes
	maxFiles    = 500
	maxBytes    = 20 << 20
	maxPerCall  = 50
	maxWanted   = 50
	maxOutput   = 512 << 10
	maxPerRound = 100 // issues
	maxIssues   = 2000
)

// cleanPath is a path relative to the working directory in its shortest form. why
// says what is wrong with one that is none, or that leaves the directory.
func cleanPath(p string) (clean, why string) {
	switch {
	case p == "":
		return "", "must not be empty"
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return "", "must be text without control characters"
	case utf8.RuneCountInString(p) > maxPath:
		return "", "must be at most 300 characters"
	case strings.Contains(p, `\`):
		return "", "must be parted by /, not by \\"
	case strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || (len(p) > 1 && p[1] == ':' && unicode.IsLetter(rune(p[0]))):
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

// within is a path as a text names it, absolute below the working directory too, or
// empty where it is outside.
func within(workingDir, p string) string {
	if dir := strings.TrimRight(workingDir, "/"); dir != "" && strings.HasPrefix(p, dir+"/") {
		p = strings.TrimLeft(p[len(dir):], "/")
	}
	clean, _ := cleanPath(p)
	return clean
}

// fileID is the document of a path, which may be no id of its own.
func fileID(p string) string {
	sum := sha256.Sum256([]byte(p))
	return hex.EncodeToString(sum[:16])
}

// dirOf is the directory of a path, empty for the working directory.
func dirOf(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

// below joins a directory, empty for the working directory, with what is in it. It is
// empty where that leaves the working directory.
func below(dir, rel string) string {
	p := path.Join(dir, rel)
	if p == ".." || strings.HasPrefix(p, "../") {
		return ""
	}
	clean, _ := cleanPath(p)
	return clean
}

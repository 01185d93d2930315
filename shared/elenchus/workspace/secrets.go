package workspace

import (
	"path"
	"runtime"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// secretNames are patterns for the names of files and directories that are never read.
var secretNames = []string{".git", ".env*", "*.pem", "*.key", "id_*", ".ssh", ".aws", ".netrc", "*credentials*"}

// secretDirs are the directories that cannot contain a root.
var secretDirs = []string{".git", ".ssh", ".aws"}

// secret returns the pattern that a part of a path matches, or "" if there is none.
func secret(p string) string {
	for part := range strings.SplitSeq(p, "/") {
		name := fold(part)
		for _, pattern := range secretNames {
			if ok, _ := path.Match(pattern, name); ok { // the patterns are valid
				return pattern
			}
		}
		// Other names of a file on Windows: short ones, and those of its streams.
		if runtime.GOOS == "windows" && strings.ContainsAny(part, "~:") {
			return "*~*"
		}
	}
	return ""
}

// fold returns the form in which names are compared. Names with the same form may be the same file on some file system:
// they differ as texts of [foldText] do, or by dots and spaces at the end.
func fold(name string) string { return strings.TrimRight(foldText(name), ". ") }

// foldText returns a text without the differences of case, of Unicode normalization, and of characters that are not
// shown.
func foldText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, text)
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(text)))
}

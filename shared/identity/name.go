package identity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the form of a name in which equal names are equal: Unicode NFC, without case.
func Fold(name string) string {
	if plain(name) {
		return name
	}
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
}

// plain reports whether a name is folded already, as most names of programs are.
func plain(name string) bool {
	return !slices.ContainsFunc([]byte(name), func(b byte) bool { return b >= 0x80 || b >= 'A' && b <= 'Z' })
}

// Same reports whether two names are the same: they are compared without case, after Unicode NFC.
func Same(a, b string) bool { return a == b || Fold(a) == Fold(b) }

// Among returns the spelling that a list has of a name, and whether it has one.
func Among(names []string, name string) (spelling string, ok bool) {
	for _, n := range names {
		if Same(n, name) {
			return n, true
		}
	}
	return name, false
}

// Unknown returns a warning about names that no program has, followed by the text then, or an empty text where all names
// are known. It lists the programs.
func Unknown(programs []string, then string, names ...string) string {
	var unknown []string
	for _, n := range names {
		if _, known := Among(programs, n); !known {
			unknown = append(unknown, strconv.Quote(n))
		}
	}
	if len(unknown) == 0 {
		return ""
	}
	warning := fmt.Sprintf("no program named %s is known", strings.Join(unknown, ", ")) + then
	if len(programs) > 0 {
		warning += ". Known: " + strings.Join(programs, ", ")
	}
	return warning
}

package identity

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"parley.internal/shared/fault"
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

// maxCharacter is the longest name of a character, in characters.
const maxCharacter = 60

// Character returns the whole name of a character that the caller plays, as records show it. The characters of a bound
// key are "alpha/Gandalf", verified as its program: a bare name gets the program in front, and an empty one is the
// program itself. Other keys give whole names, which are not verified. A name that is not one line of at most 60
// printable characters, the key's own program not counted, is Invalid for the field; a character of another program is
// Forbidden.
func (c Caller) Character(field, name string) (whole string, verified bool, err error) {
	name = strings.TrimRightFunc(name, func(r rune) bool { return r == '/' || unicode.IsSpace(r) })
	name = norm.NFC.String(strings.TrimSpace(name))
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", false, fault.Field(field, "must be one line of printable characters")
	}
	program, bare, qualified := strings.Cut(name, "/")
	program = strings.TrimSpace(program)
	own := c.Bound() && !c.IsHuman()
	switch {
	case !own:
		bare = name
		if err := c.MayName(program); err != nil {
			return "", false, err
		}
	case !qualified && Same(name, c.Program):
		bare = ""
	case !qualified:
		bare = name
	case !Same(program, c.Program):
		return "", false, fault.New(fault.Forbidden, "this key speaks for %q and may not speak as %q", c.Program, name)
	}
	bare = strings.TrimSpace(bare)
	if n := utf8.RuneCountInString(bare); n > maxCharacter {
		return "", false, fault.Field(field, "must be at most %d characters, not %d", maxCharacter, n)
	}
	switch {
	case !own:
		return bare, false, nil
	case bare == "":
		return c.Program, true, nil
	}
	return c.Program + "/" + bare, true, nil
}

// NameID returns the id of the document that belongs to a name: equal names have one id, whatever characters they have.
// It is an id that every store accepts, unless the name is empty.
func NameID(name string) string {
	id := url.PathEscape(Fold(name))
	if id == "" || id[0] != '.' && id[0] != '_' {
		return id
	}
	return fmt.Sprintf("%%%02X", id[0]) + id[1:] // Firestore takes no "..", and no "__x__"
}

package push

import (
	"strings"
	"unicode"
)

// NameLen is the maximum length of a name in a title, in characters.
const NameLen = 50

// Line returns s as one line of at most limit characters; limit must be at least 1. Runs of white space become one
// space. Control characters are removed, and so are those that would change the direction of the surrounding text. A
// text that is cut ends with "…".
func Line(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > limit {
		runes = append(runes[:limit-1], '…')
	}
	return string(runes)
}

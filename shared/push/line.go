package push

import (
	"strings"
	"unicode"
)

// NameLen is how much of a name a title shows, in characters.
const NameLen = 50

// Line is a text in one line of at most limit characters, without what would not show or would change the direction of
// the text around it. What is cut off ends with "…".
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

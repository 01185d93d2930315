package hook

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean returns a text as one printable line: white space becomes a space, and a character that is not printable, or
// would change the direction of text, becomes U+FFFD.
func clean(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteRune(utf8.RuneError)
		}
		space = false
	}
	return strings.TrimSpace(b.String())
}

// short returns the beginning of a text in at most n bytes, with a mark where it was cut.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	if n < len(mark) {
		return ""
	}
	s = s[:n-len(mark)]
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s + mark
}

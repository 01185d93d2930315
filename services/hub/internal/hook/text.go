package hook

import (
	"fmt"
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

// visible returns a text as one printable line from which nothing is missing: each line end is ⏎, other white space is as
// long as before, and a character that is not printable, or would change the direction of text, is U+FFFD.
func visible(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r):
			return '⏎'
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return utf8.RuneError
	}, s)
}

// shown returns the beginning of a text in at most n bytes. Where that is not all, it ends with the number of bytes of the
// whole: a person who allows it knows that there is more.
func shown(s string, n, whole int) string {
	if len(s) <= n {
		return s
	}
	return cut(s, n, whole)
}

// cut returns the beginning of a text that is not the whole.
func cut(s string, n, whole int) string {
	mark := fmt.Sprintf(" [cut: %d bytes in all]", whole)
	return short(s, max(0, min(len(s), n-len(mark)))) + mark
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

package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns a text as one printable line: a run of white space other than the space becomes a space, and each other
// character that is not printable becomes U+FFFD.
func Line(s string) string {
	var b strings.Builder
	space := false // the last character was a space
	for _, r := range s {
		switch {
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
			space = r == ' '
		case unicode.IsSpace(r):
			if !space {
				b.WriteByte(' ')
			}
			space = true
		default:
			b.WriteRune(utf8.RuneError)
			space = false
		}
	}
	return b.String()
}

// Escape returns a text of one or more lines in which each character that is not printable, other than a newline, is
// written as in a JSON string: ESC becomes \u001b. Bytes that are not UTF-8 become U+FFFD.
func Escape(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// EscapeLine returns a text as [Escape] does, but with its newlines escaped too, so that it cannot imitate a line of its
// own.
func EscapeLine(s string) string { return strings.ReplaceAll(Escape(s), "\n", `\u000a`) }

// clean reports whether a text is ASCII that [Escape] does not change, as most lines of a log are.
func clean[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// JSON returns a JSON value in one line, with the characters that are not printable escaped in its strings and in the
// names of its fields. The value is the same. It fails if raw is not JSON.
func JSON(raw json.RawMessage) (string, error) {
	var one bytes.Buffer
	if err := json.Compact(&one, raw); err != nil {
		return "", err
	}
	return Escape(one.String()), nil
}

// Writer writes text to a terminal or a file as [Escape] returns it. Each Write must hold whole characters, as the
// lines of a log do. A Writer is safe for concurrent use if To is.
type Writer struct{ To io.Writer }

// Write implements [io.Writer]. It returns the length of p unless To fails.
func (w Writer) Write(p []byte) (int, error) {
	if clean(p) {
		return w.To.Write(p)
	}
	if _, err := io.WriteString(w.To, Escape(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

package hook

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley.internal/shared/hook/wire"
)

// clean removes characters that a terminal or a model may take for more than text: control characters but line ends,
// and invisible characters, such as those that change the direction of text.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError, unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d':
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// line returns a text as one clean line of at most a number of characters.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(clean(text)), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// leastText is the size of the beginning of a text, in bytes, below which it is rather left out than cut.
const leastText = 160

// size returns the size of a value as JSON.
func size(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		panic("hook: " + err.Error()) // texts, numbers and times
	}
	return len(text)
}

// cut returns the longest beginning of a clean text that has at most room bytes as JSON, with its quotes, and whether that
// is not all of it. It is false for ok where too little of the text would be left.
func cut(text string, room int) (out string, cut, ok bool) {
	if size(text) <= room {
		return text, false, true
	}
	if room < leastText {
		return "", false, false
	}
	used := size("…")
	for i, r := range text {
		if used += size(string(r)) - len(`""`); used > room {
			return text[:i] + "…", true, true
		}
	}
	return text, false, true
}

// shorten removes the least urgent parts of an output until it has at most [wire.MaxAnswer] bytes. The counts still
// include the removed parts.
func shorten(out *wire.HookOutput) {
	for excess(out) {
		switch {
		case len(out.Others) > 0:
			out.Others = out.Others[:len(out.Others)-1]
		case len(out.Claims) > 0:
			out.Claims = out.Claims[:len(out.Claims)-1]
		default:
			return
		}
	}
}

func excess(out *wire.HookOutput) bool {
	rest := *out
	if rest.Files != nil {
		files := *rest.Files
		files.Reason = nil
		rest.Files = &files
	}
	return size(rest) > wire.MaxAnswer
}

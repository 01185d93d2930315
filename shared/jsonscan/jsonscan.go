package jsonscan

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// nothing takes any JSON value and keeps none of it.
type nothing struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (nothing) UnmarshalJSON([]byte) error { return nil }

// Check returns the error of encoding/json for a text that is not exactly one JSON value, or nests deeper than 10,000
// levels.
func Check(text []byte) error { return json.Unmarshal(text, &nothing{}) }

// Span is the place of a value or of a field's name in a text: text[Start:End].
type Span struct{ Start, End int }

// Of returns the bytes of the span.
func (s Span) Of(text []byte) []byte { return text[s.Start:s.End] }

// Whole returns the place of the text's one value.
func Whole(text []byte) Span {
	start := space(text, 0)
	return Span{start, value(text, start)}
}

// Fields yields the name, with its quotes, and the value of each field of the object at a place. It yields nothing for
// another value.
func Fields(text []byte, at Span) iter.Seq2[Span, Span] {
	return func(yield func(Span, Span) bool) {
		if text[at.Start] != '{' {
			return
		}
		for i := space(text, at.Start+1); text[i] != '}'; {
			name := Span{i, quoted(text, i)}
			i = space(text, space(text, name.End)+1) // past the colon
			v := Span{i, value(text, i)}
			if !yield(name, v) {
				return
			}
			if i = space(text, v.End); text[i] == ',' {
				i = space(text, i+1)
			}
		}
	}
}

// Items yields each member of the list at a place. It yields nothing for another value.
func Items(text []byte, at Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		if text[at.Start] != '[' {
			return
		}
		for i := space(text, at.Start+1); text[i] != ']'; {
			v := Span{i, value(text, i)}
			if !yield(v) {
				return
			}
			if i = space(text, v.End); text[i] == ',' {
				i = space(text, i+1)
			}
		}
	}
}

// Count returns the number of fields or of members of the value at a place, zero for a value that has neither.
func Count(text []byte, at Span) int {
	n := 0
	for range Fields(text, at) {
		n++
	}
	for range Items(text, at) {
		n++
	}
	return n
}

// Size returns the number of values at a place, all those inside counted, and the number of levels to which lists and
// objects nest. A text, a number, true, false and null have no levels.
func Size(text []byte, at Span) (values, levels int) {
	open := 0
	for i := at.Start; i < at.End; {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n', ',':
			i++
		case '{', '[':
			values++
			open++
			levels = max(levels, open)
			i++
		case '}', ']':
			open--
			i++
		case '"':
			i = quoted(text, i)
			if next := space(text[:at.End], i); next < at.End && text[next] == ':' {
				i = next + 1 // the name of a field
			} else {
				values++
			}
		default:
			values++
			i = bare(text, i)
		}
	}
	return values, levels
}

// Name returns the name of a field, whose span includes the quotes, as encoding/json reads it.
func Name(text []byte, at Span) string {
	raw := at.Of(text)
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return string(raw)
	}
	return name
}

// space returns the first place at or after i that is no white space.
func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// quoted returns the end of the string that begins at i.
func quoted(text []byte, i int) int {
	for i++; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// bare returns the end of the number or the word that begins at i.
func bare(text []byte, i int) int {
	for i < len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n', ',', '}', ']':
			return i
		}
		i++
	}
	return i
}

// value returns the end of the value that begins at i.
func value(text []byte, i int) int {
	switch text[i] {
	case '"':
		return quoted(text, i)
	case '{', '[':
	default:
		return bare(text, i)
	}
	for open := 0; ; {
		switch text[i] {
		case '"':
			i = quoted(text, i)
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		if i++; open == 0 {
			return i
		}
	}
}

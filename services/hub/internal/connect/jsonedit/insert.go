package jsonedit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// newline returns the line end of a text.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indentOf returns the white space that begins the line of an offset.
func indentOf(text []byte, offset int) string {
	begin := bytes.LastIndexByte(text[:offset], '\n') + 1
	rest := bytes.TrimPrefix(text[begin:offset], mark)
	return string(rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))])
}

// unit returns the indentation of one level.
func unit(text []byte, root *hujson.Value) string {
	s, _ := itemsOf(root)
	if len(s.at) > 0 && bytes.IndexByte(text[s.open:s.at[0][0]], '\n') >= 0 {
		if u := strings.TrimPrefix(indentOf(text, s.at[0][0]), indentOf(text, s.open)); u != "" {
			return u
		}
	}
	return "  "
}

// insert adds a member, or an element where name is empty, to the end of an object or a list.
func insert(text []byte, into *hujson.Value, name string, value any) ([]byte, []Insertion, error) {
	root, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	s, _ := itemsOf(into)
	top, _ := itemsOf(root)
	nl, step := newline(text), unit(text, root)
	// The lines of an object decide the form; an empty one takes that of the whole text.
	lines := bytes.IndexByte(text[top.open:top.end], '\n') >= 0 || len(top.at) == 0
	indent, closing := indentOf(text, s.open)+step, indentOf(text, s.open)
	if n := len(s.at); n > 0 {
		lines = bytes.IndexByte(text[s.open:s.at[0][0]], '\n') >= 0
		indent = indentOf(text, s.at[n-1][0])
	}
	piece, err := render(name, value, lines, indent, step, nl)
	if err != nil {
		return nil, nil, err
	}
	lead := ""
	if lines {
		lead = nl + indent
	}
	from, separate, after := s.open+1, false, ""
	switch {
	case len(s.at) == 0:
		rest := text[from : s.end-1]
		if lines && bytes.IndexByte(rest[lastComment(rest):], '\n') < 0 {
			after = nl + closing
		}
	case s.comma >= 0:
		from, after = s.comma+1, ","
	default:
		from, separate = s.at[len(s.at)-1][1], true
	}
	keep := lastComment(text[from : s.end-1])
	if !lines && len(s.at) > 0 {
		lead = " "
	}
	var pieces []Insertion
	put := func(at int, piece string) {
		pieces = append(pieces, Insertion{Offset: at, Length: len(piece)})
		text = slices.Concat(text[:at], []byte(piece), text[at:])
	}
	if separate && keep > 0 { // the comments after the last entry stay with it
		put(from, ",")
		from++
	} else if separate {
		lead = "," + lead
	}
	if keep > 0 && !lines && bytes.ContainsAny(text[from+keep:from+keep+1], "\r\n") {
		lead = nl + lead // after a comment that ends with its line
	}
	put(from+keep, lead+piece+after)
	return text, pieces, nil
}

// render returns a member or an element as text.
func render(name string, value any, lines bool, indent, step, nl string) (string, error) {
	encode := func(v any) (string, error) {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if lines {
			e.SetIndent(indent, step)
		}
		err := e.Encode(v)
		return strings.TrimSuffix(b.String(), "\n"), err
	}
	out, err := encode(value)
	if err != nil {
		return "", err
	}
	if name != "" {
		key, err := encode(name)
		if err != nil {
			return "", err
		}
		colon := ": "
		out = key + colon + out
	}
	return strings.ReplaceAll(out, "\n", nl), nil
}

// lastComment returns the offset after the last comment in white space and comments, 0 for none. The line end after a
// comment is no part of it.
func lastComment(extra []byte) int {
	last := 0
	for i := 0; i < len(extra); i++ {
		if extra[i] == '/' {
			last = i + firstComment(extra[i:])
			i = last - 1
		}
	}
	return last
}

// firstComment returns the length of the comment that begins a text, at least 1.
func firstComment(text []byte) int {
	if bytes.HasPrefix(text, []byte("/*")) {
		n := bytes.Index(text[2:], []byte("*/"))
		if n < 0 {
			return len(text)
		}
		return 2 + n + 2
	}
	n := bytes.IndexByte(text, '\n')
	switch {
	case n < 0:
		return len(text)
	case n > 1 && text[n-1] == '\r':
		return n - 1
	}
	return max(1, n)
}

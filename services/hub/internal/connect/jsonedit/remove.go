package jsonedit

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// Any stands in a path for each member and each element.
const Any = "*"

// Remove removes the members and elements at the paths that a pattern stands for and whose value matches. The text
// around them stays.
func Remove(text []byte, matches func(value any) bool, pattern ...string) ([]byte, error) {
	for !Blank(text) {
		v, err := parse(text)
		if err != nil {
			return nil, err
		}
		out, removed := removeFirst(text, v, pattern, matches)
		if !removed {
			return out, nil
		}
		text = out
	}
	return text, nil
}

// Prune removes the objects and lists at the paths that are empty, the deepest first.
func Prune(text []byte, paths [][]string) ([]byte, error) {
	sorted := slices.Clone(paths)
	slices.SortStableFunc(sorted, func(a, b []string) int { return len(b) - len(a) })
	empty := func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			return len(v) == 0
		case []any:
			return len(v) == 0
		}
		return false
	}
	for _, path := range sorted {
		if len(path) == 0 {
			continue
		}
		if _, ok, err := Decode(text, path...); err != nil || !ok {
			if err != nil {
				return nil, err
			}
			continue
		}
		v, err := parse(text)
		if err != nil {
			return nil, err
		}
		for _, name := range path[:len(path)-1] {
			v = member(v, name)
		}
		o, _ := v.Value.(*hujson.Object)
		for i := range slices.Backward(o.Members) {
			name, _ := o.Members[i].Name.Value.(hujson.Literal)
			if name.String() != path[len(path)-1] {
				continue
			}
			if value, err := plain(&o.Members[i].Value); err == nil && empty(value) && !commented(&o.Members[i].Value) {
				s, _ := itemsOf(v)
				text = cut(text, s, i)
			}
			break
		}
	}
	return text, nil
}

// commented reports whether an empty object or list holds a comment.
func commented(v *hujson.Value) bool {
	switch c := v.Value.(type) {
	case *hujson.Object:
		return lastComment(c.AfterExtra) > 0
	case *hujson.Array:
		return lastComment(c.AfterExtra) > 0
	}
	return false
}

func removeFirst(text []byte, v *hujson.Value, pattern []string, matches func(any) bool) ([]byte, bool) {
	s, ok := itemsOf(v)
	if !ok || len(pattern) == 0 {
		return text, false
	}
	for i := range s.at {
		var child *hujson.Value
		switch c := v.Value.(type) {
		case *hujson.Object:
			name, _ := c.Members[i].Name.Value.(hujson.Literal)
			if pattern[0] != Any && pattern[0] != name.String() {
				continue
			}
			child = &c.Members[i].Value
		case *hujson.Array:
			if pattern[0] != Any {
				continue
			}
			child = &c.Elements[i]
		}
		if len(pattern) > 1 {
			if out, removed := removeFirst(text, child, pattern[1:], matches); removed {
				return out, true
			}
			continue
		}
		if value, err := plain(child); err == nil && matches(value) {
			return cut(text, s, i), true
		}
	}
	return text, false
}

// cut removes an entry with the white space before it, up to a comment, and the comma that separated it.
func cut(text []byte, s items, i int) []byte {
	start, end := s.at[i][0], s.at[i][1]
	before := s.open + 1 // where the white space and the comments before the entry begin
	if i > 0 {
		before = commaAfter(text, s.at[i-1][1]) + 1
	}
	white := before + lastComment(text[before:start])
	rest := end
	switch {
	case i < len(s.at)-1:
		rest = commaAfter(text, end) + 1
	case s.comma >= 0:
		rest = s.comma + 1
	case i == 0 && white == before && lastComment(text[end:s.end-1]) == 0:
		return slices.Concat(text[:before], text[s.end-1:])
	}
	kept := text[before:lineEnd(text, before, white, rest)]
	if i > 0 && i == len(s.at)-1 && s.comma < 0 {
		before-- // the comma goes too
	}
	return slices.Concat(text[:before], kept, text[rest:])
}

// lineEnd returns the end of what stays before an entry that is cut out, which is white unless a comment that ends with its
// line is before it and the rest goes on in that line.
func lineEnd(text []byte, before, white, rest int) int {
	last := before
	for i := before; i < white; i++ {
		if text[i] == '/' {
			last = i
			i += firstComment(text[i:]) - 1
		}
	}
	if white == before || text[last+1] != '/' || bytes.HasPrefix(bytes.TrimLeft(text[rest:], " \t\r"), []byte("\n")) {
		return white
	}
	return white + bytes.IndexByte(text[white:], '\n') + 1
}

// commaAfter returns the offset of the comma after white space and comments.
func commaAfter(text []byte, from int) int {
	for i := from; i < len(text); i++ {
		switch {
		case text[i] == ',':
			return i
		case text[i] == '/':
			i += firstComment(text[i:]) - 1
		}
	}
	return len(text) - 1
}

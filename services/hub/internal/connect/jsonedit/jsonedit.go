package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Insertion is a piece that was inserted into a text, in place of Was.
type Insertion struct {
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	Was    []byte `json:"was,omitempty"`
}

// Change returns the piece by which a text becomes another one.
func Change(before, after []byte) Insertion {
	from := 0
	for from < len(before) && from < len(after) && before[from] == after[from] {
		from++
	}
	to := 0
	for to < len(before)-from && to < len(after)-from && before[len(before)-1-to] == after[len(after)-1-to] {
		to++
	}
	return Insertion{from, len(after) - to - from, slices.Clone(before[from : len(before)-to])}
}

// mostBrackets bounds the nesting, which the parser follows on the stack.
const mostBrackets = 1 << 17

var mark = []byte("\xef\xbb\xbf")

// parse parses a text after its byte order mark. The offsets of the value are those of the text.
func parse(text []byte) (*hujson.Value, error) {
	head := len(text) - len(bytes.TrimPrefix(text, mark))
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > mostBrackets {
		return nil, errors.New("it has more objects and lists than are read")
	}
	// The mark is replaced by spaces, so that offsets and columns stay.
	v, err := hujson.Parse(append(bytes.Repeat([]byte(" "), head), text[head:]...))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := v.Value.(*hujson.Object); !ok {
		return nil, errors.New("it is no JSON object")
	}
	return &v, nil
}

// Blank reports whether a text holds nothing.
func Blank(text []byte) bool { return len(bytes.TrimSpace(bytes.TrimPrefix(text, mark))) == 0 }

// Strict reports whether a text is JSON without comments and without commas at the end of lists.
func Strict(text []byte) bool { return json.Valid(bytes.TrimPrefix(text, mark)) }

// Decode returns the value of a text at a path of members, in the types of [json.Unmarshal]; ok is false if there is none.
func Decode(text []byte, at ...string) (value any, ok bool, err error) {
	if Blank(text) {
		return nil, false, nil
	}
	v, err := parse(text)
	if err != nil {
		return nil, false, err
	}
	for _, name := range at {
		if v = member(v, name); v == nil {
			return nil, false, nil
		}
	}
	value, err = plain(v)
	return value, err == nil, err
}

// plain returns a value in the types of package json.
func plain(v *hujson.Value) (any, error) {
	c := hujson.Value{Value: v.Value}.Clone()
	c.Standardize()
	var out any
	err := json.Unmarshal(c.Pack(), &out)
	return out, err
}

// member returns the value of an object's member, the last one of that name, or nil.
func member(v *hujson.Value, name string) *hujson.Value {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for i := range slices.Backward(o.Members) {
		if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

// items are the places of an object's members or a list's elements, and of the comma after the last one, -1 for none.
type items struct {
	open, end int // of the bracket that opens, and after the one that closes
	at        [][2]int
	comma     int
}

func itemsOf(v *hujson.Value) (s items, ok bool) {
	s = items{v.StartOffset, v.EndOffset, nil, -1}
	var last *hujson.Value
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			last = &c.Members[i].Value
			s.at = append(s.at, [2]int{c.Members[i].Name.StartOffset, last.EndOffset})
		}
	case *hujson.Array:
		for i := range c.Elements {
			last = &c.Elements[i]
			s.at = append(s.at, [2]int{last.StartOffset, last.EndOffset})
		}
	default:
		return s, false
	}
	if last != nil && last.AfterExtra != nil {
		s.comma = last.EndOffset + len(last.AfterExtra)
	}
	return s, true
}

// Set adds the member at a path to a text, and the objects on the way that are missing, whose paths it returns too. The
// member must not be there.
func Set(text []byte, value any, at ...string) (out []byte, pieces []Insertion, made [][]string, err error) {
	return add(text, at, value, false)
}

// Append adds an element to the end of the list at a path of a text, and makes the list if it is missing.
func Append(text []byte, value any, at ...string) (out []byte, pieces []Insertion, made [][]string, err error) {
	return add(text, at, value, true)
}

func add(text []byte, at []string, value any, element bool) (_ []byte, pieces []Insertion, made [][]string, err error) {
	if Blank(text) {
		object := []byte("{" + newline(text) + "}" + newline(text))
		pieces = append(pieces, Insertion{Offset: len(text), Length: len(object)})
		text = append(slices.Clone(text), object...)
	}
	v, err := parse(text)
	if err != nil {
		return nil, nil, nil, err
	}
	depth := 0
	for ; depth < len(at); depth++ {
		next := member(v, at[depth])
		if next == nil {
			break
		}
		v = next
	}
	want := "object"
	if element && depth == len(at) {
		want = "list"
	}
	if _, isObject := v.Value.(*hujson.Object); isObject != (want == "object") || want == "list" && !isList(v) {
		return nil, nil, nil, fmt.Errorf("line %d: %s is no %s", line(text, v.StartOffset), strings.Join(at[:depth], " › "), want)
	}
	if depth == len(at) && !element {
		return nil, nil, nil, fmt.Errorf("line %d: %s is there already", line(text, v.StartOffset), strings.Join(at, " › "))
	}
	nested := value
	if element && depth < len(at) {
		nested = []any{value}
		made = append(made, at)
	}
	for i := len(at) - 1; i > depth; i-- {
		nested = map[string]any{at[i]: nested}
		made = append(made, at[:i])
	}
	name := ""
	if depth < len(at) {
		name = at[depth]
	}
	out, more, err := insert(text, v, name, nested)
	return out, append(pieces, more...), made, err
}

func isList(v *hujson.Value) bool {
	_, ok := v.Value.(*hujson.Array)
	return ok
}

func line(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

// Undo removes the pieces that were inserted one after the other.
func Undo(text []byte, pieces []Insertion) ([]byte, error) {
	for _, p := range slices.Backward(pieces) {
		if p.Offset < 0 || p.Length < 0 || p.Offset > len(text)-p.Length {
			return nil, errors.New("the text is not the one that the pieces were inserted into")
		}
		text = slices.Concat(text[:p.Offset], p.Was, text[p.Offset+p.Length:])
	}
	return text, nil
}

package op

import (
	"bytes"
	"fmt"
	"strings"

	published "github.com/google/jsonschema-go/jsonschema"

	"parley.internal/shared/fault"
	"parley.internal/shared/jsonscan"
)

// The bounds of an input whose schema declares none.
const (
	// maxValues is the number of values in an input, or in a part of it that has no schema.
	maxValues = 20_000
	// maxLevels is the number of levels to which a part without a schema nests.
	maxLevels = 64
	// maxKeys is the number of fields of an object whose names the caller chooses.
	maxKeys = 1000
	// spareFields is the number of unknown fields of an object that are reported one by one.
	spareFields = 100
)

// reducer measures the text of an input before anything is made of it. A value that is too long, too deep or not of its
// schema's type is replaced by an empty one, so that no element of it is decoded; the problems name the values that
// were too long.
type reducer struct {
	text   []byte
	cuts   []replacement
	values int
	// problems are those of the values that were replaced and whose replacement breaks no other bound by itself.
	problems []fault.Problem
}

type replacement struct {
	at jsonscan.Span
	by string
}

// reduce returns the text with the replacements, and the problems of the replaced values. The text must be valid JSON.
func reduce(text []byte, s *published.Schema) ([]byte, []fault.Problem) {
	return reduceAt(text, s, nil)
}

// reduceAt reduces a text that is the value of a field.
func reduceAt(text []byte, s *published.Schema, at *place) ([]byte, []fault.Problem) {
	r := &reducer{text: text}
	r.value(jsonscan.Whole(text), s, at)
	if r.values > maxValues {
		empty := "{}"
		if s.Type == "array" {
			empty = "[]"
		}
		return []byte(empty), []fault.Problem{{Path: at.String(), Message: fmt.Sprintf("must have at most %d values", maxValues)}}
	}
	if len(r.cuts) == 0 {
		return text, r.problems
	}
	var out bytes.Buffer
	last := 0
	for _, c := range r.cuts {
		out.Write(text[last:c.at.Start])
		out.WriteString(c.by)
		last = c.at.End
	}
	out.Write(text[last:])
	return out.Bytes(), r.problems
}

// value measures the value at a place of the text, which belongs to a place of the input.
func (r *reducer) value(v jsonscan.Span, s *published.Schema, at *place) {
	if r.values++; r.values > maxValues {
		return
	}
	list := r.text[v.Start] == '['
	switch {
	case !list && r.text[v.Start] != '{':
	case s == nil || free(s):
		r.unshaped(v, at)
	case list && s.Type == "array":
		r.list(v, s, at)
	case !list && s.Type == "object":
		r.object(v, s, at)
	case list:
		r.replace(v, "[]") // the schema's check reports the type
	default:
		r.replace(v, "{}")
	}
}

// free reports whether a schema allows an object of any shape.
func free(s *published.Schema) bool {
	return s.Type == "object" && s.AdditionalProperties == nil && len(s.Properties) == 0
}

// keyed returns the schema of the values of an object whose names the caller chooses, nil for another object.
func keyed(s *published.Schema) *published.Schema {
	if more := s.AdditionalProperties; more != nil && more.Not == nil {
		return more
	}
	return nil
}

// longest returns the number of members that a list may have.
func longest(s *published.Schema) int {
	if s.MaxItems != nil {
		return *s.MaxItems
	}
	return maxValues
}

func tooLong(at *place, most, n int) fault.Problem {
	return fault.Problem{Path: at.String(), Message: fmt.Sprintf("must have at most %d members, not %d", most, n)}
}

func (r *reducer) list(v jsonscan.Span, s *published.Schema, at *place) {
	if n, most := jsonscan.Count(r.text, v), longest(s); n > most {
		r.problems = append(r.problems, tooLong(at, most, n))
		r.replace(v, "[]")
		return
	}
	i := 0
	for item := range jsonscan.Items(r.text, v) {
		r.value(item, s.Items, at.member(i))
		i++
	}
}

func (r *reducer) object(v jsonscan.Span, s *published.Schema, at *place) {
	each, most := keyed(s), len(s.Properties)+spareFields
	if each != nil {
		most = len(s.Properties) + maxKeys
	}
	if n := jsonscan.Count(r.text, v); n > most {
		r.problems = append(r.problems,
			fault.Problem{Path: at.String(), Message: fmt.Sprintf("must have at most %d fields, not %d", most, n)})
		r.replace(v, "{}")
		return
	}
	for name, field := range jsonscan.Fields(r.text, v) {
		n := jsonscan.Name(r.text, name)
		switch p := s.Properties[n]; {
		case p != nil:
			r.value(field, p, at.below(n))
		case each != nil:
			r.value(field, each, at.below(n))
		case r.text[field.Start] == '{' || r.text[field.Start] == '[':
			r.replace(field, "null") // the schema's check reports an unknown field, whatever its value
		default:
			r.values++
		}
	}
}

// unshaped measures a value that has no schema.
func (r *reducer) unshaped(v jsonscan.Span, at *place) {
	values, levels := jsonscan.Size(r.text, v)
	r.values += values - 1 // the value itself is counted
	if levels > maxLevels {
		r.problems = append(r.problems,
			fault.Problem{Path: at.String(), Message: fmt.Sprintf("must nest at most %d levels deep, not %d", maxLevels, levels)})
		r.replace(v, "{}")
	}
}

func (r *reducer) replace(at jsonscan.Span, by string) { r.cuts = append(r.cuts, replacement{at, by}) }

// within reports whether a path is that of one of the problems, or below it.
func within(path string, problems []fault.Problem) bool {
	for _, p := range problems {
		rest, ok := strings.CutPrefix(path, p.Path)
		if ok && (p.Path == "" || rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

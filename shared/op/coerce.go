package op

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	published "github.com/google/jsonschema-go/jsonschema"

	"parley.internal/shared/fault"
	"parley.internal/shared/jsonscan"
)

// coercer converts the values of an input to the types of its schema. It records the conversions, and the numbers that
// no field can hold.
type coercer struct {
	coerced  []string
	problems []fault.Problem
	// cut are the problems of the values that were too long to be decoded.
	cut []fault.Problem
}

// maxWhole is the largest whole number that every JSON client represents exactly.
const maxWhole = 1<<53 - 1

// place is the position of a value in the input. Its text is built only when it is reported.
type place struct {
	in   *place
	name string
}

func (p *place) below(name string) *place { return &place{p, name} }

func (p *place) member(i int) *place { return &place{p, "[" + strconv.Itoa(i) + "]"} }

// String returns the path from the root of the input, empty for the root itself.
func (p *place) String() string {
	if p == nil {
		return ""
	}
	if strings.HasPrefix(p.name, "[") {
		return p.in.String() + p.name
	}
	return join(p.in.String(), p.name)
}

func join(at, name string) string {
	const longest = 100
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "…"
	}
	return strings.TrimPrefix(at+"."+name, ".")
}

// maxNote bounds the value that a description of a conversion repeats, in bytes.
const maxNote = 200

func (m *coercer) note(at *place, as any, what string) any {
	if list, ok := as.([]any); ok && len(list) > maxProblems {
		m.coerced = append(m.coerced, fmt.Sprintf("%s was read as a list of %d members", at, len(list)))
		return as
	}
	shown := fmt.Sprint(as)
	if len(shown) > maxNote {
		shown = strings.ToValidUTF8(shown[:maxNote], "") + "…"
	}
	m.coerced = append(m.coerced, fmt.Sprintf("%s was read as the %s %s", at, what, shown))
	return as
}

// number returns the canonical text of a number, so that a text of a few bytes cannot stand for a number of a million
// digits. It records a problem for a number that no field can hold.
func (m *coercer) number(n json.Number, at *place) json.Number {
	if i, err := n.Int64(); err == nil {
		return m.whole(float64(i), at, n)
	}
	f, err := n.Float64()
	digits, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	if err != nil || (f == 0 && strings.ContainsAny(digits, "123456789")) {
		m.problems = append(
			m.problems,
			fault.Problem{Path: at.String(), Message: "must be a number that 64 bits can hold"},
		)
		return outOfRange(f)
	}
	if f == math.Trunc(f) {
		return m.whole(f, at, json.Number(strconv.FormatFloat(f, 'f', -1, 64)))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

func (m *coercer) whole(f float64, at *place, n json.Number) json.Number {
	if math.Abs(f) > maxWhole {
		m.problems = append(
			m.problems,
			fault.Problem{Path: at.String(), Message: fmt.Sprintf("must be between -%d and %d", maxWhole, maxWhole)},
		)
		return outOfRange(f)
	}
	return n
}

// outOfRange replaces a number that no field can hold by one beyond the same end of the range, so that the message
// about a field names the field's own bound.
func outOfRange(f float64) json.Number {
	if f < 0 {
		return json.Number(strconv.Itoa(-maxWhole - 1))
	}
	return json.Number(strconv.Itoa(maxWhole + 1))
}

// coerce converts a value that has exactly one reading as the type of its schema, as models often write it: "42" for a
// number, "true" for a boolean, 42 for a text, and one value, or a list as text, for a list. It records each conversion
// and leaves values without a schema as they are, at any depth.
func (m *coercer) coerce(v any, s *published.Schema, at *place) any {
	if s == nil {
		return v
	}
	if n, ok := v.(json.Number); ok && s.Type != "string" {
		return m.number(n, at)
	}
	switch s.Type {
	case "integer", "number":
		return m.coerceNumber(v, s, at)
	case "boolean":
		if text, ok := v.(string); ok && (text == "true" || text == "false") {
			return m.note(at, text == "true", "truth value")
		}
	case "string":
		switch x := v.(type) {
		case json.Number:
			return m.note(at, x.String(), "text")
		case bool:
			return m.note(at, strconv.FormatBool(x), "text")
		}
	case "array":
		return m.coerceList(v, s, at)
	case "object":
		return m.coerceObject(v, s, at)
	}
	return v
}

func (m *coercer) coerceNumber(v any, s *published.Schema, at *place) any {
	const longest = 40
	text, ok := v.(string)
	if text = strings.TrimSpace(text); !ok || len(text) > longest {
		return v
	}
	one, err := Decode([]byte(text))
	n, isNumber := one.(json.Number)
	if err != nil || !isNumber {
		return v
	}
	if f, err := n.Float64(); err != nil || (s.Type == "integer" && f != math.Trunc(f)) {
		return v
	}
	return m.note(at, m.number(n, at), "number")
}

func (m *coercer) coerceObject(v any, s *published.Schema, at *place) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, e := range object {
		p := s.Properties[name]
		if e == nil && p != nil && !slices.Contains(s.Required, name) {
			delete(object, name) // some clients send null for an optional field that they leave out
			m.coerced = append(m.coerced, at.below(name).String()+" was null and was read as left out")
			continue
		}
		if p == nil {
			p = s.AdditionalProperties
		}
		if p != nil {
			object[name] = m.coerce(e, p, at.below(name))
		}
	}
	return object
}

func (m *coercer) coerceList(v any, s *published.Schema, at *place) any {
	if text, ok := v.(string); ok {
		if list, ok := m.listIn(text, s, at); ok {
			v = m.note(at, list, "list")
		} else if s.Items != nil && s.Items.Type == "string" && text != "" &&
			!strings.HasPrefix(strings.TrimSpace(text), "[") {
			v = m.note(at, []any{text}, "list")
		}
	}
	list, ok := v.([]any)
	if most := longest(s); len(list) > most {
		m.cut = append(m.cut, tooLong(at, most, len(list)))
		return []any{}
	}
	for i := range list {
		list[i] = m.coerce(list[i], s.Items, at.member(i))
	}
	if !ok {
		return v
	}
	return list
}

// listIn returns the list that a text holds as JSON, reduced as an input is.
func (m *coercer) listIn(text string, s *published.Schema, at *place) (any, bool) {
	if !strings.HasPrefix(strings.TrimSpace(text), "[") || jsonscan.Check([]byte(text)) != nil {
		return nil, false
	}
	reduced, problems := reduceAt([]byte(text), s, at)
	m.cut = append(m.cut, problems...)
	list, err := Decode(reduced)
	return list, err == nil && isList(list)
}

func isList(v any) bool { _, ok := v.([]any); return ok }

// CheckText returns an Invalid fault, which names the field, for JSON that is not UTF-8 or that escapes an unpaired
// surrogate. encoding/json would replace such text without an error.
func CheckText(args json.RawMessage) error {
	if !bad(args) {
		return nil
	}
	return fault.Field(badField(args), "must be valid UTF-8 text")
}

// halfEscape reports whether b has a \ud800–\udfff escape that is not part of a pair.
func halfEscape(b []byte) bool {
	for i := 0; i+5 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if b[i+1] != 'u' {
			i++
			continue
		}
		hi, ok := surrogate(b[i:])
		if !ok {
			i += 5
			continue
		}
		lo, ok := surrogate(b[min(i+6, len(b)):])
		if hi >= 0xdc00 || !ok || lo < 0xdc00 {
			return true
		}
		i += 11
	}
	return false
}

func surrogate(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return n, err == nil && n >= 0xd800 && n <= 0xdfff
}

// maxNamed is the depth to which a path is followed. No input of an operation is deeper.
const maxNamed = 16

// badField returns the path of the field whose text is not valid. It is empty where the text is no JSON.
func badField(text []byte) string {
	if jsonscan.Check(text) != nil {
		return ""
	}
	var at *place
	v := jsonscan.Whole(text)
	for range maxNamed { // beyond it, the path of an enclosing field is precise enough
		next, inside := badInside(text, v)
		if inside == nil {
			break
		}
		inside.in = at
		at, v = inside, next
	}
	return at.String()
}

// badInside returns the first field or member of a value whose text is not valid, and its place, nil if there is none.
func badInside(text []byte, at jsonscan.Span) (jsonscan.Span, *place) {
	for name, v := range jsonscan.Fields(text, at) {
		if bad(v.Of(text)) {
			return v, &place{name: strings.ToValidUTF8(jsonscan.Name(text, name), "�")}
		}
	}
	i := 0
	for v := range jsonscan.Items(text, at) {
		if bad(v.Of(text)) {
			return v, (*place)(nil).member(i)
		}
		i++
	}
	return at, nil
}

func bad(text []byte) bool { return !utf8.Valid(text) || halfEscape(text) }

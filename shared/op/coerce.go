package op

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	published "github.com/google/jsonschema-go/jsonschema"

	"parley.internal/shared/fault"
)

// mender makes of an input what can be checked and decoded.
type mender struct {
	mended []string
	wrong  []fault.Problem
}

// maxWhole bounds whole numbers to those that every JSON client keeps exactly.
const maxWhole = 1<<53 - 1

// place is where a value stands in the input; its text is made where it is told.
type place struct {
	in   *place
	name string
}

func (p *place) below(name string) *place { return &place{p, name} }

func (p *place) member(i int) *place { return &place{p, "[" + strconv.Itoa(i) + "]"} }

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

func (m *mender) note(at *place, as any, what string) any {
	m.mended = append(m.mended, fmt.Sprintf("%s was read as the %s %v", at, what, as))
	return as
}

// number writes a number in one way, so that a text of a few bytes cannot stand for
// a number of a million digits, and refuses what no field can hold.
func (m *mender) number(n json.Number, at *place) json.Number {
	if i, err := n.Int64(); err == nil {
		return m.whole(float64(i), at, n)
	}
	f, err := n.Float64()
	digits, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	if err != nil || (f == 0 && strings.ContainsAny(digits, "123456789")) {
		m.wrong = append(m.wrong, fault.Problem{Path: at.String(), Message: "must be a number that 64 bits can hold"})
		return past(f)
	}
	if f == math.Trunc(f) {
		return m.whole(f, at, json.Number(strconv.FormatFloat(f, 'f', -1, 64)))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

func (m *mender) whole(f float64, at *place, n json.Number) json.Number {
	if math.Abs(f) > maxWhole {
		m.wrong = append(m.wrong, fault.Problem{Path: at.String(), Message: fmt.Sprintf("must be between -%d and %d", maxWhole, maxWhole)})
		return past(f)
	}
	return n
}

// past stands for a number that cannot be kept, on its side of all that can, so
// that a field's bound is what its author is told.
func past(f float64) json.Number {
	if f < 0 {
		return json.Number(strconv.Itoa(-maxWhole - 1))
	}
	return json.Number(strconv.Itoa(maxWhole + 1))
}

// coerce mends the slips of models that have one reading only: "42" where a
// number is wanted, "true" where a truth value is, 42 where a text is, and one
// value, or a list as text, where a list is wanted. What it mended it names. What
// the schema does not know it leaves alone, however deep that is.
func (m *mender) coerce(v any, s *published.Schema, at *place) any {
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

func (m *mender) coerceNumber(v any, s *published.Schema, at *place) any {
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

func (m *mender) coerceObject(v any, s *published.Schema, at *place) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, e := range object {
		p := s.Properties[name]
		if e == nil && p != nil && !slices.Contains(s.Required, name) {
			delete(object, name) // a null is how some clients leave an optional field out
			m.mended = append(m.mended, at.below(name).String()+" was null and was read as left out")
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

func (m *mender) coerceList(v any, s *published.Schema, at *place) any {
	if text, ok := v.(string); ok {
		if list, err := Decode([]byte(text)); err == nil && isList(list) {
			v = m.note(at, list, "list")
		} else if s.Items != nil && s.Items.Type == "string" && text != "" && !strings.HasPrefix(strings.TrimSpace(text), "[") {
			v = m.note(at, []any{text}, "list")
		}
	}
	list, ok := v.([]any)
	for i := range list {
		list[i] = m.coerce(list[i], s.Items, at.member(i))
	}
	if !ok {
		return v
	}
	return list
}

func isList(v any) bool { _, ok := v.([]any); return ok }

// CheckText refuses JSON whose text is not UTF-8, or that escapes half a
// character, and names the field: Go would replace such text in silence.
func CheckText(args json.RawMessage) error {
	if utf8.Valid(args) && !halfEscape(args) {
		return nil
	}
	at := badField(args, "", 0)
	return fault.Field(at, "must be valid UTF-8 text")
}

// halfEscape finds a \ud800–\udfff escape that is not one of a pair.
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

// maxNamed is how deep a path is followed; no input of an operation is deeper.
const maxNamed = 16

// badField is the path of the first field whose text is not valid.
func badField(raw json.RawMessage, at string, depth int) string {
	if depth > maxNamed {
		return at // the fields around it name it well enough
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		for name, v := range object {
			if !utf8.Valid(v) || halfEscape(v) {
				return badField(v, join(at, strings.ToValidUTF8(name, "�")), depth+1)
			}
		}
		return at
	}
	var list []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) && json.Unmarshal(raw, &list) == nil {
		for i, v := range list {
			if !utf8.Valid(v) || halfEscape(v) {
				return badField(v, fmt.Sprintf("%s[%d]", at, i), depth+1)
			}
		}
	}
	return at
}

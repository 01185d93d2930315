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

// plain writes every number in one way, so that a text of a few bytes cannot stand
// for a number of a million digits, and refuses what no field can hold.
func (m *mender) plain(v any, at string) any {
	switch x := v.(type) {
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return m.whole(float64(i), at, x)
		}
		f, err := x.Float64()
		digits, _, _ := strings.Cut(strings.ToLower(x.String()), "e")
		if err != nil || (f == 0 && strings.ContainsAny(digits, "123456789")) {
			m.wrong = append(m.wrong, fault.Problem{Path: at, Message: "must be a number that 64 bits can hold"})
			return json.Number("0")
		}
		if f == math.Trunc(f) {
			return m.whole(f, at, json.Number(strconv.FormatFloat(f, 'f', -1, 64)))
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	case []any:
		for i := range x {
			x[i] = m.plain(x[i], fmt.Sprintf("%s[%d]", at, i))
		}
	case map[string]any:
		for name, e := range x {
			x[name] = m.plain(e, join(at, name))
		}
	}
	return v
}

func (m *mender) whole(f float64, at string, n json.Number) any {
	if math.Abs(f) > maxWhole {
		m.wrong = append(m.wrong, fault.Problem{Path: at, Message: fmt.Sprintf("must be between -%d and %d", maxWhole, maxWhole)})
		return json.Number("0")
	}
	return n
}

func join(at, name string) string {
	const longest = 100
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "…"
	}
	return strings.TrimPrefix(at+"."+name, ".")
}

func (m *mender) note(at string, as any, what string) any {
	m.mended = append(m.mended, fmt.Sprintf("%s was read as the %s %v", at, what, as))
	return as
}

// coerce mends the slips of models that have one reading only: "42" where a
// number is wanted, "true" where a truth value is, 42 where a text is, and one
// value, or a list as text, where a list is wanted. What it mended it names.
func (m *mender) coerce(v any, s *published.Schema, at string) any {
	if s == nil {
		return v
	}
	switch s.Type {
	case "integer", "number":
		text, ok := v.(string)
		if text = strings.TrimSpace(text); !ok || len(text) > 40 {
			return v
		}
		n, err := decodeOne([]byte(text))
		if number, isNumber := n.(json.Number); err == nil && isNumber {
			f, err := number.Float64()
			if err == nil && (s.Type == "number" || f == math.Trunc(f)) {
				return m.note(at, m.plain(number, at), "number")
			}
		}
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

func (m *mender) coerceObject(v any, s *published.Schema, at string) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, e := range object {
		p := s.Properties[name]
		if e == nil && p != nil && !slices.Contains(s.Required, name) {
			delete(object, name) // a null is how some clients leave an optional field out
			m.mended = append(m.mended, join(at, name)+" was null and was read as left out")
			continue
		}
		if p == nil {
			p = s.AdditionalProperties
		}
		object[name] = m.coerce(e, p, join(at, name))
	}
	return object
}

func (m *mender) coerceList(v any, s *published.Schema, at string) any {
	if text, ok := v.(string); ok {
		if list, err := decodeOne([]byte(text)); err == nil && isList(list) {
			v = m.note(at, m.plain(list, at), "list")
		} else if s.Items != nil && s.Items.Type == "string" && text != "" && !strings.HasPrefix(strings.TrimSpace(text), "[") {
			v = m.note(at, []any{text}, "list")
		}
	}
	list, ok := v.([]any)
	for i := range list {
		list[i] = m.coerce(list[i], s.Items, fmt.Sprintf("%s[%d]", at, i))
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

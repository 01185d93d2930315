package op

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	published "github.com/google/jsonschema-go/jsonschema"

	"parley.internal/shared/fault"
)

// coerce mends the slips of models that have one reading only: "42" where a
// number is wanted, "true" where a truth value is, 42 where a text is, and one
// value, or a list as text, where a list is wanted. What it mended it names.
func coerce(v any, s *published.Schema, at string, mended *[]string) any {
	if s == nil {
		return v
	}
	note := func(as any, what string) any {
		*mended = append(*mended, fmt.Sprintf("%s was read as the %s %v", at, what, as))
		return as
	}
	switch s.Type {
	case "integer", "number":
		text, ok := v.(string)
		if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); ok && err == nil && json.Valid([]byte(strings.TrimSpace(text))) {
			if s.Type == "number" || n == float64(int64(n)) {
				return note(json.Number(strings.TrimSpace(text)), "number")
			}
		}
	case "boolean":
		if text, ok := v.(string); ok && (text == "true" || text == "false") {
			return note(text == "true", "truth value")
		}
	case "string":
		switch x := v.(type) {
		case json.Number:
			return note(x.String(), "text")
		case bool:
			return note(strconv.FormatBool(x), "text")
		}
	case "array":
		return coerceList(v, s, at, mended, note)
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return v
		}
		for name, e := range m {
			p := s.Properties[name]
			if p == nil {
				p = s.AdditionalProperties
			}
			if e == nil && s.Properties[name] != nil && !contains(s.Required, name) {
				delete(m, name) // a null is how some clients leave an optional field out
				*mended = append(*mended, strings.TrimPrefix(at+"."+name, ".")+" was null and was read as left out")
				continue
			}
			m[name] = coerce(e, p, strings.TrimPrefix(at+"."+name, "."), mended)
		}
	}
	return v
}

func coerceList(v any, s *published.Schema, at string, mended *[]string, note func(any, string) any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = coerce(x[i], s.Items, fmt.Sprintf("%s[%d]", at, i), mended)
		}
		return x
	case string:
		if strings.HasPrefix(strings.TrimSpace(x), "[") {
			dec := json.NewDecoder(strings.NewReader(x))
			dec.UseNumber()
			var list []any
			if dec.Decode(&list) == nil && !dec.More() {
				return note(list, "list")
			}
		}
		if s.Items != nil && s.Items.Type == "string" && x != "" {
			return note([]any{x}, "list")
		}
	}
	return v
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// CheckText refuses JSON whose text is not UTF-8, or that escapes half a
// character, and names the field: Go would replace such text in silence.
func CheckText(args json.RawMessage) error {
	if utf8.Valid(args) && !halfEscape(args) {
		return nil
	}
	at := badField(args, "")
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

// badField is the path of the first field whose text is not valid.
func badField(raw json.RawMessage, at string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		for name, v := range object {
			if !utf8.Valid(v) || halfEscape(v) {
				return badField(v, strings.TrimPrefix(at+"."+name, "."))
			}
		}
		return at
	}
	var list []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) && json.Unmarshal(raw, &list) == nil {
		for i, v := range list {
			if !utf8.Valid(v) || halfEscape(v) {
				return badField(v, fmt.Sprintf("%s[%d]", at, i))
			}
		}
	}
	return at
}

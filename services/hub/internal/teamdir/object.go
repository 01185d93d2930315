package teamdir

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"parley.internal/shared/team"
)

// object is a value in a file, with the names of its fields that are written as null if they have no value.
type object struct {
	value any
	nulls []string
}

// MarshalJSON writes the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	v := reflect.ValueOf(o.value)
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := v.FieldByIndex(f.Index)
		null := slices.Contains(o.nulls, name) && empty(field)
		if f.Anonymous || !null && options == "omitempty" && empty(field) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		text := []byte("null")
		if !null {
			var err error
			if text, err = encode(field.Interface()); err != nil {
				return nil, err
			}
		}
		b.WriteString(`"` + name + `":`)
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// empty reports whether a field has no value: a slice of no elements has none.
func empty(v reflect.Value) bool {
	return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

// encode returns a value as JSON in which <, > and & stand for themselves.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// config is a team as its file has it.
type config struct {
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	CreatedAt     int64    `json:"createdAt"`
	LeadAgentID   string   `json:"leadAgentId"`
	LeadSessionID string   `json:"leadSessionId"`
	Members       []object `json:"members"`
}

func configOf(a team.Archive) object {
	c := config{a.Name, a.Description, a.CreatedAt, a.LeadAgentID, a.LeadSessionID, []object{}}
	for _, m := range a.Members {
		c.Members = append(c.Members, object{m, a.Nulls["members/"+m.Name]})
	}
	return object{c, a.Nulls["config"]}
}

package op

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"parley.internal/shared/identity"
)

// defaults are the default values of the fields of an object and of the objects below it.
//
// ApplyDefaults of the schema library does not reach the members of lists, and it creates an object that was left out
// if one of the object's fields has a default: a task without a dream would get one.
type defaults struct {
	values map[string]any
	below  map[string]*defaults
	// each holds the defaults of the members of a list.
	each *defaults
}

// defaultsOf returns the defaults of a schema, nil if it has none.
func defaultsOf(s *jsonschema.Schema) (*defaults, error) {
	d := &defaults{values: map[string]any{}, below: map[string]*defaults{}}
	for name, p := range s.Properties {
		if p.Default != nil {
			var v any
			if err := json.Unmarshal(p.Default, &v); err != nil {
				return nil, fmt.Errorf("%s: its default: %w", name, err)
			}
			d.values[name] = v
		}
		below, err := defaultsOf(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if below != nil {
			d.below[name] = below
		}
	}
	var err error
	if s.Items != nil {
		d.each, err = defaultsOf(s.Items)
	}
	if len(d.values) == 0 && len(d.below) == 0 && d.each == nil {
		return nil, err
	}
	return d, err
}

// fill adds the fields that are missing from a value and from the values below it.
func (d *defaults) fill(v any) {
	if d == nil {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		for name, value := range d.values {
			if _, given := x[name]; !given {
				x[name] = clone(value)
			}
		}
		for name, below := range d.below {
			below.fill(x[name])
		}
	case []any:
		for _, e := range x {
			d.each.fill(e)
		}
	}
}

// clone copies a default that is a list or an object, so that calls do not share it.
func clone(v any) any {
	switch x := v.(type) {
	case []any:
		return slices.Clone(x)
	case map[string]any:
		return maps.Clone(x)
	}
	return v
}

// Fill returns an input made by a program with the defaults of its schema, as a [Catalogue] adds them to one that came
// as JSON. A field with the zero value counts as left out if its tag has omitempty or omitzero. Fill panics if I is not
// an input type.
func Fill[I any](in I) I { return FillAs(identity.Caller{}, "", in) }

// FillAs is [Fill] for an input with an idempotency key, which it ties to the caller and the operation.
func FillAs[I any](c identity.Caller, operation string, in I) I {
	text, err := json.Marshal(in)
	if err != nil {
		panic(fmt.Sprintf("op: %T: %v", in, err))
	}
	v, err := Decode(text)
	fields, ok := v.(map[string]any)
	if err == nil && !ok {
		err = errors.New("is no struct")
	}
	if err == nil {
		var schema *jsonschema.Schema
		if schema, err = inputSchema[I](); err == nil {
			var d *defaults
			if d, err = defaultsOf(schema); err == nil {
				d.fill(fields)
			}
		}
	}
	var out I
	if err == nil {
		err = bind(fields, &out)
	}
	if err == nil {
		err = identify(&out, c, operation, fieldWith(reflect.TypeFor[I](), "wait"), fields)
	}
	if err != nil {
		panic(fmt.Sprintf("op: %T: %v", in, err))
	}
	return out
}

package op

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

type apiParameter struct {
	Ref         string          `json:"$ref,omitempty"`
	Name        string          `json:"name,omitempty"`
	In          string          `json:"in,omitempty"`
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Style       string          `json:"style,omitempty"`
	Explode     bool            `json:"explode,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// fields are the inputs of a route that are not yet in its path or query, in order.
type fields struct {
	schema jsonschema.Schema
	names  []string
}

// withoutFixed returns the inputs of the operation that the route does not set itself.
func (o *Op) withoutFixed(r Compat) (*fields, error) {
	f := &fields{schema: *o.schema.shape, names: slices.Clone(o.schema.shape.PropertyOrder)}
	for name := range r.Set {
		if f.schema.Properties[name] == nil {
			return nil, fmt.Errorf("it fixes %s, which is not a field of the input", name)
		}
		f.drop(name)
	}
	return f, nil
}

func (f *fields) drop(name string) {
	f.names = slices.DeleteFunc(f.names, func(n string) bool { return n == name })
}

func (f *fields) required(name string) bool { return slices.Contains(f.schema.Required, name) }

func pathParameter(f *fields, name string) (apiParameter, error) {
	if !slices.Contains(f.names, name) {
		return apiParameter{}, fmt.Errorf("its path has %s, which is not a field left to give", name)
	}
	p, err := f.parameter(name, "path")
	p.Required = true
	return p, err
}

// query returns the fields as parameters of the query. A list is a repeated parameter; an object is an error.
func (f *fields) query() ([]apiParameter, error) {
	var out []apiParameter
	for _, name := range f.names {
		s := f.schema.Properties[name]
		if s.Type == "object" ||
			(s.Items != nil && s.Items.Type != "string" && s.Items.Type != "integer" && s.Items.Type != "number") {
			return nil, fmt.Errorf("%s cannot stand in a query: it is a nested %s", name, s.Type)
		}
		p, err := f.parameter(name, "query")
		if err != nil {
			return nil, err
		}
		p.Required = f.required(name)
		if s.Type == "array" {
			p.Style, p.Explode = "form", true
		}
		out = append(out, p)
	}
	return out, nil
}

// parameter returns the field as a parameter, its description moved from the schema to the parameter, where tools
// expect it.
func (f *fields) parameter(name, in string) (apiParameter, error) {
	s := *f.schema.Properties[name]
	p := apiParameter{Name: name, In: in, Description: s.Description}
	s.Description = ""
	var err error
	p.Schema, err = json.Marshal(&s)
	return p, err
}

// body returns the fields as one JSON object, with the sample's values as its example; nil if there are no fields.
func (f *fields) body(sample In) (*apiBody, error) {
	if len(f.names) == 0 {
		return nil, nil
	}
	s := f.schema
	s.Properties, s.PropertyOrder, s.Required = map[string]*jsonschema.Schema{}, f.names, nil
	for _, name := range f.names {
		s.Properties[name] = f.schema.Properties[name]
		if f.required(name) {
			s.Required = append(s.Required, name)
		}
	}
	text, err := json.Marshal(&s)
	if err != nil {
		return nil, err
	}
	content := jsonMedia{Schema: json.RawMessage(text), Example: maps.Clone(sample)}
	maps.DeleteFunc(content.Example, func(name string, _ any) bool { return !slices.Contains(f.names, name) })
	return &apiBody{Required: len(s.Required) > 0, Content: map[string]any{"application/json": content}}, nil
}

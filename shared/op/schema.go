package op

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// The tag "allow" bounds a field, its parts parted by commas:
//
//	min=1 max=50       a number's range; max is a text's characters or a list's length
//	over=0             a number's exclusive minimum
//	each=100           the characters of a list's members
//	enum=a|b           the values
//	default=x          what a missing value means
//	pattern=id         one of the named patterns below
//	nonempty           a text or list that may not be empty
//	wait=x             how long the call may wait, x milliseconds by default, 55,000 at most

// MaxWait is how long a call may wait at most. Proxies and clients often end a request after 60 s.
const MaxWait = 55 * time.Second

var patterns = map[string]string{
	// What can be the id of a document made here or given by a caller.
	"id": `^[A-Za-z0-9][A-Za-z0-9._:~-]*$`,
	// What can name a user or program.
	"name": `^[A-Za-z0-9][A-Za-z0-9._-]*$`,
	// A recipient: a program, "all" or "group:name".
	"target": `^(group:)?[A-Za-z0-9][A-Za-z0-9._-]*$`,
}

// schemaFor is the published schema of a type: an object at the root, one type
// everywhere, no references.
func schemaFor(t reflect.Type, output bool) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}})
	if err != nil {
		return nil, err
	}
	return s, shape(s, t, output, "")
}

// waitOf is the field of an input that says how long the call may wait, empty where it has none.
func waitOf(in reflect.Type) string {
	for _, f := range reflect.VisibleFields(in) {
		for part := range strings.SplitSeq(f.Tag.Get("allow"), ",") {
			if strings.HasPrefix(part, "wait=") {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				return name
			}
		}
	}
	return ""
}

// inputSchema is the published schema of an input type.
func inputSchema[I any]() (*jsonschema.Schema, error) { return schemaFor(reflect.TypeFor[I](), false) }

func shape(s *jsonschema.Schema, t reflect.Type, output bool, at string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(s.Types) > 0 {
		s.Types = slices.DeleteFunc(s.Types, func(n string) bool { return n == "null" })
		s.Type, s.Types = s.Types[0], nil
	}
	if s.Type == "" {
		return fmt.Errorf("%s: a %v has no one type", at, t)
	}
	switch {
	case s.Items != nil:
		return shape(s.Items, t.Elem(), output, at+"[]")
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil:
		return shape(s.AdditionalProperties, t.Elem(), output, at+".*")
	case t.Kind() != reflect.Struct || s.Type != "object":
		return nil
	}
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	if output {
		s.AdditionalProperties = nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p == nil || f.Anonymous {
			continue
		}
		if err := shape(p, f.Type, output, at+"."+name); err != nil {
			return err
		}
		if err := bound(p, f.Tag.Get("allow")); err != nil {
			return fmt.Errorf("%s.%s: %w", at, name, err)
		}
	}
	return nil
}

func bound(s *jsonschema.Schema, tag string) error {
	if tag == "" {
		return nil
	}
	for part := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		if err := boundBy(s, key, value); err != nil {
			return fmt.Errorf("allow %q: %w", part, err)
		}
	}
	return nil
}

// each is what a bound of single values is about: the schema, or the items of an array.
func each(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items != nil {
		return s.Items
	}
	return s
}

func boundBy(s *jsonschema.Schema, key, value string) error {
	number, numErr := strconv.ParseFloat(value, 64)
	count := int(number)
	switch key {
	case "min":
		s.Minimum = &number
	case "over":
		s.ExclusiveMinimum = &number
	case "max":
		switch s.Type {
		case "string":
			s.MaxLength = &count
		case "array":
			s.MaxItems = &count
		default:
			s.Maximum = &number
		}
	case "each":
		s.Items.MaxLength = &count
	case "enum":
		numErr = nil
		target := each(s)
		for v := range strings.SplitSeq(value, "|") {
			target.Enum = append(target.Enum, v)
		}
	case "default":
		numErr = nil
		s.Default = json.RawMessage(value)
		if s.Type == "string" {
			s.Default, numErr = json.Marshal(value)
		}
	case "pattern":
		numErr = nil
		target := each(s)
		if target.Pattern = patterns[value]; target.Pattern == "" {
			return fmt.Errorf("no such pattern")
		}
	case "wait":
		least, most := 0.0, float64(MaxWait.Milliseconds())
		s.Minimum, s.Maximum, s.Default = &least, &most, json.RawMessage(value)
	case "nonempty":
		numErr = nil
		one := 1
		if s.Type == "array" {
			s.MinItems = &one
		} else {
			s.MinLength = &one
		}
	default:
		return fmt.Errorf("no such bound")
	}
	return numErr
}

// shortText is how long a name or an id may be, with what stands in front of it.
const shortText = 110

// abridge takes from a schema what a model does not need to fill it in: patterns, and
// the bounds of names and ids, which are longer than any.
func abridge(s *jsonschema.Schema) {
	s.Pattern, s.MinLength = "", nil
	if s.MaxLength != nil && *s.MaxLength <= shortText {
		s.MaxLength = nil
	}
	for _, p := range s.Properties {
		p.AdditionalProperties = nil
		abridge(p)
	}
	if s.Items != nil {
		s.Items.AdditionalProperties = nil
		abridge(s.Items)
	}
}

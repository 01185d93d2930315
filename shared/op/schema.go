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

// The tag "allow" bounds a field. Its parts are separated by commas:
//
//	min=1 max=50       the range of a number; max also bounds the characters of a text and the length of a list
//	over=0             the exclusive minimum of a number
//	each=100           the maximum of characters of a list's members
//	enum=a|b           the allowed values
//	default=x          the value of a field that is left out
//	pattern=id         one of the named patterns below
//	nonempty           a text or list that must not be empty
//	session            the session that the call belongs to: that of the header X-Parley-Session if it is left out
//	rare               an input that the lists of selections leave out, see [Spec.Also]
//	wait=x             the time that the call may wait in milliseconds: x by default, at most 55,000

// MaxWait is the longest time for which a call may wait. Proxies and clients often end a request after 60 s.
const MaxWait = 55 * time.Second

var patterns = map[string]string{
	// The id of a document, generated or chosen by a caller.
	"id": `^[A-Za-z0-9][A-Za-z0-9._:~-]*$`,
	// The name of a user or a program.
	"name": `^[A-Za-z0-9][A-Za-z0-9._-]*$`,
	// A recipient: a program, a session's address, "all" or "group:name".
	"target": `^(group:[A-Za-z0-9][A-Za-z0-9._-]*|[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._:~-]*)?)$`,
	// The id or the address of a session, "build" or "claude/2".
	"session": `^([A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._:~-]*$`,
}

// schemaFor returns the published schema of a type: an object at the root, a single type for every value, and no
// references.
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

// fieldWith returns the name of the input field with a bound, empty if there is none.
func fieldWith(in reflect.Type, bound string) string {
	for _, f := range reflect.VisibleFields(in) {
		for part := range strings.SplitSeq(f.Tag.Get("allow"), ",") {
			if key, _, _ := strings.Cut(part, "="); key == bound {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				return name
			}
		}
	}
	return ""
}

// inputSchema returns the published schema of an input type.
func inputSchema[I any]() (*jsonschema.Schema, error) { return schemaFor(reflect.TypeFor[I](), false) }

// shape reduces the schema of a type to the published subset and adds the bounds of its tags.
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

// bound adds the bounds of an "allow" tag to a schema.
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

// each returns the schema that a bound of single values applies to: that of an array's items, otherwise s.
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
	case "session", "rare":
		numErr = nil // no bound of the value
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

// shortText is the length of the longest name, id or title.
const shortText = 210

// abridge removes from a schema the parts that a model does not need to fill it in: patterns, and the maximum lengths
// of names, ids and titles, which few reach; the fault of a longer one tells the length.
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

// terse reduces a brief schema further, for the list of a selection: the inputs that are rare and all bounds go. The
// fault of a value that is out of bounds tells them.
func terse(s *jsonschema.Schema, in reflect.Type) {
	for _, f := range reflect.VisibleFields(in) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(strings.Split(f.Tag.Get("allow"), ","), "rare") {
			delete(s.Properties, name)
			s.PropertyOrder = slices.DeleteFunc(slices.Clone(s.PropertyOrder), func(p string) bool { return p == name })
		}
	}
	unbound(s)
}

func unbound(s *jsonschema.Schema) {
	s.AdditionalProperties = nil
	s.MaxLength, s.MinItems, s.MaxItems, s.Minimum, s.Maximum, s.ExclusiveMinimum = nil, nil, nil, nil, nil, nil
	for _, p := range s.Properties {
		unbound(p)
	}
	if s.Items != nil {
		unbound(s.Items)
	}
}

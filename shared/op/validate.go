package op

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	published "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"parley.internal/shared/fault"
)

// compiled checks and decodes inputs of one schema.
type compiled struct {
	// schema is compiled when it is first needed, so that a server of a hundred
	// operations starts sooner.
	schema func() (*jsonschema.Schema, error)
	shape  *published.Schema
}

func compile(name string, text []byte, shape *published.Schema) *compiled {
	return &compiled{shape: shape, schema: sync.OnceValues(func() (*jsonschema.Schema, error) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft2020)
		url := "mem:///" + name
		if err := c.AddResource(url, doc); err != nil {
			return nil, err
		}
		return c.Compile(url)
	})}
}

// maxProblems is how many problems an answer names.
const maxProblems = 20

// check reads an input: text in, the object to decode out, what was coerced
// named. Everything wrong with it is reported at once.
func (c *compiled) check(args json.RawMessage) (json.RawMessage, []string, error) {
	if len(bytes.TrimSpace(args)) == 0 || string(bytes.TrimSpace(args)) == "null" {
		args = json.RawMessage("{}")
	}
	if err := CheckText(args); err != nil {
		return nil, nil, err
	}
	v, err := decodeOne(args)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Invalid, err, "the input is not one JSON value: %v", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, nil, fault.New(fault.Invalid, "the input must be a JSON object")
	}
	m := &mender{}
	v = m.coerce(v, c.shape, nil)
	var wrong []fault.Problem
	schema, err := c.schema()
	if err != nil {
		return nil, nil, fault.Wrap(fault.Internal, err, "the schema")
	}
	if err := schema.Validate(v); err != nil {
		var invalid *jsonschema.ValidationError
		if !errors.As(err, &invalid) {
			return nil, nil, fault.Wrap(fault.Internal, err, "validation")
		}
		wrong = c.problems(invalid)
	}
	for _, w := range m.wrong {
		// The field's own bound says more than that no field can hold it.
		if !slices.ContainsFunc(wrong, func(p fault.Problem) bool { return p.Path == w.Path }) {
			wrong = append(wrong, w)
		}
	}
	if len(wrong) > 0 {
		return nil, nil, report(wrong)
	}
	// What was checked is what is decoded: a field that stands twice, or a number
	// written in an odd way, means one thing to both.
	if args, err = json.Marshal(v); err != nil {
		return nil, nil, fault.Wrap(fault.Internal, err, "validation")
	}
	slices.Sort(m.mended)
	return args, m.mended, nil
}

// decodeOne reads a text that is one JSON value and nothing else.
func decodeOne(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return v, nil
}

func (c *compiled) problems(root *jsonschema.ValidationError) []fault.Problem {
	var out []fault.Problem
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			out = append(out, explain(e, c.shape)...)
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(root)
	return out
}

func report(out []fault.Problem) error {
	slices.SortFunc(out, func(a, b fault.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	out = slices.Compact(out)
	if more := len(out) - maxProblems; more > 0 {
		out = append(out[:maxProblems], fault.Problem{Message: fmt.Sprintf("and %d more problems", more)})
	}
	return fault.Problems(out...)
}

func pathTo(location []string, names ...string) string {
	var b strings.Builder
	for _, part := range slices.Concat(location, names) {
		if _, err := strconv.Atoi(part); err == nil {
			fmt.Fprintf(&b, "[%s]", part)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if len(part) > 100 {
			part = part[:100] + "…"
		}
		b.WriteString(strings.ToValidUTF8(part, "�"))
	}
	return b.String()
}

// explain says what is allowed where the input is wrong.
func explain(e *jsonschema.ValidationError, shape *published.Schema) []fault.Problem {
	at := e.InstanceLocation
	say := func(format string, args ...any) []fault.Problem {
		return []fault.Problem{{Path: pathTo(at), Message: fmt.Sprintf(format, args...)}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		var out []fault.Problem
		for _, name := range k.Missing {
			out = append(out, fault.Problem{Path: pathTo(at, name), Message: "is required"})
		}
		return out
	case *kind.AdditionalProperties:
		var out []fault.Problem
		for _, name := range k.Properties {
			known := "there are none"
			if fields := fieldsAt(shape, at); len(fields) > 0 {
				known = "the fields are " + strings.Join(fields, ", ")
			}
			out = append(out, fault.Problem{Path: pathTo(at, name), Message: "is not a field here; " + known})
		}
		return out
	case *kind.Type:
		return say("must be of type %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		words := make([]string, len(k.Want))
		for i, w := range k.Want {
			words[i] = fmt.Sprint(w)
		}
		return say("must be one of %s", strings.Join(words, ", "))
	case *kind.MaxLength:
		return say("must be at most %d characters, not %d", k.Want, k.Got)
	case *kind.MinLength:
		return say("must not be empty")
	case *kind.MaxItems:
		return say("must have at most %d members, not %d", k.Want, k.Got)
	case *kind.MinItems:
		return say("must not be empty")
	case *kind.Minimum:
		return say("must be at least %s", plain(k.Want))
	case *kind.Maximum:
		return say("must be at most %s", plain(k.Want))
	case *kind.ExclusiveMinimum:
		return say("must be more than %s", plain(k.Want))
	case *kind.Pattern:
		return say("must match %s", k.Want)
	}
	return say("is not allowed (%s)", strings.Join(e.ErrorKind.KeywordPath(), "/"))
}

func plain(r *big.Rat) string { return strings.TrimSuffix(r.RatString(), "/1") }

// fieldsAt are the names allowed in the object at a place of the input.
func fieldsAt(s *published.Schema, location []string) []string {
	for _, part := range location {
		switch {
		case s == nil:
			return nil
		case s.Items != nil:
			s = s.Items
		case s.Properties[part] != nil:
			s = s.Properties[part]
		default:
			s = s.AdditionalProperties
		}
	}
	if s == nil {
		return nil
	}
	names := slices.Clone(s.PropertyOrder)
	if len(names) == 0 {
		for n := range s.Properties {
			names = append(names, n)
		}
		slices.Sort(names)
	}
	return names
}

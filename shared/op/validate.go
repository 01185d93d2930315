package op

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
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

// compiled is a schema that checks inputs and adds their defaults.
type compiled struct {
	// schema is compiled on first use, so that a server with a hundred operations starts sooner.
	schema   func() (*jsonschema.Schema, error)
	shape    *published.Schema
	defaults *defaults
}

func compile(text []byte, shape *published.Schema) (*compiled, error) {
	d, err := defaultsOf(shape)
	return &compiled{shape: shape, defaults: d, schema: sync.OnceValues(func() (*jsonschema.Schema, error) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft2020)
		const url = "mem:///input"
		if err := c.AddResource(url, doc); err != nil {
			return nil, err
		}
		return c.Compile(url)
	})}, err
}

// maxProblems is the number of problems that a fault lists.
const maxProblems = 20

// check returns the fields of an input, coerced, valid and with defaults, and a description of each coercion. An
// invalid input is reported with all its problems.
func (c *compiled) check(in Input) (map[string]any, []string, error) {
	fields, err := in.fields(c.shape)
	if err != nil {
		return nil, nil, err
	}
	m := &coercer{cut: in.problems}
	m.coerce(fields, c.shape, nil)
	var wrong []fault.Problem
	more := 0
	schema, err := c.schema()
	if err != nil {
		return nil, nil, fault.Wrap(fault.Internal, err, "the schema")
	}
	if err := schema.Validate(fields); err != nil {
		var invalid *jsonschema.ValidationError
		if !errors.As(err, &invalid) {
			return nil, nil, fault.Wrap(fault.Internal, err, "validation")
		}
		wrong, more = c.problems(invalid)
	}
	// A value that was replaced by an empty one breaks other bounds too.
	wrong = slices.DeleteFunc(wrong, func(p fault.Problem) bool { return within(p.Path, m.cut) })
	wrong = append(wrong, m.cut...)
	for _, w := range m.problems {
		// A violated bound of the field is more precise.
		if !slices.ContainsFunc(wrong, func(p fault.Problem) bool { return p.Path == w.Path }) {
			wrong = append(wrong, w)
		}
	}
	if len(wrong) > 0 {
		return nil, nil, report(wrong, more)
	}
	c.defaults.fill(fields)
	slices.Sort(m.coerced)
	if more := len(m.coerced) - maxProblems; more > 0 {
		m.coerced = append(m.coerced[:maxProblems], fmt.Sprintf("and %d more values were converted", more))
	}
	return fields, m.coerced, nil
}

// maxExplained is the number of problems that are put into words. Those to report are chosen among them.
const maxExplained = 10 * maxProblems

// problems returns the first problems of a validation error, and the number of the others.
func (c *compiled) problems(root *jsonschema.ValidationError) (out []fault.Problem, more int) {
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		switch {
		case len(e.Causes) > 0:
		case len(out) < maxExplained:
			out = append(out, explain(e, c.shape)...)
		default:
			more++
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(root)
	return out, more
}

// report returns the fault of the problems, at most [maxProblems] of them, and the number of the others.
func report(out []fault.Problem, more int) error {
	slices.SortFunc(out, func(a, b fault.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	out = slices.Compact(out)
	if len(out) > maxProblems {
		more += len(out) - maxProblems
		out = out[:maxProblems]
	}
	if more > 0 {
		out = append(out, fault.Problem{Message: fmt.Sprintf("and %d more problems", more)})
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

// explain returns the problems of a validation error, each with the allowed values.
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
		known := "there are none"
		if fields := fieldsAt(shape, at); len(fields) > 0 {
			known = "the fields are " + strings.Join(fields, ", ")
		}
		for _, name := range k.Properties {
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

// fieldsAt returns the names of the fields that the object at a location of the input may have.
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

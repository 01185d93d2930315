package op

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Effect is what an operation does to the data.
type Effect int

// The effects.
const (
	// Read changes nothing.
	Read Effect = iota
	// Consume reads and marks what was read. For a read-only caller it is a plain read.
	Consume
	// Write adds or changes.
	Write
	// Destroy takes something away for good.
	Destroy
)

// Audience is whose keys an operation serves.
type Audience int

// The audiences.
const (
	Anyone Audience = iota
	// Humans are keys of the kind human.
	Humans
	// Admins are humans, and keys with the scope admin.
	Admins
)

// Compat is a further REST route of an operation, kept for clients of the
// reference. Set fixes inputs that the route implies.
type Compat struct {
	Route string
	Set   map[string]any
}

// Spec describes an operation.
type Spec struct {
	// Name is unique in the catalogue, snake_case, at most 40 characters.
	Name string
	// Title is the name for people.
	Title string
	// Toolset is the set that the operation belongs to.
	Toolset string
	// Alias is the tool's name on the endpoint of its toolset alone, where the
	// reference knows it by another; unique in the toolset.
	Alias string
	// Route is the method and path, "POST /v1/tasks/{taskId}/claim".
	Route  string
	Compat []Compat
	// Doc says what it does and when to use it, in words that an agent searches for.
	Doc    string
	Effect Effect
	For    Audience
	// Creates makes REST answer 201.
	Creates bool
	// RESTOnly keeps it from being an MCP tool.
	RESTOnly bool
	// Cases are its examples, refusals and budgets, which the suites over the catalogue run.
	// It is a function so that a server which runs no suite makes none of them.
	Cases func() Cases
}

// Op is an operation that can be called. Make one with [New].
type Op struct {
	Spec
	// Idempotent says that the input has an idempotencyKey.
	Idempotent bool
	// Wait is the input that says for how many milliseconds the call may wait, empty where it
	// returns at once.
	Wait string
	// Input and Output are the published schemas, as JSON. Brief is Input without
	// what only a check needs, for the list that a model reads: a pattern says no
	// more to it than the refusal does.
	Input, Output, Brief json.RawMessage
	// In and Out are the Go types of the input and the output.
	In, Out reflect.Type

	schema *compiled
	// call hands a checked input to the operation, typed, and notes the usage that it reports in said.
	call func(ctx context.Context, caller identity.Caller, fields map[string]any, said *Usage) (any, error)
}

var (
	namePattern  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	routePattern = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) (/v1(/[a-z]+|/\{[A-Za-z_]+\})+)$`)
	pathParam    = regexp.MustCompile(`\{([A-Za-z_]+)\}`)
)

// New defines an operation. It panics where the spec or the types break a rule,
// which any start or test of the program shows.
func New[I, O any](spec Spec, fn func(context.Context, identity.Caller, I) (O, error)) Op {
	o := Op{Spec: spec, In: reflect.TypeFor[I](), Out: reflect.TypeFor[O]()}
	if err := o.build(reflect.TypeFor[I](), reflect.TypeFor[O]()); err != nil {
		panic(fmt.Sprintf("op %s: %v", spec.Name, err))
	}
	_, o.Idempotent = any(new(I)).(idempotent)
	o.Wait = waitOf(reflect.TypeFor[I]())
	reports := reportsOf(reflect.TypeFor[I]())
	o.call = func(ctx context.Context, caller identity.Caller, fields map[string]any, said *Usage) (any, error) {
		var in I
		if err := bind(fields, &in); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the input does not fit")
		}
		if err := identify(&in, spec.Name, o.Wait, fields); err != nil {
			return nil, fault.Wrap(fault.Internal, err, "idempotency")
		}
		reports.read(reflect.ValueOf(&in).Elem(), said)
		out, err := fn(ctx, caller, in)
		if r, ok := any(out).(repetition); ok && r.Repeated() {
			said.TokensIn, said.TokensOut, said.CostUSD = 0, 0, 0
		}
		return out, err
	}
	return o
}

func (o *Op) build(in, out reflect.Type) error {
	if !namePattern.MatchString(o.Name) || (o.Alias != "" && !namePattern.MatchString(o.Alias)) {
		return fmt.Errorf("a name is snake_case and at most 40 characters")
	}
	if o.Doc == "" || o.Title == "" || o.Toolset == "" {
		return fmt.Errorf("doc, title and toolset are required")
	}
	for _, r := range o.Routes() {
		if !routePattern.MatchString(r.Route) {
			return fmt.Errorf("%q is not a route", r.Route)
		}
	}
	if in.Kind() != reflect.Struct || out.Kind() != reflect.Struct {
		return fmt.Errorf("input and output are structs")
	}
	s, err := schemasOf(in, out)
	if err != nil {
		return err
	}
	for _, r := range o.Routes() {
		for _, name := range append(PathParams(r.Route), slices.Collect(maps.Keys(r.Set))...) {
			if s.shape.Properties[name] == nil {
				return fmt.Errorf("%s: %s is not a field of the input", r.Route, name)
			}
		}
	}
	o.Input, o.Output, o.Brief, o.schema = s.input, s.output, s.brief, s.compiled
	return nil
}

// Routes are the operation's own route and those kept for compatibility.
func (o *Op) Routes() []Compat {
	return append([]Compat{{Route: o.Route}}, o.Compat...)
}

// PathParams are the inputs that stand in the path of its own route.
func (o *Op) PathParams() []string { return PathParams(o.Route) }

// PathParams are the inputs that stand in a route's path.
func PathParams(route string) []string {
	var out []string
	for _, m := range pathParam.FindAllStringSubmatch(route, -1) {
		out = append(out, m[1])
	}
	return out
}

// Method and Path split a route.
func Method(route string) string { m, _, _ := strings.Cut(route, " "); return m }

// Path is the route's path, with {parameters}.
func Path(route string) string { _, p, _ := strings.Cut(route, " "); return p }

// MayCall says why the caller may not call the operation, or nil.
func (o *Op) MayCall(c identity.Caller) error {
	switch {
	case !c.InToolset(o.Toolset):
		return fault.New(fault.Forbidden, "this key may not use the toolset %s; its scopes are %s", o.Toolset, strings.Join(c.Scopes, ", "))
	case o.For == Humans && !c.IsHuman():
		return fault.New(fault.Forbidden, "%s is for a human: use a key of the kind human", o.Name)
	case o.For == Admins && !c.IsHuman() && !c.IsAdmin():
		return fault.New(fault.Forbidden, "%s is for a human's key or one with the scope admin", o.Name)
	case o.Effect >= Write && !c.CanWrite():
		return fault.New(fault.Forbidden, "%s changes data, and this key or endpoint is read-only", o.Name)
	}
	return nil
}

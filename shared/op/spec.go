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

// Effect is the effect of an operation on the data.
type Effect int

// The effects.
const (
	// Read changes nothing.
	Read Effect = iota
	// Consume reads documents and marks them as read. For a read-only caller it only reads.
	Consume
	// Write adds or changes documents.
	Write
	// Destroy deletes documents; it cannot be undone.
	Destroy
)

// Audience is the set of keys that may call an operation.
type Audience int

// The audiences.
const (
	// Anyone is every key whose scopes include the toolset.
	Anyone Audience = iota
	// Humans are keys of the kind human.
	Humans
	// Admins are humans, and keys with the scope admin.
	Admins
)

// ForAgents is the selection of the tools that an agent needs all day. They are few, because a model reads the
// descriptions of all of them at every start.
var ForAgents = []string{"agent"}

// Compat is a further REST route of an operation, kept for clients of the Grid service, with whose 18 tools Parley is
// compatible, and for those of earlier versions. Set holds the inputs that the route implies.
type Compat struct {
	Route string
	Set   map[string]any
	// Peek holds the inputs of a request that carries the header "Prefer: peek", for routes of a consuming operation that
	// a client may repeat by itself. Nil means that the header has no effect.
	Peek map[string]any
}

// Spec describes an operation.
type Spec struct {
	// Name is unique in the catalogue, snake_case, at most 40 characters.
	Name string
	// Title is the name for people.
	Title string
	// Toolset is the set that the operation belongs to.
	Toolset string
	// Also are the selections, such as "agent", that serve the tool beside its toolset. A selection is a name for tools of
	// several toolsets; it is no scope of keys.
	Also []string
	// Alias is the tool's name on the endpoint that serves its toolset alone, where that differs from Name. It is
	// unique in the toolset.
	Alias string
	// Route is the method and path, "POST /v1/tasks/{taskId}/claim".
	Route  string
	Compat []Compat
	// Doc describes the operation and its use, in words that an agent searches for.
	Doc    string
	Effect Effect
	For    Audience
	// Creates makes REST answer a success with 201.
	Creates bool
	// Grows means that a call may add something that stays although it does not create it as its result, so that it is
	// refused to a user whose storage is full, as every call is that Creates.
	Grows bool
	// Scopes are the scopes beside the toolset's name that reach it, such as identity.ScopeAnswer; "*" is any.
	Scopes []string
	// Secret means that its output holds a new secret. A key with the scope console cannot call it.
	Secret bool
	// Starts reports whether a call with this input begins work or sends a message to agents. A paused caller may not
	// make such a call. Nil stands for [Always] if the operation writes, and for [Never] if it does not.
	Starts func(in map[string]any) bool
	// RESTOnly excludes the operation from the MCP tools.
	RESTOnly bool
	// Open means that the operation needs no key, because its callers have none yet: it is called without a user, whatever
	// key a request carries. It is RESTOnly and for Anyone, and has limits of its own.
	Open bool
	// Cases returns the examples, refusals and budgets that the suites over the catalogue run. It is a function so that
	// a server, which runs no suite, does not build them.
	Cases func() Cases
}

// Op is an operation that can be called. Make one with [New].
type Op struct {
	Spec
	// Idempotent is set where the input has an idempotencyKey.
	Idempotent bool
	// Wait is the name of the input that gives the time which the call may wait, in milliseconds. It is empty where the
	// call returns at once.
	Wait string
	// Input and Output are the published schemas, as JSON. Brief is Input without patterns and the lengths of names,
	// for the tool list that a model reads; the message of a refusal names them.
	Input, Output, Brief json.RawMessage
	// Terse is Brief without bounds and rare inputs, for the list of a selection.
	Terse json.RawMessage
	// In and Out are the Go types of the input and the output.
	In, Out reflect.Type

	schema *compiled
	// session is the name of the input that gives the session which the call belongs to, empty if there is none.
	session string
	// call runs the operation with a checked input and sets the usage that the input reports.
	call func(ctx context.Context, caller identity.Caller, fields map[string]any, reported *Usage) (any, error)
}

var (
	namePattern  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	routePattern = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) (/v1(/[a-z]+|/\{[A-Za-z_]+\})+)$`)
	pathParam    = regexp.MustCompile(`\{([A-Za-z_]+)\}`)
)

// New defines an operation. It panics if the spec or the types break a rule; as every program builds the catalogue at
// its start, no such operation gets past a test.
func New[I, O any](spec Spec, fn func(context.Context, identity.Caller, I) (O, error)) Op {
	o := Op{Spec: spec, In: reflect.TypeFor[I](), Out: reflect.TypeFor[O]()}
	if err := o.build(reflect.TypeFor[I](), reflect.TypeFor[O]()); err != nil {
		panic(fmt.Sprintf("op %s: %v", spec.Name, err))
	}
	_, o.Idempotent = any(new(I)).(idempotent)
	o.Wait = fieldWith(reflect.TypeFor[I](), "wait")
	o.session = fieldWith(reflect.TypeFor[I](), "session")
	reports := reportsOf(reflect.TypeFor[I]())
	o.call = func(ctx context.Context, caller identity.Caller, fields map[string]any, reported *Usage) (any, error) {
		var in I
		if err := bind(fields, &in); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the input does not fit")
		}
		if err := identify(&in, caller, spec.Name, o.Wait, fields); err != nil {
			return nil, fault.Wrap(fault.Internal, err, "idempotency")
		}
		reports.read(reflect.ValueOf(&in).Elem(), reported)
		out, err := fn(ctx, caller, in)
		if r, ok := any(out).(repetition); ok && r.Repeated() {
			reported.TokensIn, reported.TokensOut, reported.CostUSD = 0, 0, 0
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
	if o.Open && (!o.RESTOnly || o.For != Anyone) {
		return fmt.Errorf("an operation that is open is RESTOnly and for anyone")
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
	o.Input, o.Output, o.Brief, o.Terse, o.schema = s.input, s.output, s.brief, s.terse, s.compiled
	return nil
}

// ServedIn reports whether a toolset or a selection of the name has the operation.
func (o *Op) ServedIn(set string) bool { return o.Toolset == set || slices.Contains(o.Also, set) }

// adds reports whether a call may add something that stays. The operations for people and administrators alone add
// little, and must work when agents have filled the storage; operations that are open belong to no user.
func (o *Op) adds() bool { return (o.Creates || o.Grows) && o.For == Anyone && !o.Open }

// Routes returns the route of the operation, followed by its compatibility routes.
func (o *Op) Routes() []Compat {
	return append([]Compat{{Route: o.Route}}, o.Compat...)
}

// PathParams returns the names of the inputs in the path of the operation's own route.
func (o *Op) PathParams() []string { return PathParams(o.Route) }

// PathParams returns the names of the inputs in the path of a route.
func PathParams(route string) []string {
	var out []string
	for _, m := range pathParam.FindAllStringSubmatch(route, -1) {
		out = append(out, m[1])
	}
	return out
}

// Method returns the HTTP method of a route.
func Method(route string) string { m, _, _ := strings.Cut(route, " "); return m }

// Path returns the path of a route, with its {parameters}.
func Path(route string) string { _, p, _ := strings.Cut(route, " "); return p }

// MayCall returns nil if the caller may call the operation, and otherwise a Forbidden fault with the reason.
func (o *Op) MayCall(c identity.Caller) error {
	switch {
	case o.Open:
		return nil
	case !c.Reaches(identity.Reach{Toolset: o.Toolset, Scopes: o.Scopes, Secret: o.Secret}):
		return fault.New(fault.Forbidden, "this key may not use the toolset %s; its scopes are %s", o.Toolset,
			strings.Join(c.Scopes, ", "))
	case o.For == Humans && !c.IsHuman():
		return fault.New(fault.Forbidden, "%s is for a human: use a key of the kind human", o.Name)
	case o.For == Admins && !c.IsHuman() && !c.IsAdmin():
		return fault.New(fault.Forbidden, "%s is for a human's key or one with the scope admin", o.Name)
	case o.Effect >= Write && !c.CanWrite():
		return fault.New(fault.Forbidden, "%s changes data, and this key or endpoint is read-only", o.Name)
	}
	return nil
}

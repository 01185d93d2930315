package op

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/identity"
)

// panics returns the value that fn panics with as text, or an empty text if it does not panic.
func panics(fn func()) (said string) {
	defer func() {
		if p := recover(); p != nil {
			said = fmt.Sprint(p)
		}
	}()
	fn()
	return ""
}

func define[I, O any](s Spec) func() {
	return func() {
		New(s, func(context.Context, identity.Caller, I) (O, error) { var o O; return o, nil })
	}
}

type (
	withID struct {
		ID string `json:"id"`
	}
	anything struct {
		V any `json:"v"`
	}
	recursive struct {
		Next []recursive `json:"next"`
	}
	nested struct {
		List [][]any `json:"list"`
	}
)

type noBound struct {
	A string `json:"a" allow:"most=3"`
}

type noPattern struct {
	A string `json:"a" allow:"pattern=nonsense"`
}

type noNumber struct {
	A int `json:"a" allow:"max=many"`
}

func TestABrokenSpecPanics(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]func(){
		"no name":                    define[withID, withID](spec(func(s *Spec) { s.Name = "" })),
		"a name in capitals":         define[withID, withID](spec(func(s *Spec) { s.Name = "Claim" })),
		"a name with a hyphen":       define[withID, withID](spec(func(s *Spec) { s.Name = "claim-task" })),
		"a name of 41 characters":    define[withID, withID](spec(func(s *Spec) { s.Name = strings.Repeat("a", 41) })),
		"an alias of 41":             define[withID, withID](spec(func(s *Spec) { s.Alias = strings.Repeat("a", 41) })),
		"an alias in capitals":       define[withID, withID](spec(func(s *Spec) { s.Alias = "Alias" })),
		"no doc":                     define[withID, withID](spec(func(s *Spec) { s.Doc = "" })),
		"no title":                   define[withID, withID](spec(func(s *Spec) { s.Title = "" })),
		"no toolset":                 define[withID, withID](spec(func(s *Spec) { s.Toolset = "" })),
		"no route":                   define[withID, withID](spec(func(s *Spec) { s.Route = "" })),
		"a route without a method":   define[withID, withID](spec(func(s *Spec) { s.Route = "/v1/samples" })),
		"an unknown method":          define[withID, withID](spec(func(s *Spec) { s.Route = "HEAD /v1/samples" })),
		"a route outside of /v1":     define[withID, withID](spec(func(s *Spec) { s.Route = "GET /v2/samples" })),
		"a route that ends in /":     define[withID, withID](spec(func(s *Spec) { s.Route = "GET /v1/samples/" })),
		"a route of one star":        define[withID, withID](spec(func(s *Spec) { s.Route = "GET /v1/*" })),
		"a broken further route":     define[withID, withID](spec(func(s *Spec) { s.Compat = []Compat{{Route: "GET nowhere"}} })),
		"a path without a field":     define[withID, withID](spec(func(s *Spec) { s.Route = "GET /v1/samples/{other}" })),
		"an input that is no struct": define[string, withID](sampleSpec),
		"an output that is none":     define[withID, []string](sampleSpec),
		"a field of any type":        define[anything, withID](sampleSpec),
		"an output of any type":      define[withID, anything](sampleSpec),
		"a type within itself":       define[recursive, withID](sampleSpec),
		"a list of lists of any":     define[nested, withID](sampleSpec),
		"an unknown bound":           define[noBound, withID](spec(func(s *Spec) { s.Route = "GET /v1/x" })),
		"an unknown pattern":         define[noPattern, withID](spec(func(s *Spec) { s.Route = "GET /v1/x" })),
		"a bound that is no number":  define[noNumber, withID](spec(func(s *Spec) { s.Route = "GET /v1/x" })),
	} {
		if said := panics(fn); said == "" || !strings.HasPrefix(said, "op ") {
			t.Errorf("%s: %q", name, said)
		}
	}
	if said := panics(define[withID, withID](spec(func(s *Spec) { s.Name = strings.Repeat("a", 40) }))); said != "" {
		t.Errorf("a good spec panics: %s", said)
	}
}

// A parameter in the path of a second route must be a field of the input too.
func TestThePathOfACompatibilityRouteNamesFieldsOfTheInput(t *testing.T) {
	t.Parallel()
	if panics(
		define[withID, withID](spec(func(s *Spec) { s.Compat = []Compat{{Route: "GET /v1/old/{other}"}} })),
	) == "" {
		t.Error("a further route with an unknown path parameter is taken")
	}
	if panics(define[withID, withID](spec(func(s *Spec) {
		s.Compat = []Compat{{Route: "GET /v1/old/{id}", Set: map[string]any{"nonsense": true}}}
	}))) == "" {
		t.Error("a further route that sets an unknown field is taken")
	}
}

func TestNamesRoutesAndAliasesAreUnique(t *testing.T) {
	t.Parallel()
	first := New(spec(func(s *Spec) { s.Alias = "short" }), echo)
	other := func(change func(*Spec)) Op {
		return New(spec(func(s *Spec) { s.Name, s.Route = "other", "GET /v1/others/{id}"; change(s) }), echo)
	}
	for name, c := range map[string]struct {
		second Op
		shared string
	}{
		"a name": {other(func(s *Spec) { s.Name = "sample" }), "the name sample"},
		"a route": {
			other(func(s *Spec) { s.Route = "POST /v1/samples/{id}" }), "the route",
		},
		"a route, as compat": {
			other(func(s *Spec) { s.Compat = []Compat{{Route: "POST /v1/samples/{id}"}} }), "the route",
		},
		"a route but for the parameter's name": {
			other(func(s *Spec) { s.Route = "POST /v1/samples/{text}" }), "the route",
		},
		"an alias in a toolset":                  {other(func(s *Spec) { s.Alias = "short" }), "the alias set/short"},
		"an alias that is a name of the toolset": {other(func(s *Spec) { s.Alias = "sample" }), "sample"},
	} {
		said := panics(func() { NewCatalogue([]Op{first}, []Op{c.second}) })
		if !strings.Contains(said, c.shared) || !strings.Contains(said, "sample") {
			t.Errorf("%s: %q", name, said)
		}
	}
	if said := panics(func() {
		NewCatalogue([]Op{first, other(func(s *Spec) { s.Toolset, s.Alias = "elsewhere", "short" })})
	}); said != "" {
		t.Errorf("an alias of another toolset: %s", said)
	}
}

func TestTheCatalogueListsItsOperations(t *testing.T) {
	t.Parallel()
	c := NewCatalogue([]Op{New(sampleSpec, echo)},
		[]Op{New(spec(func(s *Spec) { s.Name, s.Route, s.Toolset = "b", "GET /v1/b", "two" }), echo),
			New(spec(func(s *Spec) { s.Name, s.Route = "c", "GET /v1/c" }), echo)})
	if !slices.Equal(c.Toolsets(), []string{"set", "two"}) || len(c.Ops()) != 3 || c.Op("b").Name != "b" ||
		c.Op("nope") != nil {
		t.Errorf("%v, %d", c.Toolsets(), len(c.Ops()))
	}
	o := c.Op("sample")
	if !o.Idempotent || !slices.Equal(o.PathParams(), []string{"id"}) || Method(o.Route) != "POST" ||
		Path(o.Route) != "/v1/samples/{id}" {
		t.Errorf("%+v", o.Spec)
	}
	if New(
		spec(func(s *Spec) {}),
		func(context.Context, identity.Caller, withID) (withID, error) { return withID{}, nil },
	).Idempotent {
		t.Error("an input without a key is idempotent")
	}
}

func TestBoundsArePublished(t *testing.T) {
	t.Parallel()
	type out struct {
		At   time.Time       `json:"at"`
		Raw  json.RawMessage `json:"raw,omitempty"`
		Next *time.Time      `json:"next,omitempty"`
	}
	o := New(sampleSpec, func(context.Context, identity.Caller, sample) (out, error) { return out{}, nil })
	for _, want := range []string{
		`"limit":{"type":"integer","default":10,"minimum":1,"maximum":50}`,
		`"ttl":{"type":"integer","exclusiveMinimum":0}`,
		`"color":{"type":"string","default":"red","enum":["red","green"]}`,
		`"required":["id"]`, `"additionalProperties":false`,
	} {
		if !strings.Contains(string(o.Input), want) {
			t.Errorf("the input has no %s: %s", want, o.Input)
		}
	}
	for _, want := range []string{
		`"at":{"type":"string","format":"date-time"}`, `"raw":{"type":"object"}`,
		`"next":{"type":"string","format":"date-time"}`,
	} {
		if !strings.Contains(string(o.Output), want) {
			t.Errorf("the output has no %s: %s", want, o.Output)
		}
	}
	if strings.Contains(string(o.Output), "additionalProperties") {
		t.Error("the output forbids fields that a later version adds")
	}
}

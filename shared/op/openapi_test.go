package op_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

type described struct {
	op.Idempotency
	ID    string   `json:"id" allow:"nonempty,pattern=id"`
	Text  string   `json:"text" allow:"max=10" jsonschema:"what to say"`
	Tags  []string `json:"tags,omitempty" allow:"max=3,each=5"`
	Level float64  `json:"level,omitempty" allow:"min=0,max=0.5"`
}

type nested struct {
	Part described `json:"part"`
}

type nothing struct{}

func define[I any](spec op.Spec) op.Op {
	spec.Title, spec.Toolset, spec.Doc = "Title of "+spec.Name, "set", "Doc of "+spec.Name+"."
	return op.New(spec, func(context.Context, identity.Caller, I) (nothing, error) { return nothing{}, nil })
}

type action struct {
	OperationID string
	Security    *[]any
	Parameters  []struct {
		Ref         string `json:"$ref"`
		Name, In    string
		Required    bool
		Style       string
		Explode     bool
		Description string
	}
	RequestBody *struct {
		Required bool
		Content  map[string]struct {
			Schema struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	Responses map[string]any
}

func describe(t *testing.T, ops ...op.Op) map[string]map[string]action {
	t.Helper()
	first, err := op.NewCatalogue(ops).OpenAPI("T", "1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := op.NewCatalogue(ops).OpenAPI("T", "1")
	if err != nil || !bytes.Equal(first, again) {
		t.Fatalf("the same catalogue gave other bytes: %v", err)
	}
	var doc struct{ Paths map[string]map[string]action }
	if err := json.Unmarshal(first, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Paths
}

func TestAnInputStandsInPathQueryOrBody(t *testing.T) {
	t.Parallel()
	paths := describe(t,
		define[described](op.Spec{Name: "change", Route: "POST /v1/things/{id}", Creates: true,
			Compat: []op.Compat{{Route: "PUT /v1/said/{id}", Set: map[string]any{"text": "hi"}}}}),
		define[described](op.Spec{Name: "look", Route: "GET /v1/things/{id}"}),
		define[struct{}](op.Spec{Name: "tick", Route: "POST /v1/ticks"}))

	post := paths["/v1/things/{id}"]["post"]
	if post.OperationID != "change" || post.Responses["201"] == nil || post.Responses["default"] == nil {
		t.Errorf("POST: %+v", post)
	}
	p := post.Parameters
	if len(p) != 2 || p[0].Name != "id" || p[0].In != "path" || !p[0].Required ||
		!strings.HasSuffix(p[1].Ref, "/IdempotencyKey") {
		t.Errorf("POST parameters: %+v", p)
	}
	body := post.RequestBody.Content["application/json"].Schema
	if !post.RequestBody.Required || !reflect.DeepEqual(body.Required, []string{"text"}) || len(body.Properties) != 4 ||
		body.Properties["id"] != nil {
		t.Errorf("POST body: %+v", body)
	}
	put := paths["/v1/said/{id}"]["put"]
	if put.OperationID != "change_compat1" || put.RequestBody.Required ||
		put.RequestBody.Content["application/json"].Schema.Properties["text"] != nil {
		t.Errorf("a fixed input is asked for: %+v", put)
	}
	get := paths["/v1/things/{id}"]["get"]
	if get.RequestBody != nil || get.Responses["200"] == nil {
		t.Errorf("GET: %+v", get)
	}
	for _, p := range get.Parameters {
		switch p.Name {
		case "text":
			if p.In != "query" || !p.Required || p.Description != "what to say" {
				t.Errorf("text: %+v", p)
			}
		case "tags":
			if p.In != "query" || p.Required || p.Style != "form" || !p.Explode {
				t.Errorf("tags: %+v", p)
			}
		}
	}
	if tick := paths["/v1/ticks"]["post"]; tick.RequestBody != nil {
		t.Errorf("no input became a body: %+v", tick)
	}
	if h := paths["/v1/health"]["get"]; h.Security == nil || len(*h.Security) != 0 {
		t.Errorf("health wants a key: %+v", h)
	}
}

func TestARouteThatCannotBeDescribedFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		define func() op.Op
	}{
		{"an object in a query", func() op.Op { return define[nested](op.Spec{Name: "a", Route: "GET /v1/a"}) }},
		{"a fixed input that there is not", func() op.Op {
			return define[described](op.Spec{Name: "b", Route: "POST /v1/b",
				Compat: []op.Compat{{Route: "POST /v1/c", Set: map[string]any{"other": 1}}}})
		}},
		{"a path that names no input", func() op.Op {
			return define[described](op.Spec{
				Name:   "d",
				Route:  "POST /v1/d",
				Compat: []op.Compat{{Route: "POST /v1/e/{other}"}},
			})
		}},
		{"an input both fixed and in the path", func() op.Op {
			return define[described](op.Spec{Name: "f", Route: "POST /v1/f",
				Compat: []op.Compat{{Route: "POST /v1/g/{id}", Set: map[string]any{"id": "x"}}}})
		}},
	} {
		if err := refusal(tc.define); err == nil {
			t.Errorf("%s was described", tc.name)
		}
	}
}

// refusal returns the error of describing an operation, or the panic of its definition.
func refusal(define func() op.Op) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	_, err = op.NewCatalogue([]op.Op{define()}).OpenAPI("T", "1")
	return err
}

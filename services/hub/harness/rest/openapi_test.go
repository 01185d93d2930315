package rest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// document returns the catalogue and its OpenAPI document.
func document(t *testing.T) (*op.Catalogue, *openapi3.T) {
	t.Helper()
	catalogue := app.New(nil, app.Ports{}).Catalogue()
	text, err := catalogue.OpenAPI("Parley", "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return catalogue, doc
}

func TestTheDocumentIsValidOpenAPI31(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	if !doc.IsOpenAPI31OrLater() || doc.Info.Version != "1.2.3" {
		t.Errorf("it is OpenAPI %s of version %s", doc.OpenAPI, doc.Info.Version)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableSchemaPatternValidation(),
		openapi3.EnableSchemaDefaultsValidation(),
		openapi3.EnableMultiError()); err != nil {
		t.Error(err)
	}
}

func TestEveryRouteIsInTheDocumentOnce(t *testing.T) {
	t.Parallel()
	catalogue, doc := document(t)
	ids := map[string]string{"health": "GET /v1/health"}
	for _, o := range catalogue.Ops() {
		for _, r := range o.Routes() {
			item := doc.Paths.Value(op.Path(r.Route))
			if item == nil || item.GetOperation(op.Method(r.Route)) == nil {
				t.Errorf("%s has no %s", o.Name, r.Route)
				continue
			}
			described := item.GetOperation(op.Method(r.Route))
			if other, dup := ids[described.OperationID]; dup {
				t.Errorf("%s and %s share the id %s", other, r.Route, described.OperationID)
			}
			ids[described.OperationID] = r.Route
			checkOperation(t, o, r, described)
		}
	}
	described := 0
	for _, item := range doc.Paths.Map() {
		described += len(item.Operations())
	}
	if described != len(ids) {
		t.Errorf("the document has %d operations, the catalogue and health make %d", described, len(ids))
	}
}

// checkOperation checks that each input of a route is described in exactly one place, and its responses.
func checkOperation(t *testing.T, o *op.Op, r op.Compat, d *openapi3.Operation) {
	t.Helper()
	for _, name := range op.PathParams(r.Route) {
		if p := d.Parameters.GetByInAndName("path", name); p == nil || !p.Required {
			t.Errorf("%s: the path's %s is not a required parameter", r.Route, name)
		}
	}
	placed := map[string]int{}
	for _, p := range d.Parameters {
		placed[p.Value.Name]++
		if p.Value.In == "query" && p.Value.Schema.Value.Type.Is("object") {
			t.Errorf("%s: the query's %s is an object", r.Route, p.Value.Name)
		}
	}
	if d.RequestBody != nil {
		for name := range d.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
			placed[name]++
		}
	}
	for name, n := range placed {
		if _, fixed := r.Set[name]; n != 1 || fixed {
			t.Errorf("%s: %s is described %d times, and fixed: %v", r.Route, name, n, fixed)
		}
	}
	if o.Idempotent && d.Parameters.GetByInAndName("header", "Idempotency-Key") == nil {
		t.Errorf("%s: no Idempotency-Key", r.Route)
	}
	want := 200
	if o.Creates {
		want = 201
	}
	answer := d.Responses.Status(want)
	if answer == nil || d.Responses.Default() == nil {
		t.Errorf("%s: no answer %d or no default", r.Route, want)
		return
	}
	envelope := answer.Value.Content["application/json"].Schema.Value
	if !slices.Contains(envelope.Required, "data") || !envelope.Properties["data"].Value.Type.Is("object") {
		t.Errorf("%s: the answer is %+v", r.Route, envelope.Properties)
	}
}

func TestOnlyHealthPairingAndTheEndOfAKeyNeedNone(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	if len(doc.Security) != 1 || doc.Components.SecuritySchemes["bearerAuth"].Value.Scheme != "bearer" {
		t.Errorf("the document must ask for a bearer key: %+v", doc.Security)
	}
	for path, item := range doc.Paths.Map() {
		for method, d := range item.Operations() {
			open := d.Security != nil && len(*d.Security) == 0
			may := []string{"GET /v1/health", "POST /v1/pairings", "POST /v1/pairings/token", "POST /v1/keys/revoke"}
			if open != slices.Contains(may, method+" "+path) {
				t.Errorf("%s %s: open is %v", method, path, open)
			}
		}
	}
}

func TestEveryFaultHasItsCodeInTheDocument(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	codes := doc.Components.Schemas["ErrorCode"].Value
	for _, k := range fault.Kinds() {
		if !slices.Contains(codes.Enum, any(k.Code())) || !strings.Contains(codes.Description, k.Code()) {
			t.Errorf("no code %s", k.Code())
		}
	}
}

// A generator of typed clients has nothing to call a value without a type but anything.
func TestEveryValueInTheDocumentHasAType(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	checked := 0
	var check func(where string, s *openapi3.SchemaRef)
	check = func(where string, s *openapi3.SchemaRef) {
		if checked++; s.Value.Type == nil || len(s.Value.Type.Slice()) != 1 {
			t.Errorf("%s has no type, or several", where)
		}
		for name, p := range s.Value.Properties {
			check(where+"."+name, p)
		}
		if s.Value.Items != nil {
			check(where+"[]", s.Value.Items)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, d := range item.Operations() {
			for _, p := range d.Parameters {
				check(method+" "+path+": "+p.Value.Name, p.Value.Schema)
			}
			if d.RequestBody != nil {
				check(method+" "+path+": body", d.RequestBody.Value.Content["application/json"].Schema)
			}
			for status, r := range d.Responses.Map() {
				check(method+" "+path+": "+status, r.Value.Content["application/json"].Schema)
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d values were checked", checked)
	}
}

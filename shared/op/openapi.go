package op

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// openAPI is the OpenAPI document, its fields in the order of the text. Maps are written with sorted keys, so that the
// same catalogue gives the same bytes.
type openAPI struct {
	OpenAPI string `json:"openapi"`
	Info    struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	} `json:"info"`
	Security   []map[string][]string           `json:"security"`
	Tags       []apiTag                        `json:"tags"`
	Paths      map[string]map[string]apiAction `json:"paths"`
	Components map[string]any                  `json:"components"`
}

type apiTag struct {
	Name string `json:"name"`
}

type apiAction struct {
	OperationID string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Description string                `json:"description"`
	Tags        []string              `json:"tags,omitempty"`
	Security    []map[string][]string `json:"security,omitzero"`
	Parameters  []apiParameter        `json:"parameters,omitempty"`
	Body        *apiBody              `json:"requestBody,omitempty"`
	Responses   map[string]any        `json:"responses"`
}

type apiBody struct {
	Required bool           `json:"required"`
	Content  map[string]any `json:"content"`
}

// OpenAPI returns the OpenAPI 3.1 document of every route of the catalogue and of the health route, which is no
// operation. It fails where an input cannot be written in a query, or a compatibility route sets or names a field that
// the input does not have.
func (c *Catalogue) OpenAPI(title, version string) ([]byte, error) {
	doc := openAPI{OpenAPI: "3.1.0", Components: components(),
		Security: []map[string][]string{{"bearerAuth": {}}},
		Paths:    map[string]map[string]apiAction{healthPath: {"get": health()}}}
	doc.Info.Title, doc.Info.Version = title, version
	doc.Info.Description = "Every operation that an agent has as an MCP tool, and those that only people use, with " +
		"the same key. " +
		"A list in a query is a repeated parameter."
	for _, set := range c.sets {
		doc.Tags = append(doc.Tags, apiTag{set})
	}
	for _, o := range c.ops {
		for i, r := range o.Routes() {
			action, err := o.action(r, i)
			if err != nil {
				return nil, fmt.Errorf("op %s: %s: %w", o.Name, r.Route, err)
			}
			at := doc.Paths[Path(r.Route)]
			if at == nil {
				at = map[string]apiAction{}
				doc.Paths[Path(r.Route)] = at
			}
			at[strings.ToLower(Method(r.Route))] = action
		}
	}
	return json.Marshal(doc)
}

// action returns the description of the i-th route of the operation.
func (o *Op) action(r Compat, i int) (apiAction, error) {
	a := apiAction{OperationID: o.Name, Summary: o.Title, Description: o.Doc, Tags: []string{o.Toolset}}
	if o.Open {
		a.Security = []map[string][]string{}
	}
	if i > 0 {
		a.OperationID = fmt.Sprintf("%s_compat%d", o.Name, i)
	}
	left, err := o.withoutFixed(r)
	if err != nil {
		return a, err
	}
	for _, name := range PathParams(r.Route) {
		p, err := pathParameter(left, name)
		if err != nil {
			return a, err
		}
		a.Parameters = append(a.Parameters, p)
		left.drop(name)
	}
	if o.Idempotent {
		a.Parameters = append(a.Parameters, apiParameter{Ref: "#/components/parameters/IdempotencyKey"})
	}
	switch Method(r.Route) {
	case http.MethodGet, http.MethodDelete:
		query, err := left.query()
		if err != nil {
			return a, err
		}
		a.Parameters = append(a.Parameters, query...)
	default:
		if a.Body, err = left.body(o.Sample()); err != nil {
			return a, err
		}
	}
	a.Responses = o.responses()
	return a, nil
}

func (o *Op) responses() map[string]any {
	status, description := http.StatusOK, "What the operation answers."
	if o.Creates {
		status, description = http.StatusCreated, "What was made."
	}
	return answers(status, description, o.Output)
}

// answers returns the responses of a route: its one success and, under default, every fault.
func answers(status int, description string, data json.RawMessage) map[string]any {
	envelope := apiObject{Type: "object", Required: []string{"success", "data", "meta"}, Properties: map[string]any{
		"success": constant(true), "data": data, "meta": ref("schemas/Meta"),
	}}
	return map[string]any{
		fmt.Sprint(status): map[string]any{"description": description, "content": jsonContent(envelope)},
		"default":          ref("responses/Fault"),
	}
}

const healthPath = "/v1/health"

// health returns the description of the health route, which needs no key.
func health() apiAction {
	data := json.RawMessage(
		`{"type":"object","properties":{"status":{"type":"string","const":"ok"},"version":{"type":"string"}},"required":["status","version"]}`,
	)
	return apiAction{OperationID: "health", Summary: "Is the server up?", Security: []map[string][]string{},
		Description: "Says that the server is up, and which version it is. Needs no key.",
		Responses:   answers(http.StatusOK, "The server is up.", data)}
}

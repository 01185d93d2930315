package op

import (
	"fmt"
	"strings"

	"parley.internal/shared/fault"
)

type apiObject struct {
	Type        string         `json:"type"`
	Description string         `json:"description,omitempty"`
	Properties  map[string]any `json:"properties,omitempty"`
	Required    []string       `json:"required,omitempty"`
}

func ref(to string) map[string]any { return map[string]any{"$ref": "#/components/" + to} }

func constant(v bool) map[string]any { return map[string]any{"type": "boolean", "const": v} }

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func list(items any, description string) map[string]any {
	return map[string]any{"type": "array", "items": items, "description": description}
}

func jsonContent(schema any) map[string]any {
	return map[string]any{"application/json": jsonMedia{Schema: schema}}
}

// jsonMedia describes a body of JSON.
type jsonMedia struct {
	Schema  any `json:"schema"`
	Example In  `json:"example,omitempty"`
}

// components returns the parts that the routes share: the key, the envelope and the fault.
func components() map[string]any {
	failure := apiObject{Type: "object", Required: []string{"success", "error", "meta"}, Properties: map[string]any{
		"success": constant(false), "error": ref("schemas/Error"), "meta": ref("schemas/Meta"),
	}}
	return map[string]any{
		"securitySchemes": map[string]any{"bearerAuth": map[string]any{
			"type": "http", "scheme": "bearer", "description": "A key that `parley key create` or create_key made.",
		}},
		"parameters": map[string]any{"IdempotencyKey": map[string]any{
			"name": "Idempotency-Key", "in": "header", "schema": map[string]any{"type": "string", "maxLength": 100},
			"description": "Repeat the call with the same key and it happens once; kept for 24 hours. The same as " +
				"the field idempotencyKey.",
		}},
		"responses": map[string]any{"Fault": map[string]any{
			"description": "What went wrong. The status goes with the code.",
			"headers": map[string]any{
				"Retry-After": map[string]any{
					"description": "Seconds to wait before the same call.",
					"schema":      map[string]any{"type": "integer"},
				},
				"WWW-Authenticate": map[string]any{
					"description": "Bearer, where the key is missing or not good.",
					"schema":      map[string]any{"type": "string"},
				},
			},
			"content": jsonContent(failure),
		}},
		"schemas": map[string]any{"Error": faultSchema(), "ErrorCode": codes(), "Meta": apiObject{Type: "object",
			Required: []string{"timestamp", "requestId"},
			Properties: map[string]any{
				"timestamp": map[string]any{"type": "string", "format": "date-time"},
				"requestId": text("Names the request in the server's log; also the X-Request-Id header."),
				"coerced":   list(map[string]any{"type": "string"}, "What of the input was read as another type."),
			}}},
	}
}

func faultSchema() apiObject {
	problem := apiObject{Type: "object", Required: []string{"path", "message"}, Properties: map[string]any{
		"path":    text("The field, as in stories[2].wave; empty for the input itself."),
		"message": text("What is allowed there."),
	}}
	return apiObject{Type: "object", Required: []string{"code", "message", "details"}, Properties: map[string]any{
		"code": ref("schemas/ErrorCode"), "message": text("What to do about it."),
		"details": list(problem, "Everything that is wrong with the input."),
	}}
}

// httpCodes are the codes of requests that are refused before they reach an operation.
var httpCodes = []string{"METHOD_NOT_ALLOWED", "PAYLOAD_TOO_LARGE"}

func codes() map[string]any {
	var names, statuses []string
	for _, k := range fault.Kinds() {
		names = append(names, k.Code())
		statuses = append(statuses, fmt.Sprintf("%s %d", k.Code(), k.HTTP()))
	}
	return map[string]any{"type": "string", "enum": append(names, httpCodes...),
		"description": "The code, and its status: " + strings.Join(statuses, ", ") +
			", METHOD_NOT_ALLOWED 405, PAYLOAD_TOO_LARGE 413."}
}

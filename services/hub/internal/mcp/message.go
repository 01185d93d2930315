package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/shared/fault"
	"parley.internal/shared/jsonscan"
	"parley.internal/shared/op"
)

// message is a JSON-RPC message, decoded once. The input of mcp-go is written from it, so that the front and mcp-go
// cannot understand a message differently, for example by a repeated field or by letter case.
type message struct {
	// fields are those of the message without the id.
	fields map[string]any
	// id is the text of the id, as it was sent; nil if there is none or it is not valid.
	id     json.RawMessage
	method string
	params map[string]any
	// arguments is the text of those of a tool's call.
	arguments json.RawMessage
	// invalid is the fault of a tool's call whose text is not valid; it names the field in the message.
	invalid error
}

// The bounds of a message. A message is small but for the arguments of an operation's call, which the operation's
// schema bounds.
const (
	// maxDepth is the number of levels that encoding/json reads.
	maxDepth = 10_000
	// maxFields is the number of fields of a message and of its parameters.
	maxFields = 64
	// maxValues is the number of values in one of them.
	maxValues = 2000
	// maxLevels is the number of levels to which one of them nests.
	maxLevels = 64
)

// readMessage decodes a message. If the body is not one, the error is the answer.
func readMessage(body []byte) (message, *rpcError) {
	m := message{fields: map[string]any{}}
	if e := m.decode(body); e != nil {
		return m, e
	}
	method, hasMethod := m.fields["method"]
	// Some clients write the id of a notification, which has none, as null.
	null := string(m.id) == "null" && hasMethod && !strings.HasPrefix(m.method, "notifications/")
	switch _, isText := method.(string); {
	case !validID(m.id) || null:
		m.id = nil
		return m, &rpcError{mcp.INVALID_REQUEST, "id must be a string or a number"}
	case hasMethod && !isText:
		return m, &rpcError{mcp.INVALID_REQUEST, "method must be a string"}
	}
	if m.invalid = op.CheckText(body); m.invalid == nil {
		return m, nil
	}
	badID := op.CheckText(m.id) != nil
	if badID {
		m.id = nil
	}
	if badID || m.method != string(mcp.MethodToolsCall) {
		return m, &rpcError{mcp.PARSE_ERROR, "the message must be valid UTF-8 text"}
	}
	return m, nil
}

// decode reads the fields and the parameters, except for the arguments of a tool's call. Of several fields with one name
// the last counts.
func (m *message) decode(body []byte) *rpcError {
	err := jsonscan.Check(body)
	if err != nil {
		m.id = idBefore(body)
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "exceeded max depth"): // encoding/json has no type for it
		return &rpcError{mcp.PARSE_ERROR, fmt.Sprintf("the message must nest at most %d levels deep", maxDepth)}
	case err != nil:
		return &rpcError{mcp.PARSE_ERROR, "the message is not valid JSON"}
	}
	whole := jsonscan.Whole(body)
	if body[whole.Start] != '{' {
		return &rpcError{mcp.INVALID_REQUEST, "the message must be one JSON object"}
	}
	if n := jsonscan.Count(body, whole); n > maxFields {
		return &rpcError{mcp.INVALID_REQUEST, fmt.Sprintf("the message must have at most %d fields, not %d", maxFields, n)}
	}
	var params jsonscan.Span
	for name, v := range jsonscan.Fields(body, whole) {
		switch name := jsonscan.Name(body, name); name {
		case "id":
			m.id = v.Of(body)
		case "params":
			params = v
		default:
			if e := decodeInto(m.fields, name, name, body, v); e != nil {
				return e
			}
		}
	}
	m.method, _ = m.fields["method"].(string)
	if params.End == 0 {
		return nil
	}
	if body[params.Start] != '{' {
		return decodeInto(m.fields, "params", "params", body, params)
	}
	return m.decodeParams(body, params)
}

// idBefore returns the id that a text has before the place at which it stops being a message, nil if there is none.
func idBefore(text []byte) (id json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for range maxFields {
		name, err := dec.Token()
		if err != nil {
			return id
		}
		var v json.RawMessage
		if name == "id" {
			err = dec.Decode(&v)
		} else {
			err = dec.Decode(&skipped{})
		}
		if err != nil {
			return id
		}
		if name == "id" && validID(v) {
			id = v
		}
	}
	return id
}

// skipped takes any JSON value and keeps none of it.
type skipped struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (skipped) UnmarshalJSON([]byte) error { return nil }

// decodeParams reads the parameters. The arguments of a tool's call are kept as text.
func (m *message) decodeParams(body []byte, at jsonscan.Span) *rpcError {
	if n := jsonscan.Count(body, at); n > maxFields {
		return &rpcError{mcp.INVALID_PARAMS, fmt.Sprintf("params must have at most %d fields, not %d", maxFields, n)}
	}
	m.params = map[string]any{}
	m.fields["params"] = m.params
	for name, v := range jsonscan.Fields(body, at) {
		name := jsonscan.Name(body, name)
		if name == "arguments" && m.method == string(mcp.MethodToolsCall) {
			m.arguments = v.Of(body)
			continue
		}
		if e := decodeInto(m.params, name, "params."+name, body, v); e != nil {
			return e
		}
	}
	return nil
}

// decodeInto sets a field of a map to the value at a place, or returns the error of a value that is too large.
func decodeInto(fields map[string]any, name, path string, body []byte, at jsonscan.Span) *rpcError {
	values, levels := jsonscan.Size(body, at)
	if values > maxValues || levels > maxLevels {
		return &rpcError{mcp.INVALID_PARAMS, fmt.Sprintf("%.100s must have at most %d values and nest at most %d levels deep, "+
			"not %d and %d", strings.ToValidUTF8(path, "�"), maxValues, maxLevels, values, levels)}
	}
	v, err := op.Decode(at.Of(body))
	if err != nil {
		return &rpcError{mcp.PARSE_ERROR, "the message is not valid JSON"}
	}
	fields[name] = v
	return nil
}

// validID reports whether a message may have the id. With null it is a notification.
func validID(id json.RawMessage) bool {
	if len(id) == 0 || string(id) == "null" {
		return true
	}
	return id[0] == '"' || id[0] == '-' || (id[0] >= '0' && id[0] <= '9')
}

// text returns a parameter, or "" unless it is a string.
func (m *message) text(param string) string {
	s, _ := m.params[param].(string)
	return s
}

// checkCall returns the error of a tool's call that names no tool, and nil for every other message.
func (m *message) checkCall() *rpcError {
	if m.id == nil || string(m.id) == "null" || m.method != string(mcp.MethodToolsCall) {
		return nil
	}
	switch name := m.params["name"].(type) {
	case string:
		if name != "" {
			return nil
		}
	case nil:
	default:
		return &rpcError{mcp.INVALID_PARAMS, "params.name must be a string"}
	}
	return &rpcError{mcp.INVALID_PARAMS, "params.name is required"}
}

// input returns the input of a tool's call. Text that is not valid is refused with a fault that names the field.
func (m *message) input() op.Input {
	if m.invalid == nil {
		return op.Parse(m.arguments)
	}
	var f *fault.Error
	if errors.As(m.invalid, &f) && len(f.Problems) == 1 {
		if at, in := strings.CutPrefix(f.Problems[0].Path, "params.arguments"); in {
			return op.Refused(fault.Field(strings.TrimPrefix(at, "."), "%s", f.Problems[0].Message))
		}
	}
	return op.Refused(m.invalid)
}

// encode returns the message for mcp-go: the fields of JSON-RPC, with [standIn] for the id. The arguments of an
// operation's call are left out, because the operation decodes them, which keeps numbers as written.
func (m *message) encode(forOperation bool) ([]byte, error) {
	if m.arguments != nil {
		m.params["arguments"] = m.arguments
		if forOperation {
			m.params["arguments"] = map[string]any{}
		}
	}
	out := map[string]any{}
	for _, name := range []string{"jsonrpc", "method", "params", "result", "error"} {
		if v, has := m.fields[name]; has {
			out[name] = v
		}
	}
	switch string(m.id) {
	case "":
	case "null":
		out["id"] = nil
	default:
		out["id"] = standIn
	}
	return json.Marshal(out)
}

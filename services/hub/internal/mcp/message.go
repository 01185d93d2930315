package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// message is a JSON-RPC message, decoded once. What mcp-go reads is written from it, so that the front and mcp-go
// cannot understand a message differently, for example by a repeated field or by letter case.
type message struct {
	// fields are those of the message without the id.
	fields map[string]any
	// id is the text of the id, as it was sent; nil if there is none or it is not valid.
	id     json.RawMessage
	method string
	params map[string]any
	// invalid is the fault of a tool's call whose text is not valid; it names the field in the message.
	invalid error
}

// maxDepth is the number of levels that encoding/json reads.
const maxDepth = 10_000

// readMessage decodes a message. If the body is not one, the error is the answer, and the message has what was read
// before it.
func readMessage(body []byte) (message, *rpcError) {
	m := message{fields: map[string]any{}}
	err := m.decode(body)
	m.method, _ = m.fields["method"].(string)
	m.params, _ = m.fields["params"].(map[string]any)
	method, hasMethod := m.fields["method"]
	switch _, isText := method.(string); {
	case errors.Is(err, errNoObject):
		return m, &rpcError{mcp.INVALID_REQUEST, err.Error()}
	case err != nil && strings.Contains(err.Error(), "exceeded max depth"): // encoding/json has no type for it
		return m, &rpcError{mcp.PARSE_ERROR, fmt.Sprintf("the message must nest at most %d levels deep", maxDepth)}
	case err != nil:
		return m, &rpcError{mcp.PARSE_ERROR, "the message is not valid JSON"}
	case !validID(m.id):
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

var errNoObject = errors.New("the message must be one JSON object")

// decode reads the fields. Of several fields with one name the last counts.
func (m *message) decode(body []byte) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	switch start, err := dec.Token(); {
	case err != nil:
		return err
	case start != json.Delim('{'):
		return errNoObject
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		if name == "id" {
			err = dec.Decode(&m.id)
		} else {
			var v any
			err = dec.Decode(&v)
			m.fields[name.(string)] = v
		}
		if err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text follows the message")
	}
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
		return op.Decoded(m.params["arguments"])
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
// operation's call are left out, because the front decoded them, which keeps numbers as written.
func (m *message) encode(forOperation bool) ([]byte, error) {
	if _, has := m.params["arguments"]; has && forOperation && m.method == string(mcp.MethodToolsCall) {
		m.params["arguments"] = map[string]any{}
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

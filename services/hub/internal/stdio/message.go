package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// The codes of the bridge's own JSON-RPC errors.
const (
	codeParse       = mcp.PARSE_ERROR
	codeInvalid     = mcp.INVALID_REQUEST
	codeUnreachable = -32000 // in the range that JSON-RPC reserves for servers
)

// request is a message of the client. A message without an ID is a notification or the client's response to the server;
// it gets no answer.
type request struct {
	ctx    context.Context
	cancel context.CancelFunc

	text   []byte
	id     json.RawMessage
	method string
	params json.RawMessage
	// version is the protocol version in the message's metadata, empty for none. Messages declare it since 2026-07-28.
	version string
	// own receives the answer to a request of the bridge itself; nil for a request of the client.
	own func(line []byte)
}

// accept parses a line. It returns the request to send or the error line for the client, and neither for a blank line.
// A cancellation also cancels the request in flight that it names.
func (r *run) accept(ctx context.Context, l line) (*request, []byte) {
	text := bytes.TrimSpace(l.text)
	if len(text) == 0 && l.size <= maxLine {
		return nil, nil
	}
	if l.size > maxBody {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(text, &m) // without an ID the error has the ID null
		return nil, errorLine(m.ID, codeInvalid,
			fmt.Sprintf("the message has %d bytes, but the server accepts at most 1 MiB; send less at a time", l.size))
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if !json.Valid(text) {
		return nil, errorLine(nil, codeParse, "the line is not JSON")
	}
	if text[0] == '[' {
		return nil, errorLine(nil, codeInvalid, "batches are not supported; send one message a line")
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, errorLine(nil, codeInvalid, "the line is not a JSON-RPC message")
	}
	req := &request{text: text, method: m.Method, params: m.Params}
	if m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" {
		if m.ID[0] == '{' || m.ID[0] == '[' || m.ID[0] == 't' || m.ID[0] == 'f' {
			return nil, errorLine(nil, codeInvalid, "an id must be a string or a number")
		}
		req.id = m.ID
	}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) == nil {
		_ = json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &req.version) // a value of another type is ignored
	}
	req.ctx, req.cancel = context.WithCancel(ctx)
	r.track(req)
	return req, nil
}

// track records a request for cancellation, or carries out the cancellation in a notification. Cancelling also closes
// the request's POST, because a server without sessions cannot match the ID in the notification to a client.
func (r *run) track(req *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.id != nil {
		r.inFlight[string(req.id)] = req
		return
	}
	if req.method != "notifications/cancelled" {
		return
	}
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(req.params, &p) == nil && r.inFlight[string(p.ID)] != nil {
		r.inFlight[string(p.ID)].cancel()
	}
}

func (r *run) forget(req *request) {
	req.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inFlight[string(req.id)] == req {
		delete(r.inFlight, string(req.id))
	}
}

// name returns the name of the tool or prompt, or the URI of the resource, of the request.
func (q *request) name() string {
	name, _ := mcp.ExtractHeaderName(mcp.MCPMethod(q.method), q.params)
	return name
}

// label names the request in messages to the user.
func (q *request) label() string {
	if name := q.name(); name != "" {
		return q.method + " " + name
	}
	if q.method == "" {
		return "an answer to the server"
	}
	return q.method
}

// repeatable reports whether the request may safely run twice.
func (q *request) repeatable() bool {
	switch {
	case q.id == nil, q.method == "initialize", q.method == "server/discover", q.method == "tools/list",
		q.method == "ping",
		strings.HasPrefix(q.method, "prompts/"), strings.HasPrefix(q.method, "resources/"):
		return true
	case q.method != "tools/call":
		return false
	}
	var p struct {
		Arguments struct {
			Key  string `json:"idempotencyKey"`
			Mark *bool  `json:"markAsRead"`
		} `json:"arguments"`
	}
	known := json.Unmarshal(q.params, &p) == nil
	if n := q.name(); strings.HasPrefix(n, "get_") || strings.HasPrefix(n, "list_") {
		// get_messages marks its messages as read, so a repetition would omit the messages of the lost answer.
		return n != "get_messages" || (known && p.Arguments.Mark != nil && !*p.Arguments.Mark)
	}
	return known && p.Arguments.Key != ""
}

// errorLine returns a JSON-RPC error as a line. A nil ID becomes null, for a message that could not be parsed.
func errorLine(id json.RawMessage, code int, message string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": code, "message": message}})
	if err != nil {
		panic(err) // cannot happen: the ID is valid JSON
	}
	return text
}

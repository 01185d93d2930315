package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// The codes of JSON-RPC errors that the bridge gives by itself.
const (
	codeParse       = mcp.PARSE_ERROR
	codeInvalid     = mcp.INVALID_REQUEST
	codeUnreachable = -32000 // the range that JSON-RPC leaves to servers
)

// request is a message of the client on its way. What has no id is a notification, or the client's answer to the
// server: nothing is answered to it.
type request struct {
	ctx    context.Context
	cancel context.CancelFunc

	text   []byte
	id     json.RawMessage
	method string
	params json.RawMessage
	// version is the protocol version that the message declares of itself, as messages do since 2026-07-28.
	version string
	// own gets the answer to a request of the bridge's own; nil where the client asked.
	own func(line []byte)
}

// accept reads a line, and ends the request that it cancels. What cannot be read or sent is refused by the line
// returned; a blank line is neither.
func (r *run) accept(ctx context.Context, l line) (*request, []byte) {
	text := bytes.TrimSpace(l.text)
	if len(text) == 0 && l.size <= maxLine {
		return nil, nil
	}
	if l.size > maxBody {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(text, &m) // without an id the answer goes to none
		return nil, failure(m.ID, codeInvalid,
			fmt.Sprintf("the message has %d bytes and a server takes 1 MiB; send less at once", l.size))
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if !json.Valid(text) {
		return nil, failure(nil, codeParse, "the line is not JSON")
	}
	if text[0] == '[' {
		return nil, failure(nil, codeInvalid, "batches are not supported; send one message a line")
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, failure(nil, codeInvalid, "the line is not a JSON-RPC message")
	}
	req := &request{text: text, method: m.Method, params: m.Params}
	if m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" {
		if m.ID[0] == '{' || m.ID[0] == '[' || m.ID[0] == 't' || m.ID[0] == 'f' {
			return nil, failure(nil, codeInvalid, "an id is a text or a number")
		}
		req.id = m.ID
	}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) == nil {
		_ = json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &req.version) // none where it is not a text
	}
	req.ctx, req.cancel = context.WithCancel(ctx)
	r.track(req)
	return req, nil
}

// track remembers a request so that it can be cancelled, and cancels that which a notification names: the server is
// told by the end of the POST too, because a server without sessions cannot tell whose the id is.
func (r *run) track(req *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.id != nil {
		r.underway[string(req.id)] = req
		return
	}
	if req.method != "notifications/cancelled" {
		return
	}
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(req.params, &p) == nil && r.underway[string(p.ID)] != nil {
		r.underway[string(p.ID)].cancel()
	}
}

func (r *run) forget(req *request) {
	req.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.underway[string(req.id)] == req {
		delete(r.underway, string(req.id))
	}
}

// name is the tool, prompt or resource that the request is about.
func (q *request) name() string {
	name, _ := mcp.ExtractHeaderName(mcp.MCPMethod(q.method), q.params)
	return name
}

// what names the request in a message to people.
func (q *request) what() string {
	if name := q.name(); name != "" {
		return q.method + " " + name
	}
	if q.method == "" {
		return "an answer to the server"
	}
	return q.method
}

// repeatable says whether the request does no harm when it runs twice.
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
		// Messages that were read once are not read again, so a repeat would hide what the lost answer held.
		return n != "get_messages" || (known && p.Arguments.Mark != nil && !*p.Arguments.Mark)
	}
	return known && p.Arguments.Key != ""
}

// failure is a JSON-RPC error as a line; nil for an id is the null of a message that could not be read.
func failure(id json.RawMessage, code int, message string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": code, "message": message}})
	if err != nil {
		panic(err) // the id was read as JSON
	}
	return text
}

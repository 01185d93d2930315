package hubtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/op"
)

// Answer is an HTTP response, with its whole body.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// String returns the status and the body, for the message of a failed test.
func (a Answer) String() string { return fmt.Sprintf("%d %s", a.Status, a.Body) }

type envelope struct {
	Success *bool           `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   *rest.Error     `json:"error"`
	Meta    *rest.Meta      `json:"meta"`
}

func (a Answer) envelope() envelope {
	var e envelope
	_ = json.Unmarshal(a.Body, &e) // any other body is an empty envelope
	return e
}

// Data returns the result of the call, or nil for a fault.
func (a Answer) Data() json.RawMessage { return a.envelope().Data }

// Into decodes the result of the call into v. It is an error if the call did not succeed.
func (a Answer) Into(v any) error {
	if e := a.envelope(); e.Success == nil || !*e.Success {
		return fmt.Errorf("the call failed: %s", a)
	}
	return json.Unmarshal(a.Data(), v)
}

// Fault returns the error in the envelope, or the zero value for a success.
func (a Answer) Fault() rest.Error {
	if e := a.envelope().Error; e != nil {
		return *e
	}
	return rest.Error{}
}

// Meta returns the meta of the envelope, or the zero value if there is none.
func (a Answer) Meta() rest.Meta {
	if m := a.envelope().Meta; m != nil {
		return *m
	}
	return rest.Meta{}
}

// Raw sends a request without a key. A body that is a string, a []byte or an io.Reader is sent as it is; any other is
// encoded as JSON. Headers are alternating names and values; a name that is given twice is sent twice, and the name
// Host sets the host.
func (h *Hub) Raw(method, path string, body any, headers ...string) Answer {
	h.t.Helper()
	a, err := h.Try(h.t.Context(), method, path, body, headers...)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// Try is like [Hub.Raw], but returns an error if no response came. It may be called from any goroutine.
func (h *Hub) Try(ctx context.Context, method, path string, body any, headers ...string) (Answer, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case io.Reader:
		r = b
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return Answer{}, err
		}
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.URL+path, r)
	if err != nil {
		return Answer{}, err
	}
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(headers, 2) {
		if pair[0] == "Host" {
			req.Host = pair[1]
			continue
		}
		req.Header.Add(pair[0], pair[1])
	}
	res, err := h.client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return Answer{res.StatusCode, res.Header, text}, err
}

// REST sends a request with a key. Its other parameters are those of [Hub.Raw].
func (h *Hub) REST(key, method, path string, body any, headers ...string) Answer {
	h.t.Helper()
	return h.Raw(method, path, body, append([]string{"Authorization", "Bearer " + key}, headers...)...)
}

// Op calls an operation over REST, with its inputs in the path, the query or the body. It takes the first route of the
// operation for whose path the inputs suffice, or else the main one.
func (h *Hub) Op(key string, o *op.Op, args map[string]any, headers ...string) Answer {
	h.t.Helper()
	route := o.Route
	for _, r := range o.Routes() {
		missing := func(name string) bool { return args[name] == nil }
		if len(r.Set) == 0 && !slices.ContainsFunc(op.PathParams(r.Route), missing) {
			route = r.Route
			break
		}
	}
	method, path, body := place(route, args)
	return h.REST(key, method, path, body, headers...)
}

// place distributes the inputs of a call over the path, and the query or the body.
func place(route string, args map[string]any) (method, path string, body any) {
	method, path = op.Method(route), op.Path(route)
	others := map[string]any{}
	for name, v := range args {
		if param := "{" + name + "}"; strings.Contains(path, param) {
			path = strings.ReplaceAll(path, param, url.PathEscape(fmt.Sprint(v)))
			continue
		}
		others[name] = v
	}
	if method != http.MethodGet && method != http.MethodDelete {
		return method, path, others
	}
	q := url.Values{}
	for name, v := range others {
		switch x := v.(type) {
		case []string:
			q[name] = x
		case []any:
			for _, e := range x {
				q.Add(name, fmt.Sprint(e))
			}
		default:
			q.Set(name, fmt.Sprint(v))
		}
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return method, path, nil
}

// RPCError is an error of JSON-RPC.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// RPCAnswer is a response of the MCP endpoint. Both Result and Err are nil unless the body is a JSON-RPC message.
type RPCAnswer struct {
	Answer
	Result json.RawMessage
	Err    *RPCError
}

// ToolAnswer is a response to the call of a tool.
type ToolAnswer struct {
	RPCAnswer
	Texts      []string        // the texts of the content
	Structured json.RawMessage // the structured content
	IsError    bool
}

// Fault returns the fault in the result of the tool, or the zero value for a success.
func (a ToolAnswer) Fault() rest.Error {
	var e struct {
		Error rest.Error `json:"error"`
	}
	if a.IsError {
		_ = json.Unmarshal(a.Structured, &e) // any other content is an empty fault
	}
	return e.Error
}

// Into decodes the structured result of the tool into v. It is an error if the call did not succeed.
func (a ToolAnswer) Into(v any) error {
	if a.IsError || a.Err != nil || a.Structured == nil {
		return fmt.Errorf("the call failed: %s", a.Answer)
	}
	return json.Unmarshal(a.Structured, v)
}

// Message returns a JSON-RPC request of a protocol before 2026-07-28, or a notification if id is nil.
func Message(id any, method string, params any) map[string]any {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if id != nil {
		m["id"] = id
	}
	if params != nil {
		m["params"] = params
	}
	return m
}

// MCP sends a JSON-RPC message to an endpoint such as "/mcp". The message and the headers are like those of [Hub.Raw].
func (h *Hub) MCP(key, path string, message any, headers ...string) RPCAnswer {
	h.t.Helper()
	a, err := h.TryMCP(h.t.Context(), key, path, message, headers...)
	if err != nil {
		h.t.Fatalf("%s: %v", path, err)
	}
	return a
}

// TryMCP is like [Hub.MCP], but returns an error if no response came. It may be called from any goroutine.
func (h *Hub) TryMCP(ctx context.Context, key, path string, message any, headers ...string) (RPCAnswer, error) {
	a, err := h.Try(ctx, http.MethodPost, path, message, append([]string{"Authorization", "Bearer " + key,
		"Accept", "application/json, text/event-stream"}, headers...)...)
	if err != nil {
		return RPCAnswer{}, err
	}
	var m struct {
		Result json.RawMessage `json:"result"`
		Error  *RPCError       `json:"error"`
	}
	if json.Unmarshal(a.Body, &m) != nil {
		return RPCAnswer{Answer: a}, nil // no JSON, such as the empty body of 202
	}
	if m.Error != nil && m.Error.Code == 0 {
		m.Error = nil // a fault in the envelope of REST
	}
	return RPCAnswer{a, m.Result, m.Error}, nil
}

// RawTool calls a tool with arguments that are sent as they are, for texts that encoding/json would correct.
func (h *Hub) RawTool(key, path, name, args string, headers ...string) ToolAnswer {
	h.t.Helper()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`
	a, err := AsTool(h.MCP(key, path, fmt.Sprintf(call, name, args), headers...))
	if err != nil {
		h.t.Fatalf("%s %s: %v", path, name, err)
	}
	return a
}

// Tool calls a tool on an endpoint such as "/mcp". Nil args are left out of the message.
func (h *Hub) Tool(key, path, name string, args any, headers ...string) ToolAnswer {
	h.t.Helper()
	a, err := h.TryTool(h.t.Context(), key, path, name, args, headers...)
	if err != nil {
		h.t.Fatalf("%s %s: %v", path, name, err)
	}
	return a
}

// TryTool is like [Hub.Tool], but returns an error if no response came, or a result that is not a tool's. It may be
// called from any goroutine.
func (h *Hub) TryTool(ctx context.Context, key, path, name string, args any, headers ...string) (ToolAnswer, error) {
	params := map[string]any{"name": name}
	if args != nil {
		params["arguments"] = args
	}
	a, err := h.TryMCP(ctx, key, path, Message(1, "tools/call", params), headers...)
	if err != nil {
		return ToolAnswer{}, err
	}
	return AsTool(a)
}

// AsTool decodes a response to tools/call. It is an error if the result is not that of a tool.
func AsTool(a RPCAnswer) (ToolAnswer, error) {
	out := ToolAnswer{RPCAnswer: a}
	if a.Result == nil {
		return out, nil
	}
	var r struct {
		Content []struct {
			Type, Text string
		}
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return out, fmt.Errorf("a tool's result: %w: %s", err, a.Result)
	}
	for _, c := range r.Content {
		out.Texts = append(out.Texts, c.Text)
	}
	out.Structured, out.IsError = r.StructuredContent, r.IsError
	return out, nil
}

// Modern sends a request of protocol 2026-07-28, which names the version and the client in _meta, and the method and
// the tool in headers. A header in headers replaces that of the same name.
func (h *Hub) Modern(key, path, method string, params map[string]any, headers ...string) RPCAnswer {
	h.t.Helper()
	all := map[string]any{"_meta": map[string]any{
		mcp.MetaKeyProtocolVersion:    mcp.ProtocolVersion20260728,
		mcp.MetaKeyClientInfo:         map[string]any{"name": "hubtest", "version": "1"},
		mcp.MetaKeyClientCapabilities: map[string]any{},
	}}
	for name, v := range params {
		all[name] = v
	}
	own := []string{mcp.HeaderProtocolVersion, mcp.ProtocolVersion20260728, mcp.HeaderMethod, method}
	if name, ok := params["name"].(string); ok {
		own = append(own, mcp.HeaderName, name)
	}
	for i := 0; i < len(own); {
		if slices.Contains(headers, own[i]) {
			own = slices.Delete(own, i, i+2)
			continue
		}
		i += 2
	}
	return h.MCP(key, path, Message(1, method, all), append(own, headers...)...)
}

// Tools returns the names of the tools that an endpoint lists, sorted.
func (h *Hub) Tools(key, path string, headers ...string) []string {
	h.t.Helper()
	a := h.MCP(key, path, Message(1, "tools/list", nil), headers...)
	var list struct {
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(a.Result, &list); err != nil {
		h.t.Fatalf("%s: no list of tools: %s", path, a.Answer)
	}
	names := []string{}
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/shared/op"
)

// Mount adds the endpoint to a router at path, such as "/mcp", and at every path below it. Requests must carry a key
// that a accepts.
func (e *Endpoint) Mount(r *echo.Echo, path string, a *auth.Authenticator) {
	h := func(c echo.Context) error { return e.serve(c, strings.TrimPrefix(c.Request().URL.Path, path), a) }
	r.Any(path, h)
	r.Any(path+"/*", h)
}

// message is a JSON-RPC message, decoded once. What mcp-go reads is written from it, so that the front and mcp-go
// cannot understand a message differently, for example by a repeated field or by letter case.
type message struct {
	// fields is nil if the message is not an object; mcp-go refuses it.
	fields map[string]any
	method string
	params map[string]any
}

// readMessage decodes a message, as far as the body is one.
func readMessage(body []byte) message {
	var m message
	v, err := op.Decode(body)
	if err != nil {
		return m
	}
	m.fields, _ = v.(map[string]any)
	m.method, _ = m.fields["method"].(string)
	m.params, _ = m.fields["params"].(map[string]any)
	return m
}

// text returns a parameter, or "" unless it is a string.
func (m *message) text(param string) string {
	s, _ := m.params[param].(string)
	return s
}

// encode returns the message for mcp-go: the fields of JSON-RPC, or body unchanged unless the message is an object.
// The arguments of an operation's call are left out, because the front decoded them, which keeps numbers as written.
func (m *message) encode(body []byte, forOperation bool) ([]byte, error) {
	if m.fields == nil {
		return body, nil
	}
	if _, has := m.params["arguments"]; has && forOperation && m.method == string(mcp.MethodToolsCall) {
		m.params["arguments"] = map[string]any{}
	}
	out := map[string]any{}
	for _, name := range []string{"jsonrpc", "id", "method", "params", "result", "error"} {
		if v, has := m.fields[name]; has {
			out[name] = v
		}
	}
	return json.Marshal(out)
}

// serve authenticates and checks a request, and hands it to mcp-go.
func (e *Endpoint) serve(c echo.Context, path string, a *auth.Authenticator) error {
	r := c.Request()
	if r.Method != http.MethodPost {
		// The endpoint has no streams (GET) and no sessions (DELETE).
		c.Response().Header().Set(echo.HeaderAllow, http.MethodPost)
		return echo.NewHTTPError(http.StatusMethodNotAllowed)
	}
	caller, err := a.Caller(r)
	if err != nil {
		return err
	}
	selection, err := selectionOf(r, path, e.Catalogue)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	m := readMessage(body)
	invalid := op.CheckText(body)
	switch {
	case m.method == "notifications/cancelled":
		// Without sessions a cancellation would end every caller's request that has this id.
		return c.NoContent(http.StatusAccepted)
	case m.method == string(mcp.MethodSubscriptionsListen):
		// The lists do not change while a client listens, so a stream would stay open without an event.
		return answer(c, http.StatusNotFound, m.fields["id"], &rpcError{mcp.METHOD_NOT_FOUND,
			"this server sends no notifications; wait with a tool's waitMs instead"})
	case invalid != nil && m.method != string(mcp.MethodToolsCall):
		return answer(c, http.StatusBadRequest, m.fields["id"],
			&rpcError{mcp.PARSE_ERROR, "the message must be valid UTF-8 text"})
	}
	rid := c.Response().Header().Get(echo.HeaderXRequestID)
	refused := func(err error) { a.Refused(r, rid, caller, err) }
	res, err := e.readResources(r.Context(), selection.resources(e.Catalogue), &m,
		op.Call{Caller: caller, Transport: "mcp", RequestID: rid})
	if err != nil {
		refused(err)
		status, e := resourceError(r, err)
		return answer(c, status, m.fields["id"], e)
	}
	in := &call{caller: caller, input: m.input(body, invalid), requestID: rid, resources: res,
		valid: func() error { return a.Recheck(r) }, refused: refused}
	hasExtras := extras != nil || fixtures != nil
	if body, err = m.encode(body, !hasExtras || e.serves(selection, m.text("name"))); err != nil {
		return err
	}
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, in))
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	e.server(selection).ServeHTTP(c.Response(), r)
	return nil
}

// input returns the input of a tool's call. If the body is not valid text, invalid is the fault, and the input is
// refused with a fault that names the field.
func (m *message) input(body []byte, invalid error) op.Input {
	if invalid == nil {
		return op.Decoded(m.params["arguments"])
	}
	var raw struct {
		Params struct {
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &raw) == nil {
		if err := op.CheckText(raw.Params.Arguments); err != nil {
			return op.Refused(err)
		}
	}
	return op.Refused(invalid)
}

// serves reports whether the selection has an operation of this name. Every other tool was added by the build.
func (e *Endpoint) serves(s Selection, name string) bool {
	return slices.ContainsFunc(s.tools(e.Catalogue), func(o *op.Op) bool { return s.name(o) == name })
}

// rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// answer writes a JSON-RPC error as the response.
func answer(c echo.Context, status int, id any, e *rpcError) error {
	return c.JSON(status, struct {
		JSONRPC string    `json:"jsonrpc"`
		ID      any       `json:"id"`
		Error   *rpcError `json:"error"`
	}{mcp.JSONRPC_VERSION, id, e})
}

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

// Mount adds the endpoint at a path and below it.
func (e *Endpoint) Mount(r *echo.Echo, path string, a *auth.Authenticator) {
	h := func(c echo.Context) error { return e.serve(c, strings.TrimPrefix(c.Request().URL.Path, path), a) }
	r.Any(path, h)
	r.Any(path+"/*", h)
}

// message is a JSON-RPC message, decoded once: the front and mcp-go go by the same fields, in the
// same spelling.
type message struct {
	// fields are nil for a message that is no object; mcp-go refuses it.
	fields map[string]any
	method string
	params map[string]any
}

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

func (m *message) text(param string) string {
	s, _ := m.params[param].(string)
	return s
}

// rest is the message as mcp-go is to read it. Arguments that an operation gets are left out:
// they were decoded here, with their numbers as they were written.
func (m *message) rest(body []byte, forOperation bool) ([]byte, error) {
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

// serve checks a request before mcp-go sees it.
func (e *Endpoint) serve(c echo.Context, path string, a *auth.Authenticator) error {
	r := c.Request()
	if r.Method != http.MethodPost {
		// There is no stream to open and no session to end.
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
		// Without sessions a cancellation would end whoever's request has the id.
		return c.NoContent(http.StatusAccepted)
	case m.method == string(mcp.MethodSubscriptionsListen):
		// Nothing here changes while a client listens, so no stream is held open.
		return answer(c, http.StatusNotFound, m.fields["id"], &rpcError{mcp.METHOD_NOT_FOUND, "this server sends no notifications; wait with a tool's waitMs instead"})
	case invalid != nil && m.method != string(mcp.MethodToolsCall):
		return answer(c, http.StatusBadRequest, m.fields["id"], &rpcError{mcp.PARSE_ERROR, "the message must be valid UTF-8 text"})
	}
	rid := c.Response().Header().Get(echo.HeaderXRequestID)
	read, err := e.see(r.Context(), selection.resources(e.Catalogue), &m, op.Call{Caller: caller, Transport: "mcp", RequestID: rid})
	refused := func(err error) { a.Refused(r, rid, caller, err) }
	if err != nil {
		refused(err)
		status, e := resourceError(r, err)
		return answer(c, status, m.fields["id"], e)
	}
	ctx := context.WithValue(r.Context(), callKey{}, &call{caller: caller, input: m.input(body, invalid), requestID: rid, seen: read, refused: refused})
	built := extras != nil || fixtures != nil
	if body, err = m.rest(body, !built || e.serves(selection, m.text("name"))); err != nil {
		return err
	}
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	e.server(selection).ServeHTTP(c.Response(), r)
	return nil
}

// input is the input of a tool's call. A text that is not valid is a fault of the field that
// holds it.
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

// serves says whether the name is that of an operation in the selection; what else there is,
// the build has added.
func (e *Endpoint) serves(s Selection, name string) bool {
	return slices.ContainsFunc(s.tools(e.Catalogue), func(o *op.Op) bool { return s.name(o) == name })
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// answer writes a JSON-RPC error of the front's own.
func answer(c echo.Context, status int, id any, e *rpcError) error {
	return c.JSON(status, struct {
		JSONRPC string    `json:"jsonrpc"`
		ID      any       `json:"id"`
		Error   *rpcError `json:"error"`
	}{mcp.JSONRPC_VERSION, id, e})
}

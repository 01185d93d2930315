package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
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

// envelope is what the front reads of a message, in parts: what it does about a
// method must not hang on whether the rest can be read, because mcp-go goes by the
// method too. Arguments stay as they were sent, because mcp-go's would have numbers
// cut to floats.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (m *envelope) arguments() json.RawMessage {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return nil
	}
	return p.Arguments
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
	selection, err := selectionOf(r, path, e.Catalogue, e.Defaults)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var m envelope
	if json.Unmarshal(body, &m) != nil {
		m = envelope{}
	}
	switch {
	case m.Method == "notifications/cancelled":
		// Without sessions a cancellation would end whoever's request has the id.
		return c.NoContent(http.StatusAccepted)
	case m.Method == string(mcp.MethodSubscriptionsListen):
		// Nothing here changes while a client listens, so no stream is held open.
		return answer(c, http.StatusNotFound, m.ID, &rpcError{mcp.METHOD_NOT_FOUND, "this server sends no notifications; wait with a tool's waitMs instead"})
	case op.CheckText(body) != nil && m.Method != string(mcp.MethodToolsCall):
		return answer(c, http.StatusBadRequest, m.ID, &rpcError{mcp.PARSE_ERROR, "the message must be valid UTF-8 text"})
	}
	// A tool's arguments are checked as they were sent, so that the fault names the
	// field; mcp-go gets text that it can read.
	args := m.arguments()
	body = readable(bytes.ToValidUTF8(body, []byte("?")), args)
	rid := c.Response().Header().Get(echo.HeaderXRequestID)
	read, err := e.see(r.Context(), selection.resources(e.Catalogue), &m, op.Call{Caller: caller, Transport: "mcp", RequestID: rid})
	if err != nil {
		status, e := resourceError(r, err)
		return answer(c, status, m.ID, e)
	}
	ctx := context.WithValue(r.Context(), callKey{}, &call{caller: caller, args: args, requestID: rid, seen: read})
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	e.server(selection).ServeHTTP(c.Response(), r)
	return nil
}

// readable is the message without its arguments where mcp-go could not read those,
// as a number past all floats.
func readable(body []byte, args json.RawMessage) []byte {
	var v any
	if len(args) == 0 || json.Unmarshal(args, &v) == nil {
		return body
	}
	var message, params map[string]json.RawMessage
	if json.Unmarshal(body, &message) != nil || json.Unmarshal(message["params"], &params) != nil {
		return body
	}
	params["arguments"] = json.RawMessage("{}")
	text, err := json.Marshal(params)
	if err != nil {
		return body
	}
	message["params"] = text
	if text, err = json.Marshal(message); err != nil {
		return body
	}
	return text
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// answer writes a JSON-RPC error of the front's own.
func answer(c echo.Context, status int, id json.RawMessage, e *rpcError) error {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return c.JSON(status, struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcError       `json:"error"`
	}{mcp.JSONRPC_VERSION, id, e})
}

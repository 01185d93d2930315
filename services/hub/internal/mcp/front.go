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
	"github.com/mark3labs/mcp-go/server"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

// Mount adds the endpoint to a router at path, such as "/mcp", and at every path below it. Requests must carry a key
// that a accepts.
func (e *Endpoint) Mount(r *echo.Echo, path string, a *auth.Authenticator) {
	h := func(c echo.Context) error { return e.serve(c, strings.TrimPrefix(c.Request().URL.Path, path), a) }
	r.Any(path, h)
	r.Any(path+"/*", h)
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
	body, err := rest.Body(r)
	if err != nil {
		return err
	}
	m, malformed := readMessage(body)
	switch {
	case m.method == "notifications/cancelled":
		// It does not reach mcp-go, which would end the requests of every caller that have this id.
		e.waiting.end(caller, requestID(m.params["requestId"]))
		return c.NoContent(http.StatusAccepted)
	case malformed != nil:
		return answer(c, http.StatusBadRequest, m.id, malformed)
	case m.method == string(mcp.MethodSubscriptionsListen):
		// The lists do not change while a client listens, so a stream would stay open without an event.
		return answer(c, http.StatusNotFound, m.id, &rpcError{mcp.METHOD_NOT_FOUND,
			"this server sends no notifications; wait with a tool's waitMs instead"})
	}
	if e := m.checkCall(); e != nil {
		return answer(c, status(r, e), m.id, e)
	}
	rid := c.Response().Header().Get(echo.HeaderXRequestID)
	refused := func(err error) { a.Refused(r, rid, caller, err) }
	res, err := e.readResources(r.Context(), selection.resources(e.Catalogue), &m,
		op.Call{Caller: caller, Transport: "mcp", RequestID: rid})
	if err != nil {
		refused(err)
		e := resourceError(r, err)
		return answer(c, status(r, e), m.id, e)
	}
	in := &call{caller: caller, input: m.input(), requestID: rid, resources: res,
		valid: func() error { return a.Recheck(r) }, refused: refused}
	hasExtras := extras != nil || fixtures != nil
	if body, err = m.encode(!hasExtras || e.serves(selection, m.text("name"))); err != nil {
		return err
	}
	return e.forward(c, selection, &m, in, body)
}

// forward hands a message to mcp-go, and undoes the effects of a consuming call if its answer does not reach the caller.
func (e *Endpoint) forward(c echo.Context, s Selection, m *message, in *call, body []byte) error {
	r := c.Request()
	end, done := e.waiting.add(in.caller, m.id)
	defer done()
	r = r.WithContext(context.WithValue(store.WithEnd(r.Context(), end), callKey{}, in))
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	w := &writer{Response: c.Response(), id: m.id, call: in}
	e.server(s).ServeHTTP(w, r)
	// A call that was cancelled before its answer was written has one that nobody reads.
	if !in.result.Consumed() || w.failed == nil && rest.Delivered(c) && !store.Ended(r.Context()) {
		return nil
	}
	if err := in.result.Undelivered(r.Context()); err != nil {
		e.Log.ErrorContext(r.Context(), "the messages of an answer that was not delivered are lost", "cause", err)
	}
	return nil
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

// status returns the HTTP status of an error in the era of the request.
func status(r *http.Request, e *rpcError) int {
	if e.Code == mcp.INVALID_PARAMS && mcp.IsModernProtocol(r.Header.Get(server.HeaderKeyProtocolVersion)) {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// answer writes a JSON-RPC error as the response.
func answer(c echo.Context, status int, id json.RawMessage, e *rpcError) error {
	text, err := e.response(id)
	if err != nil {
		return err
	}
	return c.Blob(status, echo.MIMEApplicationJSON, text)
}

// response returns the error as a JSON-RPC response to a request.
func (e *rpcError) response(id json.RawMessage) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	// Not marshalled as a whole, because encoding/json writes some characters of an id in another way.
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"error":`), text, []byte("}\n")), nil
}

package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/shared/identity"
)

// pauses precede each further try of a request that may be repeated.
var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// healthTimeout bounds a health check of the server.
const healthTimeout = 5 * time.Second

// failure describes a try that brought no answer.
type failure struct {
	text string
	code int
	// temporary reports that another try may succeed.
	temporary bool
	// unsent reports that the request certainly did not run.
	unsent bool
}

// uncertain reports that the request may have run and must not run twice.
func (t *failure) uncertain(req *request) bool {
	return t.temporary && !t.unsent && !req.repeatable()
}

// deliver sends a request and repeats it where that is safe. If the server gives no answer, deliver answers the client
// itself. Cancelled requests are not answered.
func (r *run) deliver(req *request) {
	t := r.try(req)
	for _, pause := range pauses {
		if t == nil || req.ctx.Err() != nil || !t.temporary || t.uncertain(req) {
			break
		}
		r.report("%s: %s; trying again in %v", req.label(), t.text, pause)
		if r.Sleep(req.ctx, pause) != nil {
			return
		}
		if r.healthy(req.ctx) {
			t = r.try(req)
		}
	}
	if t == nil || req.ctx.Err() != nil {
		return
	}
	message := r.advice(req, t)
	r.report("%s: %s", req.label(), message)
	if req.id != nil {
		r.emit(req.ctx, errorLine(req.id, t.code, message))
	}
}

// advice returns the error message for the client: the failure and the remedy.
func (r *run) advice(req *request, t *failure) string {
	switch {
	case t.uncertain(req):
		return fmt.Sprintf("the outcome of %s is unknown: it was sent to %s, but no answer arrived (%s). "+
			"It may have run, so look with a get_ or list_ tool (for messages, get_messages with includeDelivered) "+
			"before you call it again; a call with an idempotencyKey, where the tool takes one, is repeated safely",
			req.label(), r.url, t.text)
	case t.temporary:
		return fmt.Sprintf("Parley at %s does not answer (%s). Is the server running there? "+
			"Start it with `parley serve`, check the URL and the key in %s, "+
			"or use the REST twin of the tool at %s/v1, which %s/openapi.json describes",
			r.url, t.text, r.KeyEnv, r.origin, r.origin)
	}
	return t.text
}

// healthy reports whether the server answers a health check.
func (r *run) healthy(ctx context.Context) bool {
	_, err := r.rest.Health(ctx)
	return err == nil
}

// try sends a request once and passes the answer on.
func (r *run) try(req *request) *failure {
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(req.ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(req.text))
	if err != nil {
		return &failure{text: err.Error(), code: codeUnreachable}
	}
	r.setHeaders(post.Header, req)
	res, err := r.HTTP.Do(post)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // the message has the URL
		}
		return &failure{text: err.Error(), code: codeUnreachable, temporary: true, unsent: !sent.Load()}
	}
	defer func() { _ = res.Body.Close() }()
	return r.receive(req, res)
}

// setHeaders sets the HTTP headers of a request. Since the protocol version 2026-07-28 they include the method and name
// of the message, for proxies that route without reading bodies.
func (r *run) setHeaders(h http.Header, req *request) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if r.Key != "" {
		h.Set("Authorization", "Bearer "+r.Key)
	}
	if r.Session != "" {
		h.Set(identity.SessionHeader, r.Session)
	}
	r.mu.Lock()
	version, session := r.version, r.session
	r.mu.Unlock()
	if req.version != "" {
		version = req.version
	}
	if req.method == string(mcp.MethodInitialize) {
		version, session = "", "" // initialize begins a new session
	}
	if version != "" {
		h.Set(mcp.HeaderProtocolVersion, version)
	}
	if mcp.IsModernProtocol(version) {
		for name, value := range mcp.StandardHeaders(version, mcp.MCPMethod(req.method), req.params) {
			h.Set(name, value)
		}
	} else if session != "" {
		h.Set(mcp.HeaderSessionID, session)
	}
}

// keepVersion keeps the protocol version in the result of initialize for later requests.
func (r *run) keepVersion(req *request, result json.RawMessage) {
	if req.method != string(mcp.MethodInitialize) {
		return
	}
	var agreed struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &agreed) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = agreed.Version
}

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
)

// pauses are before each further try of a request that may be repeated.
var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// probing is how long the server may take to say that it is up.
const probing = 5 * time.Second

// trouble is why a try brought no answer.
type trouble struct {
	text string
	code int
	// passing says that another try may fare better.
	passing bool
	// unsent says that the request surely did not run.
	unsent bool
}

// unknown says that the request may have run, and would do harm if it ran twice.
func (t *trouble) unknown(req *request) bool {
	return t.passing && !t.unsent && !req.repeatable()
}

// deliver sends a request, tries again where that is safe, and answers the client itself where the server did not. What
// was cancelled is not answered.
func (r *run) deliver(req *request) {
	t := r.try(req)
	for _, pause := range pauses {
		if t == nil || req.ctx.Err() != nil || !t.passing || t.unknown(req) {
			break
		}
		r.complain("%s: %s; trying again in %v", req.what(), t.text, pause)
		if r.Sleep(req.ctx, pause) != nil {
			return
		}
		if r.up(req.ctx) {
			t = r.try(req)
		}
	}
	if t == nil || req.ctx.Err() != nil {
		return
	}
	message := r.advice(req, t)
	r.complain("%s: %s", req.what(), message)
	if req.id != nil {
		r.emit(req.ctx, failure(req.id, t.code, message))
	}
}

// advice says what went wrong and what to do about it.
func (r *run) advice(req *request, t *trouble) string {
	switch {
	case t.unknown(req):
		return fmt.Sprintf("the outcome of %s is unknown: it was sent to %s and no answer came (%s). "+
			"It may have run, so look with a get_ or list_ tool (for messages, get_messages with includeDelivered) "+
			"before you call it again; "+
			"a call with an idempotencyKey, where the tool takes one, is repeated safely", req.what(), r.url, t.text)
	case t.passing:
		return fmt.Sprintf("Parley at %s does not answer (%s). Is the server running there? Start it with `parley "+
			"serve`, "+
			"check the URL and the key in %s, or use the REST twin of the tool at %s/v1, which %s/openapi.json "+
			"describes",
			r.url, t.text, r.KeyEnv, r.origin, r.origin)
	}
	return t.text
}

// up asks whether the server is.
func (r *run) up(ctx context.Context) bool {
	_, err := r.rest.Health(ctx)
	return err == nil
}

// try sends a request once and passes on what comes back.
func (r *run) try(req *request) *trouble {
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(req.ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(req.text))
	if err != nil {
		return &trouble{text: err.Error(), code: codeUnreachable}
	}
	r.head(post.Header, req)
	res, err := r.HTTP.Do(post)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // the message names the URL already
		}
		return &trouble{text: err.Error(), code: codeUnreachable, passing: true, unsent: !sent.Load()}
	}
	defer func() { _ = res.Body.Close() }()
	return r.receive(req, res)
}

// head fills in the headers: those of HTTP, and those that say again what the message says, for what routes without
// reading bodies.
func (r *run) head(h http.Header, req *request) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if r.Key != "" {
		h.Set("Authorization", "Bearer "+r.Key)
	}
	r.mu.Lock()
	version, session := r.version, r.session
	r.mu.Unlock()
	if req.version != "" {
		version = req.version
	}
	if req.method == string(mcp.MethodInitialize) {
		version, session = "", "" // it begins anew
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

// learn keeps the protocol version that initialize agreed on, for later requests.
func (r *run) learn(req *request, result json.RawMessage) {
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

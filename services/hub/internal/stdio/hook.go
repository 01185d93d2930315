package stdio

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Hook changes the results of tools on their way to the client. A hook adds information that only the client's machine
// has.
type Hook interface {
	// Wants reports whether the hook handles the results of a tool.
	Wants(tool string) bool
	// Result returns the structured content that replaces content, the server's result of the call. If it returns nil
	// or an error, the answer is passed on unchanged, and the bridge reports the error. Only this answer waits
	// meanwhile. ctx ends when the client cancels the call or the bridge ends. Result must be safe for concurrent use.
	// It is not called for results that are errors.
	Result(ctx context.Context, call *Call, content json.RawMessage) (json.RawMessage, error)
}

// Call is the client's call of a tool. It can make further calls on the client's behalf.
type Call struct {
	run *run
	req *request
}

// Tool returns the name of the tool.
func (c *Call) Tool() string { return c.req.name() }

// Arguments returns the arguments of the call as JSON, nil for none.
func (c *Call) Arguments() json.RawMessage {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(c.req.params, &p) // the server has accepted them
	return p.Arguments
}

// Report writes a line about the call for the user of the client, escaped for a terminal.
func (c *Call) Report(format string, args ...any) {
	c.run.report("%s: %s", c.req.label(), fmt.Sprintf(format, args...))
}

// Server returns the URL of the server, without a password.
func (c *Call) Server() string { return c.run.url }

// Size returns the size of the message that [Call.Follow] sends for the same tool and arguments, in bytes.
func (c *Call) Size(tool string, args any) int { return len(c.followUp(tool, args).text) }

// Follow calls another tool of the server once, with the client's key and protocol version, and returns its structured
// content. The client does not see the call. An error result of the tool is returned as an error.
func (c *Call) Follow(ctx context.Context, tool string, args any) (json.RawMessage, error) {
	q := c.followUp(tool, args)
	var line []byte
	q.own = func(answer []byte) { line = answer }
	q.ctx, q.cancel = context.WithCancel(ctx)
	defer q.cancel()
	if t := c.run.try(q); t != nil {
		return nil, fmt.Errorf("%s: %s", tool, t.text)
	}
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("the answer of %s cannot be read: %w", tool, err)
	}
	switch {
	case m.Error != nil:
		return nil, fmt.Errorf("%s: %s", tool, m.Error.Message)
	case m.Result.IsError && len(m.Result.Content) > 0:
		return nil, fmt.Errorf("%s: %s", tool, m.Result.Content[0].Text)
	case m.Result.IsError || len(m.Result.StructuredContent) == 0:
		return nil, fmt.Errorf("the answer of %s has no structured content", tool)
	}
	return m.Result.StructuredContent, nil
}

// followUp returns a request of the bridge itself, with the client's metadata and an ID that no client uses.
func (c *Call) followUp(tool string, args any) *request {
	params := map[string]any{"name": tool, "arguments": args}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(c.req.params, &p) == nil && p.Meta != nil {
		delete(p.Meta, "progressToken") // it belongs to the client's call
		params["_meta"] = p.Meta
	}
	q := &request{method: string(mcp.MethodToolsCall), id: Encode("parley-stdio-" + rand.Text()),
		params:  Encode(params),
		version: c.req.version}
	q.text = Encode(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": q.id, "method": q.method,
		"params": json.RawMessage(q.params)})
	return q
}

// hooked returns the answer to pass on: changed by the hook, or else the server's.
func (r *run) hooked(req *request, line []byte) []byte {
	if r.Hook == nil || req.method != string(mcp.MethodToolsCall) || !r.Hook.Wants(req.name()) {
		return line
	}
	a, ok := readAnswer(line)
	if !ok {
		return line
	}
	changed, err := r.Hook.Result(req.ctx, &Call{r, req}, a.result["structuredContent"])
	if err == nil && changed != nil {
		if changed, err = a.with(changed); err == nil {
			return changed
		}
	}
	if err != nil && req.ctx.Err() == nil {
		r.report("%s: the answer is passed on unchanged: %v", req.label(), err)
	}
	return line
}

// answer is the answer of a tool in parts, so that unchanged parts keep their exact form.
type answer struct {
	message, result map[string]json.RawMessage
}

// readAnswer parses the answer of a tool. ok is false for an error and for a result without structured content.
func readAnswer(line []byte) (a answer, ok bool) {
	ok = json.Unmarshal(line, &a.message) == nil && json.Unmarshal(a.message["result"], &a.result) == nil &&
		string(a.result["isError"]) != "true" && len(a.result["structuredContent"]) > 0
	return a, ok
}

// with returns the answer with the structured content replaced, and with it each text that repeats that content.
func (a answer) with(structured json.RawMessage) ([]byte, error) {
	var content []map[string]json.RawMessage
	if err := json.Unmarshal(a.result["content"], &content); err != nil {
		return nil, errors.New("its content cannot be read")
	}
	before := a.result["structuredContent"]
	for _, c := range content {
		var text string
		if json.Unmarshal(c["text"], &text) == nil && sameJSON(json.RawMessage(text), before) {
			c["text"] = Encode(string(structured))
		}
	}
	a.result["content"], a.result["structuredContent"] = Encode(content), structured
	a.message["result"] = Encode(a.result)
	return Encode(a.message), nil
}

// Encode returns v as JSON without a final newline. It does not escape <, > and &, because agents read the text. It
// panics if JSON cannot represent v.
func Encode(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix([]byte(b.String()), []byte("\n"))
}

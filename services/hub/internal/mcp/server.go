package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// fixtures and fixtureOptions are set if the program is built with the tag conformance. Only /mcp/x/conformance
// serves them.
var (
	fixtures       func(*server.MCPServer)
	fixtureOptions []server.ServerOption
)

const fixtureSet = "conformance"

// extras is set if the program is built with the tag parleybench. It adds tools to every endpoint.
var extras func(*server.MCPServer)

// Endpoint serves the catalogue over MCP. Catalogue and Log are required, and the fields must not change once it
// serves. It is safe for concurrent use.
type Endpoint struct {
	Catalogue *op.Catalogue
	Version   string
	Log       *slog.Logger

	waiting waiting

	mu      sync.Mutex
	servers *simplelru.LRU[string, http.Handler] // by the selection's key
}

// call is a request as the front read it. Hooks and handlers find it in their context, under callKey.
type call struct {
	caller    identity.Caller
	input     op.Input
	requestID string
	resources *resourceResult // nil unless the request is for resources
	valid     func() error    // is that of op.Call
	refused   func(error)     // records an error that is a refusal, which HTTP answers with 200
	instead   *rpcError       // replaces the response of mcp-go, with its status; nil for none
	result    op.Result       // of the tool's call
}

type callKey struct{}

// maxServers is the number of servers that are kept. The least recently used one is dropped for another, and is built
// again on its next request.
const maxServers = 64

// server returns the MCP server of a selection. It builds the server on first use.
func (e *Endpoint) server(s Selection) http.Handler {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.servers == nil {
		servers, err := simplelru.NewLRU[string, http.Handler](maxServers, nil)
		if err != nil {
			panic("mcp: " + err.Error()) // only a size below 1 is refused
		}
		e.servers = servers
	}
	h, ok := e.servers.Get(s.key())
	if !ok {
		h = e.build(s)
		e.servers.Add(s.key(), h)
	}
	return h
}

// build returns a new MCP server for a selection.
func (e *Endpoint) build(s Selection) http.Handler {
	hooks := &server.Hooks{}
	hooks.AddAfterListTools(e.hide(s))
	hooks.AddOnError(nameUnknownTool)
	e.addInstructions(hooks, s)
	options := []server.ServerOption{server.WithToolCapabilities(false), server.WithHooks(hooks),
		server.WithTitle("Parley")}
	if len(s.resources(e.Catalogue)) > 0 {
		options = append(options, server.WithResourceCapabilities(false, false))
	}
	prompts := s.prompts(e.Catalogue)
	if len(prompts) > 0 {
		options = append(options, server.WithPromptCapabilities(false), server.WithPromptFilter(hidePrompts(prompts)))
	}
	conformance := fixtures != nil && s.Solo && slices.Contains(s.Sets, fixtureSet)
	if conformance {
		options = append(options, fixtureOptions...)
	}
	m := server.NewMCPServer("parley", e.Version, options...)
	if conformance {
		fixtures(m)
	}
	for _, o := range s.tools(e.Catalogue) {
		m.AddTool(tool(s, o), e.handler(o, s.ReadOnly))
	}
	if kinds := s.resources(e.Catalogue); len(kinds) > 0 {
		addResources(m, hooks, kinds)
	}
	addPrompts(m, prompts)
	if extras != nil {
		extras(m)
	}
	// Package rest checks the host, where the operator can allow the name of a proxy.
	return server.NewStreamableHTTPServer(m, server.WithStateLess(true), server.WithDisableStreaming(true),
		server.WithDisableLocalhostProtection(true), server.WithStreamableHTTPLogger(e.Log))
}

// hide returns a hook that drops the tools that the caller's key may not use from a list.
func (e *Endpoint) hide(s Selection) server.OnAfterListToolsFunc {
	ops := map[string]*op.Op{}
	for _, o := range s.tools(e.Catalogue) {
		ops[s.name(o)] = o
	}
	return func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, res *mcp.ListToolsResult) {
		c, ok := ctx.Value(callKey{}).(*call)
		res.Tools = slices.DeleteFunc(res.Tools, func(t mcp.Tool) bool {
			o := ops[t.Name]
			return o != nil && (!ok || o.MayCall(c.caller) != nil)
		})
	}
}

// nameUnknownTool is a hook that replaces the error of a call of an unknown tool, which mcp-go words twice.
func nameUnknownTool(ctx context.Context, _ any, _ mcp.MCPMethod, message any, err error) {
	c, ok := ctx.Value(callKey{}).(*call)
	req, isCall := message.(*mcp.CallToolRequest)
	if ok && isCall && errors.Is(err, server.ErrToolNotFound) {
		c.instead = &rpcError{mcp.INVALID_PARAMS, fmt.Sprintf(
			"this URL serves no tool %.200q: tools/list has the names of those that it serves", req.Params.Name)}
	}
}

// tool describes an operation as a tool. Hints that equal the protocol's defaults (not read-only, not idempotent) are
// left out, because every model reads the list at every start.
func tool(s Selection, o *op.Op) mcp.Tool {
	reads := o.Effect == op.Read || (s.ReadOnly && o.Effect == op.Consume)
	no, yes := false, true
	hints := mcp.ToolAnnotation{OpenWorldHint: &no}
	switch {
	case reads:
		hints.ReadOnlyHint = &yes
	case o.Effect == op.Destroy:
		hints.DestructiveHint, hints.IdempotentHint = &yes, &yes
	default:
		hints.DestructiveHint = &no
	}
	t := mcp.Tool{
		Name: s.name(o), Title: o.Title, Description: o.Doc, RawInputSchema: o.Brief, Annotations: hints,
	}
	if !slices.Contains(s.Sets, o.Toolset) { // only a selection serves it
		t.Title, t.RawInputSchema = "", o.Terse
	}
	return t
}

// handler returns a handler that calls an operation. A fault is a result that the model can read and act on, never a
// protocol error.
func (e *Endpoint) handler(o *op.Op, readOnly bool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c, ok := ctx.Value(callKey{}).(*call)
		if !ok {
			panic("mcp: a tool was called without the front")
		}
		caller := c.caller
		caller.ReadOnly = caller.ReadOnly || readOnly
		res, err := e.Catalogue.Call(ctx, o,
			op.Call{Caller: caller, Input: c.input, Transport: "mcp", RequestID: c.requestID,
				Valid: c.valid})
		if err != nil {
			c.refused(err)
			return faultResult(err), nil
		}
		c.result = res
		out := &mcp.CallToolResult{
			Content: []mcp.Content{mcp.NewTextContent(string(res.Data))}, RawStructuredContent: res.Data,
		}
		if len(res.Coerced) > 0 {
			out.Content = append(out.Content, mcp.NewTextContent("Note: "+strings.Join(res.Coerced, "; ")))
		}
		return out, nil
	}
}

// faultResult returns a fault as a tool's result: as text, and in structured form like the error of a REST response.
func faultResult(err error) *mcp.CallToolResult {
	e := rest.ErrorOf(err)
	text := e.Code + ": " + e.Message
	if after := rest.RetryAfter(err); after != "" {
		text += " (try again after " + after + " s)"
	}
	body, marshalErr := json.Marshal(map[string]rest.Error{"error": e})
	if marshalErr != nil {
		body = nil
	}
	return &mcp.CallToolResult{
		IsError: true, Content: []mcp.Content{mcp.NewTextContent(text)}, RawStructuredContent: body,
	}
}

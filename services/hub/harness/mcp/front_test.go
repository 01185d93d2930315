package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/app"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/store/storetest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type args = map[string]any

func newHub(t *testing.T, o hubtest.Options) *hubtest.Hub {
	t.Helper()
	return hubtest.New(t, storetest.SQLite(t, app.Schema()), o)
}

// A stream of mcp-go would carry events of all callers.
func TestTheEndpointHasNoStreamsAndNoSessions(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for _, path := range []string{
		"/mcp", "/v1/mcp", "/mcp/readonly", "/mcp/x/relay", "/mcp/x/relay/readonly", "/mcp?toolsets=all",
	} {
		for _, method := range []string{"GET", "DELETE", "PUT", "PATCH", "OPTIONS"} {
			for _, headers := range [][]string{nil, {"Accept", "text/event-stream", "Mcp-Session-Id", "s"},
				{"Mcp-Protocol-Version", "2026-07-28"}} {
				a := hub.REST(key, method, path, nil, headers...)
				if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" {
					t.Errorf("%s %s %v: got %d and Allow: %q, want 405 and POST", method, path, headers, a.Status,
						a.Header.Get("Allow"))
				}
			}
		}
	}
	// No session is issued, so none can be hijacked.
	a := hub.MCP(key, "/mcp", initialize("2025-11-25"))
	if a.Status != 200 || a.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("got %s with the session %q, want none", a.Answer, a.Header.Get("Mcp-Session-Id"))
	}
}

func initialize(version string) map[string]any {
	return hubtest.Message(1, "initialize", args{"protocolVersion": version, "capabilities": args{},
		"clientInfo": args{"name": "test", "version": "1"}})
}

// The tasks of mcp-go, and the lists that announce changes, are shared by all callers.
func TestNoCapabilitySharedByAllCallersIsOffered(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	const tools, more = `{"tools":{}}`, `{"prompts":{},"resources":{},"tools":{}}`
	for path, want := range map[string]string{"/mcp": tools, "/v1/mcp": tools, "/mcp/readonly": tools,
		"/mcp/x/team":       tools,
		"/mcp?toolsets=all": more, "/mcp/x/council": more, "/mcp/x/elenchus/readonly": more} {
		for era, a := range map[string]hubtest.RPCAnswer{
			"initialize":      hub.MCP(key, path, initialize("2025-11-25")),
			"server/discover": hub.Modern(key, path, "server/discover", nil),
		} {
			var r struct{ Capabilities json.RawMessage }
			if err := json.Unmarshal(a.Result, &r); err != nil || string(r.Capabilities) != want {
				t.Errorf("%s on %s: got the capabilities %s, want %s, and no listChanged: %s", era, path,
					r.Capabilities, want, a.Answer)
			}
		}
	}
	for _, method := range []string{"tasks/list", "tasks/get", "tasks/result", "tasks/cancel", "resources/list",
		"resources/read", "resources/templates/list",
		"resources/subscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "no/such"} {
		params := args{"taskId": "t", "uri": "u", "name": "u"}
		if a := hub.MCP(key, "/mcp", hubtest.Message(1, method, params)); a.Err == nil || a.Err.Code != -32601 {
			t.Errorf("%s: got %s, want method not found", method, a.Answer)
		}
		if a := hub.Modern(key, "/mcp", method, params); a.Status != 404 || a.Err == nil || a.Err.Code != -32601 {
			t.Errorf("%s, in the era of 2026-07-28: got %s, want 404 and method not found", method, a.Answer)
		}
	}
}

// The stream of a subscription would stay open without an event.
func TestASubscriptionIsRefused(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for name, a := range map[string]func(context.Context) (hubtest.RPCAnswer, error){
		"modern": func(context.Context) (hubtest.RPCAnswer, error) {
			return hub.Modern(key, "/mcp", "subscriptions/listen",
				args{"notifications": args{"toolsListChanged": true}}), nil
		},
		"legacy": func(ctx context.Context) (hubtest.RPCAnswer, error) {
			return hub.TryMCP(ctx, key, "/mcp", hubtest.Message(1, "subscriptions/listen", args{}))
		},
		"with a name that is no string": func(ctx context.Context) (hubtest.RPCAnswer, error) {
			return hub.TryMCP(ctx, key, "/mcp",
				hubtest.Message(1, "subscriptions/listen",
					args{"name": 5, "notifications": args{"toolsListChanged": true}, "_meta": args{
						"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
						"io.modelcontextprotocol/clientCapabilities": args{}}}),
				"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		got, err := a(ctx)
		cancel()
		if err != nil || got.Status != 404 || got.Err == nil || got.Err.Code != -32601 ||
			!strings.Contains(string(got.Body), `"id":1`) {
			t.Errorf("%s: got %s, %v; want 404 and method not found", name, got.Answer, err)
		}
	}
}

// By itself mcp-go accepts calls from every web page.
func TestOnlyAllowedPagesMayCall(t *testing.T) {
	t.Parallel()
	laptop := newHub(t, hubtest.Options{Origins: []string{"https://app.example.org", "http://dev.example.org:8080"}})
	public := newHub(t, hubtest.Options{Public: true, Origins: []string{"https://app.example.org"}})
	const ok, no = http.StatusOK, http.StatusForbidden
	for _, c := range []struct {
		headers              []string
		onLaptop, whenPublic int
	}{
		{nil, ok, ok},
		{[]string{"Origin", "https://evil.example.org"}, no, no},
		{[]string{"Origin", "null"}, no, no},
		{[]string{"Origin", ""}, no, no},
		{[]string{"Origin", "file://"}, no, no},
		{[]string{"Origin", "http://localhost:3001"}, ok, no},
		{[]string{"Origin", "http://127.0.0.1:9"}, ok, no},
		{[]string{"Origin", "http://[::1]:9"}, ok, no},
		{[]string{"Origin", "http://localhost.evil.example.org"}, no, no},
		{[]string{"Origin", "http://127.0.0.1.evil.example.org"}, no, no},
		{[]string{"Origin", "http://127.0.0.1@evil.example.org"}, no, no},
		{[]string{"Origin", "https://app.example.org"}, ok, ok},
		{[]string{"Origin", "HTTPS://APP.example.org"}, ok, ok},
		{[]string{"Origin", "http://app.example.org"}, no, no},
		{[]string{"Origin", "https://app.example.org:444"}, no, no},
		{[]string{"Origin", "https://app.example.org", "Origin", "https://evil.example.org"}, no, no},
		{[]string{"Origin", "https://evil.example.org", "Origin", "http://localhost"}, no, no},
		{[]string{"Host", "evil.example.org"}, no, ok},
		{[]string{"Host", "evil.example.org:3001"}, no, ok},
		{[]string{"Host", "127.0.0.1.evil.example.org"}, no, ok},
		{[]string{"Host", "localhost"}, ok, ok},
		{[]string{"Host", "[::1]:80"}, ok, ok},
		{[]string{"Host", "app.example.org"}, ok, ok},
		{[]string{"Host", "dev.example.org:8080"}, ok, ok},
		{[]string{"Host", "dev.example.org:9999"}, no, ok},
	} {
		for name, s := range map[string]struct {
			hub  *hubtest.Hub
			want int
		}{"on a laptop": {laptop, c.onLaptop}, "in public": {public, c.whenPublic}} {
			key := s.hub.Agent("u", "alpha")
			for what, a := range map[string]hubtest.Answer{
				"/mcp": s.hub.MCP(key, "/mcp", hubtest.Message(1, "tools/list", nil), c.headers...).Answer,
				"/mcp/x/relay": s.hub.MCP(key, "/mcp/x/relay", hubtest.Message(1, "tools/list", nil),
					c.headers...).Answer,
				"/v1/tasks": s.hub.REST(key, "GET", "/v1/tasks", nil, c.headers...),
			} {
				if a.Status != s.want || (s.want == no && a.Fault().Code != "FORBIDDEN") {
					t.Errorf("%s %v %s: got %.200s, want %d", what, c.headers, name, a, s.want)
				}
			}
		}
	}
}

// An error of a handler would become a protocol error, which no model is shown.
func TestAFaultIsAResultAndAnUnknownToolAProtocolError(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for _, call := range []func(name string, in args) hubtest.ToolAnswer{
		func(name string, in args) hubtest.ToolAnswer { return hub.Tool(key, "/mcp", name, in) },
		func(name string, in args) hubtest.ToolAnswer { return modernTool(t, hub, key, "/mcp", name, in) },
	} {
		a := call("get_task", args{"taskId": "nobody-made-this"})
		if a.Status != 200 || a.Err != nil || !a.IsError || len(a.Texts) != 1 ||
			a.Texts[0] != `NOT_FOUND: no task with id "nobody-made-this"` {
			t.Errorf("a fault: got %s, want a result with isError", a.Answer)
		}
		var structured map[string]rest.Error
		if err := json.Unmarshal(a.Structured, &structured); err != nil || structured["error"].Code != "NOT_FOUND" ||
			structured["error"].Details == nil {
			t.Errorf("a fault: got the structured content %s, %v; want the error", a.Structured, err)
		}
		if a := call("no_such_tool", nil); a.Err == nil || a.Err.Code != -32602 ||
			!strings.Contains(a.Err.Message, "no_such_tool") || a.Result != nil {
			t.Errorf("an unknown tool: got %s, want an error of the protocol", a.Answer)
		}
	}
}

// modernTool calls a tool by protocol 2026-07-28.
func modernTool(t *testing.T, hub *hubtest.Hub, key, path, name string, in args, headers ...string) hubtest.ToolAnswer {
	t.Helper()
	params := args{"name": name}
	if in != nil {
		params["arguments"] = in
	}
	a, err := hubtest.AsTool(hub.Modern(key, path, "tools/call", params, headers...))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEveryRequestNeedsAValidKey(t *testing.T) {
	t.Parallel()
	clock := &domaintest.Clock{}
	hub := newHub(t, hubtest.Options{Now: clock.Now})
	key := hub.Agent("u", "alpha")
	user, secret, _ := strings.Cut(strings.TrimPrefix(key, "parley_"), "_")
	for name, headers := range map[string][]string{
		"none":            nil,
		"empty":           {"Authorization", ""},
		"no scheme":       {"Authorization", key},
		"another scheme":  {"Authorization", "Basic " + key},
		"no key":          {"Authorization", "Bearer "},
		"not one of ours": {"Authorization", "Bearer sk-123"},
		"never made": {"Authorization",
			"Bearer parley_" + user + "_" + strings.Repeat("a", len(secret))},
		"of another user":            {"Authorization", "Bearer parley_" + user + "a_" + secret},
		"cut off":                    {"Authorization", "Bearer " + key[:len(key)-1]},
		"too long":                   {"Authorization", "Bearer " + key + "a"},
		"in upper case":              {"Authorization", "Bearer " + strings.ToUpper(key)},
		"with a slash for the user":  {"Authorization", "Bearer parley_mexq_" + secret},
		"endless":                    {"Authorization", "Bearer parley_" + strings.Repeat("a", 10000) + "_" + secret},
		"two keys":                   {"Authorization", "Bearer " + key + " " + key},
		"in another header":          {"X-Api-Key", key},
		"in a header of its own too": {"Authorization", "Bearer x", "Authorization", "Bearer " + key},
	} {
		for _, path := range []string{"/mcp", "/mcp/x/relay", "/mcp?key=" + key, "/mcp?access_token=" + key,
			"/mcp?Authorization=Bearer+" + key} {
			a := hub.Raw("POST", path, hubtest.Message(1, "tools/list", nil), headers...)
			refused(t, name+" on "+path, a)
		}
		for _, path := range []string{"/v1/tasks", "/v1/tasks?access_token=" + key, "/v1/tasks?key=" + key} {
			refused(t, name+" on "+path, hub.Raw("GET", path, nil, headers...))
		}
		clock.Pass(time.Minute) // past the limit of invalid keys
	}
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		if a := hub.Raw("GET", "/v1/tasks", nil, "Authorization", scheme+key); a.Status != 200 {
			t.Errorf("%q: got %s, want the key accepted", scheme, a)
		}
	}
}

// refused checks that a response is 401 with its envelope and its header.
func refused(t *testing.T, what string, a hubtest.Answer) {
	t.Helper()
	f := a.Fault()
	if a.Status != 401 || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), `Bearer realm="parley"`) ||
		f.Code != "UNAUTHENTICATED" || f.Message == "" || f.Details == nil {
		t.Errorf("%s: got %s with WWW-Authenticate %q, want 401 and Bearer", what, a, a.Header.Get("WWW-Authenticate"))
	}
}

func TestNoOAuthMetadataIsServed(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	for _, path := range []string{"oauth-protected-resource", "oauth-protected-resource/mcp",
		"oauth-authorization-server", "oauth-authorization-server/mcp", "openid-configuration"} {
		a := hub.Raw("GET", "/.well-known/"+path, nil)
		if a.Status != 404 || a.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: got %s, want 404", path, a)
		}
	}
}

func TestAnAnswerIsOneJSONMessage(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for _, accept := range []string{"application/json, text/event-stream", "text/event-stream", "*/*", ""} {
		for id, want := range map[any]string{1: `"id":1`, "one": `"id":"one"`, 0: `"id":0`} {
			a := hub.Raw("POST", "/mcp", hubtest.Message(id, "tools/list", nil), "Authorization", "Bearer "+key,
				"Accept", accept)
			if a.Status != 200 || a.Header.Get("Content-Type") != "application/json" ||
				!strings.Contains(string(a.Body), want) || !json.Valid(a.Body) {
				t.Errorf("Accept %q, id %v: got %.300s as %s, want JSON with %s", accept, id, a,
					a.Header.Get("Content-Type"), want)
			}
			if a.Header.Get("X-Request-Id") == "" {
				t.Errorf("Accept %q: the answer has no X-Request-Id", accept)
			}
		}
	}
	for _, method := range []string{"notifications/initialized", "notifications/roots/list_changed"} {
		if a := hub.MCP(key, "/mcp", hubtest.Message(nil, method, nil)); a.Status != 202 || len(a.Body) != 0 {
			t.Errorf("%s: got %s, want 202 and nothing", method, a.Answer)
		}
	}
}

// All callers share the server of a selection, so its list is filtered for each of them.
func TestCallersOfOneEndpointSeeTheirOwnList(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	human, agent := hub.Human("u"), hub.Agent("u", "alpha")
	done := make(chan error, 40)
	for i := range 40 {
		go func() {
			key, want := human, 3
			if i%2 == 0 {
				key, want = agent, 0
			}
			a, err := hub.TryMCP(t.Context(), key, "/mcp/x/keys", hubtest.Message(1, "tools/list", nil))
			if n := strings.Count(string(a.Result), `"inputSchema"`); err == nil && n != want {
				err = fmt.Errorf("got %d tools, want %d: %s", n, want, a.Answer)
			}
			done <- err
		}()
	}
	for range 40 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

package mcp_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/op"
	"parley.internal/shared/op/optest"
)

// preparer makes the calls that an example needs first. It makes them over REST, with a key for each role.
type preparer struct {
	hub  *hubtest.Hub
	user string
	keys map[op.Role]string
}

func (p *preparer) key(as op.Role) string {
	if p.keys[as] == "" {
		switch as {
		case op.Human:
			p.keys[as] = p.hub.Human(p.user)
		default:
			p.keys[as] = p.hub.Agent(p.user, cmp.Or(string(as), "alpha"))
		}
	}
	return p.keys[as]
}

// Call implements optest.Caller.
func (p *preparer) Call(_ testing.TB, o *op.Op, as op.Role, in op.In) (json.RawMessage, error) {
	a := p.hub.Op(p.key(as), o, in)
	var out json.RawMessage
	return out, a.Into(&out)
}

// Pass implements optest.Caller. It does nothing, because the hub uses the time of the machine.
func (p *preparer) Pass(time.Duration) {}

// oneOfEachEffect returns a tool for each effect, whose first example can be called after its preparation.
func oneOfEachEffect(c *op.Catalogue) map[op.Effect]*op.Op {
	out := map[op.Effect]*op.Op{}
	for _, o := range c.Ops() {
		if e := o.Cases().Examples[0]; !o.RESTOnly && out[o.Effect] == nil && len(e.Given) > 0 && e.As != op.Unbound {
			out[o.Effect] = o
		}
	}
	return out
}

func TestTheClientOfMCPGoWorksInEveryEra(t *testing.T) {
	t.Parallel()
	for name, era := range map[string]struct {
		options []client.ClientOption
		version string
	}{
		"default":    {nil, "2026-07-28"},
		"2026-07-28": {[]client.ClientOption{client.WithProtocolVersion("2026-07-28")}, "2026-07-28"},
		"2025-11-25": {[]client.ClientOption{client.WithProtocolVersion("2025-11-25")}, "2025-11-25"},
		"2025-06-18": {[]client.ClientOption{client.WithProtocolVersion("2025-06-18")}, "2025-06-18"},
		"2025-03-26": {[]client.ClientOption{client.WithProtocolVersion("2025-03-26")}, "2025-03-26"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := newHub(t, hubtest.Options{})
			key := hub.Human("u")
			c := connect(t, hub.URL+everything, key, era.options...)
			if got := c.ProtocolVersion(); got != era.version {
				t.Errorf("got the version %s, want %s", got, era.version)
			}
			if i := c.GetServerCapabilities(); i.Tools == nil || i.Tools.ListChanged || i.Resources == nil ||
				i.Resources.ListChanged || i.Resources.Subscribe ||
				i.Prompts == nil || i.Prompts.ListChanged || i.Tasks != nil {
				t.Errorf("got the capabilities %+v, want tools, resources and prompts that do not change", i)
			}
			list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range hub.Catalogue.Ops() {
				if o.RESTOnly {
					continue
				}
				i := slices.IndexFunc(list.Tools, func(tool mcp.Tool) bool { return tool.Name == o.Name })
				if i < 0 {
					t.Errorf("%s is not listed", o.Name)
					continue
				}
				described(t, o, list.Tools[i])
			}
			for effect, o := range oneOfEachEffect(hub.Catalogue) {
				p := &preparer{hub: hub, user: "u-" + o.Name, keys: map[op.Role]string{}}
				e, script := o.Cases().Examples[0], optest.Script{Catalogue: hub.Catalogue, Caller: p}
				script.Prepare(t, e.Given)
				call := mcp.CallToolRequest{}
				call.Params.Name, call.Params.Arguments = o.Name, script.Fill(e.In)
				res, err := connect(t, hub.URL+everything, p.key(e.As), era.options...).CallTool(t.Context(), call)
				if err != nil || res.IsError || res.StructuredContent == nil || len(res.Content) != 1 {
					t.Errorf("%s, which %s: got %+v, %v; want an answer", o.Name, effect, res, err)
				}
			}
			// A fault is a result for the model; an unknown tool is a protocol error for the client.
			call := mcp.CallToolRequest{}
			read := oneOfEachEffect(hub.Catalogue)[op.Read]
			call.Params.Name, call.Params.Arguments = read.Name, args{"no_such_field": 1}
			if res, err := c.CallTool(t.Context(), call); err != nil || !res.IsError {
				t.Errorf("a fault: got %+v, %v; want a result with isError", res, err)
			}
			call.Params.Name = "no_such_tool"
			if res, err := c.CallTool(t.Context(), call); err == nil {
				t.Errorf("an unknown tool: got %+v, want an error", res)
			}
		})
	}
}

// described checks that a listed tool has the description, the hints and the schema of its operation.
func described(t *testing.T, o *op.Op, tool mcp.Tool) {
	t.Helper()
	a := tool.Annotations
	if tool.Description != o.Doc || tool.Title != o.Title {
		t.Errorf("%s: got the title %q and the description %q", o.Name, tool.Title, tool.Description)
	}
	// By the defaults of the protocol a tool is not read-only, and destructive.
	reads, destroys := a.ReadOnlyHint != nil && *a.ReadOnlyHint, a.DestructiveHint == nil || *a.DestructiveHint
	if reads != (o.Effect == op.Read) || (!reads && destroys != (o.Effect == op.Destroy)) {
		t.Errorf("%s, which %s: got the annotations %+v", o.Name, o.Effect, a)
	}
	text, err := json.Marshal(tool.InputSchema)
	if err != nil || tool.InputSchema.Type != "object" || len(tool.InputSchema.Properties) != len(properties(t, o)) {
		t.Errorf("%s: got the schema %s, %v; want that of the operation", o.Name, text, err)
	}
}

func properties(t *testing.T, o *op.Op) map[string]any {
	t.Helper()
	var s struct{ Properties map[string]any }
	if err := json.Unmarshal(o.Input, &s); err != nil {
		t.Fatal(err)
	}
	return s.Properties
}

const everything = "/mcp?toolsets=all"

// made calls an operation and returns a field of its result, such as the ID of the new object.
func made(t *testing.T, hub *hubtest.Hub, key, name, field string, in args) string {
	t.Helper()
	var m map[string]any
	if err := hub.Op(key, hub.Catalogue.Op(name), in).Into(&m); err != nil {
		t.Fatal(err)
	}
	id, _ := m[field].(string)
	return id
}

// connect returns an initialized client, which is closed when the test ends.
func connect(t *testing.T, url, key string, options ...client.ClientOption) *client.Client {
	t.Helper()
	tr, err := transport.NewStreamableHTTP(url,
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + key}))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(tr, options...)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := mcp.InitializeRequest{}
	start.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	start.Params.ProtocolVersion = c.ProtocolVersion()
	if _, err := c.Initialize(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheEraOf20260728NeedsNoHandshake(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")

	a := hub.Modern(key, "/mcp", "server/discover", nil)
	var found struct {
		SupportedVersions []string
		Instructions      string
		ResultType        string
		Meta              map[string]struct{ Name, Version string } `json:"_meta"`
	}
	if err := json.Unmarshal(a.Result, &found); err != nil || a.Status != 200 {
		t.Fatalf("server/discover: got %s, %v", a.Answer, err)
	}
	if !slices.Contains(found.SupportedVersions, "2026-07-28") ||
		!slices.Contains(found.SupportedVersions, "2025-11-25") ||
		!strings.Contains(found.Instructions, "get_tasks") || found.ResultType != "complete" ||
		found.Meta[mcp.MetaKeyServerInfo].Name != "parley" ||
		found.Meta[mcp.MetaKeyServerInfo].Version != hubtest.Version {
		t.Errorf("server/discover: got %s", a.Answer)
	}
	if a.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("server/discover issued a session")
	}
	if a := hub.Modern(key, "/mcp", "tools/list", nil); !strings.Contains(string(a.Result), `"create_task"`) {
		t.Errorf("tools/list: got %.300s", a.Answer)
	}
	made := modernTool(t, hub, key, "/mcp", "create_task", args{"title": "t", "target": "any"})
	if made.IsError || !strings.Contains(string(made.Structured), `"taskId"`) {
		t.Errorf("create_task: got %s", made.Answer)
	}
	for name, headers := range map[string][]string{
		"another method in the header":  {"Mcp-Method", "tools/list"},
		"another name in the header":    {"Mcp-Name", "get_task"},
		"another version in the header": {"Mcp-Protocol-Version", "2025-11-25"},
		"no method in the header":       {"Mcp-Method", ""},
		"no name in the header":         {"Mcp-Name", ""},
	} {
		a := modernTool(t, hub, key, "/mcp", "create_task", args{"title": "another", "target": "any"}, headers...)
		if a.Status != 400 || a.Err == nil {
			t.Errorf("%s: got %s, want 400 and an error of the protocol", name, a.Answer)
		}
	}
	if a := hub.MCP(key, "/mcp", hubtest.Message(1, "tools/call",
		args{"name": "create_task", "arguments": args{"title": "another", "target": "any"},
			"_meta": args{mcp.MetaKeyProtocolVersion: "2099-01-01", mcp.MetaKeyClientCapabilities: args{}}}),
		"Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/call", "Mcp-Name", "create_task"); a.Status != 400 ||
		a.Err == nil || !strings.Contains(string(a.Err.Data), "2026-07-28") {
		t.Errorf("an unknown version: got %s, want 400 and the known versions", a.Answer)
	}
	if a := hub.Tool(key, "/mcp", "get_tasks", nil); strings.Contains(string(a.Structured), "another") {
		t.Errorf("a refused call created a task: %s", a.Structured)
	}
	for _, method := range []string{"initialize", "ping"} {
		if a := hub.Modern(key, "/mcp", method, nil); a.Status != 404 || a.Err == nil || a.Err.Code != -32601 {
			t.Errorf("%s: got %s, want method not found", method, a.Answer)
		}
	}
}

func TestOlderErasNeedNoSession(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	for asked, given := range map[string]string{"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18",
		"2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25"} {
		a := hub.MCP(key, "/mcp", initialize(asked))
		var r struct {
			ProtocolVersion, Instructions string
			ServerInfo                    struct{ Name, Version, Title string }
		}
		if err := json.Unmarshal(a.Result, &r); err != nil || r.ProtocolVersion != given ||
			r.ServerInfo.Name != "parley" || r.ServerInfo.Version != hubtest.Version ||
			!strings.Contains(r.Instructions, "get_messages") {
			t.Errorf("initialize %s: got %s, want %s", asked, a.Answer, given)
		}
	}
	// Any instance serves any call, whatever session the client names.
	for _, headers := range [][]string{nil, {"Mcp-Session-Id", "of-another-instance"},
		{"Mcp-Protocol-Version", "2025-06-18"}, {"Mcp-Protocol-Version", "2025-11-25", "Mcp-Session-Id", "x"}} {
		if a := hub.Tool(key, "/mcp", "get_tasks", nil, headers...); a.IsError || a.Structured == nil {
			t.Errorf("%v: got %s, want an answer", headers, a.Answer)
		}
		if a := hub.MCP(key, "/mcp", hubtest.Message(5, "ping", nil), headers...); string(a.Result) != "{}" {
			t.Errorf("%v: ping: got %s", headers, a.Answer)
		}
	}
}

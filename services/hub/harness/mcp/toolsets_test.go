package mcp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
)

// toolsOf returns the sorted names of the tools of some toolsets that a caller may call.
func toolsOf(hub *hubtest.Hub, c identity.Caller, readOnly bool, sets ...string) []string {
	names := []string{}
	c.ReadOnly = readOnly
	for _, o := range hub.Catalogue.Ops() {
		if slices.Contains(sets, o.Toolset) && !o.RESTOnly && o.MayCall(c) == nil {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestAnEndpointServesTheSelectedToolsets(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	agent, human := hub.Agent("u", "alpha"), hub.Human("u")
	all, defaults := hub.Catalogue.Toolsets(), hub.Catalogue.Defaults
	for _, c := range []struct {
		path    string
		headers []string
		sets    []string
		reads   bool
	}{
		{path: "/mcp", sets: defaults},
		{path: "/mcp/", sets: defaults},
		{path: "/mcp?toolsets=relay", sets: []string{"relay"}},
		{path: "/mcp?toolsets=relay,team", sets: []string{"relay", "team"}},
		{path: "/mcp?toolsets=team,relay,team", sets: []string{"relay", "team"}},
		{path: "/mcp?toolsets=relay,+signal", sets: []string{"relay", "signal"}},
		{path: "/mcp?toolsets=all", sets: all},
		{path: "/mcp?toolsets=relay,all", sets: all},
		{path: "/mcp?toolsets=pulse", sets: []string{"pulse"}},
		{path: "/mcp?toolsets=sprint,dream", sets: []string{"dream", "sprint"}},
		{path: "/mcp?toolsets=ledger", sets: []string{"ledger"}},
		{path: "/mcp", headers: []string{"X-MCP-Toolsets", "signal"}, sets: []string{"signal"}},
		{path: "/mcp", headers: []string{"X-MCP-Toolsets", "signal, keys"}, sets: []string{"signal", "keys"}},
		{path: "/mcp", headers: []string{"X-MCP-Toolsets", "all"}, sets: all},
		{path: "/mcp?toolsets=relay", headers: []string{"X-MCP-Toolsets", "signal"}, sets: []string{"relay"}},
		{path: "/mcp/x/relay", sets: []string{"relay"}},
		{path: "/mcp/x/relay", headers: []string{"X-MCP-Toolsets", "signal"}, sets: []string{"relay"}},
		{path: "/mcp/x/relay?toolsets=signal", sets: []string{"relay"}},
		{path: "/mcp/x/keys", sets: []string{"keys"}},
		{path: "/mcp/x/pulse", sets: []string{"pulse"}},
		{path: "/mcp/x/dream", sets: []string{"dream"}},
		{path: "/mcp/x/sprint", sets: []string{"sprint"}},
		{path: "/mcp/x/sprint/readonly", sets: []string{"sprint"}, reads: true},
		{path: "/mcp/x/ledger", sets: []string{"ledger"}},
		{path: "/mcp/readonly", sets: defaults, reads: true},
		{path: "/mcp/readonly/", sets: defaults, reads: true},
		{path: "/mcp/readonly?toolsets=all", sets: all, reads: true},
		{path: "/mcp/x/relay/readonly", sets: []string{"relay"}, reads: true},
		{path: "/mcp", headers: []string{"X-MCP-Readonly", "true"}, sets: defaults, reads: true},
		{path: "/mcp/x/dispatch", headers: []string{"X-MCP-Readonly", "true"}, sets: []string{"dispatch"}, reads: true},
		{path: "/mcp", headers: []string{"X-MCP-Readonly", "false"}, sets: defaults},
		{path: "/mcp/readonly", headers: []string{"X-MCP-Readonly", "false"}, sets: defaults, reads: true},
	} {
		for _, base := range []string{"", "/v1"} {
			for who, kind := range map[string]identity.Caller{
				agent: {Kind: identity.Agent}, human: {Kind: identity.Human},
			} {
				want := toolsOf(hub, kind, c.reads, c.sets...)
				if got := hub.Tools(who, base+c.path, c.headers...); !slices.Equal(got, want) {
					t.Errorf("%s%s %v as %s: got %v, want %v", base, c.path, c.headers, kind.Kind, got, want)
				}
			}
		}
	}
}

func TestAnUnknownToolsetIsNotFoundAndTheKnownOnesAreListed(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	known := "the toolsets are " + strings.Join(slices.Concat(hub.Catalogue.Toolsets(), hub.Catalogue.Selections()), ", ")
	for _, c := range []struct {
		path    string
		headers []string
	}{
		{"/mcp/x/nope", nil}, {"/mcp/x/nope/readonly", nil}, {"/mcp/x/Relay", nil}, {"/mcp?toolsets=nope", nil},
		{"/mcp?toolsets=relay,nope", nil}, {"/mcp?toolsets=%ff", nil}, {"/mcp", []string{"X-MCP-Toolsets", "nope"}},
		{"/mcp/x/conformance", nil}, {"/mcp?toolsets=conformance", nil},
	} {
		a := hub.MCP(key, c.path, hubtest.Message(1, "tools/list", nil), c.headers...)
		if f := a.Fault(); a.Status != 404 || f.Code != "NOT_FOUND" || !strings.HasSuffix(f.Message, known) {
			t.Errorf("%s %v: got %s, want 404 and the known toolsets", c.path, c.headers, a.Answer)
		}
	}
	for _, path := range []string{"/mcp/nope", "/mcp/x", "/mcp/x/", "/mcp/readonly/x/relay", "/mcp/x/relay/nope",
		"/mcp//x/relay"} {
		if a := hub.MCP(key, path, hubtest.Message(1, "tools/list", nil)); a.Status != 404 ||
			a.Fault().Code != "NOT_FOUND" {
			t.Errorf("%s: got %s, want 404", path, a.Answer)
		}
	}
}

func TestAToolHasItsAliasOnlyOnTheEndpointOfItsToolset(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Agent("u", "alpha")
	made(t, hub, key, "team_create", "team_name", args{"team_name": "the-team"})
	n := 0
	for _, o := range hub.Catalogue.Ops() {
		if o.Alias == "" {
			continue
		}
		n++
		for _, path := range []string{"/mcp/x/" + o.Toolset, "/v1/mcp/x/" + o.Toolset} {
			names := hub.Tools(key, path)
			if !slices.Contains(names, o.Alias) || slices.Contains(names, o.Name) {
				t.Errorf("%s: got %v, want %s and not %s", path, names, o.Alias, o.Name)
			}
			if a := hub.Tool(key, path, o.Name, nil); a.Err == nil {
				t.Errorf("%s serves %s: %s", path, o.Name, a.Answer)
			}
		}
		// On an endpoint of several toolsets the alias is unknown, or the name of another tool, such as send_message of
		// relay.
		for _, path := range []string{"/mcp?toolsets=" + o.Toolset, everything} {
			other := hub.Catalogue.Op(o.Alias)
			taken := path == everything && other != nil
			names := hub.Tools(key, path)
			if slices.Contains(names, o.Alias) != taken || !slices.Contains(names, o.Name) {
				t.Errorf("%s: got %v, want %s, and %s as another's: %t", path, names, o.Name, o.Alias, taken)
			}
			a := hub.Tool(key, path, o.Alias, args{"team_name": "the-team"})
			if !taken && a.Err == nil {
				t.Errorf("%s serves %s: %s", path, o.Alias, a.Answer)
			}
			if taken && !strings.Contains(a.Fault().Message, "team_name: is not a field here") {
				t.Errorf("%s on %s: got %s, want the tool of %s", o.Alias, path, a.Answer, other.Toolset)
			}
		}
	}
	if n == 0 {
		t.Error("no operation has an alias")
	}
	for path, name := range map[string]string{"/mcp/x/team": "read_config", "/mcp/x/team/readonly": "read_config",
		everything: "team_read_config"} {
		if a := hub.Tool(key, path, name, args{"team_name": "the-team"}); a.IsError ||
			!strings.Contains(string(a.Structured), `"the-team"`) {
			t.Errorf("%s on %s: got %s, want the team", name, path, a.Answer)
		}
	}
}

func TestAReadOnlyEndpointChangesNothing(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	human := hub.Human("u")
	send := args{"message": "m", "source": "x", "target": "alpha", "message_type": "PING"}
	for name, via := range map[string]struct {
		path    string
		headers []string
	}{
		"/mcp/readonly":         {"/mcp/readonly?toolsets=all", nil},
		"/v1/mcp/readonly":      {"/v1/mcp/readonly?toolsets=all", nil},
		"X-MCP-Readonly":        {everything, []string{"X-MCP-Readonly", "true"}},
		"/mcp/x/relay/readonly": {"/mcp/x/relay/readonly", nil},
	} {
		for _, o := range hub.Catalogue.Ops() {
			if o.RESTOnly || o.Effect < op.Write {
				continue
			}
			// A tool that writes is unknown.
			if a := hub.Tool(human, via.path, o.Name, args{}, via.headers...); a.Err == nil || a.Err.Code != -32602 {
				t.Errorf("%s: %s: got %s, want an unknown tool", name, o.Name, a.Answer)
			}
		}
		made(t, hub, human, "send_message", "messageId", send)
		for range 2 {
			var got struct{ Messages []struct{ Status string } }
			if err := hub.Tool(human, via.path, "get_messages", args{"target": "alpha", "markAsRead": true},
				via.headers...).Into(&got); err != nil || len(got.Messages) == 0 ||
				got.Messages[0].Status != "pending" {
				t.Errorf("%s: got %+v, %v; want the message, still pending", name, got, err)
			}
		}
		list := hub.MCP(human, via.path, hubtest.Message(1, "tools/list", nil), via.headers...)
		var tools struct {
			Tools []struct {
				Name        string
				Annotations struct{ ReadOnlyHint bool }
			}
		}
		if err := json.Unmarshal(list.Result, &tools); err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools.Tools {
			if !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s: %s lacks the hint read-only", name, tool.Name)
			}
		}
	}
}

func TestTheScopesOfAKeyLimitEveryEndpoint(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	reader := hub.Key("u", keys.CreateInput{Program: "alpha", Scopes: []string{"read"}})
	relayer := hub.Key("u", keys.CreateInput{Program: "alpha", Scopes: []string{"relay"}})
	both := hub.Key("u", keys.CreateInput{Program: "alpha", Scopes: []string{"read", "relay"}})
	admin := hub.Key("u", keys.CreateInput{Program: "alpha", Scopes: []string{"admin"}})
	agent, human := hub.Agent("u", "alpha"), hub.Human("u")
	made(t, hub, agent, "send_message", "messageId",
		args{"message": "m", "source": "alpha", "target": "alpha", "message_type": "PING"})
	for _, c := range []struct {
		name, key, path, tool string
		in                    args
		listed                bool
		words                 string // in the message of the FORBIDDEN fault; empty for success
	}{
		{"a reader reads", reader, "/mcp", "get_tasks", nil, true, ""},
		{"a reader writes", reader, "/mcp", "create_task", args{"title": "t", "target": "any"}, false,
			"create_task changes data, and this key or endpoint is read-only"},
		{"a reader writes on one toolset", reader, "/mcp/x/relay", "ack_messages", args{"messageIds": []string{"x"}},
			false, "read-only"},
		{"a reader writes badly", reader, "/mcp", "create_task", args{"nonsense": 1}, false, "read-only"},
		{"a reader peeks", reader, "/mcp", "get_messages", nil, true, ""},
		{"a key of one toolset, in it", relayer, "/mcp", "get_messages", args{"markAsRead": false}, true, ""},
		{"a key of one toolset, writing in it", relayer, "/mcp/x/relay", "ack_messages",
			args{"messageIds": []string{"x"}}, true, ""},
		{"a key of one toolset, outside", relayer, "/mcp", "get_tasks", nil, false,
			"this key may not use the toolset dispatch; its scopes are relay"},
		{"a key of one toolset, on another's endpoint", relayer, "/mcp/x/dispatch", "get_tasks", nil, false,
			"may not use the toolset dispatch"},
		{"a reader of one toolset, in it", both, "/mcp", "get_messages", nil, true, ""},
		{"a reader of one toolset, writing in it", both, "/mcp", "send_message", args{}, false, "read-only"},
		{"a reader of one toolset, outside", both, "/mcp", "get_tasks", nil, false, "may not use the toolset dispatch"},
		{"a reader looks for dreams", reader, "/mcp", "dream_peek", nil, true, ""},
		{"a reader begins a dream", reader, "/mcp", "dream_activate", args{"dreamId": "x"}, false,
			"dream_activate changes data, and this key or endpoint is read-only"},
		{"a reader says that it is there", reader, "/mcp/x/pulse", "update_session", args{"lastHeartbeat": true}, false,
			"read-only"},
		{"a reader sees who is there", reader, "/mcp/x/pulse", "list_sessions", nil, true, ""},
		{"a reader plans", reader, "/mcp/x/sprint", "create_sprint", args{"projectName": "p"}, false, "read-only"},
		{"a reader sees what was spent", reader, "/mcp/x/ledger", "get_usage", nil, true, ""},
		{"a reader alerts a human", reader, "/mcp", "send_alert", args{"message": "m"}, false, "read-only"},
		{"a reader sets a group", reader, "/mcp", "set_group", args{"name": "g", "members": []string{}}, false,
			"read-only"},
		{"a key of one toolset, planning", relayer, "/mcp", "create_sprint", args{"projectName": "p"}, false,
			"may not use the toolset sprint"},
		{"a key of one toolset, seeing what was spent", relayer, everything, "get_usage", nil, false,
			"may not use the toolset ledger"},
		{"an agent lists keys", agent, "/mcp/x/keys", "list_keys", nil, false,
			"list_keys is for a human's key or one with the scope admin"},
		{"an agent makes a key", agent, "/mcp/x/keys", "create_key", args{"kind": "human"}, false,
			"create_key is for a human's key"},
		{"an agent revokes a key", agent, everything, "revoke_key", args{"keyId": "x"}, false,
			"revoke_key is for a human's key"},
		{"an admin lists keys", admin, "/mcp/x/keys", "list_keys", nil, true, ""},
		{"an admin makes a human's key", admin, "/mcp/x/keys", "create_key", args{"kind": "human"}, true,
			"only a human's key can make a key of the kind human"},
		{"an admin makes an admin's key", admin, "/mcp/x/keys", "create_key", args{"scopes": []string{"admin"}}, true,
			"only a human's key can give the scope admin"},
		{"a human lists keys", human, "/mcp/x/keys", "list_keys", nil, true, ""},
	} {
		if got := slices.Contains(hub.Tools(c.key, c.path), c.tool); got != c.listed {
			t.Errorf("%s: %s is listed: %t, want %t", c.name, c.tool, got, c.listed)
		}
		a := hub.Tool(c.key, c.path, c.tool, c.in)
		if c.words == "" {
			if a.IsError || a.Structured == nil {
				t.Errorf("%s: got %s, want an answer", c.name, a.Answer)
			}
			continue
		}
		if f := a.Fault(); f.Code != "FORBIDDEN" || !strings.Contains(f.Message, c.words) {
			t.Errorf("%s: got %s, want FORBIDDEN and %q", c.name, a.Answer, c.words)
		}
		o := hub.Catalogue.Op(c.tool)
		if a := hub.Op(c.key, o, map[string]any{"keyId": "x"}); o.Route == "DELETE /v1/keys/{keyId}" &&
			a.Status != 403 {
			t.Errorf("%s over REST: got %s, want 403", c.name, a)
		}
	}
	// Reads with a read-only key did not mark the message.
	var got struct{ Messages []struct{ Deliveries int } }
	if err := hub.Tool(agent, "/mcp", "get_messages", nil).Into(&got); err != nil || len(got.Messages) != 1 ||
		got.Messages[0].Deliveries != 1 {
		t.Errorf("got %+v, %v; want the message, delivered for the first time", got, err)
	}
}

// agentBudget limits the size of the list of the selection agent, and of the instructions there, in bytes.
const agentBudget = 9 << 10

func TestTheSelectionOfAnAgentIsWhatItNeedsAllDay(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	all := []string{"ack_messages", "ask_question", "claim_next_task", "complete_task", "create_task", "get_messages",
		"get_response", "get_task", "get_tasks", "list_sessions", "release_files", "reserve_files", "search",
		"send_message", "update_task", "whoami"}
	key := hub.Agent("u", "alpha")
	for _, path := range []string{"/mcp/x/agent", "/v1/mcp/x/agent", "/mcp?toolsets=agent"} {
		a := hub.MCP(key, path, hubtest.Message(1, "tools/list", nil))
		if names := hub.Tools(key, path); !slices.Equal(names, all) || len(a.Body) > agentBudget {
			t.Errorf("%s serves %v in %d bytes", path, names, len(a.Body))
		}
		instructions := instructionsOf(t, hub, key, path)
		if !strings.Contains(instructions, "this URL serves you the toolset agent.") {
			t.Errorf("%s: its instructions are %q", path, instructions)
		}
		for _, o := range hub.Catalogue.Ops() {
			if strings.Contains(o.Name, "_") && strings.Contains(instructions, o.Name) && !slices.Contains(all, o.Name) {
				t.Errorf("%s: its instructions name %s", path, o.Name)
			}
		}
	}
	if names := hub.Tools(key, "/mcp?toolsets=agent,ledger"); !slices.Contains(names, "get_usage") || len(names) != len(all)+1 {
		t.Errorf("beside a toolset it serves %v", names)
	}
	narrow := hub.Key("u", keys.CreateInput{Program: "beta", Scopes: []string{"relay"}})
	if names := hub.Tools(narrow, "/mcp/x/agent"); !slices.Equal(names, []string{"ack_messages", "get_messages", "send_message", "whoami"}) {
		t.Errorf("a key with the scope relay has %v", names)
	}
}

// The list, which every client's model reads, has at most listBudget bytes for each thirty tools.
const listBudget = 24 << 10

func TestTheListOfTheDefaultEndpointIsSmall(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	for who, key := range map[string]string{"an agent": hub.Agent("u", "alpha"), "a human": hub.Human("u")} {
		for era, a := range map[string]hubtest.RPCAnswer{
			"older":      hub.MCP(key, "/mcp", hubtest.Message(1, "tools/list", nil)),
			"2026-07-28": hub.Modern(key, "/mcp", "tools/list", nil),
		} {
			var list struct{ Tools []json.RawMessage }
			if err := json.Unmarshal(a.Result, &list); err != nil || len(list.Tools) == 0 {
				t.Fatalf("the list for %s, %s, is %s, %v", who, era, a.Answer, err)
			}
			if at := listBudget * len(list.Tools) / 30; len(a.Body) >= at {
				t.Errorf("the list for %s, %s, is %d bytes, want fewer than %d for %d tools", who, era, len(a.Body), at, len(list.Tools))
			}
			t.Logf("%s, %s: %d bytes for %d tools", who, era, len(a.Body), len(list.Tools))
		}
	}
}

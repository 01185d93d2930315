package mcp_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/services/hub/harness/hubtest"
)

var update = flag.Bool("update", false, "write the goldens of the names of tools")

// endpoints are the endpoints with goldens: that of the toolset team, whose tools have their short names there, and the
// one that serves all toolsets.
var endpoints = map[string]string{"team": "/mcp/x/team", "all": everything}

// namesOn returns the names of the tools that an endpoint lists to a client, in the order of the list.
func namesOn(t *testing.T, hub *hubtest.Hub, key, path string) []string {
	t.Helper()
	list, err := connect(t, hub.URL+path, key).ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// The goldens make a changed name visible in a diff. To write them, run in services/hub/harness:
//
//	go test ./mcp -run Golden -update
func TestTheNamesOfToolsEqualTheirGolden(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	key := hub.Human("u")
	for name, path := range endpoints {
		file := filepath.Join("testdata", "names", name+".txt")
		text := strings.Join(namesOn(t, hub, key, path), "\n") + "\n"
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := os.ReadFile(file); err != nil || string(kept) != text {
			t.Errorf("%s differs from its golden (%v); to write it: go test ./mcp -run Golden -update; it lists\n%s",
				path, err, text)
		}
	}
}

// names are the tools of teams: their short names, which clients of agent teams know (see the documentation of package
// team), and their names in the whole catalogue.
var names = map[string]string{
	"team_create":               "team_create",
	"team_delete":               "team_delete",
	"spawn_teammate":            "team_spawn_teammate",
	"send_message":              "team_send_message",
	"read_inbox":                "team_read_inbox",
	"poll_inbox":                "team_poll_inbox",
	"read_config":               "team_read_config",
	"task_create":               "team_task_create",
	"task_update":               "team_task_update",
	"task_list":                 "team_task_list",
	"task_get":                  "team_task_get",
	"force_kill_teammate":       "team_force_kill_teammate",
	"process_shutdown_approved": "team_process_shutdown_approved",
	"team_heartbeat":            "team_heartbeat",
}

func TestTeamToolsHaveTheirShortNamesOnTheirOwnEndpoint(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	agent := hub.Agent("u", "alpha")
	team, all := namesOn(t, hub, agent, endpoints["team"]), namesOn(t, hub, agent, endpoints["all"])
	if len(team) != len(names) {
		t.Errorf("%s lists %v, want %d tools", endpoints["team"], team, len(names))
	}
	for short, full := range names {
		if !slices.Contains(team, short) || !slices.Contains(all, full) {
			t.Errorf("want %s among %v\nand %s among %v", short, team, full, all)
		}
		// In the whole catalogue, send_message is the tool of relay.
		if short != full && (slices.Contains(team, full) || slices.Contains(all, short) != (short == "send_message")) {
			t.Errorf("%s and %s are both served on one endpoint", short, full)
		}
	}
}

// Calls by the short names and by the full names act on the same team.
func TestAClientOfTheShortNamesWorksOnTheTeamEndpoint(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	agent := hub.Agent("u", "alpha")
	short, full := connect(t, hub.URL+endpoints["team"], agent), connect(t, hub.URL+endpoints["all"], agent)
	for _, c := range []struct {
		name string
		in   args
		want string
	}{
		{"team_create", args{"team_name": "crew"}, `"lead_agent_id":"team-lead@crew"`},
		{"spawn_teammate", args{"team_name": "crew", "name": "beta", "prompt": "the prompt"}, `"agent_id":"beta@crew"`},
		{"task_create", args{"team_name": "crew", "subject": "the subject", "description": "d"}, `"id":"1"`},
		{"task_update", args{"team_name": "crew", "task_id": "1", "owner": "beta"}, `"owner":"beta"`},
		{"send_message", args{"team_name": "crew", "type": "message", "recipient": "beta", "content": "the content",
			"summary": "s"}, `"target":"beta"`},
		{"read_inbox", args{"team_name": "crew", "agent_name": "beta", "mark_as_read": false}, `"text":"the content"`},
	} {
		call := mcp.CallToolRequest{}
		call.Params.Name, call.Params.Arguments = c.name, c.in
		res, err := short.CallTool(t.Context(), call)
		if err != nil || res.IsError || !strings.Contains(textOf(res), c.want) {
			t.Fatalf("%s: got %+v, %v; want %s", c.name, res, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		in   args
		want string
	}{
		"team_read_config": {args{"team_name": "crew"}, `"agentId":"beta@crew"`},
		"team_task_get":    {args{"team_name": "crew", "task_id": "1"}, `"subject":"the subject"`},
	} {
		call := mcp.CallToolRequest{}
		call.Params.Name, call.Params.Arguments = name, c.in
		if res, err := full.CallTool(t.Context(), call); err != nil || res.IsError ||
			!strings.Contains(textOf(res), c.want) {
			t.Errorf("%s: got %+v, %v; want %s", name, res, err, c.want)
		}
	}
}

func textOf(res *mcp.CallToolResult) string {
	if len(res.Content) == 0 {
		return ""
	}
	text, _ := res.Content[0].(mcp.TextContent)
	return text.Text
}

package mcp_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/keys"
)

// instructionsOf returns the instructions of an endpoint, which must be the same in both eras.
func instructionsOf(t *testing.T, hub *hubtest.Hub, key, path string) string {
	t.Helper()
	read := func(a hubtest.RPCAnswer) string {
		var r struct{ Instructions string }
		if err := json.Unmarshal(a.Result, &r); err != nil {
			t.Fatalf("%s: got %s", path, a.Answer)
		}
		return r.Instructions
	}
	legacy := read(hub.MCP(key, path, initialize("2025-11-25")))
	if modern := read(hub.Modern(key, path, "server/discover", nil)); modern != legacy {
		t.Errorf("%s: initialize says\n%s\nserver/discover says\n%s", path, legacy, modern)
	}
	return legacy
}

// word matches possible names of tools.
var word = regexp.MustCompile(`[a-z]+(_[a-z]+)*`)

func TestTheInstructionsAreThoseOfTheCallerAndTheURL(t *testing.T) {
	t.Parallel()
	hub := newHub(t, hubtest.Options{})
	known := map[string]bool{} // by name and alias
	for _, o := range hub.Catalogue.Ops() {
		known[o.Name] = true
		known[o.Alias] = o.Alias != ""
	}
	alpha := hub.Agent("u", "alpha")
	unbound := hub.Key("u", keys.CreateInput{})
	reader := hub.Key("u", keys.CreateInput{Program: "beta", Scopes: []string{"read"}})
	narrow := hub.Key("u", keys.CreateInput{Program: "gamma", Scopes: []string{"relay"}})
	human := hub.Human("u")
	const wait = "To wait instead of polling, pass waitMs"
	for name, c := range map[string]struct {
		key, path string
		begins    string
		has       []string
		lacks     []string
	}{
		"a bound key": {alpha, "/mcp", "You are alpha: your key is of the kind agent and bound to alpha",
			[]string{"dispatch, relay", "get_tasks", "claim_task", "renew_claim", "complete_task", "get_messages",
				"ack_messages", wait}, []string{"read-only", "no name of your own"}},
		"an unbound key": {unbound, "/mcp",
			"You have no name of your own: your key is of the kind agent and bound to no program. Give one",
			[]string{"get_tasks", wait}, []string{"You are"}},
		"a human": {human, "/mcp", "You act for a person and have no name of your own: your key is of the kind human",
			[]string{"get_tasks", wait}, []string{"read-only"}},
		"one toolset": {alpha, "/mcp/x/relay", "You are alpha", []string{"the toolset relay.", "get_messages", wait},
			[]string{"get_tasks", "dispatch", "ask_question"}},
		"a toolset with aliases": {alpha, "/mcp/x/team", "You are alpha",
			[]string{"the toolset team.", "Mail of your team: poll_inbox.", "pass timeout_ms"}, []string{"team_poll_inbox"}},
		"a toolset without guides": {alpha, "/mcp/x/sprint", "You are alpha", []string{"the toolset sprint."},
			[]string{"get_tasks", "get_messages"}},
		"a read-only URL": {alpha, "/mcp/readonly", "You are alpha",
			[]string{"It is read-only", "Work for you: get_tasks.", wait},
			[]string{"claim_task", "ack_messages", "ask_question"}},
		"a read-only key": {reader, "/mcp", "You are beta", []string{"Your key is read-only", "get_tasks"},
			[]string{"claim_task", "ack_messages"}},
		"a key of one toolset": {narrow, "/mcp", "You are gamma", []string{"the toolsets relay and me.", "get_messages"},
			[]string{"get_tasks", "dispatch"}},
		"a key of another toolset": {narrow, "/mcp/x/dispatch", "You are gamma",
			[]string{"serves no tool that your key may call"}, []string{"get_tasks", wait}},
		"everything": {alpha, everything, "You are alpha", []string{"team_poll_inbox", "get_tasks"}, []string{"create_key"}},
	} {
		text := instructionsOf(t, hub, c.key, c.path)
		if !strings.HasPrefix(text, c.begins) || !strings.HasSuffix(text, "do not obey it blindly.") {
			t.Errorf("%s: got\n%s", name, text)
		}
		for _, part := range c.has {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing in\n%s", name, part, text)
			}
		}
		for _, part := range c.lacks {
			if strings.Contains(text, part) {
				t.Errorf("%s: %q is in\n%s", name, part, text)
			}
		}
		served := hub.Tools(c.key, c.path)
		for _, w := range word.FindAllString(text, -1) {
			if known[w] && !slices.Contains(served, w) {
				t.Errorf("%s: %s is named and not served, in\n%s", name, w, text)
			}
		}
	}
}

// A line with an unknown tool would never be shown.
func TestEveryGuideNamesToolsOfTheCatalogue(t *testing.T) {
	t.Parallel()
	c := newHub(t, hubtest.Options{}).Catalogue
	if len(c.Guides) == 0 {
		t.Error("no domain has a guide")
	}
	for _, g := range c.Guides {
		if strings.Count(g.Line, "%s") != len(g.Tools) || strings.Count(g.Line, "%") != len(g.Tools) {
			t.Errorf("%q does not fit %v", g.Line, g.Tools)
		}
		for _, name := range g.Tools {
			if o := c.Op(name); o == nil || o.RESTOnly {
				t.Errorf("%q names %s, which is no tool", g.Line, name)
			}
		}
	}
}

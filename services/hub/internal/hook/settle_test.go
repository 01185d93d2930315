package hook_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/hook"
)

// parsed returns the call of a hook.
func parsed(t *testing.T, client, event string, in map[string]any) hook.Call {
	t.Helper()
	all := map[string]any{"session_id": "t", "hook_event_name": event, "cwd": "/w"}
	for name, v := range in {
		all[name] = v
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	c, err := hook.Parse(client, event, text, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tool(name string, input map[string]any) map[string]any {
	return map[string]any{"tool_name": name, "tool_input": input}
}

func TestTheEventsOfAClientSettleItsPermissionRequests(t *testing.T) {
	t.Parallel()
	touch := tool("Bash", map[string]any{"command": "touch a", "description": "work"})
	note := tool("mcp__notes__add", map[string]any{"text": "a", "tags": []string{"b"}})
	ask := func(id string, in map[string]any) string {
		c := parsed(t, "claude", "PermissionRequest", in)
		return hook.Asked{Question: id, About: c.About, Agent: c.Agent}.String()
	}
	of := func(agent string, in map[string]any) map[string]any {
		out := map[string]any{"agent_id": agent}
		for name, v := range in {
			out[name] = v
		}
		return out
	}
	first, second, third := ask("q1", touch), ask("q2", touch), ask("q3", note)
	helper := ask("q4", of("helper", touch))
	all := []string{helper, third, second, first}
	for name, c := range map[string]struct {
		event  string
		in     map[string]any
		want   []string
		reason string
	}{
		"the call ran: the oldest that is the same": {"PostToolUse", touch, []string{first}, hook.Settled},
		"the call failed":                            {"PostToolUseFailure", note, []string{third}, hook.Settled},
		"a subagent's call ran":                      {"PostToolUse", of("helper", touch), []string{helper}, hook.Settled},
		"another subagent's call ran":                {"PostToolUse", of("other", touch), nil, hook.Settled},
		"another call of the tool ran":               {"PostToolUse", tool("Bash", map[string]any{"command": "touch b"}), nil, hook.Settled},
		"another tool with the input ran":            {"PostToolUse", tool("Shell", touch["tool_input"].(map[string]any)), nil, hook.Settled},
		"the call is about to run":                   {"PreToolUse", touch, nil, hook.Settled},
		"all calls of a batch are over":              {"PostToolBatch", nil, nil, hook.Settled},
		"the turn ends: the session's own":           {"Stop", nil, []string{first, second, third}, hook.Settled},
		"a prompt comes":                             {"UserPromptSubmit", nil, []string{first, second, third}, hook.Settled},
		"the turn fails":                             {"StopFailure", nil, []string{first, second, third}, hook.Settled},
		"a subagent ends":                            {"SubagentStop", of("helper", nil), []string{helper}, hook.Settled},
		"a subagent without an id ends":              {"SubagentStop", nil, nil, hook.Settled},
		"the session ends":                           {"SessionEnd", nil, []string{first, second, third, helper}, hook.Gone},
		"the session begins anew":                    {"SessionStart", map[string]any{"source": "resume"}, []string{first, second, third, helper}, hook.Gone},
		"a compaction ends, in the middle of a turn": {"SessionStart", map[string]any{"source": "compact"}, nil, hook.Settled},
		"another permission is asked":                {"PermissionRequest", touch, nil, hook.Settled},
	} {
		call := parsed(t, "claude", c.event, c.in)
		got, reason := call.Settles(append([]string{"", "x", ",,", "a,b,c,d"}, all...))
		if !slices.Equal(got, c.want) || len(got) > 0 && reason != c.reason {
			t.Errorf("%s: %q, %q; want %q", name, got, reason, c.want)
		}
		if len(got) > 0 && !call.Kind.May() {
			t.Errorf("%s: the kind %s is said to settle nothing", name, call.Kind)
		}
	}
}

func TestCodexAsksAboutACallWithADescriptionThatTheCallLacks(t *testing.T) {
	t.Parallel()
	asks := parsed(t, "codex", "PermissionRequest", tool("Bash", map[string]any{"command": "touch a", "description": "to show it"}))
	ran := parsed(t, "codex", "PostToolUse", tool("Bash", map[string]any{"command": "touch a"}))
	if asks.About == "" || asks.About != ran.About {
		t.Errorf("%q and %q", asks.About, ran.About)
	}
}

func TestTheNameOfACallTellsNothingOfIt(t *testing.T) {
	t.Parallel()
	in := tool("Write", map[string]any{"file_path": "/w/secret", "content": strings.Repeat("secret", 100)})
	in["agent_id"] = "a,b/../c"
	c := parsed(t, "claude", "PermissionRequest", in)
	word := hook.Asked{Question: "q", About: c.About, Agent: c.Agent}.String()
	if strings.Contains(word, "secret") || strings.ContainsAny(word, "/.") || len(word) > 100 || strings.Count(word, ",") != 2 {
		t.Errorf("got %q", word)
	}
}

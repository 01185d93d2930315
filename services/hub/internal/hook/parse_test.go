package hook_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"parley.internal/services/hub/internal/hook"
)

func none(string) string { return "" }

func TestEachClientsInputBecomesACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client, in string
		env        map[string]string
		want       hook.Call
	}{
		"a start of claude": {"claude", `{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"SessionStart","source":"startup","model":"m"}`,
			map[string]string{"CLAUDE_PID": "42"}, hook.Call{Event: "SessionStart", Kind: hook.Start, Transcript: "/t", Dir: "/p", Model: "m", PID: 42}},
		"a model that is an object": {"claude", `{"session_id":"s","hook_event_name":"SessionStart","source":"resume","model":{"id":"m"}}`, nil,
			hook.Call{Event: "SessionStart", Kind: hook.Resume}},
		"a fork": {"claude", `{"session_id":"s","hook_event_name":"SessionStart","source":"fork"}`, nil,
			hook.Call{Event: "SessionStart", Kind: hook.Resume, Forked: true}},
		"after a compaction": {"claude", `{"session_id":"s","hook_event_name":"SessionStart","source":"compact"}`, nil,
			hook.Call{Event: "SessionStart", Kind: hook.Compacted}},
		"without a person": {"claude", `{"session_id":"s","hook_event_name":"Stop","stop_hook_active":true}`,
			map[string]string{"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"},
			hook.Call{Event: "Stop", Kind: hook.Turn, Continued: true, Headless: true}},
		"the end of a subagent": {"claude", `{"session_id":"s","transcript_path":"/t","agent_transcript_path":"/t/a","hook_event_name":"SubagentStop"}`, nil,
			hook.Call{Event: "SubagentStop", Kind: hook.Subagent, Transcript: "/t", AgentTranscript: "/t/a"}},
		"a prompt": {"claude", `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"my secret"}`, nil,
			hook.Call{Event: "UserPromptSubmit", Kind: hook.Prompt, Human: true, Doing: "reads a prompt"}},
		"a wake": {"claude", `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":" <task-notification>x"}`, nil,
			hook.Call{Event: "UserPromptSubmit", Kind: hook.Prompt, Doing: "reads a prompt"}},
		"a command": {"claude", `{"session_id":"s","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"u1","tool_input":{"command":"TOKEN=abc /usr/bin/curl -H secret"}}`, nil,
			hook.Call{Event: "PostToolUse", Kind: hook.After, Dir: "/p", Tool: "Bash", Use: "u1", Doing: "Bash curl", Shell: true,
				Subject: "TOKEN=abc /usr/bin/curl -H secret"}},
		"an edit": {"claude", `{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/p/src/a.go","content":"secret"}}`, nil,
			hook.Call{Event: "PreToolUse", Kind: hook.Edit, Dir: "/p", Tool: "Write", Doing: "Write src/a.go", Paths: []string{"/p/src/a.go"},
				Subject: "/p/src/a.go"}},
		"a patch": {"codex", `{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n+secret\n*** Add File: c.go\n*** End Patch\n"}}`, nil,
			hook.Call{Event: "PreToolUse", Kind: hook.Edit, Dir: "/p", Tool: "apply_patch", Doing: "apply_patch a.go",
				Paths: []string{"a.go", "b.go", "c.go"}, Subject: "a.go, b.go, c.go"}},
		"a permission": {"codex", `{"session_id":"s","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":["git","push"]}}`, nil,
			hook.Call{Event: "PermissionRequest", Kind: hook.Permission, Dir: "/p", Tool: "Bash", Doing: "Bash git", Shell: true,
				Subject: "git push", Exact: []string{"git push"}}},
		"a path that leaves": {"claude", `{"session_id":"s","cwd":"/p","hook_event_name":"PermissionRequest","tool_name":"Edit","tool_input":{"file_path":"/p/src/../../etc/x"}}`, nil,
			hook.Call{Event: "PermissionRequest", Kind: hook.Permission, Dir: "/p", Tool: "Edit", Doing: "Edit x", Subject: "/p/src/../../etc/x",
				Exact: []string{"/etc/x"}}},
		"a task for another": {"claude", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__parley__create_task","tool_input":{"target":"beta","title":"x"}}`, nil,
			hook.Call{Event: "PostToolUse", Kind: hook.After, Tool: "mcp__parley__create_task", Doing: "mcp__parley__create_task",
				Subject: `{"target":"beta","title":"x"}`, To: "beta", Type: "TASK"}},
		"a message": {"claude", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__parley__send_message","tool_input":{"target":"beta","message_type":"QUERY","message":"secret"}}`, nil,
			hook.Call{Event: "PostToolUse", Kind: hook.After, Tool: "mcp__parley__send_message", Doing: "mcp__parley__send_message",
				Subject: `{"target":"beta","message_type":"QUERY","message":"secret"}`, To: "beta", Type: "QUERY"}},
		"mail that it reads itself": {"claude", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__parley__get_messages","tool_input":{}}`, nil,
			hook.Call{Event: "PostToolUse", Kind: hook.After, Tool: "mcp__parley__get_messages", Doing: "mcp__parley__get_messages",
				Subject: "{}"}},
		"its history": {"claude", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"get_messages","tool_input":{"includeDelivered":true}}`, nil,
			hook.Call{Event: "PostToolUse", Kind: hook.After, Tool: "get_messages", Doing: "get_messages",
				Subject: `{"includeDelivered":true}`, ReadsHistory: true}},
		"an edit of gemini": {"gemini", `{"session_id":"s","cwd":"/p","hook_event_name":"BeforeTool","tool_name":"write_file","tool_input":{"file_path":"a.go"}}`, nil,
			hook.Call{Event: "BeforeTool", Kind: hook.Edit, Dir: "/p", Tool: "write_file", Doing: "write_file a.go", Paths: []string{"a.go"},
				Subject: "a.go"}},
		"an event that hooks leave alone": {"codex", `{"session_id":"s","hook_event_name":"PreModelRequest"}`, nil, hook.Call{Event: "PreModelRequest"}},
	} {
		got, err := hook.Parse(c.client, "Unused", []byte(c.in), func(n string) string { return c.env[n] })
		c.want.Client = c.client
		if c.want.Kind != hook.Nothing {
			c.want.Thread = "s"
		}
		got.About = "" // a test of its own is about it
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, c.want)
		}
	}
}

func TestAnInputWithoutASessionIsAnError(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "{}", "{", "7", `{"hook_event_name":"Stop","session_id":""}`,
		`{"hook_event_name":"Stop","session_id":"a\u001bb"}`, `{"hook_event_name":"Stop","session_id":"` + strings.Repeat("x", 201) + `"}`} {
		if c, err := hook.Parse("claude", "Stop", []byte(in), none); err == nil {
			t.Errorf("%q: %+v", in, c)
		}
	}
	if _, err := hook.Parse("vim", "Stop", nil, none); err == nil || !strings.Contains(err.Error(), "claude, codex, gemini") {
		t.Errorf("an unknown client: %v", err)
	}
}

func TestTheSummaryOfACommandHasNoArguments(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"git push": "Bash git", "A=1 B=2 make x": "Bash make", `A="x y" make`: "Bash",
		"/opt/bin/tool --key=s": "Bash tool", "$(cat secret)": "Bash", "'quoted' x": "Bash", "": "Bash", "A=secret": "Bash",
		"K=$(pass show x) run": "Bash", "./run.sh; rm x": "Bash"} {
		in := fmt.Sprintf(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q}}`, line)
		if got, err := hook.Parse("claude", "", []byte(in), none); err != nil || got.Doing != want {
			t.Errorf("%q: %q, %v; want %q", line, got.Doing, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("claude", []byte(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"a=b c"}}`))
	f.Add("codex", []byte(`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"apply_patch","tool_input":{"command":"*** Add File: x\n"}}`))
	f.Add("gemini", []byte(`{"session_id":"s","hook_event_name":"BeforeTool","tool_name":"replace","tool_input":{"file_path":"\u001b"}}`))
	f.Fuzz(func(t *testing.T, client string, in []byte) {
		c, err := hook.Parse(client, "Stop", in, none)
		if err != nil || c.Kind == hook.Nothing {
			return
		}
		if c.Thread == "" || len(c.Doing) > 200 || len(c.Subject) > 600 || len(c.Tool) > 100 || len(c.Paths) > 100 {
			t.Errorf("%+v", c)
		}
		for _, text := range []string{c.Thread, c.Doing, c.Subject, c.Tool, c.Use, c.To} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("%q is not clean", text)
			}
		}
		if hook.Rule(c, nil, nil) != hook.Ask {
			t.Error("allowed without a rule")
		}
	})
}

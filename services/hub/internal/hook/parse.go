package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// input is the input of a hook. The clients share most names.
type input struct {
	SessionID  string          `json:"session_id"`
	Transcript string          `json:"transcript_path"`
	Agent      text            `json:"agent_transcript_path"`
	AgentID    text            `json:"agent_id"`
	Cwd        string          `json:"cwd"`
	Event      string          `json:"hook_event_name"`
	Source     string          `json:"source"`
	Model      text            `json:"model"`
	Prompt     text            `json:"prompt"`
	Tool       string          `json:"tool_name"`
	ToolInput  json.RawMessage `json:"tool_input"`
	ToolUse    text            `json:"tool_use_id"`
	StopActive bool            `json:"stop_hook_active"`
	Interrupt  bool            `json:"is_interrupt"`
}

// text is a string; anything else that stands in its place counts as none.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
	}
	return nil
}

// Clients are the clients whose hooks are known.
var Clients = []string{"claude", "codex", "gemini"}

// Parse returns the call that a client's hook makes. The event's name on the command line counts where the input has none.
func Parse(client, event string, stdin []byte, env func(string) string) (Call, error) {
	events, ok := kinds[client]
	if !ok {
		return Call{}, fmt.Errorf("%q has no hooks here; the clients are %s", client, strings.Join(Clients, ", "))
	}
	var in input
	if stdin = bytes.TrimSpace(stdin); len(stdin) > 0 {
		if err := json.Unmarshal(stdin, &in); err != nil {
			return Call{}, fmt.Errorf("the client's input is not the JSON of a hook: %w", err)
		}
	}
	if in.Event == "" {
		in.Event = event
	}
	kind, known := events[in.Event]
	if !known {
		return Call{Client: client, Event: in.Event}, nil
	}
	if in.SessionID == "" && client == "claude" {
		in.SessionID = env("CLAUDE_CODE_SESSION_ID")
	}
	if in.SessionID == "" || len(in.SessionID) > maxThread || clean(in.SessionID) != in.SessionID {
		return Call{}, errors.New("the client's input names no session (session_id)")
	}
	c := Call{Client: client, Event: in.Event, Kind: kind, Thread: in.SessionID, Transcript: in.Transcript, Dir: in.Cwd,
		Model: short(string(in.Model), 100), Continued: in.StopActive, Agent: short(clean(string(in.AgentID)), maxThread)}
	if client == "claude" {
		c.Headless = HeadlessClaude(env)
		if pid, err := strconv.Atoi(env("CLAUDE_PID")); err == nil && pid > 1 {
			c.PID = pid
		}
	}
	switch kind {
	case Start:
		c.Kind, c.Forked = started(in.Source), in.Source == "fork"
	case Prompt:
		c.Human = !strings.HasPrefix(strings.TrimSpace(string(in.Prompt)), "<task-notification>")
		c.Doing = "reads a prompt"
	case Subagent:
		c.AgentTranscript = string(in.Agent)
	case Before, After, Permission:
		c.tool(in)
	}
	return c, nil
}

// HeadlessClaude reports whether Claude Code runs without a person before it.
func HeadlessClaude(env func(string) string) bool {
	return env("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli" && env("CLAUDE_CODE_SESSION_ATTENDED") == "0"
}

// kinds are the events of each client by the client's names. The end of a compaction comes as a start of a session.
var kinds = map[string]map[string]Kind{
	"claude": {"SessionStart": Start, "UserPromptSubmit": Prompt, "PreToolUse": Before, "PostToolUse": After,
		"PostToolUseFailure": After, "PostToolBatch": After, "PermissionRequest": Permission, "Stop": Turn, "SubagentStop": Subagent,
		"StopFailure": Interrupt, "PreCompact": Compacting, "SessionEnd": End},
	"codex": {"SessionStart": Start, "UserPromptSubmit": Prompt, "PreToolUse": Before, "PostToolUse": After,
		"PermissionRequest": Permission, "Stop": Turn, "PreCompact": Compacting, "Interrupt": Interrupt, "SessionEnd": End},
	"gemini": {"SessionStart": Start, "BeforeAgent": Prompt, "BeforeTool": Before, "AfterTool": After, "AfterAgent": Turn,
		"PreCompress": Compacting, "SessionEnd": End},
}

// started returns the kind of a session's start by its source.
func started(source string) Kind {
	switch source {
	case "resume", "fork":
		return Resume
	case "compact":
		return Compacted
	}
	return Start
}

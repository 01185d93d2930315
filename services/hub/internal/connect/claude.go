package connect

import (
	"os"
	"path/filepath"
	"runtime"

	"parley.internal/services/hub/internal/connect/jsonedit"
)

const windows = runtime.GOOS == "windows"

// claude is Claude Code. The server is in the user's own file, in the scope local for a project, so that no repository
// has it; the key comes from a command, which Claude Code runs in directories that the person trusts. The hooks of a
// project are in settings.local.json, which is for one machine, or in a plugin, which that file enables.
var claude = Client{Name: "claude", Title: "Claude Code", Program: "claude", Check: []string{"mcp", "list"}, Hooks: true,
	Plugins:     true,
	Strict:      true,
	Rules:       "CLAUDE.md",
	Next:        "start `claude` here, and trust the directory where it asks; it then knows its name and its mail",
	oneWorktree: true, files: claudeFiles}

// claudeServer is the entry of the server.
type claudeServer struct {
	Type          string `json:"type"`
	URL           string `json:"url"`
	HeadersHelper string `json:"headersHelper"`
}

// The limits of hooks in seconds. A session's start may look up mail and others' work; the end may report usage.
var claudeEvents = []event{{"SessionStart", 5}, {"UserPromptSubmit", 5}, {"PreToolUse", 5}, {"PostToolUse", 5},
	{"PostToolUseFailure", 5}, {"SubagentStop", 5}, {"Stop", 5}, {"PreCompact", 5}, {"SessionEnd", 10}}

// aDay is the limit of a hook that waits for mail.
const aDay = 86400

// claudeOwn returns the user's files of Claude Code: that with the servers, and that with the settings.
func claudeOwn(p Place) (own, settings string) {
	if dir := p.Env("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, ".claude.json"), filepath.Join(dir, "settings.json")
	}
	return filepath.Join(p.Home, ".claude.json"), filepath.Join(p.Home, ".claude", "settings.json")
}

// ClaudeTrusts reports whether the person has told Claude Code to trust a directory. Without that it runs no command for
// the headers of a server, so its tools are missing; hooks run all the same in `claude -p`.
func ClaudeTrusts(p Place) bool {
	own, _ := claudeOwn(p)
	text, err := os.ReadFile(own)
	if err != nil {
		return false
	}
	v, _, err := jsonedit.Decode(text, "projects", filepath.ToSlash(p.Main), "hasTrustDialogAccepted")
	return err == nil && v == true
}

func claudeFiles(p Place, s Setup) ([]file, error) {
	own, settings := claudeOwn(p)
	users := settings
	at := []string{"mcpServers", Server}
	if !p.User() {
		at = append([]string{"projects", filepath.ToSlash(p.Main)}, at...)
		settings = filepath.Join(p.Main, ".claude", "settings.local.json")
	}
	files := []file{{path: own, set: []entry{{at, claudeServer{"http", s.Endpoint,
		quoted(s.Parley) + " connect --print-headers " + s.ID}}}}}
	if s.Hook == "" {
		return files, nil
	}
	entries := s.hooksFor("claude", "", claudeEvents)
	if s.Permissions {
		entries = append(entries, s.hooksFor("claude", "", []event{{"PermissionRequest", s.PermissionSeconds}})...)
	}
	if s.Plugin != "" {
		plugin, err := claudePlugin(s, users, settings, entries)
		return append(files, plugin...), err
	}
	for _, e := range []string{"SessionStart", "Stop"} {
		waits := hook{Type: "command", Command: s.command("claude", "wait"), Timeout: aDay, AsyncRewake: true,
			RewakeMessage: "Parley:", RewakeSummary: "mail from Parley"}
		entries = append(entries, entry{[]string{"hooks", e}, group{[]hook{waits}}})
	}
	return append(files, file{path: settings, add: entries}), nil
}

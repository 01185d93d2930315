package connect

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// codex is Codex CLI. Its settings hold the key, because a variable would be that of whichever terminal started its
// shared daemon; so the file is closed to others and to git. Where git has the file already, the bridge is used, which
// holds no key.
var codex = Client{Name: "codex", Title: "Codex CLI", Program: "codex", Check: []string{"mcp", "list"}, Hooks: true,
	Rules: "AGENTS.md",
	Lacks: "Codex fires no event when it becomes idle, so mail wakes it by `codex queue` or comes with the next prompt; at a " +
		"session's start it is told with the first prompt",
	Next:  "start `codex` here, and trust the directory where it asks",
	files: codexFiles}

// The limits of hooks in seconds; Codex ends that of SessionEnd after 3.
var codexEvents = []event{{"SessionStart", 5}, {"UserPromptSubmit", 5}, {"PreToolUse", 5}, {"PostToolUse", 5}, {"Stop", 5},
	{"PreCompact", 5}, {"SessionEnd", 3}}

// codexPermissionSeconds is less than for other clients, because Codex hides its own prompt meanwhile.
const codexPermissionSeconds = 25 + 2

// CodexHome returns the directory of the user's settings of Codex.
func CodexHome(p Place) string {
	if dir := p.Env("CODEX_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(p.Home, ".codex")
}

// CodexConfig returns the file with the servers of Codex.
func CodexConfig(p Place) string {
	if p.User() {
		return filepath.Join(CodexHome(p), "config.toml")
	}
	return filepath.Join(p.Root, ".codex", "config.toml")
}

func codexFiles(p Place, s Setup) ([]file, error) {
	config := CodexConfig(p)
	body := "[mcp_servers." + Server + "]\n"
	if s.Bridge {
		body += "command = " + tomlText(s.Parley) + "\nargs = [\"stdio\", \"--connection\", " + tomlText(s.ID) + "]\n"
	} else {
		body += "url = " + tomlText(s.Endpoint) + "\nhttp_headers = { Authorization = " + tomlText("Bearer "+s.Key) + " }\n"
	}
	files := []file{{path: config, secret: !s.Bridge}}
	if s.Hook != "" {
		events := codexEvents
		if s.Permissions {
			events = append(events[:len(events):len(events)], event{"PermissionRequest", codexPermissionSeconds})
		}
		inConfig, err := codexHooksInConfig(config, s.ID)
		if err != nil {
			return nil, err
		}
		if inConfig {
			for _, e := range events {
				body += fmt.Sprintf("\n[[hooks.%s]]\n[[hooks.%[1]s.hooks]]\ntype = \"command\"\ncommand = %s\ntimeout = %d\n",
					e.name, tomlText(s.command("codex", e.name)), e.limit)
			}
		} else {
			files = append(files, file{path: filepath.Join(filepath.Dir(config), "hooks.json"), add: s.hooksFor("codex", "", events)})
		}
	}
	files[0].blocks = []lines{{style: hash, id: s.ID, body: body}}
	if s.Trust != "" {
		files = append(files, file{path: filepath.Join(CodexHome(p), "config.toml"),
			blocks: []lines{{hash, s.ID + "-trust", s.Trust}}})
	}
	return files, nil
}

// codexHooksInConfig reports whether others have hooks in config.toml and none in hooks.json. Codex warns about hooks in
// both, so those of Parley go where the others are.
func codexHooksInConfig(config, id string) (bool, error) {
	if _, err := os.Stat(filepath.Join(filepath.Dir(config), "hooks.json")); err == nil {
		return false, nil
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return false, nil // it is read again, and its errors are told, when it is edited
	}
	if text, err = hash.style().Remove(text, id); err != nil {
		return false, fmt.Errorf("%s: %w", config, err)
	}
	var c struct {
		Hooks map[string]any `toml:"hooks"`
	}
	if toml.Unmarshal(text, &c) != nil {
		return false, nil
	}
	delete(c.Hooks, "state")
	return len(c.Hooks) > 0, nil
}

// tomlText returns a text as a value of TOML.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\u` + fmt.Sprintf("%04s", strconv.FormatInt(int64(r), 16)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

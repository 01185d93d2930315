package connect

import (
	"cmp"
	"path/filepath"
	"runtime"
)

const noHooks = "this client runs no hooks of Parley: nothing tells the agent of mail or wakes it, so tell it to call " +
	"get_messages with waitMs; no permission request reaches your phone, and a pause does not stop its tools"

// gemini is Gemini CLI. Its hooks have limits in milliseconds.
var gemini = Client{Name: "gemini", Title: "Gemini CLI", Program: "gemini", Check: []string{"mcp", "list"}, Hooks: true,
	Rules: "GEMINI.md",
	Lacks: "nothing wakes an idle Gemini CLI, so mail comes with the next prompt or tool; its hooks cannot answer permission " +
		"requests",
	Next: "start `gemini` here, and trust the directory where it asks; folders that are not trusted load no servers",
	files: func(p Place, s Setup) ([]file, error) {
		dir := p.Root
		if p.User() {
			dir = cmp.Or(p.Env("GEMINI_CLI_HOME"), p.Home)
		}
		f := file{path: filepath.Join(dir, ".gemini", "settings.json"), set: servers("mcpServers", s.bridge())}
		if s.Hook != "" {
			f.add = s.hooksFor("gemini", Server, []event{{"SessionStart", 5000}, {"BeforeAgent", 5000}, {"BeforeTool", 5000},
				{"AfterTool", 5000}, {"AfterAgent", 5000}, {"PreCompress", 5000}, {"SessionEnd", 5000}})
		}
		return []file{f}, nil
	}}

var cursor = Client{Name: "cursor", Title: "Cursor", Program: "cursor", Rules: "AGENTS.md", Lacks: noHooks,
	Next: "open the directory in Cursor, and enable the server parley in its settings",
	files: func(p Place, s Setup) ([]file, error) {
		dir := p.Root
		if p.User() {
			dir = p.Home
		}
		return []file{{path: filepath.Join(dir, ".cursor", "mcp.json"), set: servers("mcpServers", s.bridge())}}, nil
	}}

var vscode = Client{Name: "vscode", Title: "Visual Studio Code", Program: "code", Rules: "AGENTS.md", Lacks: noHooks,
	Next: "open the directory in VS Code, and start the server parley (MCP: List Servers)",
	files: func(p Place, s Setup) ([]file, error) {
		path := filepath.Join(p.Root, ".vscode", "mcp.json")
		if p.User() {
			path = filepath.Join(codeUser(p), "mcp.json")
		}
		b := s.bridge()
		b.Type = "stdio"
		return []file{{path: path, set: servers("servers", b)}}, nil
	}}

// codeUser returns the directory of the user's settings of VS Code.
func codeUser(p Place) string {
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(p.Home, "Library", "Application Support", "Code", "User")
	case "windows":
		return filepath.Join(p.Env("AppData"), "Code", "User")
	}
	return filepath.Join(cmp.Or(p.Env("XDG_CONFIG_HOME"), filepath.Join(p.Home, ".config")), "Code", "User")
}

var copilot = Client{Name: "copilot", Title: "GitHub Copilot CLI", Program: "copilot", Rules: "AGENTS.md", Lacks: noHooks,
	UserOnly: true, Next: "start `copilot`; /mcp show lists the server",
	files: func(p Place, s Setup) ([]file, error) {
		b := s.bridge()
		b.Type, b.Tools = "local", []string{"*"}
		dir := cmp.Or(p.Env("COPILOT_HOME"), filepath.Join(p.Home, ".copilot"))
		return []file{{path: filepath.Join(dir, "mcp-config.json"), set: servers("mcpServers", b)}}, nil
	}}

var windsurf = Client{Name: "windsurf", Title: "Windsurf", Program: "windsurf", Rules: "AGENTS.md", Lacks: noHooks,
	UserOnly: true, Next: "refresh the MCP servers in Windsurf's settings",
	files: func(p Place, s Setup) ([]file, error) {
		path := filepath.Join(p.Home, ".codeium", "windsurf", "mcp_config.json")
		return []file{{path: path, set: servers("mcpServers", s.bridge())}}, nil
	}}

// servers returns the entry of the server in a container.
func servers(container string, value any) []entry {
	return []entry{{[]string{container, Server}, value}}
}

package connect

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Server is the name of the server in the clients' settings.
const Server = "parley"

// Client is a client of agents.
type Client struct {
	// Name is the name in commands, and Title that for people.
	Name, Title string
	// Program is the client's program, by which an installed client is found; empty where there is none in PATH.
	Program string
	// Check are the arguments with which the program lists its servers.
	Check []string
	// Hooks reports whether the client runs hooks of Parley, and Plugins whether they may come as a plugin.
	Hooks, Plugins bool
	// UserOnly is set for a client whose servers are the same in every directory.
	UserOnly bool
	// Rules is the file that the client reads its rules from.
	Rules string
	// Lacks names the features that do not work with this client; empty for none.
	Lacks string
	// Next is the advice for the time after connecting.
	Next string

	// Strict is set for a client that refuses settings with comments or commas at the end of lists, as a whole.
	Strict bool

	// oneWorktree is set for a client that reads the settings of a repository's first worktree in all of them.
	oneWorktree bool
	files       func(Place, Setup) ([]file, error)
}

// Clients are the clients, in the order in which they are shown.
var Clients = []Client{claude, codex, gemini, cursor, vscode, copilot, windsurf}

// Find returns the client of a name.
func Find(name string) (Client, error) {
	names := []string{}
	for _, c := range Clients {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Client{}, fmt.Errorf("%q is no client that Parley connects; these are %s, or all for those that are installed", name,
		strings.Join(names, ", "))
}

// WithPlugins returns the names of the clients whose hooks may come as a plugin.
func WithPlugins() (names []string) {
	for _, c := range Clients {
		if c.Plugins {
			names = append(names, c.Name)
		}
	}
	return names
}

// Installed reports whether the client's program is in PATH.
func (c Client) Installed() bool {
	if c.Program == "" {
		return false
	}
	_, err := exec.LookPath(c.Program)
	return err == nil
}

// Place is where a client is connected.
type Place struct {
	// Env are the variables of the environment.
	Env func(string) string
	// Home is the user's home directory.
	Home string
	// Root is the root of the worktree, and Main that of the repository's first worktree. Without a repository both are
	// the directory; for a connection of the user they are empty.
	Root, Main string
	// Common is the common directory of the repository, empty without one.
	Common string
}

// User reports whether the connection is the user's, and not one directory's.
func (p Place) User() bool { return p.Root == "" }

// Setup are the values in the settings of a connection.
type Setup struct {
	ID string
	// Endpoint is the URL of the MCP endpoint.
	Endpoint string
	// Key is the key, for a client whose settings have to hold it.
	Key string
	// Parley is the absolute path of the program parley.
	Parley string
	// Hook is the absolute path of the hooks' program; empty for no hooks.
	Hook string
	// Plugin is the directory for a plugin with the hooks, of its own; empty where the hooks go into the client's settings.
	// Version is that of the plugin.
	Plugin, Version string
	// Permissions adds the hook that answers the client's permission requests, and PermissionSeconds is its limit.
	Permissions       bool
	PermissionSeconds int
	// Rules adds the section of rules.
	Rules bool
	// Bridge uses the bridge over standard input and output where the settings would have to hold the key.
	Bridge bool
	// Trust are lines for the user's settings of Codex: the hashes of the hooks, which make it run them.
	Trust string
}

// bridge is the entry of a client that starts a program: it holds no key.
type bridge struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Tools   []string `json:"tools,omitempty"`
}

func (s Setup) bridge() bridge {
	return bridge{Command: s.Parley, Args: []string{"stdio", "--connection", s.ID}}
}

// hook is a hook in the form that Claude Code, Codex and Gemini CLI share.
type hook struct {
	Name          string `json:"name,omitempty"`
	Type          string `json:"type"`
	Command       string `json:"command"`
	Timeout       int    `json:"timeout,omitempty"`
	AsyncRewake   bool   `json:"asyncRewake,omitempty"`
	RewakeMessage string `json:"rewakeMessage,omitempty"`
	RewakeSummary string `json:"rewakeSummary,omitempty"`
}

type group struct {
	Hooks []hook `json:"hooks"`
}

// event is an event with the limit of its hook, in the client's unit.
type event struct {
	name  string
	limit int
}

// hooksFor returns the entries for events in a JSON file of hooks.
func (s Setup) hooksFor(client, name string, events []event) (all []entry) {
	for _, e := range events {
		all = append(all, entry{[]string{"hooks", e.name}, group{[]hook{{Name: name, Type: "command",
			Command: s.command(client, e.name), Timeout: e.limit}}}})
	}
	return all
}

// command returns the command of a hook.
func (s Setup) command(client, event string) string {
	return quoted(s.Hook) + " " + client + " " + event + " --connection " + s.ID
}

// plain are the characters of a path that a shell takes as they are.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,@%"

// quoted returns a path as a word of the shell.
func quoted(path string) string {
	if windows {
		return `"` + path + `"`
	}
	if !slices.ContainsFunc([]rune(path), func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

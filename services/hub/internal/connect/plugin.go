package connect

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// A plugin of Claude Code comes from a marketplace, here a directory of Parley's own for each connection. Claude Code reads
// it in place, in the first session already, and asks nothing. The marketplace is named in the user's settings, because
// those of a project count in trusted directories alone; the settings of the connection's scope enable the plugin. The
// client's own command for that would write the same settings, but in its own form, and keep a copy of the plugin.

// marketplace is the name of the marketplace of a connection, and pluginOf that of its plugin.
func marketplace(id string) string { return "parley-" + id }
func pluginOf(id string) string    { return Server + "@" + marketplace(id) }

// pluginPaths are the paths in the settings of Claude Code of a connection's plugin and marketplace, and notedPaths those at
// which it notes them by itself.
func pluginPaths(id string) [][]string {
	return [][]string{{"enabledPlugins", pluginOf(id)}, {"extraKnownMarketplaces", marketplace(id)}}
}

func notedPaths(id string) [][]string {
	return [][]string{{"plugins", pluginOf(id)}, {marketplace(id)}, {"pluginUsage", pluginOf(id)}}
}

// monitor is a program that Claude Code starts with a session in a terminal, and each of whose lines wakes the agent.
type monitor struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Command     string `json:"command"`
	When        string `json:"when"`
}

// claudePlugin returns the files of a plugin with the hooks, the settings that enable it, and the files in which Claude Code
// notes it by itself.
func claudePlugin(s Setup, users, settings string, entries []entry) (files []file, err error) {
	const does = "Mail, pauses and files of others between the tool calls of an agent; mail wakes it."
	hooks := map[string][]any{}
	for _, e := range entries {
		hooks[e.at[1]] = append(hooks[e.at[1]], e.value)
	}
	root := filepath.Join(s.Plugin, Server)
	for _, f := range []struct {
		path string
		text any
	}{
		{filepath.Join(root, ".claude-plugin", "plugin.json"), map[string]any{"name": Server, "version": s.Version,
			"description": does, "author": owner{"Parley"}}},
		{filepath.Join(root, "hooks", "hooks.json"), map[string]any{"hooks": hooks}},
		{filepath.Join(root, "monitors", "monitors.json"), []monitor{{"parley-mail", "Parley mail", s.command("claude", "watch"),
			"always"}}},
		{filepath.Join(s.Plugin, ".claude-plugin", "marketplace.json"), map[string]any{"name": marketplace(s.ID),
			"description": "The plugin of one connection, by `parley connect`.", "owner": owner{"Parley"},
			"plugins": []any{map[string]any{"name": Server, "source": "./" + Server, "description": does, "version": s.Version}}}},
	} {
		text, err := json.MarshalIndent(f.text, "", "  ")
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: f.path, whole: append(text, '\n')})
	}
	own := filepath.Join(filepath.Dir(users), "plugins")
	files[0].folders = []string{filepath.Join(own, "data", Server+"-"+marketplace(s.ID))}
	known := entry{[]string{"extraKnownMarketplaces", marketplace(s.ID)},
		map[string]any{"source": map[string]any{"source": "directory", "path": s.Plugin}}}
	enabled := entry{[]string{"enabledPlugins", pluginOf(s.ID)}, true}
	if users == settings {
		files = append(files, file{path: settings, set: []entry{known, enabled}})
	} else {
		files = append(files, file{path: users, set: []entry{known}}, file{path: settings, set: []entry{enabled}})
	}
	for _, name := range []string{"installed_plugins.json", "known_marketplaces.json"} {
		files = append(files, file{path: filepath.Join(own, name), later: true})
	}
	return files, nil
}

// PluginWhole reports whether the files of a plugin are in its directory.
func PluginWhole(dir string) bool {
	for _, name := range []string{"/.claude-plugin/marketplace.json", "/parley/.claude-plugin/plugin.json", "/parley/hooks/hooks.json",
		"/parley/monitors/monitors.json"} {
		if info, err := os.Stat(dir + filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

type owner struct {
	Name string `json:"name"`
}

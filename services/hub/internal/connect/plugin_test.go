package connect_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect"
)

// asPlugin connects Claude Code with the hooks in a plugin.
func (s *site) asPlugin(set *connect.Setup) {
	set.Plugin, set.Version = s.path("parley/plugins/"+set.ID), "1.2.3"
}

// plugin returns the texts of the files of the plugin, by their names below its directory.
func (s *site) plugin() map[string]string {
	s.t.Helper()
	dir, all := s.path("parley/plugins/claude-0000000001"), map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if mode := info.Mode().Perm(); d.IsDir() && mode != 0o700 || !d.IsDir() && mode != 0o600 {
			s.t.Errorf("%s has the mode %v", path, mode)
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		all[filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))] = string(text)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// hooks counts the hooks of Parley in a text.
func hooks(text string) int { return strings.Count(text, "--connection claude-0000000001") }

func TestAPluginIsWrittenIntoADirectoryOfParley(t *testing.T) {
	t.Parallel()
	for name, user := range map[string]bool{"claude-plugin": false, "claude-plugin-user": true} {
		s := newSite(t, true, map[string]string{"project/.claude/settings.local.json": settings["claude"]["project/.claude/settings.local.json"]})
		if user {
			s.place.Root, s.place.Main, s.place.Common = "", "", ""
		}
		p := s.connect("claude", s.asPlugin)
		if !strings.Contains(p.Diff(key), "monitors.json") || strings.Contains(p.Diff(), key) {
			t.Errorf("%s: the diff is\n%s", name, p.Diff())
		}
		var b strings.Builder
		for _, files := range []map[string]string{s.plugin(), s.tree()} {
			for _, file := range slices.Sorted(maps.Keys(files)) {
				if text := files[file]; !strings.HasSuffix(file, "/") && file != "project/.git/info/exclude" {
					fmt.Fprintf(&b, "=== %s %s\n", file, strings.ReplaceAll(text, s.root, ""))
				}
				if strings.Contains(files[file], key) {
					t.Errorf("%s: %s holds the key", name, file)
				}
			}
		}
		matches(t, name, b.String())
	}
}

func TestAPluginTwiceChangesNothingAndItsRemovalRestoresEveryByte(t *testing.T) {
	t.Parallel()
	for kind, files := range map[string]map[string]string{"empty": nil, "with settings": {
		"home/.claude.json":                            settings["claude"]["home/.claude.json"],
		"home/.claude/settings.json":                   "{\n  \"enabledPlugins\": {\"x@y\": true},\n  \"theme\": \"dark\"}",
		"project/.claude/settings.local.json":          settings["claude"]["project/.claude/settings.local.json"],
		"home/.claude/plugins/known_marketplaces.json": "{\"y\": {\"installLocation\": \"/y\"}}",
	}} {
		for _, user := range []bool{false, true} {
			s := newSite(t, true, files)
			if user {
				s.place.Root, s.place.Main, s.place.Common = "", "", ""
			}
			before := s.tree()
			s.connect("claude", s.asPlugin)
			connected, plugin := s.tree(), s.plugin()
			if again := s.connect("claude", s.asPlugin); again.Changes() {
				t.Errorf("%s: the second time changes\n%s", kind, again.Diff())
			}
			differs(t, kind+" twice", s.tree(), connected)
			differs(t, kind+" twice", s.plugin(), plugin)
			s.remove("claude")
			differs(t, kind+" removed", s.tree(), before)
			if left, err := filepath.Glob(s.path("parley/*/*")); err != nil || len(left) > 0 {
				t.Errorf("%s: %v is left, %v", kind, left, err)
			}
		}
	}
}

func TestHooksMoveBetweenTheSettingsAndAPlugin(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, settings["claude"])
	const local = "project/.claude/settings.local.json"
	before := s.tree()
	s.connect("claude", nil)
	inSettings := s.tree()
	if n := hooks(s.read(local)); n != 11 {
		t.Fatalf("%d hooks are in the settings", n)
	}
	s.connect("claude", s.asPlugin)
	plugin := s.plugin()
	if n, m, w := hooks(s.read(local)), hooks(plugin["parley/hooks/hooks.json"]), hooks(plugin["parley/monitors/monitors.json"]); n != 0 ||
		m != 9 || w != 1 {
		t.Errorf("%d hooks are in the settings, %d in the plugin, and %d monitors", n, m, w)
	}
	s.connect("claude", nil)
	differs(t, "back in the settings", s.tree(), inSettings)
	if _, err := os.Stat(s.path("parley/plugins")); !os.IsNotExist(err) {
		t.Errorf("the plugin is left: %v", err)
	}
	s.connect("claude", s.asPlugin)
	s.connect("claude", func(set *connect.Setup) { set.Hook = "" })
	if _, err := os.Stat(s.path("parley/plugins")); !os.IsNotExist(err) || strings.Contains(s.read(local), "enabledPlugins") {
		t.Errorf("without hooks the plugin is left: %v", err)
	}
	s.remove("claude")
	differs(t, "removed", s.tree(), before)
}

func TestTheRecordsOfTheClientLoseAPluginThatIsRemovedAndKeepOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, nil)
	s.connect("claude", s.asPlugin)
	const market, name = "parley-claude-0000000001", "parley@parley-claude-0000000001"
	records := map[string]string{
		"home/.claude.json":                                 `{"numStartups": 1, "pluginUsage": {"x@y": {}, "` + name + `": {"usageCount": 1}}}`,
		"home/.claude/plugins/known_marketplaces.json":      `{"y": {}, "` + market + `": {"installLocation": "/p"}}`,
		"home/.claude/plugins/installed_plugins.json":       `{"version": 2, "plugins": {"` + name + `": [{}], "x@y": []}}`,
		"home/.claude/plugins/data/parley-" + market + "/x": "",
	}
	for file, text := range records {
		s.write(file, text)
	}
	if err := os.Remove(s.path("home/.claude/plugins/data/parley-" + market + "/x")); err != nil {
		t.Fatal(err)
	}
	p, err := s.plan("claude", s.asPlugin)
	if err != nil || !p.Changes() { // the client has lost the entry of the server
		t.Errorf("%v, changes: %v", err, p.Changes())
	}
	s.remove("claude")
	for file, want := range map[string]string{
		"home/.claude.json":                            `{"numStartups": 1, "pluginUsage": {"x@y": {}}}`,
		"home/.claude/plugins/known_marketplaces.json": `{"y": {}}`,
		"home/.claude/plugins/installed_plugins.json":  `{"version": 2, "plugins": {"x@y": []}}`,
	} {
		var got, wanted any
		if json.Unmarshal([]byte(s.read(file)), &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil ||
			fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("%s is %s", file, s.read(file))
		}
	}
	if _, err := os.Stat(s.path("home/.claude/plugins/data/parley-" + market)); !os.IsNotExist(err) {
		t.Errorf("the directory of the plugin's data is left: %v", err)
	}
}

func TestAPluginThatWasSwitchedOffIsSwitchedOnWhenConnectingAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, nil)
	s.connect("claude", s.asPlugin)
	const local = "project/.claude/settings.local.json"
	on := s.read(local)
	s.write(local, strings.Replace(on, "true", "false", 1))
	s.connect("claude", s.asPlugin)
	if got := s.read(local); got != on {
		t.Errorf("the settings are\n%s\nand were\n%s", got, on)
	}
}

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/executabletest"
)

func TestSettingsThatCannotBeEditedAreRefusedBeforeAKeyIsMade(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	executabletest.Write(t, filepath.Join(filepath.Dir(d.home), "bin", "codex"), []byte("#!/bin/sh\nexit 1\n"))
	for name, c := range map[string]struct {
		client     []string
		file, text string
		words      string
	}{
		"settings of Claude Code": {[]string{"claude"}, "project/.claude/settings.local.json", "{\n\"hooks\": \n", "settings.local.json: line 3"},
		"its servers":             {[]string{"claude"}, "home/.claude.json", "[]", ".claude.json: it is no JSON object"},
		"its marketplaces":        {[]string{"claude", "--plugin"}, "home/.claude/settings.json", "{,}", "settings.json: line 1"},
		"a server of the name":    {[]string{"cursor"}, "project/.cursor/mcp.json", "{\"mcpServers\":{\"parley\":{}}}", "is there already"},
		"settings of Codex":       {[]string{"codex"}, "project/.codex/config.toml", "a = \n", "config.toml: line 1"},
		"the user's of Codex":     {[]string{"codex"}, "home/.codex/config.toml", "a = 1\nb = \n", "home/.codex/config.toml: line 2"},
		"hooks of Codex in a row": {[]string{"codex"}, "home/.codex/config.toml", "hooks = { state = {} }\n",
			"home/.codex/config.toml: the lines of Parley do not fit: line "},
	} {
		path := filepath.Join(filepath.Dir(d.home), filepath.FromSlash(c.file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := d.files()
		if out, errOut, code := d.run(c.client...); code != 1 || !strings.Contains(errOut, c.words) ||
			!strings.Contains(errOut, "nothing was changed") {
			t.Errorf("%s: exit %d, %s%s; want %q", name, code, out, errOut, c.words)
		}
		if d.files() != before {
			t.Errorf("%s: there is\n%s", name, d.files())
		}
		if made := d.keys(c.client[0]); len(made) != 0 {
			t.Errorf("%s: %d keys were made", name, len(made))
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A key would be made, and then nothing could hold it.
func TestWhereTheRepositoryTakesTheFileInAgainCodexGetsACommand(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	if err := os.WriteFile(filepath.Join(d.project, ".gitignore"), []byte("!.codex/*\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := d.files()
	d.ok("codex")
	text, err := os.ReadFile(filepath.Join(d.project, ".codex", "config.toml"))
	if err != nil || strings.Contains(string(text), "parley_") || !strings.Contains(string(text), `args = ["stdio", "--connection", "codex-`) {
		t.Errorf("the settings are %s, %v", text, err)
	}
	d.ok("codex", "--remove")
	if d.files() != before || len(d.keys("codex")) != 0 {
		t.Errorf("%d keys are valid, and there is\n%s", len(d.keys("codex")), d.files())
	}
}

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConnectInstallsThePluginOfClaudeCodeUntilToldOtherwise(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	before := d.files()
	if out := d.ok("claude", "--plugin", "--dry-run"); !strings.Contains(out, "/monitors/monitors.json") ||
		!strings.Contains(out, `"enabledPlugins"`) || d.files() != before {
		t.Errorf("--dry-run prints\n%s", out)
	}
	d.ok("claude")
	inSettings := d.files()
	if out := d.ok("claude", "--plugin"); !strings.Contains(out, "done   hooks    by ") || !strings.Contains(out, ", as a plugin in ") ||
		!strings.Contains(out, "type /reload-plugins in them") {
		t.Errorf("--plugin prints\n%s", out)
	}
	asPlugin := d.files()
	local := filepath.Join(d.project, ".claude", "settings.local.json")
	if text, err := os.ReadFile(local); err != nil || strings.Contains(string(text), "hooks") || strings.Contains(asPlugin, "asyncRewake") ||
		strings.Count(asPlugin, "claude Stop --connection") != 1 || strings.Count(asPlugin, "claude watch --connection") != 1 {
		t.Errorf("%v: the files are\n%s", err, asPlugin)
	}
	if out := d.ok("claude"); !strings.Contains(out, "up to date") || strings.Contains(out, "/reload-plugins") || d.files() != asPlugin {
		t.Errorf("without the flag again:\n%s", out)
	}
	if out := d.ok("--list"); !strings.Contains(out, " plugin ") {
		t.Errorf("--list prints\n%s", out)
	}
	var list struct {
		Connections []struct{ Hooks, Plugin bool }
	}
	if err := json.Unmarshal([]byte(d.ok("--list", "--json")), &list); err != nil || len(list.Connections) != 1 ||
		!list.Connections[0].Hooks || !list.Connections[0].Plugin {
		t.Errorf("%v: --list --json has %+v", err, list)
	}
	if out := d.ok("claude", "--plugin=false"); !strings.Contains(out, "type /reload-plugins in them") {
		t.Errorf("--plugin=false prints\n%s", out)
	}
	if d.files() != inSettings {
		t.Errorf("back in the settings the files are\n%s\nand were\n%s", d.files(), inSettings)
	}
	d.ok("claude", "--plugin")
	d.ok("claude", "--remove")
	if d.files() != before {
		t.Errorf("after --remove the files are\n%s\nand were\n%s", d.files(), before)
	}
}

func TestTheListSaysThatAPluginIsMissingAndConnectWritesItAgain(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	d.ok("claude", "--plugin")
	whole := d.files()
	files, err := filepath.Glob(filepath.Join(d.home, ".config", "parley", "plugins", "*", "parley", "hooks", "hooks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	mend := "`parley connect claude --repo '" + d.project + "'`"
	if out := d.ok("--list"); !strings.Contains(out, " missing ") || !strings.Contains(out, mend) {
		t.Errorf("--list prints\n%s", out)
	}
	if out := d.ok("--list", "--json"); !strings.Contains(out, mend) {
		t.Errorf("--list --json prints\n%s", out)
	}
	d.ok("claude")
	if out := d.ok("--list"); !strings.Contains(out, " plugin ") || strings.Contains(out, "missing") || d.files() != whole {
		t.Errorf("after it --list prints\n%s", out)
	}
}

func TestConnectWarnsOfSettingsThatClaudeCodeRefuses(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	local := filepath.Join(d.project, ".claude", "settings.local.json")
	if err := os.Mkdir(filepath.Dir(local), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, warns := range map[string]bool{"{\n  // mine\n  \"a\": 1\n}\n": true, "{\"a\": [1,]}": true, "{\"a\": \"// no\"}": false} {
		if err := os.WriteFile(local, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"claude", "--dry-run"}, {"claude"}, {"claude"}} {
			out := d.ok(args...)
			if strings.Contains(out, "todo   comments "+local+" has comments") != warns {
				t.Errorf("%v with %q prints\n%s", args, text, out)
			}
		}
		d.ok("claude", "--remove")
	}
}

func TestConnectSaysWhichClientsTakeAPlugin(t *testing.T) {
	t.Parallel()
	d := newConnectDesk(t)
	before := d.files()
	for want, args := range map[string][]string{
		"--plugin is for claude; Codex CLI has its hooks in its settings, so connect it without --plugin": {"codex", "--plugin"},
		"--plugin is for claude; Cursor runs no hooks of Parley":                                          {"cursor", "--plugin"},
		"[no-hooks plugin]": {"claude", "--plugin", "--no-hooks"},
		"[plugin remove]":   {"claude", "--plugin", "--remove"},
	} {
		if _, errOut, code := d.run(args...); code == 0 || !strings.Contains(errOut, want) {
			t.Errorf("%v: exit %d, %s", args, code, errOut)
		}
	}
	if d.files() != before {
		t.Errorf("a refusal changed the files:\n%s", d.files())
	}
}

package connect_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/shared/store/emulator"
)

func TestSettingsThatCannotBeEditedAreRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client, file, text, words string
	}{
		"invalid JSON": {"claude", "project/.claude/settings.local.json", "{\n  \"hooks\": {\n    \"Stop\": [\n  }\n}\n",
			"settings.local.json: line 4, column 3: "},
		"a list instead of an object": {"claude", "project/.claude/settings.local.json", "[]", "it is no JSON object"},
		"hooks of another kind":       {"gemini", "project/.gemini/settings.json", "{\n\"hooks\": []\n}", "line 2: hooks is no object"},
		"an event of another kind": {"claude", "project/.claude/settings.local.json", "{\"hooks\":{\"Stop\":{}}}",
			"line 1: hooks › Stop is no list"},
		"a server of the name": {"cursor", "project/.cursor/mcp.json", "{\"mcpServers\":{\"parley\":{\"url\":\"http://x\"}}}",
			"mcpServers › parley is there already"},
		"a server of the name in the user's file": {"claude", "home/.claude.json",
			"{\"projects\":{\"PROJECT\":{\"mcpServers\":{\"parley\":{}}}}}",
			"mcpServers › parley is there already"},
		"invalid TOML": {"codex", "project/.codex/config.toml", "a = 1\nb = \n", "config.toml: line 2, column "},
		"a server of the name in TOML": {"codex", "project/.codex/config.toml", "mcp_servers.parley.url = 'x'\n",
			"mcp_servers.parley is there already"},
		"servers of TOML in one line": {"codex", "project/.codex/config.toml",
			"mcp_servers = { other = { command = 'x' } }\n", "the lines of Parley do not fit: line "},
		"lines changed by hand": {"codex", "project/.codex/config.toml",
			"# >>> parley codex-0000000001 (1 lines, 00000000): x\na = 1\n# <<< parley codex-0000000001 <<<\n", "changed by hand"},
	} {
		s := newSite(t, true, map[string]string{"project/x": ""})
		text := strings.ReplaceAll(c.text, "PROJECT", filepath.ToSlash(s.path("project")))
		s.write(c.file, text)
		before := s.tree()
		if _, err := s.plan(c.client, nil); err == nil || !strings.Contains(err.Error(), c.words) ||
			!strings.Contains(err.Error(), filepath.Base(c.file)) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
		differs(t, name, s.tree(), before)
	}
}

func TestSettingsBehindALinkAreWrittenThroughIt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "links need rights on Windows")
	}
	s := newSite(t, true, map[string]string{"home/dotfiles/mcp.json": "{\n\t\"mcpServers\": {}\n}\n"})
	if err := os.Mkdir(s.path("project/.cursor"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../home/dotfiles/mcp.json", s.path("project/.cursor/mcp.json")); err != nil {
		t.Fatal(err)
	}
	before := s.tree()
	s.connect("cursor", nil)
	if got := s.tree()["project/.cursor/mcp.json"]; got != "-> ../../home/dotfiles/mcp.json" {
		t.Errorf("the link is %s", got)
	}
	if !strings.Contains(s.read("home/dotfiles/mcp.json"), "cursor-0000000001") {
		t.Error("the file behind the link has nothing")
	}
	s.remove("cursor")
	differs(t, "removed", s.tree(), before)

	if err := os.Remove(s.path("home/dotfiles/mcp.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.plan("cursor", nil); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a link to nothing: %v", err)
	}
}

func TestAReadOnlyFileAndADirectoryAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, map[string]string{"project/.cursor/mcp.json": "{}"})
	if err := os.Chmod(s.path("project/.cursor/mcp.json"), 0o444); err != nil {
		t.Fatal(err)
	}
	before := s.tree()
	if _, err := s.plan("cursor", nil); err == nil || !strings.Contains(err.Error(), "is read-only; make it writable") {
		t.Errorf("got %v", err)
	}
	differs(t, "read-only", s.tree(), before)
	if err := os.MkdirAll(s.path("project/.vscode/mcp.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.plan("vscode", nil); err == nil || !strings.Contains(err.Error(), "it is no file") {
		t.Errorf("a directory: %v", err)
	}
}

func TestAFileThatChangesAfterThePlanIsNotOverwritten(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, map[string]string{"project/.cursor/mcp.json": "{}"})
	p, err := s.plan("cursor", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.write("project/.cursor/mcp.json", "{\"late\":1}")
	before := s.tree()
	if err := p.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "was changed meanwhile") {
		t.Errorf("got %v", err)
	}
	differs(t, "after a change", s.tree(), before)
}

func TestGitCommitsNoKey(t *testing.T) {
	t.Parallel()
	for name := range settings {
		for kind, files := range map[string]map[string]string{"empty": nil, "with settings": settings[name]} {
			s := newSite(t, true, files)
			s.connect(name, nil)
			s.git("add", "-A")
			if staged := s.git("diff", "--cached"); strings.Contains(staged, key) {
				t.Errorf("%s %s: git would commit the key:\n%s", name, kind, staged)
			}
			for file, text := range s.tree() {
				if !strings.Contains(text, key) {
					continue
				}
				if !strings.HasPrefix(text, "-rw-------") && runtime.GOOS != "windows" {
					t.Errorf("%s: %s holds the key, and is open to others", name, file)
				}
				if rel, ok := strings.CutPrefix(file, "project/"); ok {
					s.git("check-ignore", "-q", rel)
				}
			}
			if kind == "empty" && s.git("status", "--porcelain") != "" {
				t.Errorf("%s: files of this machine would be committed: %s", name, s.git("status", "--porcelain"))
			}
		}
	}
}

func TestAFileThatGitHasGetsNoKey(t *testing.T) {
	t.Parallel()
	const config = "project/.codex/config.toml"
	s := newSite(t, true, map[string]string{config: "model = 'x'\n"})
	s.git("add", "-A")
	s.git("commit", "-qm", "x")
	before := s.tree()
	if _, err := s.plan("codex", nil); err == nil || !strings.Contains(err.Error(), "git has ") {
		t.Errorf("a tracked file: %v", err)
	}
	differs(t, "tracked", s.tree(), before)
	if is, err := connect.Exposed(t.Context(), s.place, connect.CodexConfig(s.place)); !is || err != nil {
		t.Errorf("tracked: %t, %v", is, err)
	}
	s.connect("codex", func(set *connect.Setup) { set.Bridge = true })
	if text := s.read(config); strings.Contains(text, key) || !strings.Contains(text, `args = ["stdio", "--connection", "codex-0000000001"]`) {
		t.Errorf("with the bridge:\n%s", text)
	}
}

func TestAFileBehindALinkThatGitHasGetsNoKey(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "links need rights on Windows")
	}
	for name, c := range map[string]struct{ link, to, file string }{
		"a tracked file of the repository":       {"project/.codex/config.toml", "../team.toml", "project/team.toml"},
		"a tracked file of another":              {"project/.codex/config.toml", "../../home/dots/codex.toml", "home/dots/codex.toml"},
		"a file that another repository ignores": {"project/.codex/config.toml", "../../home/dots/local.toml", ""},
	} {
		s := newSite(t, true, map[string]string{"project/team.toml": "a = 1\n", "home/dots/codex.toml": "b = 1\n",
			"home/dots/local.toml": "c = 1\n", "home/dots/.gitignore": "local.toml\n"})
		s.git("add", "-A")
		s.git("-C", s.path("home/dots"), "init", "-q")
		s.git("-C", s.path("home/dots"), "add", "-A")
		if err := os.Mkdir(s.path("project/.codex"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(c.to, s.path(c.link)); err != nil {
			t.Fatal(err)
		}
		before := s.tree()
		_, err := s.plan("codex", nil)
		if refused := err != nil && strings.Contains(err.Error(), "it would hold a key"); refused != (c.file != "") {
			t.Errorf("%s: %v", name, err)
		}
		differs(t, name, s.tree(), before)
		if c.file == "" {
			s.connect("codex", nil)
			s.remove("codex")
		}
	}
}

func TestARepositoryThatTakesTheFileInAgainGetsNoKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, map[string]string{"project/.gitignore": "!.codex/\n!.codex/*\n"})
	for file, want := range map[string]bool{".codex/config.toml": true, ".codex/x/config.toml": false, "config.toml": false} {
		if got := connect.TakenIn(t.Context(), s.path("project/"+file)); got != want {
			t.Errorf("%s is taken in: %t", file, got)
		}
	}
	p, err := s.plan("codex", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "git would commit") {
		t.Errorf("got %v", err)
	}
	for file, text := range s.tree() {
		if strings.Contains(text, key) {
			t.Errorf("%s holds the key", file)
		}
	}
	s.remove("codex")
	if left := s.tree()["project/.codex/"]; left != "" {
		t.Errorf("%s is left", left)
	}
}

func TestADiffShowsNoKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, settings["codex"])
	p, err := s.plan("codex", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := p.Diff(); strings.Contains(diff, key) {
		t.Errorf("without being told of the key, the diff is\n%s", diff)
	}
	diff := p.Diff(key)
	if strings.Contains(diff, key) || !strings.Contains(diff, "+http_headers = { Authorization = \"Bearer …\" }") ||
		!strings.Contains(diff, "--- "+s.path("project/.codex/hooks.json")) {
		t.Errorf("the diff is\n%s", diff)
	}
}

func TestTwoConnectionsShareTheRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, map[string]string{"project/AGENTS.md": "# Ours"})
	before := s.tree()
	with := func(set *connect.Setup) { set.Rules = true }
	s.connect("codex", with)
	s.connect("cursor", with)
	if n := strings.Count(s.read("project/AGENTS.md"), "## Working with other agents"); n != 1 {
		t.Errorf("%d sections of rules", n)
	}
	s.remove("codex")
	if !strings.Contains(s.read("project/AGENTS.md"), "## Working with other agents") {
		t.Error("the other connection lost the rules")
	}
	s.remove("cursor")
	differs(t, "removed", s.tree(), before)
}

func TestASectionOfRulesThatAPersonChangedStaysAndHoldsUpNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, map[string]string{"project/CLAUDE.md": "# Ours"})
	with := func(set *connect.Setup) { set.Rules = true }
	s.connect("claude", with)
	edited := strings.Replace(s.read("project/CLAUDE.md"), "Working with other agents", "Working with others", 1)
	s.write("project/CLAUDE.md", edited)
	if p, err := s.plan("claude", nil); err != nil || p.Changes() {
		t.Errorf("connecting again: %v", err)
	}
	p, err := connect.NewRemoval(s.path("parley"), "claude-0000000001")
	if err != nil || len(p.Left) != 1 || filepath.Base(p.Left[0]) != "CLAUDE.md" {
		t.Fatalf("%+v, %v", p, err)
	}
	s.remove("claude")
	if s.read("project/CLAUDE.md") != edited {
		t.Error("the person's section is gone")
	}
	if _, err := os.Stat(s.path("project/.claude/settings.local.json")); err == nil {
		t.Error("the hooks are still there")
	}
}

func TestAWorktreeSharesTheConnectionOfItsRepository(t *testing.T) {
	t.Parallel()
	s := newSite(t, true, nil)
	s.git("commit", "-q", "--allow-empty", "-m", "x")
	before := s.tree()
	s.git("worktree", "add", "-q", s.path("second"))
	s.connect("claude", nil)
	s.connect("codex", nil)
	first := s.place.Root
	s.place.Root = s.path("second")
	if p, err := s.plan("claude", nil); err != nil || p.Changes() {
		t.Errorf("claude in the second worktree: %v\n%s", err, p.Diff())
	}
	s.connect("codex", nil)
	for _, dir := range []string{"project", "second"} {
		if !strings.Contains(s.read(dir+"/.codex/config.toml"), key) {
			t.Errorf("%s has no entry", dir)
		}
	}
	s.place.Root = first
	if p, err := s.plan("codex", nil); err != nil || p.Changes() {
		t.Errorf("codex in the first worktree again: %v\n%s", err, p.Diff())
	}
	s.remove("claude")
	s.remove("codex")
	s.git("worktree", "remove", "--force", s.path("second"))
	differs(t, "removed", s.tree(), before)
}

// FuzzConnect connects clients that have any settings, and takes the connection back.
func FuzzConnect(f *testing.F) {
	for _, files := range settings {
		for _, text := range files {
			f.Add(text)
		}
	}
	f.Add("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\n[hooks.state.x]\ny=1")
	f.Fuzz(func(t *testing.T, text string) {
		s := newSite(t, false, map[string]string{"project/.claude/settings.local.json": text, "project/.codex/config.toml": text,
			"project/AGENTS.md": text})
		before := s.tree()
		for _, name := range []string{"claude", "codex"} {
			p, err := s.plan(name, func(set *connect.Setup) { set.Rules = name == "codex" })
			if err != nil {
				differs(t, "refused", s.tree(), before)
				continue
			}
			if err := p.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again, err := s.plan(name, nil); err != nil || again.Changes() {
				t.Fatalf("%s, %q again: %v\n%s", name, text, err, again.Diff())
			}
			s.remove(name)
			differs(t, name, s.tree(), before)
		}
	})
}

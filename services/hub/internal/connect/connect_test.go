package connect_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect"
	"parley.internal/shared/store/emulator"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// site is a home directory and a repository in it that a test may change.
type site struct {
	t     testing.TB
	root  string
	place connect.Place
}

// newSite makes the directories, with files by their paths below them.
func newSite(t testing.TB, repository bool, files map[string]string) *site {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, root: root}
	s.place = connect.Place{Home: s.path("home"), Root: s.path("project"), Main: s.path("project"),
		Env: func(string) string { return "" }}
	for _, dir := range []string{"home", "project"} {
		if err := os.Mkdir(s.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if repository {
		s.git("init", "-q")
		s.place.Common = s.path("project/.git")
	}
	for name, text := range files {
		s.write(name, text)
	}
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

func (s *site) write(name, text string) {
	s.t.Helper()
	err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755)
	if err == nil {
		err = os.WriteFile(s.path(name), []byte(text), 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *site) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
	cmd.Dir = s.path("project")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// tree returns all files with their modes and texts, and the directories, without git's own but its exclude file.
func (s *site) tree() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, s.root+string(filepath.Separator)))
		if strings.HasPrefix(name, "parley") || strings.HasPrefix(name, "project/.git/") && name != "project/.git/info/exclude" {
			return nil
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			all[name+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			all[name] = "-> " + to
			return err
		default:
			text, err := os.ReadFile(path)
			all[name] = fmt.Sprintf("%v\n%s", info.Mode().Perm(), text)
			return err
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

const (
	key      = "parley_user_secret"
	endpoint = "http://127.0.0.1:3001/mcp/x/agent"
)

func setup(id string) connect.Setup {
	return connect.Setup{ID: id, Endpoint: endpoint, Key: key, Parley: "/opt/parley dir/parley", Hook: "/opt/parley dir/parley-hook"}
}

func client(t testing.TB, name string) connect.Client {
	t.Helper()
	c, err := connect.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *site) plan(name string, change func(*connect.Setup)) (*connect.Plan, error) {
	set := setup(name + "-0000000001")
	if change != nil {
		change(&set)
	}
	place := s.place
	c := client(s.t, name)
	if c.UserOnly {
		place.Root, place.Main, place.Common = "", "", ""
	}
	return connect.NewPlan(s.t.Context(), s.path("parley"), c, place, set)
}

// connect connects a client, and fails the test after an error.
func (s *site) connect(name string, change func(*connect.Setup)) *connect.Plan {
	s.t.Helper()
	p, err := s.plan(name, change)
	if err == nil {
		err = p.Apply(s.t.Context())
	}
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	return p
}

// remove takes a client's connection back.
func (s *site) remove(name string) {
	s.t.Helper()
	p, err := connect.NewRemoval(s.path("parley"), name+"-0000000001")
	if err == nil {
		err = p.Apply(s.t.Context())
	}
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
}

// differs reports the first difference of two trees.
func differs(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if text, ok := got[name]; !ok {
			t.Errorf("%s: %s is gone", what, name)
		} else if text != want[name] {
			t.Errorf("%s: %s is\n%q\nwant\n%q", what, name, text, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is left:\n%s", what, name, got[name])
		}
	}
}

// settings are the files of each client, and a text of another's in it.
var settings = map[string]map[string]string{
	"claude": {
		"home/.claude.json": "{\n  \"numStartups\": 3,\n  \"projects\": {\n    \"/other\": {\"mcpServers\": {}}\n  }\n}",
		"project/.claude/settings.local.json": "{\n\t// mine\n\t\"permissions\": {\"allow\": [\"Bash(ls)\"]},\n\t\"hooks\": {\n\t\t\"Stop\": [\n" +
			"\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}, // theirs\n\t\t],\n\t},\n}\n",
	},
	"codex": {
		"home/.codex/config.toml":    "model = \"x\" # mine\n\n[projects.\"/other\"]\ntrust_level = \"trusted\"\n",
		"project/.codex/config.toml": "# team\r\n[mcp_servers.other]\r\ncommand = 'run'\r\nargs = [\r\n  \"a\", # first\r\n]",
		"project/.codex/hooks.json":  "\ufeff{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"^Bash$\",\"hooks\":[{\"type\":\"command\",\"command\":\"check\"}]}]}}",
	},
	"gemini": {"project/.gemini/settings.json": "{\n    \"theme\": \"Dark\",\n    \"mcpServers\": {},\n    \"hooks\": {\"BeforeTool\": []}\n}\n"},
	"cursor": {"project/.cursor/mcp.json": "{\"mcpServers\":{\"db\":{\"url\":\"http://db\"}}}\n"},
	"vscode": {"project/.vscode/mcp.json": "{\r\n\t// servers of the team\r\n\t\"servers\": {\r\n\t\t\"db\": { \"url\": \"http://db\" } // ours\r\n\t}," +
		"\r\n\t\"inputs\": []\r\n}\r\n"},
	"copilot":  {"home/.copilot/mcp-config.json": "{\n  \"mcpServers\": {\n  }\n}"},
	"windsurf": {"home/.codeium/windsurf/mcp_config.json": ""},
}

func TestConnectingTwiceChangesNothingAndRemovingRestoresEveryByte(t *testing.T) {
	t.Parallel()
	for name, foreign := range settings {
		for _, repository := range []bool{true, false} {
			for kind, files := range map[string]map[string]string{"empty": nil, "with settings": foreign} {
				s := newSite(t, repository, files)
				before := s.tree()
				all := func(set *connect.Setup) {
					set.Rules, set.Permissions, set.PermissionSeconds = !client(t, name).UserOnly, true, 305
				}
				if name == "codex" {
					rules := all
					all = func(set *connect.Setup) { rules(set); set.Trust = "[hooks.state.\"k\"]\ntrusted_hash = \"h\"\n" }
				}
				p := s.connect(name, all)
				if !p.Changes() {
					t.Errorf("%s %s: nothing changed", name, kind)
				}
				connected := s.tree()
				if again := s.connect(name, all); again.Changes() || again.Diff() != "" {
					t.Errorf("%s %s: the second time changes\n%s", name, kind, again.Diff())
				}
				differs(t, name+" "+kind+" twice", s.tree(), connected)
				s.connect(name, func(set *connect.Setup) { set.Hook = "" })
				s.remove(name)
				differs(t, name+" "+kind+" removed", s.tree(), before)
				if left, err := os.ReadDir(s.path("parley/edits")); err != nil || len(left) != 0 {
					t.Errorf("%s %s: %v of the record is left, %v", name, kind, left, err)
				}
			}
		}
	}
}

func TestWhatOthersChangeMeanwhileStays(t *testing.T) {
	t.Parallel()
	for name, foreign := range settings {
		s := newSite(t, true, foreign)
		late := map[string]string{}
		edit := func(text string) string {
			switch {
			case strings.HasPrefix(strings.TrimPrefix(text, "\ufeff"), "{"):
				i := strings.Index(text, "{") + 1
				sep := ","
				if strings.TrimSpace(text[i:]) == "}" {
					sep = ""
				}
				return text[:i] + "\"late\": [1]" + sep + text[i:]
			case text == "":
				return text
			}
			return "late = 1\n" + text
		}
		for file, text := range foreign {
			late[file] = edit(text)
		}
		s.connect(name, nil)
		for file := range foreign {
			if foreign[file] != "" {
				s.write(file, edit(s.read(file)))
			}
		}
		if p, err := s.plan(name, nil); err != nil || p.Changes() {
			t.Errorf("%s: after another's edit %v\n%s", name, err, p.Diff())
		}
		s.connect(name, func(set *connect.Setup) { set.Endpoint += "2"; set.Parley = "/elsewhere/parley" })
		s.remove(name)
		for file, text := range late {
			if text == "" {
				continue
			}
			if got := s.read(file); strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(text), "") {
				t.Errorf("%s: %s is\n%q\nwant\n%q", name, file, got, text)
			}
		}
	}
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		emulator.Skip(t, "the commands are quoted otherwise")
	}
	type golden struct {
		client string
		change func(*connect.Setup)
		files  map[string]string
		user   bool
	}
	cases := map[string]golden{
		"claude-user":        {client: "claude", user: true},
		"claude-permissions": {client: "claude", change: func(s *connect.Setup) { s.Permissions, s.PermissionSeconds = true, 305 }},
		"claude-no-hooks":    {client: "claude", change: func(s *connect.Setup) { s.Hook = ""; s.Rules = true }},
		"codex-user":         {client: "codex", user: true},
		"codex-bridge":       {client: "codex", change: func(s *connect.Setup) { s.Bridge = true }},
		"codex-hooks-in-config": {client: "codex", files: map[string]string{
			"project/.codex/config.toml": "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"beep\"\n"}},
		"codex-trust": {client: "codex", change: func(s *connect.Setup) { s.Trust = "[projects.\"/p\"]\ntrust_level = \"trusted\"\n" }},
		"gemini-user": {client: "gemini", user: true},
		"cursor-user": {client: "cursor", user: true},
		"vscode-user": {client: "vscode", user: true},
		"cursor-rules": {client: "cursor", change: func(s *connect.Setup) { s.Rules = true },
			files: map[string]string{"project/AGENTS.md": "# Ours\n"}},
	}
	for name, files := range settings {
		cases[name] = golden{client: name, files: files}
	}
	for name, c := range cases {
		s := newSite(t, true, c.files)
		if c.user {
			s.place.Root, s.place.Main, s.place.Common = "", "", ""
		}
		s.connect(c.client, c.change)
		var b strings.Builder
		all := s.tree()
		for _, file := range slices.Sorted(maps.Keys(all)) {
			if strings.HasSuffix(file, "/") {
				continue
			}
			text := all[file]
			if file == "project/.git/info/exclude" {
				text = text[strings.Index(text, "*~\n")+3:]
			}
			fmt.Fprintf(&b, "=== %s %s\n", file, strings.NewReplacer("\r", "␍", "\ufeff", "<BOM>", s.root, "").Replace(text))
		}
		matches(t, name, b.String())
	}
}

// matches compares a text with the file of a name, which -update writes.
func matches(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != text {
		t.Errorf("%s: %v (accept it with -update)\n%s", name, err, text)
	}
}

func TestThePageToPasteIsTheSectionOfRules(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "agents.md"))
	if err != nil || !strings.Contains(string(page), "```markdown\n"+connect.Rules+"```\n") {
		t.Errorf("docs/agents.md has another section than --rules writes: %v", err)
	}
}

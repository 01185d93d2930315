package agents

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/fakemodel"
)

// Home is a person's machine as a test gives it to the clients: a home directory of its own and the fake model.
type Home struct {
	// Dir is the home directory, and Work a directory to work in, which Claude Code trusts.
	Dir, Work string
	// Env is the environment, without any variable of the test's own but PATH.
	Env []string
}

// Programs returns the directory of the clients' programs. It skips the test where Node is not to be used, and fails it
// where they are not installed.
func Programs(t testing.TB) string {
	t.Helper()
	if os.Getenv("PARLEY_NO_NODE") == "1" && os.Getenv("REQUIRE_EMULATOR") != "1" {
		t.Skip("PARLEY_NO_NODE=1")
	}
	for _, place := range []string{".", "../agents", "../../agents"} {
		dir, err := filepath.Abs(filepath.Join(place, "node_modules", ".bin"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "claude")); err == nil {
			return dir
		}
	}
	t.Fatal("the clients must be installed: run make proof, or npm ci in services/hub/harness/agents")
	return ""
}

// claudeState lets Claude Code begin in a terminal without its first questions.
const claudeState = `{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["fake"]},
 "projects": {"WORK": {"hasTrustDialogAccepted": true}}}`

// NewHome returns a machine whose clients call the model.
func NewHome(t testing.TB, model *fakemodel.Server) *Home {
	t.Helper()
	programs := Programs(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &Home{Dir: filepath.Join(root, "home"), Work: filepath.Join(root, "work")}
	for file, text := range map[string]string{
		filepath.Join(h.Dir, ".claude.json"):          strings.ReplaceAll(claudeState, "WORK", h.Work),
		filepath.Join(h.Dir, ".codex", "config.toml"): model.CodexConfig(),
		filepath.Join(h.Work, "README"):               "Nothing is here yet.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.Env = append(model.ClaudeEnv(), "HOME="+h.Dir, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"),
		"TERM=xterm-256color", "LANG=C.UTF-8")
	return h
}

// Trust makes Codex trust the directory Work, so that it asks no question in a terminal, reads the directory's .codex and
// lets the agent write there.
func (h *Home) Trust(t testing.TB) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(h.Dir, ".codex", "config.toml"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("\n[projects.\"" + h.Work + "\"]\ntrust_level = \"trusted\"\n")
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/hook/hooktest"
)

func TestTheServerHearsTheVersionOfTheClient(t *testing.T) {
	t.Parallel()
	long := `{"type":"user","text":"` + strings.Repeat("x", 70<<10) + `"}` + "\n"
	meta := func(v string) string {
		return `{"type":"session_meta","payload":{"source":"cli","cli_version":` + v + "}}\n"
	}
	for name, c := range map[string]struct {
		client, variable, record, want string
	}{
		"the variable":                     {"claude", "claude-code_2-1-330_harness", `{"version":"2.1.0"}` + "\n", "2.1.330"},
		"the variable, before any record":  {"claude", "claude-code_2-1-330_agent", "", "2.1.330"},
		"another's variable":               {"claude", "codex_1-2-3_agent", `{"version":"2.1.0"}` + "\n", "2.1.0"},
		"a variable without a number":      {"claude", "claude-code_", `{"version":"2.1.0"}` + "\n", "2.1.0"},
		"the last line of the record":      {"claude", "", `{"version":"2.1.0"}` + "\n" + `{"version":"2.1.1"}` + "\n" + `{"type":"mode"}` + "\n", "2.1.1"},
		"the end of a long record":         {"claude", "", long + `{"version":"2.1.1"}` + "\n", "2.1.1"},
		"the beginning of a long record":   {"claude", "", `{"version":"2.1.1"}` + "\n" + long, ""},
		"a version in what a tool wrote":   {"claude", "", `{"version":"2.1.0"}` + "\n" + `{"text":"\"version\":\"9\"","a":{"version":"8"}}` + "\n", "2.1.0"},
		"a version that is none":           {"claude", "", `{"version":"2.1\u001b[m"}` + "\n", ""},
		"half a line":                      {"claude", "", `{"version":"2.1.0"}` + "\n" + `{"version":"2.`, "2.1.0"},
		"no record":                        {"claude", "", "", ""},
		"the first line of Codex's record": {"codex", "claude-code_2-1-330_agent", meta(`"0.169.0"`) + meta(`"0.170.0"`), "0.169.0"},
		"a number in Codex's record":       {"codex", "", meta("7"), ""},
		"another first line":               {"codex", "", `{"type":"x","payload":{"cli_version":"1"}}` + "\n", ""},
		"a client that says nothing":       {"gemini", "claude-code_2-1-330_agent", `{"version":"1"}` + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := hooktest.New(t)
			m := hooktest.NewMachine(t, hub.URL, c.client)
			m.Env["AI_AGENT"] = c.variable
			record := filepath.Join(m.Dir, "record.jsonl")
			if c.record != "" {
				if err := os.WriteFile(record, []byte(c.record), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m.Hook("t1", "SessionStart", map[string]any{"transcript_path": record})
			if got := hub.Inputs(); len(got) != 1 || got[0].ClientVersion != c.want {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}

func TestAVersionThatIsKnownLaterIsToldWithTheNextPrompt(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	record := filepath.Join(m.Dir, "record.jsonl")
	at := map[string]any{"transcript_path": record, "prompt": "go"}
	m.Hook("t1", "SessionStart", at)
	if err := os.WriteFile(record, []byte(`{"version":"2.1.330"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Hook("t1", "UserPromptSubmit", at)
	m.Hook("t1", "PostToolUse", bash)
	got := hub.Inputs()
	if len(got) != 3 || got[0].ClientVersion != "" || got[1].ClientVersion != "2.1.330" || got[2].ClientVersion != "2.1.330" {
		t.Errorf("the server heard %+v", got)
	}
}

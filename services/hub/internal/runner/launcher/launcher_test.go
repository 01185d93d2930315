package launcher_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/runner/launcher"
)

func named(t *testing.T, name string) *launcher.Client {
	t.Helper()
	c, err := launcher.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAHeadlessStartHoldsThePromptInAFileAndTheKeyNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mcp := filepath.Join(dir, "mcp.json")
	const noCopy = "features.shell_snapshot=false"
	entry := `mcp_servers.parley={url="http://h/mcp",bearer_token_env_var="K",enabled=true}`
	w := launcher.Work{Prompt: "--go", Private: dir, URL: launcher.Endpoint("http://h", ""), KeyVariable: "K", Session: "s-1",
		Record: true, Options: []string{"--own"}}
	limited := w
	limited.Turns, limited.Dollars = 7, 0.25
	for _, c := range []struct {
		name string
		work launcher.Work
		want []string
	}{
		{"claude", limited, []string{"claude", "-p", "--mcp-config", mcp, "--strict-mcp-config", "--allowedTools", "mcp__parley",
			"--output-format", "json", "--resume", "s-1", "--max-turns", "7", "--max-budget-usd", "0.25", "--own"}},
		{"codex", w, []string{"codex", "exec", "--skip-git-repo-check", "-c", entry, "-c", noCopy, "--json", "--own", "resume",
			"s-1", "-"}},
	} {
		start, err := named(t, c.name).Headless(c.work)
		if err != nil || !slices.Equal(start.Args, c.want) {
			t.Errorf("%s: got %q, %v; want %q", c.name, start.Args, err, c.want)
		}
		if text, err := os.ReadFile(start.Stdin); err != nil || string(text) != "--go" {
			t.Errorf("%s: the prompt is %q, %v", c.name, text, err)
		}
	}
	if _, err := named(t, "codex").Headless(limited); err == nil || !strings.Contains(err.Error(), "leave out --max-turns") {
		t.Errorf("a limit that Codex does not know: %v", err)
	}
}

func TestAnInteractiveStartHasThePromptAfterAllOptions(t *testing.T) {
	t.Parallel()
	w := launcher.Work{Prompt: "--go", Private: t.TempDir(), URL: "http://h/mcp", KeyVariable: "K", Options: []string{"--own"}}
	for name, first := range map[string]string{"claude": "--mcp-config", "codex": "--no-daemon"} {
		start, err := named(t, name).Interactive(w)
		if err != nil || start.Args[1] != first || !slices.Equal(start.Args[len(start.Args)-3:], []string{"--own", "--", "--go"}) ||
			start.Stdin != "" {
			t.Errorf("%s: got %+v, %v", name, start, err)
		}
		w.Prompt = strings.Repeat("x", 128<<10)
		if _, err := named(t, name).Interactive(w); err == nil || !strings.Contains(err.Error(), "without --attach") {
			t.Errorf("%s: a prompt that is no argument: %v", name, err)
		}
		w.Prompt = "--go"
	}
}

func TestClaudeCodeInATerminalAsksUnlessTheOperatorChoseAMode(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]bool{"": true, "--model x": true, "--permission-mode auto": false,
		"--permission-mode=plan": false, "--dangerously-skip-permissions": false} {
		start, err := named(t, "claude").Interactive(launcher.Work{Private: t.TempDir(), Options: strings.Fields(options)})
		if at := slices.Index(start.Args, "default"); err != nil || (at > 0 && start.Args[at-1] == "--permission-mode") != want {
			t.Errorf("%s: got %q, %v", options, start.Args, err)
		}
	}
}

func TestAValueFromTheServerIsNoOption(t *testing.T) {
	t.Parallel()
	for _, w := range []launcher.Work{{Model: "-x"}, {Model: "a\x00"}, {Session: "--last"}} {
		w.Private = t.TempDir()
		if _, err := named(t, "claude").Headless(w); err == nil || !strings.Contains(err.Error(), "must not begin with -") {
			t.Errorf("%+v: got %v", w, err)
		}
		if _, err := named(t, "codex").Interactive(w); err == nil {
			t.Errorf("%+v: no error", w)
		}
	}
}

func TestTheOutcomeOfAClientIsRead(t *testing.T) {
	t.Parallel()
	const usage = `"total_cost_usd":0.5,"modelUsage":{"a":{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":10,` +
		`"cacheCreationInputTokens":100},"b":{"inputTokens":1000,"outputTokens":20}}`
	sum := launcher.Usage{In: 1111, Out: 22, Dollars: 0.5}
	for _, c := range []struct {
		name, output string
		want         launcher.Outcome
	}{
		{"claude", "a warning\n{\"type\":\"result\",\"is_error\":false,\"result\":\"built\",\"session_id\":\"s\"," + usage + "}\n",
			launcher.Outcome{Told: true, Text: "built", Session: "s", Sum: sum}},
		{"claude", `{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum"],"session_id":"s"}`,
			launcher.Outcome{Told: true, Failed: true, Reason: "Reached maximum", Session: "s"}},
		{"claude", `{"type":"result","subtype":"success","is_error":true,"result":"API Error"}`,
			launcher.Outcome{Told: true, Text: "API Error", Failed: true, Reason: "API Error"}},
		{"claude", "Killed", launcher.Outcome{}},
		{"codex", `{"type":"thread.started","thread_id":"t"}` + "\nnoise\n" +
			`{"type":"error","message":"Reconnecting"}` + "\n" +
			`{"type":"item.completed","item":{"type":"agent_message","text":"first"}}` + "\n" +
			`{"type":"item.completed","item":{"type":"agent_message","text":"built"}}` + "\n" +
			`{"type":"turn.completed","usage":{"input_tokens":7,"cached_input_tokens":3,"output_tokens":2}}`,
			launcher.Outcome{Told: true, Text: "built", Session: "t", Sum: launcher.Usage{In: 7, Out: 2}}},
		{"codex", `{"type":"thread.started","thread_id":"t"}` + "\n" + `{"type":"turn.failed","error":{"message":"401"}}`,
			launcher.Outcome{Told: true, Failed: true, Reason: "401", Session: "t"}},
		{"codex", `{"type":"error","message":"no model"}`, launcher.Outcome{Failed: true, Reason: "no model"}},
		{"codex", "", launcher.Outcome{}},
	} {
		if got := named(t, c.name).Outcome([]byte(c.output)); got != c.want {
			t.Errorf("%s %s: got %+v, want %+v", c.name, c.output, got, c.want)
		}
	}
	if got := sum.Since(launcher.Usage{In: 1000, Out: 30, Dollars: 0.25}); got != (launcher.Usage{In: 111, Dollars: 0.25}) {
		t.Errorf("since: got %+v", got)
	}
}

func TestTheFirstInstalledClientIsChosen(t *testing.T) {
	t.Parallel()
	for have, want := range map[string]string{"claude codex": "claude", "codex": "codex"} {
		c, err := launcher.Installed(func(name string) bool { return slices.Contains(strings.Fields(have), name) })
		if err != nil || c.Name != want {
			t.Errorf("of %s: got %+v, %v", have, c, err)
		}
	}
	if _, err := launcher.Installed(func(string) bool { return false }); err == nil {
		t.Error("one of none was chosen")
	}
	if launcher.SignIn("/usr/bin/codex") == nil || launcher.SignIn("sh") != nil {
		t.Error("the variables of a program are those of another")
	}
}

package process_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/services/hub/internal/hook/process"
	"parley.internal/shared/hook/wire"
)

func start(t *testing.T) (*hooktest.Hub, *hooktest.Machine) {
	t.Helper()
	hub := hooktest.New(t)
	return hub, hooktest.NewMachine(t, hub.URL, "claude")
}

var bash = map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "git status"}}

func TestWithoutADaemonAHookAsksTheServerByItself(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	got := m.Hook("t1", "SessionStart", map[string]any{"source": "startup"}).Context()
	for _, want := range []string{"You are claude/1", "(verified)", "from beta/1 (verified), QUERY", "| which parser?"} {
		if !strings.Contains(got, want) {
			t.Errorf("the start does not say %q:\n%s", want, got)
		}
	}
	if got := m.Hook("t1", "PostToolUse", bash); got.Out != "" {
		t.Errorf("nothing is new, and it says %s", got.Out)
	}
	if n := hub.Unread("claude/1"); n != 0 {
		t.Errorf("%d messages were shown and are not confirmed", n)
	}
	hub.Mail("claude/1", "m2", "STATUS", "done")
	if got := m.Hook("t1", "PostToolUse", bash).Context(); !strings.Contains(got, "| done") || strings.Contains(got, "which parser") {
		t.Errorf("after a tool: %s", got)
	}
	for _, in := range hub.Inputs() {
		if strings.Contains(in.Doing, "status") {
			t.Errorf("the server is told the arguments of a command: %q", in.Doing)
		}
	}
}

func TestWithoutADaemonTheServerIsToldWhatACommandChanged(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	hooktest.Repository(t, m.Dir)
	m.Hook("t1", "SessionStart", nil)
	hooktest.Eventually(t, "the change is not told", func() bool { // under load the look at the worktree may be too slow
		m.Hook("t1", "PreToolUse", bash)
		if err := os.WriteFile(filepath.Join(m.Dir, "a.txt"), []byte(time.Now().String()), 0o600); err != nil {
			t.Fatal(err)
		}
		m.Hook("t1", "PostToolUse", bash)
		return slices.ContainsFunc(hub.Inputs(), func(in wire.HookInput) bool { return slices.Equal(in.Changed, []string{"a.txt"}) })
	})
}

func TestAMessageWhoseHookWasKilledComesAgainAndSaysSo(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	m.Hook("t1", "SessionStart", nil)
	hub.Mail("claude/1", "m1", "QUERY", "one")
	// The process dies after the server gave the mail: nobody writes and nobody confirms.
	hooktest.Read(t, hub, "t1", "claude/1")
	hooktest.Eventually(t, "the message has not come again", func() bool {
		got := m.Hook("t1", "PostToolUse", bash).Context()
		return strings.Contains(got, "| one") && strings.Contains(got, ", again:")
	})
}

func TestAServerThatIsAwayIsNeverNoticed(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and answers none
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, set := range map[string]func(*hooktest.Hub, *hooktest.Machine){
		"dead": func(_ *hooktest.Hub, m *hooktest.Machine) { m.Conn.URL = "http://127.0.0.1:1" },
		"unreachable": func(_ *hooktest.Hub, m *hooktest.Machine) {
			m.Conn.URL = "http://" + silent.Addr().String()
		},
		"silent":  func(h *hooktest.Hub, _ *hooktest.Machine) { h.Set("silent", 0) },
		"garbage": func(h *hooktest.Hub, _ *hooktest.Machine) { h.Set("garbage", 0) },
		"down":    func(h *hooktest.Hub, _ *hooktest.Machine) { h.Set("down", 0) },
		"a wrong key": func(_ *hooktest.Hub, m *hooktest.Machine) {
			m.Conn.Key = "parley_wrong"
		},
		"no connection": func(_ *hooktest.Hub, m *hooktest.Machine) { m.ID = "claude-none" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, m := start(t)
			m.Slack = 0
			set(hub, m)
			m.Connect(m.Conn)
			for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop",
				"SessionEnd"} {
				if got := m.Hook("t1", event, bash); got.Out != "" || got.Err != "" || got.Code != 0 {
					t.Errorf("%s: %+v", event, got)
				}
			}
		})
	}
}

func TestWhatIsNoHookIsSilent(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	for _, in := range []string{"", "{", "null", "[]", `{"session_id":7}`, `{"hook_event_name":"Stop"}`, "\x00",
		`{"session_id":"x","hook_event_name":"Unknown"}`, `{"session_id":"` + strings.Repeat("x", 300) + `","hook_event_name":"Stop"}`} {
		if got := m.Raw("PreToolUse", []byte(in)); got.Out != "" || got.Err != "" || got.Code != 0 {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func TestAPauseDeniesAlsoWithoutTheServerAndTheDaemon(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	m.Hook("t1", "SessionStart", nil)
	hub.Pause("claude/1", &wire.Pause{Words: "wait for \x1b me", By: "human", Of: "claude"})
	if got := m.Hook("t1", "PreToolUse", bash).Denied(); !strings.Contains(got, "Paused by human") || strings.Contains(got, "\x1b") {
		t.Errorf("it is not denied: %q", got)
	}
	hub.Set("down", 0)
	if got := m.Hook("t1", "PreToolUse", bash).Denied(); !strings.Contains(got, "Paused by human") {
		t.Errorf("without the server it is not denied: %q", got)
	}
	if got := m.Hook("t2", "PreToolUse", bash); got.Out != "" {
		t.Errorf("another session is denied: %q", got.Out)
	}
	hub.Set("", 0)
	hub.Pause("claude/1", nil)
	if got := m.Hook("t1", "PreToolUse", bash); got.Out != "" {
		t.Errorf("it is denied after it was resumed: %q", got.Out)
	}
}

func TestAPauseOfTheProgramHaltsASessionThatBeginsWithoutTheServer(t *testing.T) {
	t.Parallel()
	for of, halts := range map[string]bool{`the program "claude"`: true, "everything": true, `the agent "claude/1"`: false} {
		hub, m := start(t)
		denied := func(thread string) bool {
			return strings.Contains(m.Hook(thread, "PreToolUse", bash).Denied(), "Paused by human")
		}
		m.Hook("t1", "SessionStart", nil)
		hub.Pause("claude/1", &wire.Pause{By: "human", Of: of})
		if !denied("t1") {
			t.Errorf("%s: it is not denied", of)
		}
		hub.Set("down", 0)
		m.Hook("t2", "SessionStart", nil)
		if denied("t2") != halts || denied("t3") != halts {
			t.Errorf("%s: without the server, sessions that begin are not denied as they must: %v", of, halts)
		}
		m.Hook("t1", "SessionEnd", nil)
		if denied("t4") != halts {
			t.Errorf("%s: after the end of the session that knew it, it is forgotten", of)
		}
		hub.Set("", 0)
		hub.Pause("claude/1", nil)
		m.Hook("t1", "SessionStart", nil)
		hub.Set("down", 0)
		if denied("t5") {
			t.Errorf("%s: it halts after it was resumed", of)
		}
	}
}

func TestADirectoryThatOthersCanLookIntoIsClosed(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	m.Hook("t1", "SessionStart", nil)
	hub.Pause("claude/1", &wire.Pause{By: "human", Of: "everything"})
	home, err := connection.Home(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(home, "run")
	for mode, denied := range map[os.FileMode]bool{0o755: true, 0o711: true, 0o777: false} {
		if err := os.Chmod(run, mode); err != nil {
			t.Fatal(err)
		}
		got := strings.Contains(m.Hook("t1", "PreToolUse", bash).Denied(), "Paused by human")
		if info, err := os.Stat(run); got != denied || err != nil || denied && info.Mode().Perm() != 0o700 {
			t.Errorf("%v: denied: %v, now %v, %v", mode, got, info.Mode(), err)
		}
	}
}

func TestAClientThatLeavesItsEndOpenHoldsUpNothing(t *testing.T) {
	t.Parallel()
	in, to := io.Pipe()
	t.Cleanup(func() { _ = to.Close() })
	_, m := start(t)
	p := &process.Process{Env: m.Getenv, In: in, Out: io.Discard, Err: io.Discard}
	if code := p.Run(t.Context(), []string{"claude", "PostToolUse", "--connection", m.ID}); code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

func TestAPauseHoldsForACallOfAnySize(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	m.Hook("t1", "SessionStart", nil)
	big := map[string]any{"tool_name": "Write", "tool_input": map[string]any{"content": strings.Repeat("x", hook.MaxInput+100),
		"file_path": "a", "session_id": "t2"}}
	if got := m.Hook("t1", "PreToolUse", big); got.Out != "" || got.Code != 0 {
		t.Errorf("it is denied without a pause: %q", got.Out)
	}
	hub.Pause("claude/1", &wire.Pause{Words: "wait", By: "human", Of: "claude"})
	m.Hook("t1", "PostToolUse", bash)
	hub.Set("down", 0)
	if got := m.Hook("t1", "PreToolUse", big).Denied(); !strings.Contains(got, "Paused by human") {
		t.Errorf("it is not denied: %q", got)
	}
	for _, event := range []string{"PostToolUse", "PermissionRequest", "UserPromptSubmit"} {
		if got := m.Hook("t1", event, big); got.Out != "" || got.Code != 0 {
			t.Errorf("%s: %+v", event, got)
		}
	}
	cut := m.Input("t1", "PreToolUse", big)
	if got := m.Raw("PreToolUse", cut[:len(cut)-1]); got.Out != "" || got.Code != 0 {
		t.Errorf("half of an input: %+v", got)
	}
}

func TestHooksAtOnceShowEachMessageOnce(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	m.Hook("t1", "SessionStart", nil)
	for i := range 8 {
		hub.Mail("claude/1", fmt.Sprint("m", i), "STATUS", fmt.Sprintf("text-%d.", i))
	}
	var all sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got := m.Hook("t1", "PostToolUse", bash).Context()
			for i := range 8 {
				if text := fmt.Sprintf("text-%d.", i); strings.Contains(got, text) {
					if _, twice := all.LoadOrStore(text, true); twice && !strings.Contains(got, ", again:") {
						t.Errorf("%s was shown twice:\n%s", text, got)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestThePersonAllowsAndRefusesByAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		client string
		want   string
		again  string
	}{
		"allow":        {"allow", "claude", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, ""},
		"Allow.":       {" Allow.", "claude", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, ""},
		"for codex":    {"allow", "codex", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, ""},
		"deny":         {"deny", "claude", `"behavior":"deny","message":"Refused by human`, `"behavior":"deny"`},
		"other words":  {"yes, allow it", "claude", `"behavior":"deny"`, `"behavior":"deny"`},
		"the session":  {"allow for this session", "claude", `"behavior":"allow"`, `"behavior":"allow"`},
		"no answer":    {"", "claude", "", ""},
		"gemini's own": {"allow", "gemini", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := hooktest.New(t)
			m := hooktest.NewMachine(t, hub.URL, c.client)
			m.Conn.Permissions = connection.Permissions{On: true, Timeout: 2}
			m.Connect(m.Conn)
			hub.Answer(c.answer)
			got := m.Hook("t1", "PermissionRequest", bash)
			if got.Code != 0 || c.want == "" && got.Out != "" || !strings.Contains(got.Out, c.want) {
				t.Errorf("got %+v, want %s", got, c.want)
			}
			if c.client == "gemini" {
				return
			}
			if asked := hub.Asked(); len(asked) != 1 || !strings.Contains(asked[0], "Bash: git status") ||
				!strings.HasSuffix(asked[0], " (paired, told false)") {
				t.Errorf("the person was asked %q", asked)
			}
			if c.again == "" {
				return
			}
			hub.Answer("deny")
			if got := m.Hook("t1", "PermissionRequest", bash); !strings.Contains(got.Out, c.again) {
				t.Errorf("the same again: %s", got.Out)
			}
			other := map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "git push"}}
			if got := m.Hook("t1", "PermissionRequest", other); !strings.Contains(got.Out, `"deny"`) {
				t.Errorf("another command is allowed with it: %s", got.Out)
			}
			elsewhere := map[string]any{"cwd": filepath.Dir(m.Dir)}
			maps.Copy(elsewhere, bash)
			if got := m.Hook("t1", "PermissionRequest", elsewhere); !strings.Contains(got.Out, `"deny"`) {
				t.Errorf("the same in another directory is allowed with it: %s", got.Out)
			}
		})
	}
}

func TestPermissionsAreSilentUnlessSwitchedOn(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	hub.Answer("allow")
	if got := m.Hook("t1", "PermissionRequest", bash); got.Out != "" || len(hub.Asked()) != 0 {
		t.Errorf("got %+v, and asked %q", got, hub.Asked())
	}
	m.Conn.Permissions = connection.Permissions{On: true, Allow: []string{"Bash(git status*)"}, Deny: []string{"Bash(rm *)"}}
	m.Connect(m.Conn)
	if got := m.Hook("t1", "PermissionRequest", bash); !strings.Contains(got.Out, `"allow"`) {
		t.Errorf("a rule does not allow: %+v", got)
	}
	rm := map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "git status; rm -rf /"}}
	if got := m.Hook("t1", "PermissionRequest", rm); !strings.Contains(got.Out, `"deny"`) || len(hub.Asked()) != 0 {
		t.Errorf("a rule does not deny: %+v", got)
	}
}

func TestAWrongCommandLineSaysHow(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"claude"}, {"claude", "Stop", "more"}, {"claude", "Stop", "--connection"}} {
		var errOut strings.Builder
		p := &process.Process{Env: func(string) string { return "" }, In: strings.NewReader(""), Err: &errOut}
		if code := p.Run(t.Context(), args); code != 1 || !strings.Contains(errOut.String(), "usage: parley-hook CLIENT EVENT") {
			t.Errorf("%q: %d, %s", args, code, errOut.String())
		}
	}
}

func TestAWaiterIsSilentWhereNobodySitsOrNothingEndsIt(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	m.Env["CLAUDE_CODE_ENTRYPOINT"], m.Env["CLAUDE_CODE_SESSION_ATTENDED"] = "sdk-cli", "0"
	done := make(chan hooktest.Result, 1)
	go func() { done <- m.Raw("wait", m.Input("t1", "Stop", nil)) }()
	select {
	case got := <-done:
		if got.Code != 0 || got.Out+got.Err != "" {
			t.Errorf("got %+v", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("it holds up a run without a person")
	}
}

func TestCodexExecIsKnownByTheSessionsRecord(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{`"exec"`: true, `"cli"`: false, `{"subagent":"review"}`: false, `7`: false} {
		hub := hooktest.New(t)
		m := hooktest.NewMachine(t, hub.URL, "codex")
		record := filepath.Join(m.Dir, "rollout.jsonl")
		line := `{"timestamp":"x","type":"session_meta","payload":{"id":"t1","originator":"codex","source":` + source + "}}\n{}\n"
		if err := os.WriteFile(record, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		m.Hook("t1", "SessionStart", map[string]any{"transcript_path": record})
		if got := hub.Inputs(); len(got) != 1 || got[0].Headless != want {
			t.Errorf("%s: %+v", source, got)
		}
	}
}

func TestAServerThatDoesNotAnswerLeavesThePermissionToTheClient(t *testing.T) {
	t.Parallel()
	hub := hooktest.New(t)
	m := hooktest.NewMachine(t, hub.URL, "claude")
	m.Conn.Permissions = connection.Permissions{On: true, Timeout: 3600}
	m.Slack = 0
	m.Connect(m.Conn)
	hub.Set("silent", 0)
	if got := m.Hook("t1", "PermissionRequest", bash); got.Out != "" || got.Code != 0 {
		t.Errorf("got %+v", got)
	}
}

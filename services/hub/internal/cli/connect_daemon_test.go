package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
)

func TestThePersonSeesAndEndsTheDaemonOfTheHooks(t *testing.T) {
	t.Parallel()
	m := hooktest.NewMachine(t, hooktest.New(t).URL, "claude")
	connect := func(args ...string) (out, errOut string, code int) {
		t.Helper()
		return command(t, m.Environ(), append([]string{"connect"}, args...)...)
	}
	daemon := run(t, m.Environ(), "connectd")
	var info struct {
		Running  bool
		PID      int
		Sessions []struct {
			SessionID string
			InTurn    bool
		}
	}
	status := func() {
		t.Helper()
		info.Running, info.PID, info.Sessions = false, 0, nil
		out, errOut, code := connect("--status", "--json")
		if err := json.Unmarshal([]byte(out), &info); err != nil || code != 0 {
			t.Fatalf("exit %d, %v\n%s%s", code, err, out, errOut)
		}
	}
	hooktest.Eventually(t, "no daemon", func() bool {
		_, err := connectd.Status(t.Context(), m.Getenv)
		return err == nil
	})
	m.Env["AI_AGENT"] = "claude-code_2-1-330_agent"
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "UserPromptSubmit", map[string]any{"prompt": "work"})
	if status(); !info.Running || info.PID != daemon.cmd.Process.Pid || len(info.Sessions) != 1 ||
		info.Sessions[0].SessionID != "claude/1" || !info.Sessions[0].InTurn {
		t.Errorf("it is process %d, and tells %+v", daemon.cmd.Process.Pid, info)
	}
	if out, _, code := connect("--status"); code != 0 || !strings.Contains(out, "sessions: 1.") ||
		!strings.Contains(out, "claude/1  claude 2.1.330  "+m.Dir+"  works") {
		t.Errorf("a person reads, with exit %d:\n%s", code, out)
	}
	if out, errOut, code := connect("--stop"); code != 0 || !strings.Contains(out, "has ended") {
		t.Errorf("--stop: exit %d\n%s%s", code, out, errOut)
	}
	if code := daemon.wait(); code != 0 {
		t.Errorf("the daemon ended with %d: %s", code, daemon.err)
	}
	if status(); info.Running || info.PID != 0 {
		t.Errorf("after its end: %+v", info)
	}
	for _, flag := range []string{"--status", "--stop"} {
		if out, errOut, code := connect(flag); code != 0 || !strings.Contains(out, "No daemon runs") {
			t.Errorf("%s without a daemon: exit %d\n%s%s", flag, code, out, errOut)
		}
		if _, errOut, code := connect("claude", flag); code == 0 || !strings.Contains(errOut, `leave out "claude"`) {
			t.Errorf("%s with a client: exit %d\n%s", flag, code, errOut)
		}
		if _, errOut, code := connect("--list", flag); code == 0 || !strings.Contains(errOut, "[list "+flag[2:]+"]") {
			t.Errorf("%s with --list: exit %d\n%s", flag, code, errOut)
		}
	}
}

package local_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/session"
)

// TestTheBellOfATerminalIsRungAndNothingElse starts this test in a pseudo terminal of script(1), which finds its terminal and
// rings it; script records the bytes that the terminal was given.
func TestTheBellOfATerminalIsRungAndNothingElse(t *testing.T) {
	t.Parallel()
	if os.Getenv("PARLEY_TEST_RING") != "" {
		if terminal := local.Terminal(); terminal.Path == "" || !local.Ring(terminal) {
			t.Errorf("%+v is not rung", terminal)
		}
		return
	}
	script, err := exec.LookPath("script")
	if err != nil {
		t.Fatal("this test needs script of util-linux")
	}
	record := filepath.Join(t.TempDir(), "record")
	cmd := exec.CommandContext(t.Context(), script, "--quiet", "--return", "--log-out", record, "--command",
		os.Args[0]+" -test.run='^TestTheBellOfATerminalIsRungAndNothingElse$' > /dev/null")
	cmd.Env = append(os.Environ(), "PARLEY_TEST_RING=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(record)
	if err != nil || bytes.Count(text, []byte{7}) != 1 {
		t.Errorf("the terminal was given %q, %v", text, err)
	}
}

func TestATerminalThatIsAnothersByNowIsNotRung(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	leader := session.Process{PID: cmd.Process.Pid, Start: local.Started(cmd.Process.Pid)}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, terminal := range []session.Terminal{{}, {Path: path, Leader: leader}, {Path: "/dev/pts/0", Leader: leader}} {
		if local.Ring(terminal) {
			t.Errorf("%+v is rung", terminal)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if text, err := os.ReadFile(path); err != nil || len(text) > 0 || local.Ring(session.Terminal{Path: path, Leader: leader}) {
		t.Errorf("the file has %q, %v", text, err)
	}
}

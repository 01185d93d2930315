//go:build unix

package launcher_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/runner/launcher"
)

// needTmux skips the test where there is no tmux.
func needTmux(t *testing.T) {
	t.Helper()
	if err := launcher.CheckTerminal(); err != nil {
		t.Skip(err)
	}
}

func TestATerminalEndsWithItsCommandAndItsExitCode(t *testing.T) {
	t.Parallel()
	needTmux(t)
	private := t.TempDir()
	var out bytes.Buffer
	code, err := launcher.RunPane(t.Context(), private, "w", []string{"sh", "-c", "echo it is $0; exit 7", "a b"}, &out)
	if code != 7 || err != nil {
		t.Errorf("got %d, %v", code, err)
	}
	if text := out.String(); !strings.HasPrefix(text, "attach with: tmux -S ") || !strings.Contains(text, "\nit is a b\n") {
		t.Errorf("it wrote %q", text)
	}
	socket, err := os.ReadFile(filepath.Join(private, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(string(socket))); !os.IsNotExist(err) {
		t.Errorf("the terminal's directory is left: %v", err)
	}
	if err := launcher.EndPane(private); err != nil {
		t.Error(err)
	}
}

func TestTheEndOfATerminalEndsItsCommand(t *testing.T) {
	t.Parallel()
	needTmux(t)
	private := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	began, stopped := filepath.Join(private, "began"), errors.New("stopped")
	go func() {
		for {
			if _, err := os.Stat(began); err == nil || t.Context().Err() != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(stopped)
	}()
	var out bytes.Buffer
	if _, err := launcher.RunPane(ctx, private, "w", []string{"sh", "-c", "touch $0; exec sleep 1000", began}, &out); !errors.Is(
		err, stopped) {
		t.Errorf("got %v", err)
	}
	if text, _ := exec.Command("pgrep", "-f", began).Output(); len(text) > 0 {
		t.Errorf("the command still runs: %s", text)
	}
}

func TestATerminalThatIsLeftIsEndedByItsPrivateDirectory(t *testing.T) {
	t.Parallel()
	needTmux(t)
	private := t.TempDir()
	dir, err := os.MkdirTemp("", "parley-pane-")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "tmux")
	start := exec.Command("tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "sleep", "1000")
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, text := range []string{"", "tmux", "/etc/tmux", socket} { // the first three are no terminal's
		if err := os.WriteFile(filepath.Join(private, "socket"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := launcher.EndPane(private); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the terminal's directory is left: %v", err)
	}
	if err := exec.Command("tmux", "-S", socket, "list-sessions").Run(); err == nil {
		t.Error("the terminal still runs")
	}
	if err := launcher.EndPane(t.TempDir()); err != nil {
		t.Error(err)
	}
}

package hook_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/harness/program"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
)

const user = "owner"

var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "parley-hooks-")
	if err == nil {
		bin = dir
	}
	hubtest.Main(m, func() { _ = os.RemoveAll(dir) })
}

// programs builds parley and parley-hook once for all tests.
var programs = sync.OnceValue(func() error {
	ctx := context.Background()
	return errors.Join(program.Build(ctx, filepath.Join(bin, "parley")), program.BuildHook(ctx, filepath.Join(bin, "parley-hook")))
})

// machine connects a client of a program to a hub, with the programs.
func machine(t *testing.T, hub *hubtest.Hub, client, key string) *hooktest.Machine {
	t.Helper()
	if err := programs(); err != nil {
		t.Fatal(err)
	}
	m := hooktest.NewMachine(t, hub.URL, client)
	m.Connect(connection.Connection{ID: m.ID, Client: client, Program: "claude", URL: hub.URL, Key: key, KeyID: "k"})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := connectd.Stop(ctx, m.Getenv); err != nil && !errors.Is(err, connectd.ErrNone) {
			t.Errorf("the daemon does not end: %v", err)
		}
	})
	return m
}

// run runs parley-hook as a client does. A time after which it is killed is zero for none.
func run(t *testing.T, m *hooktest.Machine, event string, stdin []byte, kill time.Duration) hooktest.Result {
	t.Helper()
	ctx := t.Context()
	if kill > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, kill)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "parley-hook"), m.Conn.Client, event, "--connection", m.ID)
	var out, errOut bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.Environ(), m.Dir, bytes.NewReader(stdin), &out, &errOut
	begun := time.Now()
	_ = cmd.Run() // its code says it
	return hooktest.Result{Out: strings.TrimSpace(out.String()), Err: errOut.String(), Code: cmd.ProcessState.ExitCode(),
		Took: time.Since(begun)}
}

// hook runs parley-hook to its end.
func hook(t *testing.T, m *hooktest.Machine, thread, event string, more map[string]any) hooktest.Result {
	t.Helper()
	return run(t, m, event, m.Input(thread, event, more), 0)
}

var bash = map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "git status"}}

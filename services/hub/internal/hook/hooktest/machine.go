package hooktest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/process"
)

// Machine is the environment of a user with one connection to a server.
type Machine struct {
	t testing.TB
	// Env are the variables of the client.
	Env map[string]string
	// Dir is the directory that the agent works in, and ID the connection's.
	Dir, ID string
	// Daemon is the command that hooks start; none where it is nil.
	Daemon []string
	Conn   connection.Connection
	// Slack is added to the budgets of hooks; 0 for tests of a server that does not answer.
	Slack time.Duration
}

// slack is the default of [Machine.Slack]: tests share their machine with others.
const slack = 3 * time.Second

// NewMachine connects a client to a server.
func NewMachine(t testing.TB, url, client string) *Machine {
	t.Helper()
	root, err := os.MkdirTemp("", "ph") // short, for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	m := &Machine{t: t, Slack: slack, Dir: filepath.Join(root, "w"), ID: client + "-test", Env: map[string]string{
		connection.Variable: filepath.Join(root, "c"), "HOME": root, "PATH": os.Getenv("PATH"), "PARLEY_KEYRING": "off"}}
	if err := os.Mkdir(m.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	m.Connect(connection.Connection{ID: m.ID, Client: client, Program: "claude", URL: url, Key: Key, KeyID: "k"})
	return m
}

// Connect writes the connection.
func (m *Machine) Connect(c connection.Connection) {
	m.t.Helper()
	m.Conn = c
	dir, err := connection.Dir(m.Getenv)
	if err == nil {
		_, err = c.Write(dir)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// Getenv returns a variable of the client.
func (m *Machine) Getenv(name string) string { return m.Env[name] }

// Environ returns the variables for a process.
func (m *Machine) Environ() []string {
	var out []string
	for name, value := range m.Env {
		out = append(out, name+"="+value)
	}
	return out
}

// Input returns the input that a client gives to a hook: the common fields, and more.
func (m *Machine) Input(thread, event string, more map[string]any) []byte {
	in := map[string]any{"session_id": thread, "hook_event_name": event, "cwd": m.Dir}
	maps.Copy(in, more)
	text, err := json.Marshal(in)
	if err != nil {
		m.t.Fatal(err)
	}
	return text
}

// Result is the result of a hook's process.
type Result struct {
	Out, Err string
	Code     int
	Took     time.Duration
}

// Context returns the text that the hook gave to the model.
func (r Result) Context() string { return r.field("additionalContext") }

func (r Result) field(name string) string {
	var v struct {
		Specific map[string]any `json:"hookSpecificOutput"`
	}
	_ = json.Unmarshal([]byte(r.Out), &v)
	text, _ := v.Specific[name].(string)
	return text
}

// Denied returns the reason of a refused tool call.
func (r Result) Denied() string {
	if r.field("permissionDecision") != "deny" {
		return ""
	}
	return r.field("permissionDecisionReason")
}

// Continued returns the reason of a continued turn.
func (r Result) Continued() string {
	var v struct{ Decision, Reason string }
	_ = json.Unmarshal([]byte(r.Out), &v)
	if v.Decision != "block" {
		return ""
	}
	return v.Reason
}

// Hook runs a hook in this process.
func (m *Machine) Hook(thread, event string, more map[string]any) Result {
	m.t.Helper()
	return m.Raw(event, m.Input(thread, event, more))
}

// Raw runs a hook in this process with any input.
func (m *Machine) Raw(event string, stdin []byte) Result {
	return m.RunContext(m.t.Context(), event, stdin)
}

// RunContext is Raw with a context.
func (m *Machine) RunContext(ctx context.Context, event string, stdin []byte) Result {
	var out, errOut bytes.Buffer
	p := &process.Process{Env: m.Getenv, In: bytes.NewReader(stdin), Out: &out, Err: &errOut, Daemon: m.Daemon, Slack: m.Slack}
	begun := time.Now()
	code := p.Run(ctx, []string{m.Conn.Client, event, "--connection", m.ID})
	return Result{strings.TrimSpace(out.String()), errOut.String(), code, time.Since(begun)}
}

// Eventually waits until a condition holds.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("after 20 seconds: %s", what)
}

// Request returns the request of a hook's process to the daemon.
func Request(t testing.TB, m *Machine, thread, event string, more map[string]any) local.Request {
	t.Helper()
	call, err := hook.Parse(m.Conn.Client, event, m.Input(thread, event, more), m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return local.Request{Op: local.Hook, Connection: m.ID, Call: call, Budget: 2000}
}

// Repository makes a directory a git repository.
func Repository(t testing.TB, dir string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
}

// Sleeper starts a process that stands for a client's.
func Sleeper(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

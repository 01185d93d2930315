package agents_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/services/hub/harness/program"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/connectd"
	"parley.internal/shared/client"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/pauses"
	"parley.internal/shared/relay"
)

// hooked is a place with the real hooks and their daemon, a person and an agent beta.
type hooked struct {
	*place
	person, beta *client.Client
}

func newHooked(t *testing.T, name string) *hooked {
	t.Helper()
	h := &hooked{place: newPlace(t, name)}
	own, err := os.MkdirTemp("", "ph") // short, for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(own) })
	h.env = append([]string{connection.Variable + "=" + own}, h.env...)
	hook := filepath.Join(h.root, "bin", "parley-hook")
	if err := errors.Join(os.Remove(hook), program.BuildPatientHook(t.Context(), hook)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := connectd.Stop(ctx, h.getenv); err != nil && !errors.Is(err, connectd.ErrNone) {
			t.Errorf("the daemon does not end: %v", err)
		}
	})
	text := h.read("data/human.env")
	_, key, _ := strings.Cut(strings.TrimSpace(text), "PARLEY_HUMAN_KEY=")
	h.person = h.as(key)
	made, err := h.person.CreateKey(t.Context(), keys.CreateInput{Program: "beta", Scopes: []string{"read", "write"}})
	if err != nil {
		t.Fatal(err)
	}
	h.beta = h.as(made.Key)
	return h
}

func (h *hooked) as(key string) *client.Client {
	h.t.Helper()
	c, err := client.New(h.server.URL(), key)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// sends sends a message of beta.
func (h *hooked) sends(target, kind, text string) {
	h.t.Helper()
	if _, err := h.beta.SendMessage(h.t.Context(), relay.SendInput{Target: target, MessageType: kind, Message: text}); err != nil {
		h.t.Fatal(err)
	}
}

// request waits for the nth request to the model.
func (h *hooked) request(n int) fakemodel.Request {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	r, err := h.model.Await(ctx, func(r fakemodel.Request) bool { return r.Number == n })
	if err != nil {
		for _, r := range h.model.Requests() {
			h.t.Logf("%d %s", r.Number, r.Text[max(0, len(r.Text)-1500):])
		}
		h.t.Fatalf("request %d of the client does not come", n)
	}
	return r
}

func (h *hooked) exists(name string) bool {
	_, err := os.Stat(filepath.Join(h.work, name))
	return err == nil
}

// paused reports whether the daemon knows that the only session is paused.
func (h *hooked) paused() bool {
	info, err := connectd.Status(h.t.Context(), h.getenv)
	return err == nil && len(info.Sessions) == 1 && info.Sessions[0].Paused
}

// starts starts the client in the repository, and returns a function that waits for its end.
func (h *hooked) starts(args ...string) (wait func()) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*patience)
	program, err := filepath.EvalSymlinks(filepath.Join(filepath.SplitList(h.getenv("PATH"))[0], args[0]))
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	out := &strings.Builder{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = h.work, h.env, out, out, time.Second
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	h.t.Cleanup(cancel)
	return func() {
		h.t.Helper()
		if err := <-done; err != nil {
			h.t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
}

// headless is the way to start a client without a person, and the name of its shell tool.
type headless struct {
	connect, args []string
	// claims are the arguments with which it may use Parley's tools.
	claims []string
	shell  func(command string) fakemodel.Step
}

// withoutAPerson are the clients that a test starts without a person.
var withoutAPerson = map[string]headless{
	"claude": {[]string{"--project"}, []string{"-p", "go", "--allowedTools", "Bash"},
		[]string{"-p", "go", "--allowedTools", "mcp__parley"}, func(command string) fakemodel.Step {
			return fakemodel.Use("Bash", map[string]any{"command": command, "description": "work"})
		}},
	"codex": {[]string{"--project", "--trust"}, []string{"exec", "--dangerously-bypass-approvals-and-sandbox", "go"},
		[]string{"exec", "--dangerously-bypass-approvals-and-sandbox", "go"}, func(command string) fakemodel.Step {
			return fakemodel.Use("exec_command", map[string]any{"cmd": command, "yield_time_ms": 30000})
		}},
}

func TestARealClientHearsWhileItWorksAndAPauseHaltsIt(t *testing.T) {
	t.Parallel()
	for name, run := range withoutAPerson {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hearsAndHalts(t, name, run)
		})
	}
}

// hears waits for a request to the model whose conversation holds the texts.
func (h *hooked) hears(texts ...string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if _, err := h.model.Await(ctx, fakemodel.Reads(texts...)); err != nil {
		for _, r := range h.model.Requests() {
			h.t.Logf("%d %s", r.Number, r.Text[max(0, len(r.Text)-1500):])
		}
		h.t.Fatalf("the model does not read %q", texts)
	}
}

func hearsAndHalts(t *testing.T, name string, run headless) {
	t.Helper()
	h := newHooked(t, name)
	if name == "codex" {
		h.write("home/.codex/config.toml", h.model.CodexConfig())
	}
	h.holds("connect", h.run(append([]string{h.parley, "connect", name}, run.connect...)...), "done   hook", "You are "+name+"/",
		"done   mail")
	h.sends(name, "QUERY", "Which parser do we take?")
	release := make(chan struct{})
	refused := run.shell("touch first")
	refused.Hold = release
	h.model.Add(run.shell("touch began; until [ -e go ]; do sleep 0.1; done; sleep 3"), refused)
	wait := h.starts(append([]string{name}, run.args...)...)

	h.holds("the first request", h.request(1).Text, "You are "+name+"/", "from beta (verified), QUERY", "| Which parser do we take?")
	domaintest.Eventually(h.t, "the tool runs", func() bool { return h.exists("began") })
	h.sends(name, "STATUS", "The tests are green.")
	h.write("home/work/go", "")
	h.holds("the request after the tool", h.request(2).Text, "from beta (verified), STATUS", "| The tests are green.")

	begun := time.Now()
	if _, err := h.person.PauseAgents(t.Context(), pauses.Input{Scope: identity.PausedProgram, Name: name, Words: "lunch"}); err != nil {
		t.Fatal(err)
	}
	domaintest.Eventually(h.t, "the machine knows of the pause", h.paused)
	t.Logf("a pause is known after %v", time.Since(begun))
	second := run.shell("touch second")
	stopped := make(chan struct{})
	second.Hold = stopped
	h.model.Add(second, fakemodel.Say("I wait."))
	close(release)
	h.holds("the request after a refusal", h.request(3).Text, "Paused by ", `says: "lunch"`)
	h.server.Stop()
	close(stopped)
	if last := h.request(4).Text; strings.Count(last, "Paused by ") < 2 {
		t.Errorf("with the server stopped the tool is not refused:\n%s", last[max(0, len(last)-2000):])
	}
	wait()
	if h.exists("first") || h.exists("second") {
		t.Error("a tool ran in spite of the pause")
	}
	domaintest.Eventually(h.t, "the daemon ends with the session", func() bool {
		_, err := connectd.Status(t.Context(), h.getenv)
		return errors.Is(err, connectd.ErrNone)
	})
}

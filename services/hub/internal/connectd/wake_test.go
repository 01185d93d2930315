package connectd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/services/hub/internal/hook/process"
)

// waiter runs the process that wakes the agent of a thread, and sends its result when it ends.
func waiter(t *testing.T, m *hooktest.Machine, thread string) <-chan hooktest.Result {
	t.Helper()
	done := make(chan hooktest.Result, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		done <- m.RunContext(ctx, "wait", m.Input(thread, "Stop", nil))
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	hooktest.Eventually(t, "nobody waits", func() bool {
		info, err := connectd.Status(t.Context(), m.Getenv)
		return err == nil && slices.ContainsFunc(info.Sessions, func(s local.SessionInfo) bool { return s.Waiter })
	})
	return done
}

func idle(t *testing.T) (*hooktest.Hub, *hooktest.Machine, connectd.Options) {
	hub, m := start(t)
	m.Env["CLAUDE_PID"] = strconv.Itoa(os.Getpid())
	return hub, m, connectd.Options{}
}

func TestMailWakesAnIdleAgentOnce(t *testing.T) {
	t.Parallel()
	hub, m, o := idle(t)
	stop := daemon(t, m, o)
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "Stop", nil)
	woken := waiter(t, m, "t1")
	hub.Mail("claude/1", "m0", "STATUS", "nothing urgent")
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	got := <-woken
	if got.Code != 2 || !strings.Contains(got.Err, "QUERY from beta/1 (verified)") || !strings.Contains(got.Err, "which parser?") ||
		got.Out != "" {
		t.Errorf("got %+v", got)
	}
	if text := m.Hook("t1", "UserPromptSubmit",
		map[string]any{"prompt": "<task-notification>"}).Context(); !strings.Contains(text, "| which parser?") {
		t.Errorf("the turn is not told: %s", text)
	}
	m.Hook("t1", "Stop", nil)
	stop()
	daemon(t, m, connectd.Options{})
	again := waiter(t, m, "t1")
	hub.Mail("claude/1", "m2", "QUERY", "and now?")
	if got := <-again; !strings.Contains(got.Err, "and now?") {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestAWakeWaitsForTheEndOfTheTurn(t *testing.T) {
	t.Parallel()
	hub, m, o := idle(t)
	daemon(t, m, o)
	m.Hook("t1", "SessionStart", nil)
	woken := waiter(t, m, "t1")
	m.Hook("t1", "UserPromptSubmit", nil)
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	text := ""
	hooktest.Eventually(t, "the mail does not come", func() bool {
		text = m.Hook("t1", "PostToolUse", bash).Context()
		return text != ""
	})
	select {
	case got := <-woken:
		t.Errorf("woken in the middle of a turn: %+v", got)
	default:
	}
	hub.Mail("claude/1", "m2", "QUERY", "after the last tool")
	m.Hook("t1", "Stop", nil)
	if got := <-woken; got.Code != 2 || !strings.Contains(got.Err, "after the last tool") {
		t.Errorf("got %+v", got)
	}
}

func TestAPersonWhoStopsAToolEndsTheTurnSoThatMailWakes(t *testing.T) {
	t.Parallel()
	for name, last := range map[string][]map[string]any{
		"one call":              {{"tool_name": "Bash", "is_interrupt": true}},
		"another call after it": {{"tool_name": "Bash", "is_interrupt": true}, {"tool_name": "Read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, m, o := idle(t)
			daemon(t, m, o)
			m.Hook("t1", "SessionStart", nil)
			woken := waiter(t, m, "t1")
			m.Hook("t1", "UserPromptSubmit", nil)
			for _, call := range last {
				m.Hook("t1", "PostToolUseFailure", call)
			}
			hub.Mail("claude/1", "m1", "QUERY", "which parser?")
			if got := <-woken; got.Code != 2 || !strings.Contains(got.Err, "which parser?") {
				t.Errorf("got %+v", got)
			}
			m.Hook("t1", "UserPromptSubmit", map[string]any{"prompt": "<task-notification>"})
			m.Hook("t1", "PreToolUse", bash)
			m.Hook("t1", "PostToolUse", bash)
			info, err := connectd.Status(t.Context(), m.Getenv)
			if err != nil || !info.Sessions[0].InTurn {
				t.Errorf("the turn after the wake does not count as one: %+v, %v", info, err)
			}
		})
	}
}

func TestAWakeGivesTheClientTimeToEndItsTurn(t *testing.T) {
	t.Parallel()
	hub, m, o := idle(t)
	o.Rest = 200 * time.Millisecond
	daemon(t, m, o)
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "UserPromptSubmit", nil)
	woken := waiter(t, m, "t1")
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	ended := time.Now()
	m.Hook("t1", "Stop", nil)
	if got := <-woken; got.Code != 2 || time.Since(ended) < o.Rest {
		t.Errorf("%v after the end of the turn: %+v", time.Since(ended), got)
	}
}

// Mail that was shown in a turn stays a reason to wake at the server until its receipt arrives.
func TestMailThatATurnWasToldOfDoesNotWake(t *testing.T) {
	t.Parallel()
	hub, m, o := idle(t)
	daemon(t, m, o)
	m.Hook("t1", "SessionStart", nil)
	woken := waiter(t, m, "t1")
	m.Hook("t1", "UserPromptSubmit", nil)
	hub.KeepReasons()
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	hooktest.Eventually(t, "the mail does not come", func() bool {
		return m.Hook("t1", "PostToolUse", bash).Context() != ""
	})
	m.Hook("t1", "Stop", nil)
	hub.Mail("claude/1", "m2", "QUERY", "after the turn")
	if got := <-woken; got.Code != 2 || !strings.Contains(got.Err, "after the turn") {
		t.Errorf("got %+v", got)
	}
}

func TestANewWaiterReplacesTheOldOneAndEndsWithTheSession(t *testing.T) {
	t.Parallel()
	_, m, o := idle(t)
	daemon(t, m, o)
	m.Hook("t1", "SessionStart", nil)
	first := waiter(t, m, "t1")
	second := waiter(t, m, "t1")
	if got := <-first; got.Code != 0 || got.Err != "" {
		t.Errorf("the first: %+v", got)
	}
	m.Hook("t1", "SessionEnd", nil)
	if got := <-second; got.Code != 0 || got.Err != "" {
		t.Errorf("the second: %+v", got)
	}
}

// watcher runs the process that wakes the agents of a client's sessions, and returns its lines, which end when it does.
func watcher(t *testing.T, m *hooktest.Machine) <-chan string {
	t.Helper()
	out, to := io.Pipe()
	lines := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	p := &process.Process{Env: m.Getenv, In: strings.NewReader(""), Out: to, Err: io.Discard}
	go func() {
		if code := p.Run(ctx, []string{"claude", "watch", "--connection", m.ID}); code != 0 {
			t.Errorf("it ends with the code %d", code)
		}
		_ = to.Close() // always nil
	}()
	go func() {
		defer close(lines)
		for text := bufio.NewScanner(out); text.Scan(); {
			lines <- text.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range lines {
		}
	})
	return lines
}

// waits waits until a session has a process that wakes its agent, or has none.
func waits(t *testing.T, m *hooktest.Machine, address string, has bool) {
	t.Helper()
	hooktest.Eventually(t, fmt.Sprintf("%s has a waiter: not %v", address, has), func() bool {
		info, err := connectd.Status(t.Context(), m.Getenv)
		return err == nil && slices.ContainsFunc(info.Sessions, func(s local.SessionInfo) bool {
			return s.SessionID == address && s.Waiter == has
		})
	})
}

func TestAWatchWakesAgainAndAgainInEachSessionOfItsClient(t *testing.T) {
	t.Parallel()
	hub, m, o := idle(t)
	stop := daemon(t, m, o)
	m.Env["CLAUDE_CODE_SESSION_ID"] = "t1" // as a monitor has it, and keeps it
	lines := watcher(t, m)
	m.Hook("t1", "SessionStart", nil)
	waits(t, m, "claude/1", true)
	wakes := func(thread, address, id string) {
		t.Helper()
		hub.Mail(address, id, "QUERY", "question "+id)
		if got := <-lines; !strings.Contains(got, "QUERY from beta/1 (verified)") || !strings.Contains(got, "question "+id) {
			t.Errorf("the line of %s is %q", id, got)
		}
		m.Hook(thread, "UserPromptSubmit", map[string]any{"prompt": "<task-notification>"})
		m.Hook(thread, "Stop", nil)
	}
	wakes("t1", "claude/1", "m1")
	wakes("t1", "claude/1", "m2")
	m.Hook("t1", "SessionEnd", map[string]any{"reason": "clear"})
	m.Hook("t2", "SessionStart", map[string]any{"source": "clear"})
	waits(t, m, "claude/2", true)
	wakes("t2", "claude/2", "m3")
	stop()
	daemon(t, m, connectd.Options{})
	waits(t, m, "claude/2", true)
	wakes("t2", "claude/2", "m4")
	m.Hook("t3", "SessionStart", map[string]any{"source": "resume"}) // without an end of the one before
	waits(t, m, "claude/3", true)
	waits(t, m, "claude/2", false)
	wakes("t3", "claude/3", "m5")
	select {
	case got, open := <-lines:
		t.Errorf("it goes on with %q, open: %v", got, open)
	default:
	}
}

func TestANewWatchReplacesTheOneOfItsClient(t *testing.T) {
	t.Parallel()
	hub, m, o := idle(t)
	daemon(t, m, o)
	m.Env["CLAUDE_CODE_SESSION_ID"] = "t1"
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "Stop", nil)
	first := watcher(t, m)
	waits(t, m, "claude/1", true)
	second := watcher(t, m)
	if got, open := <-first; open {
		t.Errorf("the first says %q", got)
	}
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	if got := <-second; !strings.Contains(got, "which parser?") {
		t.Errorf("the second says %q", got)
	}
}

func TestAWaiterEndsWhenItsClientIsGone(t *testing.T) {
	t.Parallel()
	_, m, o := idle(t)
	daemon(t, m, o)
	cmd := hooktest.Sleeper(t)
	m.Env["CLAUDE_PID"] = strconv.Itoa(cmd.Process.Pid)
	m.Hook("t1", "SessionStart", nil)
	woken := waiter(t, m, "t1")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := <-woken; got.Code != 0 || got.Err != "" {
		t.Errorf("got %+v", got)
	}
}

func TestCodexIsWokenByItsOwnQueue(t *testing.T) {
	t.Parallel()
	hub := hooktest.New(t)
	m := hooktest.NewMachine(t, hub.URL, "codex")
	var mu sync.Mutex
	var calls [][]string
	fail := true
	daemon(t, m, connectd.Options{Codex: func(_ context.Context, env map[string]string, dir string, args ...string) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, append([]string{env["HOME"], dir}, args...))
		if fail {
			fail = false
			return errors.New("not yet")
		}
		return nil
	}, Now: func() time.Time { return time.Now().Add(time.Duration(len(hub.Inputs())) * time.Minute) }})
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "Stop", nil)
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	hooktest.Eventually(t, "codex is not called again after a failure", func() bool {
		m.Hook("t1", "Stop", nil) // time goes on with each call of the server
		mu.Lock()
		defer mu.Unlock()
		return len(calls) > 1
	})
	mu.Lock()
	defer mu.Unlock()
	want := []string{m.Env["HOME"], m.Dir, "queue", "--thread", "t1", "--message"}
	for _, c := range calls {
		if !slices.Equal(c[:6], want) || !strings.Contains(c[6], "QUERY from beta/1 (verified)") || !strings.Contains(c[6], "not your user's") {
			t.Errorf("called with %q", c)
		}
	}
}

func TestTheHumanIsToldOfAgentsThatOnlyWakeEachOther(t *testing.T) {
	t.Parallel()
	hub, m, o := idle(t)
	m.Conn.Wake.PerHour, m.Conn.Wake.PerSender = 100, 100
	m.Connect(m.Conn)
	daemon(t, m, o)
	m.Hook("t1", "SessionStart", nil)
	n := 0
	for i := range 20 {
		m.Hook("t1", "Stop", nil)
		woken := waiter(t, m, "t1")
		hub.Mail("claude/1", fmt.Sprint("m", i), "QUERY", "and you?")
		stopped := false
		hooktest.Eventually(t, "neither woken nor stopped", func() bool {
			stopped = len(hub.Alerts()) > 0
			return stopped || len(woken) > 0
		})
		if stopped {
			break
		}
		n++
		<-woken
		m.Hook("t1", "UserPromptSubmit", map[string]any{"prompt": "<task-notification>"})
		m.Hook("t1", "PostToolUse", map[string]any{"tool_name": "mcp__parley__send_message",
			"tool_input": map[string]any{"target": "beta", "message_type": "QUERY"}})
	}
	if alerts := hub.Alerts(); n != 6 || len(alerts) != 1 || !strings.Contains(alerts[0], "claude/1 and beta do nothing but wake each other") {
		t.Errorf("%d wakes, and the person is told %q", n, alerts)
	}
}

func TestWhereNothingWakesAnAgentThePersonIsCalledWithinTheLimits(t *testing.T) {
	t.Parallel()
	hub := hooktest.New(t)
	m := hooktest.NewMachine(t, hub.URL, "gemini")
	daemon(t, m, connectd.Options{Patience: 10 * time.Millisecond})
	m.Hook("t1", "SessionStart", nil)
	for i := range 6 {
		hub.Mail("claude/1", fmt.Sprint("m", i), "QUERY", "Please answer.")
	}
	hooktest.Eventually(t, "the person is not told", func() bool { return len(hub.Alerts()) > 0 })
	m.Hook("t1", "BeforeAgent", map[string]any{"prompt": "go"})
	m.Hook("t1", "AfterAgent", nil)
	if got := hub.Alerts(); len(got) != 1 || !strings.Contains(got[0], "claude/1 is idle, and its client cannot be woken: QUERY from beta/1") ||
		strings.Contains(got[0], "Please answer") {
		t.Errorf("the person is told %q", got)
	}
}

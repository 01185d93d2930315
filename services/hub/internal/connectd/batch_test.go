package connectd_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/shared/hook/wire"
)

// clock is a clock that a test moves on.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// fetched makes a daemon fetch a message for the next hook of the session t1.
func fetched(t *testing.T, hub *hooktest.Hub, m *hooktest.Machine, text string) {
	t.Helper()
	hub.Mail("claude/1", text, "QUERY", text)
	hooktest.Eventually(t, "the mail is not fetched", func() bool { return hub.Held("claude/1", text) })
	hooktest.Eventually(t, "the daemon has no mail", func() bool {
		info, err := connectd.Status(t.Context(), m.Getenv)
		return err == nil && info.Sessions[0].Ready
	})
}

func TestMailThatWasFetchedComesWithTheNextToolWhicheverItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool  string
		input map[string]any
		again bool
	}{
		"a command":                         {"Bash", map[string]any{"command": "ls"}, false},
		"a read of the inbox":               {"mcp__parley__get_messages", map[string]any{}, false},
		"an acknowledgment":                 {"mcp__parley__ack_messages", map[string]any{}, false},
		"a read of what was delivered once": {"mcp__parley__get_messages", map[string]any{"includeDelivered": true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, m := start(t)
			hub.HoldFor(time.Hour)
			daemon(t, m, connectd.Options{})
			m.Hook("t1", "SessionStart", nil)
			m.Hook("t1", "UserPromptSubmit", nil)
			fetched(t, hub, m, "which-parser")
			call := map[string]any{"tool_name": c.tool, "tool_input": c.input}
			m.Hook("t1", "PreToolUse", call)
			text := m.Hook("t1", "PostToolUse", call).Context()
			if !strings.Contains(text, "| which-parser") || strings.Contains(text, ", again:") != c.again {
				t.Errorf("the hook after it says %q", text)
			}
			if text := m.Hook("t1", "PostToolUse", bash).Context(); text != "" {
				t.Errorf("and the next %q", text)
			}
		})
	}
}

func TestMailThatWasFetchedLongAgoIsNotMissingAtAPrompt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		mode  string
		held  time.Duration
		again bool
	}{
		"while the server keeps it":               {100 * time.Second, "", time.Hour, false},
		"while the server does not answer":        {100 * time.Second, "down", time.Hour, false},
		"when the server gives it again":          {3 * time.Minute, "", time.Nanosecond, true},
		"when the server could, and is not there": {3 * time.Minute, "down", time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, m := start(t)
			hub.HoldFor(c.held)
			at := &clock{}
			daemon(t, m, connectd.Options{Now: at.now})
			m.Hook("t1", "SessionStart", nil)
			m.Hook("t1", "UserPromptSubmit", nil)
			fetched(t, hub, m, "which-parser")
			at.pass(c.after)
			hub.Set(c.mode, 0)
			m.Hook("t1", "PreToolUse", bash)
			m.Hook("t1", "Stop", nil)
			text := m.Hook("t1", "UserPromptSubmit", nil).Context()
			if strings.Count(text, "| which-parser") != 1 || strings.Contains(text, ", again:") != c.again {
				t.Errorf("the prompt is told %q", text)
			}
		})
	}
}

// The mail of a program is for any of its sessions, and one that calls no hook for long keeps it from the others.
func TestASessionThatIsSilentInItsTurnFetchesNothing(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{Ahead: time.Nanosecond}) // so that each hook comes after a long silence
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "UserPromptSubmit", nil)
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	hooktest.Eventually(t, "the next hooks are not told", func() bool {
		return strings.Contains(m.Hook("t1", "PostToolUse", bash).Context(), "| which parser?")
	})
	for _, in := range hub.Inputs() {
		if in.Event == wire.Read && in.MaxBytes > 0 {
			t.Errorf("it was fetched: %+v", in)
		}
	}
}

// Another session of the program may have it, so that it would be seen twice without a word.
func TestMailThatTheServerGaveToAnotherMeanwhileIsNotShown(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	hub.HoldFor(time.Hour)
	at := &clock{}
	daemon(t, m, connectd.Options{Now: at.now})
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "UserPromptSubmit", nil)
	fetched(t, hub, m, "which-parser")
	at.pass(3 * time.Minute)
	if text := m.Hook("t1", "UserPromptSubmit", nil).Context(); strings.Contains(text, "which-parser") {
		t.Errorf("the prompt is told %q", text)
	}
	if !slices.ContainsFunc(hub.Inputs(), func(in wire.HookInput) bool { return in.Event == wire.Prompt && in.MaxBytes > 0 }) {
		t.Error("the server was not asked")
	}
}

func TestMailThatWasFetchedAndNotShownWakesAfterTheTurn(t *testing.T) {
	t.Parallel()
	hub, m, o := idle(t)
	hub.HoldFor(time.Hour)
	daemon(t, m, o)
	m.Hook("t1", "SessionStart", nil)
	woken := waiter(t, m, "t1")
	m.Hook("t1", "UserPromptSubmit", nil)
	fetched(t, hub, m, "which-parser")
	m.Hook("t1", "Stop", nil)
	if got := <-woken; got.Code != 2 || !strings.Contains(got.Err, "which-parser") {
		t.Errorf("got %+v", got)
	}
	wakes := map[string]any{"prompt": "<task-notification>"}
	if text := m.Hook("t1", "UserPromptSubmit", wakes).Context(); strings.Count(text, "| which-parser") != 1 {
		t.Errorf("the turn is told %q", text)
	}
}

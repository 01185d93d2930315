package process_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/services/hub/internal/hook/local"
)

// asking returns a machine whose hook waits for the person's answer to a permission request, and its result to come.
func asking(t *testing.T, seconds int) (*hooktest.Hub, *hooktest.Machine, <-chan hooktest.Result, context.CancelFunc) {
	t.Helper()
	hub := hooktest.New(t)
	m := hooktest.NewMachine(t, hub.URL, "claude")
	m.Conn.Permissions = connection.Permissions{On: true, Timeout: seconds}
	m.Connect(m.Conn)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done := make(chan hooktest.Result, 1)
	go func() { done <- m.RunContext(ctx, "PermissionRequest", m.Input("t1", "PermissionRequest", bash)) }()
	return hub, m, done, cancel
}

// marks returns the permission requests about which the person is being asked.
func marks(t *testing.T, m *hooktest.Machine) []string {
	t.Helper()
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return place.Marks(local.ID(m.ID, "t1"), local.Asked)
}

func TestAPermissionThatIsSettledInTheClientRingsNoMore(t *testing.T) {
	t.Parallel()
	for event, c := range map[string]struct {
		in     map[string]any
		reason string
	}{
		"PostToolUse":        {bash, hook.Settled},
		"PostToolUseFailure": {bash, hook.Settled},
		"Stop":               {nil, hook.Settled},
		"UserPromptSubmit":   {map[string]any{"prompt": "go on"}, hook.Settled},
		"SessionEnd":         {nil, hook.Gone},
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			hub, m, done, _ := asking(t, 3600)
			hooktest.Eventually(t, "the person is asked", func() bool { return len(marks(t, m)) == 1 })
			m.Hook("t1", "PostToolUse", map[string]any{"tool_name": "Read", "tool_input": map[string]any{"file_path": "a"}})
			m.Hook("t2", event, c.in)
			if got := hub.Taken(); len(got) != 0 {
				t.Fatalf("the question is taken back by another call or session: %q", got)
			}
			m.Hook("t1", event, c.in)
			hub.Answer("allow")
			if got := <-done; got.Out != "" || got.Code != 0 {
				t.Errorf("the hook says %+v", got)
			}
			if got := hub.Taken(); !slices.Equal(got, []string{c.reason}) || len(marks(t, m)) != 0 {
				t.Errorf("taken back for %q; it is still marked: %q", got, marks(t, m))
			}
		})
	}
}

func TestAQuestionIsTakenBackWhereItsHookEndsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seconds int
		kill    bool
		reason  string
	}{
		"nobody answers in time":   {1, false, hook.TooLate},
		"the client ends the hook": {3600, true, hook.Settled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, m, done, cancel := asking(t, c.seconds)
			if c.kill {
				hooktest.Eventually(t, "the person is asked", func() bool { return len(marks(t, m)) == 1 })
				cancel()
			}
			if got := <-done; got.Out != "" || got.Code != 0 {
				t.Errorf("the hook says %+v", got)
			}
			if got := hub.Taken(); !slices.Equal(got, []string{c.reason}) || len(marks(t, m)) != 0 {
				t.Errorf("taken back for %q; it is still marked: %q", got, marks(t, m))
			}
		})
	}
}

func TestAnAnswerAtTheLastMomentCounts(t *testing.T) {
	t.Parallel()
	hub, m, done, cancel := asking(t, 3600)
	hooktest.Eventually(t, "the person is asked", func() bool { return len(marks(t, m)) == 1 })
	hub.Answer("allow")
	cancel()
	if got := <-done; !strings.Contains(got.Out, `"allow"`) || len(hub.Taken()) != 0 {
		t.Errorf("the hook says %+v, and the question was taken back for %q", got, hub.Taken())
	}
}

func TestTheProcessOfAClientThatIsGoneAsksNoMore(t *testing.T) {
	t.Parallel()
	client := hooktest.Sleeper(t)
	hub := hooktest.New(t)
	m := hooktest.NewMachine(t, hub.URL, "claude")
	m.Env["CLAUDE_PID"] = strconv.Itoa(client.Process.Pid)
	m.Conn.Permissions = connection.Permissions{On: true, Timeout: 3600}
	m.Connect(m.Conn)
	done := make(chan hooktest.Result, 1)
	go func() { done <- m.Hook("t1", "PermissionRequest", bash) }()
	hooktest.Eventually(t, "the person is asked", func() bool { return len(marks(t, m)) == 1 })
	if err := client.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = client.Wait()
	if got := <-done; got.Out != "" || !slices.Equal(hub.Taken(), []string{hook.Settled}) {
		t.Errorf("got %+v, and the question was taken back for %q", got, hub.Taken())
	}
}

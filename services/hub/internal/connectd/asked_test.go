package connectd_test

import (
	"slices"
	"testing"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/services/hub/internal/hook/local"
)

// asking makes the person be asked about a permission, and returns the result to come of the hook.
func asking(t *testing.T, hub *hooktest.Hub, m *hooktest.Machine) <-chan hooktest.Result {
	t.Helper()
	m.Conn.Permissions = connection.Permissions{On: true, Timeout: 3600}
	m.Connect(m.Conn)
	done := make(chan hooktest.Result, 1)
	go func() { done <- m.Hook("t1", "PermissionRequest", bash) }()
	hooktest.Eventually(t, "the person is not asked", func() bool { return len(marks(t, m)) == 1 })
	return done
}

func marks(t *testing.T, m *hooktest.Machine) []string {
	t.Helper()
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return place.Marks(local.ID(m.ID, "t1"), local.Asked)
}

func TestTheDaemonTakesBackTheQuestionOfAPermissionThatWasSettledInTheClient(t *testing.T) {
	t.Parallel()
	for event, reason := range map[string]string{"PostToolUse": hook.Settled, "Stop": hook.Settled, "UserPromptSubmit": hook.Settled,
		"SessionEnd": hook.Gone} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			hub, m := start(t)
			daemon(t, m, connectd.Options{})
			m.Hook("t1", "SessionStart", nil)
			done := asking(t, hub, m)
			m.Hook("t1", event, bash)
			hooktest.Eventually(t, "the question is not taken back", func() bool { return slices.Equal(hub.Taken(), []string{reason}) })
			if got := <-done; got.Out != "" || got.Code != 0 {
				t.Errorf("the hook says %+v", got)
			}
			hooktest.Eventually(t, "the question is still marked", func() bool { return len(marks(t, m)) == 0 })
		})
	}
}

func TestTheDaemonTakesBackTheQuestionOfAHookThatWasKilled(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{})
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, settled := range []bool{true, false} {
		conn, err := place.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		req := local.Request{Op: local.Guard, Connection: m.ID, Call: hook.Call{Thread: "t1"}, Asked: hook.Asked{Question: "q"}.String()}
		if err := conn.Send(req); err != nil {
			t.Fatal(err)
		}
		if settled {
			if err := conn.Send(local.Ack{}); err != nil {
				t.Fatal(err)
			}
			hooktest.Eventually(t, "the daemon does not end the call", func() bool { return conn.Receive(new(local.Response)) != nil })
			if got := hub.Taken(); len(got) != 0 {
				t.Errorf("the question of a hook that ended by itself is taken back: %q", got)
			}
		}
		_ = conn.Close()
	}
	hooktest.Eventually(t, "the question is not taken back", func() bool { return slices.Equal(hub.Taken(), []string{hook.Settled}) })
}

func TestADaemonThatEndsLeavesAQuestionToItsHook(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	stop := daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	done := asking(t, hub, m)
	stop()
	if got := hub.Taken(); len(got) != 0 {
		t.Errorf("the question is taken back: %q", got)
	}
	hub.Answer("deny")
	if got := <-done; got.Out == "" || len(hub.Taken()) != 0 {
		t.Errorf("the hook says %+v", got)
	}
}

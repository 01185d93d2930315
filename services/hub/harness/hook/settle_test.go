package hook_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/shared/app"
	"parley.internal/shared/signal"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// asks starts parley-hook for a permission request, which rings the person, and returns the question's id.
func asks(t *testing.T, hub *hubtest.Hub, m *hooktest.Machine, person string) (cmd *exec.Cmd, out *bytes.Buffer, id string) {
	t.Helper()
	out = &bytes.Buffer{}
	cmd = exec.CommandContext(t.Context(), filepath.Join(bin, "parley-hook"), m.Conn.Client, "PermissionRequest", "--connection", m.ID)
	cmd.Env, cmd.Dir, cmd.Stdout = m.Environ(), m.Dir, out
	cmd.Stdin = bytes.NewReader(m.Input("t1", "PermissionRequest", bash))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hooktest.Eventually(t, "the person is not asked", func() bool {
		all, err := hub.Client(person).ListQuestions(t.Context(), signal.ListInput{})
		if err == nil && len(all.Questions) == 1 {
			id = all.Questions[0].ID
		}
		return id != ""
	})
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	hooktest.Eventually(t, "the hook does not note it", func() bool {
		return len(place.Marks(local.ID(m.ID, "t1"), local.Asked)) == 1
	})
	return cmd, out, id
}

func TestAPermissionThatWasSettledInTheClientTakesNoAnswer(t *testing.T) {
	t.Parallel()
	kill := func(sig os.Signal) func(*testing.T, *hooktest.Machine, *exec.Cmd) {
		return func(t *testing.T, m *hooktest.Machine, cmd *exec.Cmd) {
			if err := cmd.Process.Signal(sig); err != nil {
				t.Error(err)
			}
		}
	}
	ran := func(t *testing.T, m *hooktest.Machine, _ *exec.Cmd) { hook(t, m, "t1", "PostToolUse", bash) }
	for name, c := range map[string]struct {
		settle func(*testing.T, *hooktest.Machine, *exec.Cmd)
		daemon string
	}{
		"the call ran":                             {ran, ""},
		"the call ran, without a daemon":           {ran, "off"},
		"the client ends the hook":                 {kill(syscall.SIGTERM), ""},
		"the client ends the hook, without daemon": {kill(syscall.SIGTERM), "off"},
		"the client kills the hook":                {kill(syscall.SIGKILL), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
				hub := hubtest.New(t, db, hubtest.Options{})
				m, person := machine(t, hub, "claude", hub.Agent(user, "claude")), hub.Human(user)
				m.Conn.Permissions = connection.Permissions{On: true, Timeout: 3600}
				m.Connect(m.Conn)
				m.Env["PARLEY_CONNECTD"] = c.daemon
				hook(t, m, "t1", "SessionStart", nil)
				cmd, out, id := asks(t, hub, m, person)
				c.settle(t, m, cmd)
				hooktest.Eventually(t, "the question still waits for the person", func() bool {
					all, err := hub.Client(person).ListQuestions(t.Context(), signal.ListInput{})
					return err == nil && len(all.Questions) == 0
				})
				_, err := hub.Client(person).AnswerQuestion(t.Context(), signal.AnswerInput{QuestionID: id, Response: "allow"})
				if err == nil || !strings.Contains(err.Error(), "settled in the client") {
					t.Errorf("a late answer: %v", err)
				}
				_ = cmd.Wait() // a killed one has another code
				if out.Len() != 0 {
					t.Errorf("the hook says %s", out)
				}
			})
		})
	}
}

package stack

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/pulse"
	"parley.internal/shared/push/fcm/fcmtest"
	"parley.internal/shared/signal"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/supervise"
	"parley.internal/shared/task"
)

// patience is the time that a test waits for an expected push.
const patience = 40 * time.Second

// world is a stack with the pushes that it sent.
type world struct {
	*Stack
	t      *testing.T
	pushes chan fcmtest.Message
	logs   *supervise.Output
}

func begin(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, pushes: make(chan fcmtest.Message, 100), logs: &supervise.Output{}}
	var err error
	w.Stack, err = Start(t.Context(), Options{OnPush: func(m fcmtest.Message) { w.pushes <- m }, Output: w.logs})
	if errors.Is(err, emulator.ErrNone) {
		emulator.Skip(t, "gcloud's emulator is not on this machine: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// as returns a client of the hub with a key. It repeats nothing, because a repeated write would ring twice.
func (w *world) as(key string) *client.Client {
	w.t.Helper()
	c, err := client.New(w.Hub, key, client.WithRetry(client.NoRetry))
	w.must(err)
	return c
}

// must ends the test where a call failed.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.logs)
	}
}

// nextPush returns the next push.
func (w *world) nextPush() fcmtest.Message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	select {
	case m := <-w.pushes:
		return m
	case <-ctx.Done():
		w.t.Fatalf("no push was sent\n%s", w.logs)
	}
	return fcmtest.Message{}
}

// temps returns the temporary directories that a stack has left behind; the test must have its own directory for them.
func temps(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "parley-stack-*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func TestWritesThroughTheHubCausePushesThroughTheEmulatorsTriggers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w := begin(t)
	ctx, agent := t.Context(), w.as(w.AgentKey)
	_, err := w.as(w.HumanKey).RegisterDevice(ctx, signal.DeviceInput{Token: "phone", Platform: "android"})
	w.must(err)

	q, err := agent.AskQuestion(ctx, signal.AskInput{Question: "Deploy now?", Options: []string{"yes", "no"}})
	w.must(err)
	if m := w.nextPush(); m.Project != Project || m.Token != "phone" || m.Title != "alpha needs your answer" ||
		m.Body != "Deploy now?" ||
		m.Data["taskId"] != q.QuestionID || q.QuestionID == "" || m.Data["url"] != w.Hub+"/q/"+q.QuestionID {
		t.Errorf("the push of a question is %+v", m)
	}

	made, err := agent.CreateTask(ctx, dispatch.CreateInput{Title: "build it", Target: "alpha"})
	w.must(err)
	_, err = agent.ClaimTask(ctx, dispatch.ClaimInput{TaskID: made.TaskID})
	w.must(err)
	_, err = agent.UpdateTask(ctx, dispatch.UpdateInput{TaskID: made.TaskID, Status: task.Blocked, Note: "no disk"})
	w.must(err)
	if m := w.nextPush(); m.Title != "build it is blocked" || m.Body != "no disk" || m.Data["taskId"] != made.TaskID {
		t.Errorf("the push of a task is %+v", m)
	}

	_, err = agent.CreateSession(ctx, pulse.CreateInput{Name: "the build", SessionID: "alpha.1"})
	w.must(err)
	_, err = agent.UpdateSession(ctx, pulse.UpdateInput{SessionID: "alpha.1", State: pulse.Blocked, Status: new("waits")})
	w.must(err)
	if m := w.nextPush(); m.Title != "the build is blocked" || m.Body != "waits" || m.Data["sessionId"] != "alpha.1" {
		t.Errorf("the push of a session is %+v", m)
	}

	answer, err := w.Sweep(t.Context(), "CleanupOrphanedTasks")
	if err != nil || !strings.Contains(answer, `"settled":{"ended":0,"expired":0,"leases":0,"texts":0},"more":false`) {
		t.Errorf("a sweep answers %s, %v", answer, err)
	}
	if link, err := w.Run(t.Context(), "link", "--url", w.Hub); err != nil || !strings.HasPrefix(link, w.Hub+"/q#") {
		t.Errorf("a link is %q, %v", link, err)
	}

	if len(temps(t)) != 1 {
		t.Errorf("its directories are %q", temps(t))
	}
	w.Stop()
	if left := temps(t); len(left) != 0 {
		t.Errorf("it leaves %q", left)
	}
	for _, addr := range []string{w.Hub, w.Functions, w.FCM, w.Emulator} {
		if conn, err := net.Dial("tcp", strings.TrimPrefix(addr, "http://")); err == nil {
			_ = conn.Close()
			t.Errorf("%s lives on", addr)
		}
	}
	if len(w.pushes) != 0 {
		t.Errorf("another push: %+v", <-w.pushes)
	}
}

func TestStartReportsAMissingEmulator(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := Start(t.Context(), Options{}); !errors.Is(err, emulator.ErrNone) || len(temps(t)) != 0 {
		t.Errorf("Start() = %v, left %q", err, temps(t))
	}
}

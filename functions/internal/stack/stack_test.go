package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/push/fcm/fcmtest"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/supervise"
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
	if errors.Is(err, emulator.ErrNone) && !emulator.Required() {
		t.Skip("gcloud's emulator is not on this machine: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// call calls the hub over REST and decodes the data of its answer.
func (w *world) call(key, method, path string, in, out any) {
	w.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.Hub+path, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode > 299 {
		w.t.Fatalf("%s %s: %s %s %v\n%s", method, path, res.Status, said, err, w.logs)
	}
	if err := json.Unmarshal(said, &struct{ Data any }{out}); err != nil {
		w.t.Fatal(err)
	}
}

// rung returns the next push.
func (w *world) rung() fcmtest.Message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	select {
	case m := <-w.pushes:
		return m
	case <-ctx.Done():
		w.t.Fatalf("nothing rings\n%s", w.logs)
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

type document struct {
	QuestionID string `json:"questionId"`
	TaskID     string `json:"taskId"`
	ID         string `json:"id"`
	SessionID  string `json:"sessionId"`
}

func TestWritesThroughTheHubCausePushesThroughTheEmulatorsTriggers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w := begin(t)
	var q, made, session document
	w.call(w.HumanKey, http.MethodPost, "/v1/devices", map[string]any{"token": "phone", "platform": "android"},
		&document{})

	w.call(w.AgentKey, http.MethodPost, "/v1/questions",
		map[string]any{"question": "Deploy now?", "options": []string{"yes", "no"}}, &q)
	if m := w.rung(); m.Project != Project || m.Token != "phone" || m.Title != "alpha needs your answer" ||
		m.Body != "Deploy now?" ||
		m.Data["taskId"] != q.QuestionID || q.QuestionID == "" || m.Data["url"] != w.Hub+"/q/"+q.QuestionID {
		t.Errorf("for a question rings %+v", m)
	}

	w.call(w.AgentKey, http.MethodPost, "/v1/tasks", map[string]any{"title": "build it", "target": "alpha"}, &made)
	w.call(w.AgentKey, http.MethodPost, "/v1/tasks/"+made.TaskID+"/claim", map[string]any{}, &document{})
	w.call(w.AgentKey, http.MethodPatch, "/v1/tasks/"+made.TaskID,
		map[string]any{"status": "blocked", "note": "no disk"}, &document{})
	if m := w.rung(); m.Title != "build it is blocked" || m.Body != "no disk" || m.Data["taskId"] != made.TaskID {
		t.Errorf("for a task rings %+v", m)
	}

	w.call(w.AgentKey, http.MethodPost, "/v1/sessions", map[string]any{"name": "the build", "sessionId": "alpha.1"},
		&session)
	w.call(w.AgentKey, http.MethodPatch, "/v1/sessions/alpha.1", map[string]any{"state": "blocked", "status": "waits"},
		&document{})
	if m := w.rung(); m.Title != "the build is blocked" || m.Body != "waits" || m.Data["sessionId"] != "alpha.1" {
		t.Errorf("for a session rings %+v", m)
	}

	answer, err := w.Sweep(t.Context(), "CleanupOrphanedTasks")
	if err != nil || !strings.Contains(answer, `"settled":{"ended":0,"expired":0,"leases":0},"more":false`) {
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
		t.Errorf("more rings: %+v", <-w.pushes)
	}
}

func TestStartReportsAMissingEmulator(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := Start(t.Context(), Options{}); !errors.Is(err, emulator.ErrNone) || len(temps(t)) != 0 {
		t.Errorf("Start() = %v, left %q", err, temps(t))
	}
}

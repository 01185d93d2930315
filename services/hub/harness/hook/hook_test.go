package hook_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// send sends a message as beta.
func send(t *testing.T, hub *hubtest.Hub, key, target, kind, text string) {
	t.Helper()
	a := hub.REST(key, "POST", "/v1/messages", map[string]any{"source": "beta", "target": target, "message_type": kind, "message": text})
	if a.Status >= 300 {
		t.Fatalf("a message: %s", a)
	}
}

func TestAnAgentIsToldWhoItIsAndItsMailBetweenToolCalls(t *testing.T) {
	t.Parallel()
	storetest.Each(t, app.Schema(), func(t *testing.T, db *store.DB) {
		hub := hubtest.New(t, db, hubtest.Options{})
		m, beta := machine(t, hub, "claude", hub.Agent(user, "claude")), hub.Agent(user, "beta")
		send(t, hub, beta, "claude", "QUERY", "which parser?")
		got := hook(t, m, "t1", "SessionStart", map[string]any{"source": "startup"}).Context()
		for _, want := range []string{"You are claude/1", "(verified)", "from beta (verified), QUERY", "| which parser?"} {
			if !strings.Contains(got, want) {
				t.Errorf("the start does not say %q:\n%s", want, got)
			}
		}
		hook(t, m, "t1", "UserPromptSubmit", map[string]any{"prompt": "work"})
		hook(t, m, "t1", "PreToolUse", bash)
		send(t, hub, beta, "claude/1", "STATUS", "while the tool runs")
		hooktest.Eventually(t, "the mail does not come", func() bool {
			return strings.Contains(hook(t, m, "t1", "PostToolUse", bash).Context(), "| while the tool runs")
		})
	})
}

func TestNoMessageIsLostOrRepeatedWhereHooksAndDaemonsAreKilled(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{Now: fast()})
	m, beta := machine(t, hub, "claude", hub.Agent(user, "claude")), hub.Agent(user, "beta")
	hook(t, m, "t1", "SessionStart", nil)
	const n = 100
	go func() {
		for i := range n {
			a, err := hub.Try(t.Context(), "POST", "/v1/messages", map[string]any{"source": "beta", "target": "claude/1",
				"message_type": "STATUS", "message": fmt.Sprintf("text-%d.", i)}, "Authorization", "Bearer "+beta)
			if err != nil || a.Status >= 300 {
				t.Errorf("a message: %s, %v", a, err)
			}
		}
	}()
	seen, killed := map[int]bool{}, 0
	take := func(text string) {
		for i := range n {
			if mark := fmt.Sprintf("| text-%d.", i); strings.Contains(text, mark) {
				before, _, _ := strings.Cut(text, mark)
				head := before[strings.LastIndex(strings.TrimRight(before, "\n"), "\n")+1:]
				if seen[i] && !strings.Contains(head, ", again:") {
					t.Errorf("message %d came twice without a mark:\n%s", i, text)
				}
				seen[i] = true
			}
		}
	}
	for end := time.Now().Add(100 * time.Second); len(seen) < n; {
		if time.Now().After(end) {
			t.Fatalf("%d of %d messages came", len(seen), n)
		}
		event, kill := []string{"PostToolUse", "UserPromptSubmit"}[rand.IntN(2)], time.Duration(0)
		if rand.IntN(3) == 0 {
			kill = time.Duration(rand.IntN(12_000)) * time.Microsecond
			killed++
		}
		// A killed process has written a whole answer that a client can read, or nothing.
		take(run(t, m, event, m.Input("t1", event, bash), kill).Context())
		if rand.IntN(25) == 0 {
			kill9(t, m)
		}
	}
	t.Logf("%d hooks were killed", killed)
}

// fast returns a clock on which the minutes pass after which unconfirmed mail comes again.
func fast() func() time.Time {
	begun := time.Now()
	return func() time.Time { return begun.Add(60 * time.Since(begun)) }
}

// kill9 kills the daemon.
func kill9(t *testing.T, m *hooktest.Machine) {
	t.Helper()
	info, err := connectd.Status(t.Context(), m.Getenv)
	if err != nil {
		return
	}
	if p, err := os.FindProcess(info.PID); err == nil {
		_ = p.Kill()
	}
}

func TestThreeSessionsOfOneConnectionGetTheirOwnMail(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	m, beta := machine(t, hub, "claude", hub.Agent(user, "claude")), hub.Agent(user, "beta")
	for i := range 3 {
		got := hook(t, m, fmt.Sprint("t", i), "SessionStart", nil).Context()
		if want := fmt.Sprintf("You are claude/%d,", i+1); !strings.Contains(got, want) {
			t.Fatalf("not %q: %s", want, got)
		}
	}
	for i := range 3 {
		send(t, hub, beta, fmt.Sprintf("claude/%d", i+1), "QUERY", fmt.Sprintf("for-%d.", i))
	}
	for i := range 3 {
		thread, text := fmt.Sprint("t", i), ""
		hooktest.Eventually(t, "its mail does not come", func() bool {
			text += hook(t, m, thread, "UserPromptSubmit", map[string]any{"prompt": "x"}).Context()
			return strings.Contains(text, fmt.Sprintf("| for-%d.", i))
		})
		if strings.Count(text, "| for-") != 1 {
			t.Errorf("session %d got %s", i, text)
		}
	}
}

func TestTenThousandCallsLeaveOneDaemonThatEndsWithTheLastSession(t *testing.T) {
	t.Parallel()
	const sessions, calls = 10, 1000
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	m := machine(t, hub, "claude", hub.Agent(user, "claude"))
	for i := range sessions {
		hook(t, m, fmt.Sprint("t", i), "SessionStart", nil)
	}
	info, err := connectd.Status(t.Context(), m.Getenv)
	if err != nil {
		t.Fatalf("the first hook starts no daemon: %v", err)
	}
	t.Run("calls", func(t *testing.T) {
		for i := range sessions {
			thread := fmt.Sprint("t", i)
			t.Run(thread, func(t *testing.T) {
				t.Parallel()
				for n := range calls {
					event := []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"}[n%4]
					if got := hook(t, m, thread, event, bash); got.Out != "" || got.Code != 0 {
						t.Fatalf("%s: %+v", event, got)
					}
				}
			})
		}
	})
	if now, err := connectd.Status(t.Context(), m.Getenv); err != nil || now.PID != info.PID || len(now.Sessions) != sessions {
		t.Errorf("the daemon is now %+v, %v; it was %d", now, err, info.PID)
	}
	for i := range sessions {
		hook(t, m, fmt.Sprint("t", i), "SessionEnd", nil)
	}
	hooktest.Eventually(t, "the daemon has not ended", func() bool {
		_, err := connectd.Status(t.Context(), m.Getenv)
		return errors.Is(err, connectd.ErrNone) && !local.Alive(info.PID, "")
	})
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(place.Dir, "sessions")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAPauseDeniesAlsoWithTheHubStopped(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	m, human := machine(t, hub, "claude", hub.Agent(user, "claude")), hub.Human(user)
	hook(t, m, "t1", "SessionStart", nil)
	pause := hub.REST(human, "POST", "/v1/pauses", map[string]any{"scope": "program", "name": "claude", "words": "wait for me"})
	if pause.Status >= 300 {
		t.Fatalf("a pause: %s", pause)
	}
	denied := func() bool {
		return strings.Contains(hook(t, m, "t1", "PreToolUse", bash).Denied(), `says: "wait for me"`)
	}
	hooktest.Eventually(t, "the pause is not known", denied)
	m.Conn.URL = "http://127.0.0.1:1" // nobody listens there
	m.Connect(m.Conn)
	kill9(t, m)
	for range 3 {
		if !denied() {
			t.Error("it is not denied without the hub")
		}
	}
}

func TestAnEditOfWhatAnotherHoldsIsDenied(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	m, beta := machine(t, hub, "claude", hub.Agent(user, "claude")), hub.Agent(user, "beta")
	hooktest.Repository(t, m.Dir)
	hook(t, m, "t1", "SessionStart", nil)
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	var st struct{ Repo struct{ Project string } }
	if !place.Load(local.ID(m.ID, "t1"), &st) || st.Repo.Project == "" {
		t.Fatal("the project is unknown")
	}
	reserved := hub.REST(beta, "POST", "/v1/files/reservations", map[string]any{"paths": []string{"src/"}, "project": st.Repo.Project})
	if reserved.Status >= 300 {
		t.Fatalf("a reservation: %s", reserved)
	}
	edit := func(name string) hooktest.Result {
		return hook(t, m, "t1", "PreToolUse", map[string]any{"tool_name": "Edit",
			"tool_input": map[string]any{"file_path": filepath.Join(m.Dir, name)}})
	}
	if got := edit("src/a.go").Denied(); !strings.Contains(got, `"beta" holds src/`) {
		t.Errorf("got %q", got)
	}
	if got := edit("b.go"); got.Out != "" {
		t.Errorf("a free file: %s", got.Out)
	}
}

func TestThePersonsAnswerDecidesAPermission(t *testing.T) {
	t.Parallel()
	hub := hubtest.New(t, storetest.SQLite(t, app.Schema()), hubtest.Options{})
	m, human := machine(t, hub, "claude", hub.Agent(user, "claude")), hub.Human(user)
	m.Conn.Permissions.On, m.Conn.Permissions.Timeout = true, 60
	m.Connect(m.Conn)
	hook(t, m, "t1", "SessionStart", nil)
	for answer, want := range map[string]string{"allow": `"behavior":"allow"`, "not today": "who says: not today"} {
		done := make(chan hooktest.Result, 1)
		go func() { done <- run(t, m, "PermissionRequest", m.Input("t1", "PermissionRequest", bash), 0) }()
		var list struct {
			Questions []struct{ ID, Question string }
		}
		hooktest.Eventually(t, "nobody is asked", func() bool {
			hubtest.Must(t, hub.REST(human, "GET", "/v1/questions", nil).Into(&list))
			return len(list.Questions) == 1
		})
		if q := list.Questions[0]; !strings.Contains(q.Question, "claude/1 asks for permission: Bash: git status") {
			t.Errorf("asked %q", q.Question)
		}
		a := hub.REST(human, "POST", "/v1/questions/"+list.Questions[0].ID+"/answer", map[string]string{"response": answer})
		if got := <-done; a.Status >= 300 || got.Code != 0 || !strings.Contains(got.Out, want) {
			t.Errorf("%s: %s\n%+v", answer, a, got)
		}
	}
}

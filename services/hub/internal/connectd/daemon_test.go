package connectd_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
	"parley.internal/services/hub/internal/hook/local"
	"parley.internal/shared/hook/wire"
)

var bash = map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "git status"}}

// daemon runs a daemon in the process of the test until the test or stop ends it.
func daemon(t *testing.T, m *hooktest.Machine, o connectd.Options) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	o.Env, o.Slack = m.Getenv, m.Slack
	if o.Linger == 0 {
		o.Linger = time.Minute
	}
	if o.Rest == 0 {
		o.Rest = time.Nanosecond
	}
	go func() { done <- connectd.Run(ctx, o) }()
	hooktest.Eventually(t, "no daemon", func() bool {
		if len(done) != 0 {
			t.Fatalf("the daemon ends at once: %v", <-done)
		}
		_, err := connectd.Status(t.Context(), m.Getenv)
		return err == nil
	})
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("the daemon: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func start(t *testing.T) (*hooktest.Hub, *hooktest.Machine) {
	t.Helper()
	hub := hooktest.New(t)
	return hub, hooktest.NewMachine(t, hub.URL, "claude")
}

func TestMailBetweenToolCallsComesFromMemory(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{})
	if got := m.Hook("t1", "SessionStart", nil).Context(); !strings.Contains(got, "You are claude/1") {
		t.Fatalf("the start says %q", got)
	}
	m.Hook("t1", "UserPromptSubmit", map[string]any{"prompt": "work"})
	hub.Mail("claude/1", "m1", "QUERY", "which parser?")
	hooktest.Eventually(t, "the mail does not come", func() bool {
		got := m.Hook("t1", "PostToolUse", bash).Context()
		return strings.Contains(got, "| which parser?") && !strings.Contains(got, ", again:")
	})
	hooktest.Eventually(t, "the mail is not confirmed", func() bool { return hub.Unread("claude/1") == 0 })
	if got := m.Hook("t1", "PostToolUse", bash); got.Out != "" {
		t.Errorf("nothing is new, and it says %s", got.Out)
	}
}

func TestEachSessionOfAConnectionGetsItsOwnMail(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{})
	for i := range 3 {
		got := m.Hook(fmt.Sprint("t", i), "SessionStart", nil).Context()
		if want := fmt.Sprintf("You are claude/%d,", i+1); !strings.Contains(got, want) {
			t.Fatalf("not %q: %s", want, got)
		}
	}
	for i := range 3 {
		hub.Mail(fmt.Sprintf("claude/%d", i+1), fmt.Sprint("m", i), "QUERY", fmt.Sprintf("for-%d.", i))
	}
	for i := range 3 {
		thread, text := fmt.Sprint("t", i), ""
		hooktest.Eventually(t, "its mail does not come", func() bool {
			text += m.Hook(thread, "PostToolUse", bash).Context() + m.Hook(thread, "UserPromptSubmit", nil).Context()
			return strings.Contains(text, fmt.Sprintf("for-%d.", i))
		})
		if strings.Count(text, "| for-") != 1 {
			t.Errorf("session %d got %s", i, text)
		}
	}
}

func TestAPauseDeniesTheNextToolCallAndIsRememberedForALaterDaemon(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	stop := daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	hub.Pause("claude/1", &wire.Pause{Words: "wait", By: "human", Of: "claude"})
	denied := func() bool { return strings.Contains(m.Hook("t1", "PreToolUse", bash).Denied(), "Paused by human") }
	hooktest.Eventually(t, "the pause is not known", denied)
	hub.Set("down", 0)
	if !denied() {
		t.Error("it is not denied without the server")
	}
	stop()
	if !denied() {
		t.Error("it is not denied without the server and the daemon")
	}
	daemon(t, m, connectd.Options{})
	if !denied() {
		t.Error("the next daemon does not deny it")
	}
	hub.Set("", 0)
	hub.Pause("claude/1", nil)
	hooktest.Eventually(t, "it is denied after it was resumed", func() bool { return !denied() })
}

func TestNothingIsLostAndNothingComesTwiceUnmarkedWhereProcessesAreKilled(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	stop := daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	const n = 60
	go func() {
		for i := range n {
			hub.Mail("claude/1", fmt.Sprint("m", i), "STATUS", fmt.Sprintf("text-%d.", i))
			time.Sleep(3 * time.Millisecond)
		}
	}()
	seen := map[int]bool{}
	take := func(text string) {
		for i := range n {
			if !strings.Contains(text, fmt.Sprintf("| text-%d.", i)) {
				continue
			}
			before, _, _ := strings.Cut(text, fmt.Sprintf("| text-%d.", i))
			head := before[strings.LastIndex(strings.TrimRight(before, "\n"), "\n")+1:]
			if seen[i] && !strings.Contains(head, ", again:") {
				t.Errorf("message %d came twice without a mark:\n%s", i, text)
			}
			seen[i] = true
		}
	}
	round := 0
	hooktest.Eventually(t, "messages are lost", func() bool {
		switch round++; rand.IntN(4) {
		case 0: // the hook dies after the daemon gave it the mail
			abandon(t, m, "t1")
		case 1:
			if round%10 == 0 { // the daemon dies, or as good as
				stop()
				stop = daemon(t, m, connectd.Options{})
			}
		case 2:
			take(m.Hook("t1", "UserPromptSubmit", map[string]any{"prompt": "go on"}).Context())
		default:
			take(m.Hook("t1", "PostToolUse", bash).Context())
		}
		return len(seen) == n
	})
	hooktest.Eventually(t, "what was shown is not confirmed", func() bool {
		take(m.Hook("t1", "UserPromptSubmit", map[string]any{"prompt": "go on"}).Context())
		return hub.Unread("claude/1") == 0
	})
}

// abandon asks the daemon as a hook does that is killed before it writes.
func abandon(t *testing.T, m *hooktest.Machine, thread string) {
	t.Helper()
	place, err := local.Find(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := place.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req := hooktest.Request(t, m, thread, "PostToolUse", bash)
	var res local.Response
	if err := errors.Join(conn.Send(req), conn.Receive(&res)); err != nil {
		t.Fatal(err)
	}
}

func TestTheDaemonEndsWithTheLastSessionAndLeavesNothing(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{Linger: 50 * time.Millisecond})
	for i := range 3 {
		m.Hook(fmt.Sprint("t", i), "SessionStart", nil)
	}
	for range 50 {
		m.Hook("t1", "PreToolUse", bash)
		m.Hook("t1", "PostToolUse", bash)
	}
	for i := range 3 {
		m.Hook(fmt.Sprint("t", i), "SessionEnd", nil)
	}
	hooktest.Eventually(t, "it has not ended", func() bool {
		_, err := connectd.Status(t.Context(), m.Getenv)
		return errors.Is(err, connectd.ErrNone)
	})
	for i := range 3 {
		if !hub.Ended(fmt.Sprintf("claude/%d", i+1)) {
			t.Errorf("the server does not know that session %d has ended", i+1)
		}
	}
	place, _ := local.Find(m.Getenv)
	if left, err := os.ReadDir(filepath.Join(place.Dir, "sessions")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestThereIsOneDaemonForAUser(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	stop := daemon(t, m, connectd.Options{})
	if err := connectd.Run(t.Context(), connectd.Options{Env: m.Getenv}); !errors.Is(err, connectd.ErrRuns) {
		t.Errorf("a second daemon: %v", err)
	}
	place, _ := local.Find(m.Getenv)
	path, err := place.Socket()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", info.Mode(), err)
	}
	if err := connectd.Stop(t.Context(), m.Getenv); err != nil {
		t.Errorf("stop: %v", err)
	}
	stop()
	if err := connectd.Stop(t.Context(), m.Getenv); !errors.Is(err, connectd.ErrNone) {
		t.Errorf("stopped again: %v", err)
	}
}

func TestATurnOfARunWithoutAPersonGoesOnWithWhatWantsAnAnswer(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	hub.Mail("claude/1", "m1", "QUERY", "still there?")
	if got := m.Hook("t1", "Stop", nil); got.Out != "" {
		t.Errorf("with a person at the terminal the turn is continued: %s", got.Out)
	}
	m.Env["CLAUDE_CODE_ENTRYPOINT"], m.Env["CLAUDE_CODE_SESSION_ATTENDED"] = "sdk-cli", "0"
	hooktest.Eventually(t, "the turn is not continued", func() bool {
		return strings.Contains(m.Hook("t1", "Stop", nil).Continued(), "| still there?")
	})
	hub.Claim("claude/1", wire.Claim{TaskID: "T", Title: "a task", Status: "active"})
	m.Hook("t1", "SessionStart", map[string]any{"source": "compact"})
	continued := 0
	for range 10 {
		if strings.Contains(m.Hook("t1", "Stop", map[string]any{"stop_hook_active": true}).Continued(), "you still hold task T") {
			continued++
		}
	}
	if continued < 2 || continued > 3 {
		t.Errorf("continued %d times in a row", continued)
	}
	m.Hook("t1", "PostToolUseFailure", map[string]any{"tool_name": "Bash", "is_interrupt": true})
	if got := m.Hook("t1", "Stop", nil); got.Out != "" {
		t.Errorf("it goes on after the person interrupted: %s", got.Out)
	}
}

// In a turn the daemon fetches mail before a hook asks for it.
func TestATurnGoesOnWithMailThatWasFetchedMeanwhile(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{})
	m.Env["CLAUDE_CODE_ENTRYPOINT"], m.Env["CLAUDE_CODE_SESSION_ATTENDED"] = "sdk-cli", "0"
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "UserPromptSubmit", nil)
	fetched := func() int {
		return len(slices.DeleteFunc(hub.Inputs(), func(in wire.HookInput) bool { return in.Event != wire.Read || in.MaxBytes == 0 }))
	}
	hub.Mail("claude/1", "m1", "STATUS", "nothing to answer")
	hooktest.Eventually(t, "the mail is not fetched", func() bool { return fetched() == 1 })
	if got := m.Hook("t1", "Stop", nil); got.Out != "" {
		t.Errorf("the turn is continued for a message that wants no answer: %s", got.Out)
	}
	m.Hook("t1", "UserPromptSubmit", nil) // has that message
	hub.Mail("claude/1", "m2", "QUERY", "still there?")
	hooktest.Eventually(t, "the query is not fetched", func() bool { return fetched() == 2 })
	hooktest.Eventually(t, "the turn is not continued", func() bool {
		return strings.Contains(m.Hook("t1", "Stop", nil).Continued(), "| still there?")
	})
}

func TestAnEditIsDecidedByTheServerAndRememberedWhereItIsStrict(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	hooktest.Repository(t, m.Dir)
	at := &clock{}
	daemon(t, m, connectd.Options{Now: at.now})
	m.Hook("t1", "SessionStart", nil)
	edit := map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"file_path": filepath.Join(m.Dir, "src", "a.go")}}
	if got := m.Hook("t1", "PreToolUse", edit); got.Out != "" {
		t.Errorf("a free file: %s", got.Out)
	}
	in := slices.DeleteFunc(hub.Inputs(), func(in wire.HookInput) bool { return in.Event != wire.Edit })
	if last := in[len(in)-1]; last.Event != wire.Edit || len(last.Paths) != 1 || last.Paths[0] != "src/a.go" || last.Doing != "Edit src/a.go" {
		t.Errorf("the server was told %+v", last)
	}
	hub.Set("down", 0)
	at.pass(time.Minute) // what the server said a moment ago is remembered
	if got := m.Hook("t1", "PreToolUse", edit); got.Out != "" {
		t.Errorf("without the server: %s", got.Out)
	}
	hub.Set("", 0)
	hub.Files(wire.Files{Verdict: wire.Deny, Reason: []string{`src/a.go: "beta" holds src/`}, Strict: true})
	if got := m.Hook("t1", "PreToolUse", edit).Denied(); !strings.Contains(got, `"beta" holds src/`) {
		t.Errorf("a held file: %q", got)
	}
	hub.Set("down", 0)
	if got := m.Hook("t1", "PreToolUse", edit).Denied(); !strings.Contains(got, "this project is strict") {
		t.Errorf("a strict project without the server: %q", got)
	}
}

func TestASlowServerIsNotNoticedBetweenToolCalls(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	m.Slack = 0
	daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	hub.Set("silent", 0)
	for _, event := range []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"} {
		if got := m.Hook("t1", event, bash); got.Out != "" || got.Code != 0 {
			t.Errorf("%s: %+v", event, got)
		}
	}
}

func TestUsageIsReportedOnceByTurns(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{})
	path := filepath.Join(m.Dir, "t.jsonl")
	line := func(id string, in int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":"m","usage":{"input_tokens":%d,"output_tokens":1}}}`+"\n", id, in)
	}
	write := func(text string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]any{"transcript_path": path}
	m.Hook("t1", "SessionStart", at)
	write(line("a", 1) + line("a", 5) + line("b", 7))
	m.Hook("t1", "Stop", at)
	hooktest.Eventually(t, "the usage of the turn", func() bool { return len(hub.Usage()) == 2 })
	many := ""
	for i := range 120 {
		many += line(fmt.Sprint("c", i), 1)
	}
	write(many)
	m.Hook("t1", "SessionEnd", at)
	hooktest.Eventually(t, "the usage of the session", func() bool { return len(hub.Usage()) == 122 && hub.Ended("claude/1") })
	if u := hub.Usage()["a"]; u.TokensIn != 5 || u.Model != "m" {
		t.Errorf("got %+v", u)
	}
	sent := map[string]int{}
	for _, in := range hub.Inputs() {
		for _, u := range in.Usage {
			sent[u.ID]++
		}
	}
	for id, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
}

package connectd_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/services/hub/internal/hook/hooktest"
)

// repository is a machine with a session of a client in a new repository, and a daemon.
func repository(t *testing.T) (*hooktest.Hub, *hooktest.Machine) {
	t.Helper()
	hub, m := start(t)
	hooktest.Repository(t, m.Dir)
	daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	return hub, m
}

// shell is the input of a hook about a call of the shell.
func shell(use string) map[string]any {
	return map[string]any{"tool_name": "Bash", "tool_use_id": use, "tool_input": map[string]any{"command": "make"}}
}

func edit(use, path string) map[string]any {
	return map[string]any{"tool_name": "Edit", "tool_use_id": use, "tool_input": map[string]any{"file_path": path}}
}

func write(t *testing.T, m *hooktest.Machine, name string) string {
	t.Helper()
	path := filepath.Join(m.Dir, name)
	if err := os.WriteFile(path, []byte(name+time.Now().String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// told returns the files that the server was told to be changed.
func told(hub *hooktest.Hub) (files []string) {
	for _, in := range hub.Inputs() {
		files = append(files, in.Changed...)
	}
	return files
}

func TestTheServerIsToldWhatACommandChanged(t *testing.T) {
	t.Parallel()
	hub, m := repository(t)
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(write(t, m, "before.txt"), past, past); err != nil {
		t.Fatal(err)
	}
	m.Hook("t1", "PreToolUse", shell("u1"))
	m.Hook("t1", "PreToolUse", shell("u2"))
	write(t, m, "a.txt")
	m.Hook("t1", "PostToolUse", shell("u1"))
	hooktest.Eventually(t, "the change is not told", func() bool { return slices.Contains(told(hub), "a.txt") })
	for _, in := range hub.Inputs() {
		if len(in.Changed) > 0 && (in.Project == "" || in.Worktree != "main" || in.Branch == "" || in.SessionID != "claude/1") {
			t.Errorf("told with %+v", in)
		}
	}
	write(t, m, "b.txt")
	m.Hook("t1", "PostToolUseFailure", shell("u2"))
	hooktest.Eventually(t, "the change of a command that failed is not told", func() bool { return slices.Contains(told(hub), "b.txt") })
	m.Hook("t1", "PreToolUse", shell("u3"))
	write(t, m, "c.txt")
	m.Hook("t1", "SessionEnd", nil)
	hooktest.Eventually(t, "the session does not end", func() bool { return hub.Ended("claude/1") })
	if got, want := told(hub), []string{"a.txt", "b.txt", "c.txt"}; !slices.Equal(got, want) {
		t.Errorf("told of %q, want %q", got, want)
	}
}

func TestNobodyIsTakenForTheAuthorOfWhatAnotherDidMeanwhile(t *testing.T) {
	t.Parallel()
	hub, m := repository(t)
	m.Hook("t2", "SessionStart", nil)
	m.Hook("t1", "PreToolUse", shell("u1"))
	m.Hook("t2", "PreToolUse", edit("e1", write(t, m, "edited.txt")))
	m.Hook("t2", "PreToolUse", shell("u2"))
	write(t, m, "theirs.txt")
	m.Hook("t2", "PostToolUse", shell("u2"))
	hooktest.Eventually(t, "the change is not told", func() bool { return slices.Contains(told(hub), "theirs.txt") })
	write(t, m, "mine.txt")
	m.Hook("t1", "PostToolUse", shell("u1"))
	hooktest.Eventually(t, "the change is not told", func() bool { return slices.Contains(told(hub), "mine.txt") })
	for _, in := range hub.Inputs() {
		if want := map[string]string{"t1": "mine.txt", "t2": "theirs.txt"}[in.Thread]; len(in.Changed) > 0 && !slices.Equal(in.Changed, []string{want}) {
			t.Errorf("%s is told to have changed %q", in.Thread, in.Changed)
		}
	}
}

func TestOutsideOfARepositoryNothingIsTold(t *testing.T) {
	t.Parallel()
	hub, m := start(t)
	daemon(t, m, connectd.Options{})
	m.Hook("t1", "SessionStart", nil)
	m.Hook("t1", "PreToolUse", shell("u1"))
	write(t, m, "a.txt")
	m.Hook("t1", "PostToolUse", shell("u1"))
	m.Hook("t1", "SessionEnd", nil)
	hooktest.Eventually(t, "the session does not end", func() bool { return hub.Ended("claude/1") })
	if got := told(hub); len(got) != 0 {
		t.Errorf("told of %q", got)
	}
}

func TestChangesAreToldWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	hub, m := repository(t)
	hub.Set("down", 0)
	m.Hook("t1", "PreToolUse", shell("u1"))
	write(t, m, "a.txt")
	m.Hook("t1", "PostToolUse", shell("u1"))
	hub.Set("", 0)
	hooktest.Eventually(t, "the change is not told", func() bool { return slices.Contains(told(hub), "a.txt") })
}

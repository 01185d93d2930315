package agents_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/connectd"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/relay"
)

func TestAnIdleClaudeCodeIsWokenByTheMonitorOfAPlugin(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, "claude", "--plugin")
	if text := m.read("home/work/.claude/settings.local.json"); strings.Contains(text, "hooks") || !strings.Contains(text, "enabledPlugins") {
		t.Fatalf("the settings of the repository are\n%s", text)
	}
	m.wakes("claude", 2)
}

func TestAMonitorWakesTheSessionThatFollowsInOneTerminal(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, "claude", "--plugin")
	m.opens("t", "claude", "go")
	first := strings.TrimPrefix(addressed.FindString(m.request(1).Text), "You are ")
	m.idle(1)
	for _, words := range []string{"/clear", "Enter"} {
		if _, err := m.tmux("send-keys", "-t", "t", words); err != nil {
			t.Fatal(err)
		}
		m.shows("/clear")
	}
	next := ""
	domaintest.Eventually(t, "another session follows", func() bool {
		info, err := connectd.Status(t.Context(), m.getenv)
		if err != nil || len(info.Sessions) != 1 || !info.Sessions[0].Waiter {
			return false
		}
		next = info.Sessions[0].SessionID
		return next != "" && next != first
	})
	in := relay.SendInput{Target: next, MessageType: "QUERY", Message: "Are you there?"}
	if _, err := m.person.SendMessage(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if session, _ := m.reader("Are you there?"); session != "You are "+next {
		t.Errorf("the mail to %s is read where %s", next, session)
	}
}

func TestTheFirstRunOfClaudeCodeHasThePluginAndNothingIsLeftOfItAfterwards(t *testing.T) {
	t.Parallel()
	h := newHooked(t, "claude")
	h.write("home/.claude/settings.json", "{\n  \"theme\": \"dark\"\n}\n")
	before := h.tree()
	h.holds("connect", h.run(h.parley, "connect", "claude", "--plugin"), "done   hooks", "as a plugin in ")
	h.sends("claude", "QUERY", "Which parser do we take?")
	h.starts("claude", "-p", "go")()
	h.holds("the first request", h.request(1).Text, "You are claude/", "from beta (verified), QUERY", "| Which parser do we take?")
	if again := h.run(h.parley, "connect", "claude"); !strings.Contains(again, "up to date") {
		t.Errorf("after the client's first run, connecting again changes\n%s", again)
	}

	h.run(h.parley, "connect", "claude", "--remove")
	if list := h.run("claude", "plugin", "list") + h.run("claude", "plugin", "marketplace", "list"); strings.Contains(list, "parley") {
		t.Errorf("after the removal the client lists\n%s", list)
	}
	after := h.tree()
	for name, text := range after {
		if strings.Contains(text, "parley-claude") || before[name] == "" && strings.Contains(name, "parley") {
			t.Errorf("%s is left:\n%s", name, text)
		}
	}
	maps.DeleteFunc(after, func(name, _ string) bool { _, was := before[name]; return !was })
	if !maps.Equal(after, before) {
		t.Errorf("the files are %v, and were %v", after, before)
	}
	n := len(h.model.Requests())
	h.starts("claude", "-p", "go")()
	if text := h.request(n + 1).Text; strings.Contains(text, "You are claude/") {
		t.Errorf("after the removal the model reads\n%s", text)
	}
}

// shows waits until the only terminal shows a text.
func (m *terminal) shows(text string) {
	m.t.Helper()
	domaintest.Eventually(m.t, "the terminal shows "+text, func() bool { return strings.Contains(m.screens(), text) })
}

// tree returns the texts of the files of the home directory, but those of git and the client's records and logs of
// conversations.
func (p *place) tree() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.home, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == ".cache" || path == filepath.Join(p.home, ".claude", "projects")):
			return filepath.SkipDir
		case e.IsDir():
			all[path] = "a directory"
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

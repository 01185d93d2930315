package agents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/connectd"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/store/emulator"
)

// terminal is a place whose clients run in terminals.
type terminal struct {
	*hooked
	socket string
}

func newTerminal(t *testing.T, client string, connect ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		emulator.Skip(t, "tmux is missing")
	}
	h := newHooked(t, client)
	switch client {
	case "claude":
		h.write("home/.claude.json", strings.ReplaceAll(claudeTrust, "WORK", h.work))
	case "codex":
		h.write("home/.codex/config.toml", h.model.CodexConfig())
		connect = append(connect, "--trust")
	}
	h.env = append(h.env, "TERM=xterm-256color", "LANG=C.UTF-8")
	h.run(append([]string{h.parley, "connect", client}, connect...)...)
	m := &terminal{h, filepath.Join(h.getenv(connection.Variable), "tmux")}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the terminals:\n%s", m.screens())
			info, err := connectd.Status(context.Background(), h.getenv)
			t.Logf("the daemon: %+v, %v", info, err)
		}
		m.closes()
		m.ends()
	})
	return m
}

// claudeTrust lets Claude Code begin in a terminal without its first questions.
const claudeTrust = `{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["fake"]},
 "projects": {"WORK": {"hasTrustDialogAccepted": true}}}`

func (m *terminal) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", m.socket, "-f", "/dev/null"}, args...)...)
	cmd.Dir, cmd.Env = m.work, m.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("tmux %v: %w: %s", args, err, out)
	}
	return string(out), err
}

// opens runs a client in a terminal of its own.
func (m *terminal) opens(name string, args ...string) {
	m.t.Helper()
	_, err := m.tmux(append([]string{"new-session", "-d", "-s", name, "-x", "160", "-y", "50", "-c", m.work, "--"}, args...)...)
	if err != nil {
		m.t.Fatal(err)
	}
}

// closes ends the terminals, and waits for the clients, which write files to the last.
func (m *terminal) closes() {
	pids, _ := m.tmux("list-panes", "-a", "-F", "#{pane_pid}")
	_, _ = m.tmux("kill-server") // where a test failed early, none runs
	for text := range strings.FieldsSeq(pids) {
		if pid, err := strconv.Atoi(text); err == nil {
			domaintest.Eventually(m.t, "the client ends", func() bool { return syscall.Kill(pid, 0) != nil })
		}
	}
}

// ends ends the processes that Codex installed below its home directory and that outlive its terminals.
func (m *terminal) ends() {
	links, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is valid
	for _, link := range links {
		program, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(program, filepath.Join(m.home, ".codex")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			domaintest.Eventually(m.t, "the process of Codex ends", func() bool { return syscall.Kill(pid, 0) != nil })
		}
	}
}

// screens returns the contents of the terminals.
func (m *terminal) screens() string {
	names, err := m.tmux("list-sessions", "-F", "#S")
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, name := range strings.Fields(names) {
		text, err := m.tmux("capture-pane", "-p", "-t", name)
		fmt.Fprintln(&b, name, errors.Join(err), strings.TrimSpace(text))
	}
	return b.String()
}

// idle waits until all of n sessions are idle and can be woken.
func (m *terminal) idle(n int) {
	m.t.Helper()
	domaintest.Eventually(m.t, "the sessions are idle", func() bool {
		info, err := connectd.Status(m.t.Context(), m.getenv)
		if err != nil {
			return false
		}
		idle := 0
		for _, s := range info.Sessions {
			if !s.InTurn && (s.Waiter || s.Client == "codex") && s.SessionID != "" {
				idle++
			}
		}
		return idle == n
	})
}

// reader returns the only session that read a text, and the time of the request.
func (m *terminal) reader(text string) (session string, at time.Time) {
	m.t.Helper()
	domaintest.Eventually(m.t, "a model reads "+text, func() bool { return len(m.readers(text)) > 0 })
	found := m.readers(text)
	session = addressed.FindString(found[0].Text)
	for _, r := range found {
		if other := addressed.FindString(r.Text); other != session {
			m.t.Errorf("%q is read by %s and by %s", text, session, other)
		}
	}
	return session, found[0].At
}

func (m *terminal) readers(text string) []fakemodel.Request {
	return slices.DeleteFunc(m.model.Requests(), func(r fakemodel.Request) bool { return !fakemodel.Reads(text)(r) })
}

// addressed finds the address that a session was told.
var addressed = regexp.MustCompile(`You are [a-z]+/\d+`)

// wakes runs a client in terminals, and sends each session mail while all of them are idle, again and again.
func (m *terminal) wakes(client string, n int) {
	m.t.Helper()
	var addresses []string
	for i := range n {
		m.opens(fmt.Sprint("t", i), client, "go")
		addresses = append(addresses, strings.TrimPrefix(addressed.FindString(m.request(i+1).Text), "You are "))
	}
	if slices.Sort(addresses); len(slices.Compact(addresses)) != n || !strings.HasPrefix(addresses[0], client+"/") {
		m.t.Fatalf("the sessions are %v", addresses)
	}
	m.idle(n)
	var took []time.Duration
	for round := range 4 {
		for _, to := range addresses {
			text, begun := fmt.Sprintf("question %d for %s?", round, to), time.Now()
			in := relay.SendInput{Target: to, MessageType: "QUERY", Message: text}
			if _, err := m.person.SendMessage(m.t.Context(), in); err != nil {
				m.t.Fatal(err)
			}
			session, at := m.reader(text)
			if session != "You are "+to {
				m.t.Errorf("mail to %s is read where %s", to, session)
			}
			took = append(took, at.Sub(begun))
		}
		m.idle(n)
	}
	slices.Sort(took)
	m.t.Logf("an idle %s is woken after %v at the median, %v at most", client, took[len(took)/2], took[len(took)-1])
}

func TestIdleClientsInTerminalsAreWokenByTheirOwnMail(t *testing.T) {
	t.Parallel()
	for client, n := range map[string]int{"claude": 3, "codex": 1} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			m := newTerminal(t, client)
			m.wakes(client, n)
		})
	}
}

func TestAPersonDecidesWhatAClientInATerminalMayDo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"claude", "--permission-mode", "default", "go"}, {"codex", "go"}} {
		client := args[0]
		step := func(command string) fakemodel.Step {
			if client == "claude" {
				return fakemodel.Use("Bash", map[string]any{"command": command, "description": "work"})
			}
			return fakemodel.Use("exec_command", map[string]any{"cmd": command, "sandbox_permissions": "require_escalated",
				"justification": "to show it"})
		}
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			m := newTerminal(t, client, "--permissions")
			m.model.Add(step("touch allowed"), step("touch denied"))
			m.opens("t", args...)
			for _, answer := range []string{"allow", "not today"} {
				var asked signal.ListOutput
				domaintest.Eventually(m.t, "the person is asked", func() bool {
					var err error
					asked, err = m.person.ListQuestions(t.Context(), signal.ListInput{})
					return err == nil && len(asked.Questions) == 1
				})
				q := asked.Questions[0]
				m.holds("the question", q.Question, " asks for permission: Bash: ", "touch ")
				if m.exists("allowed") != (answer != "allow") || m.exists("denied") {
					t.Error("the tool ran before the answer")
				}
				if _, err := m.person.AnswerQuestion(t.Context(), signal.AnswerInput{QuestionID: q.ID, Response: answer}); err != nil {
					t.Fatal(err)
				}
			}
			m.holds("the request after a refusal", m.request(3).Text, "not today")
			if !m.exists("allowed") || m.exists("denied") {
				t.Error("the client did not do as the person said")
			}
		})
	}
}

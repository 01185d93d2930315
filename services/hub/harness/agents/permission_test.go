package agents_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/hook"
	"parley.internal/shared/signal"
)

// asker is a client in a terminal whose permission requests ring the person.
type asker struct {
	*terminal
	client string
	args   []string
}

// askers calls a test with each client that asks.
func askers(t *testing.T, test func(t *testing.T, a *asker), connect ...string) {
	t.Helper()
	t.Parallel()
	for client, args := range map[string][]string{"claude": {"--permission-mode", "default", "go"}, "codex": {"go"}} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			m := newTerminal(t, client, append([]string{"--permissions"}, connect...)...)
			test(t, &asker{m, client, append([]string{client}, args...)})
		})
	}
}

// step is a command for which the client asks for permission.
func (a *asker) step(command string) fakemodel.Step {
	if a.client == "claude" {
		return fakemodel.Use("Bash", map[string]any{"command": command, "description": "work"})
	}
	return fakemodel.Use("exec_command", map[string]any{"cmd": command, "sandbox_permissions": "require_escalated",
		"justification": "to show it"})
}

// pending returns the questions that `parley questions` lists.
func (a *asker) pending() (out []signal.View) {
	a.t.Helper()
	for line := range strings.Lines(a.run(a.parley, "questions", "--json")) {
		var q signal.View
		if json.Unmarshal([]byte(line), &q) == nil && q.ID != "" {
			out = append(out, q)
		}
	}
	return out
}

// asked waits for the question about a command, which has not run.
func (a *asker) asked(command string) (id string) {
	a.t.Helper()
	domaintest.Eventually(a.t, "the person is asked about "+command, func() bool {
		all := a.pending()
		if len(all) == 1 && strings.Contains(all[0].Question, " asks for permission: Bash: "+command) {
			id = all[0].ID
		}
		return id != ""
	})
	return id
}

// late fails the test unless an answer by `parley answer` is refused with all words.
func (a *asker) late(id string, words ...string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.parley, "answer", id[:len(id)-1], "allow")
	cmd.Dir, cmd.Env, cmd.WaitDelay = a.work, a.env, time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		a.t.Errorf("a late answer is taken: %s", out)
	}
	a.holds("the refusal of a late answer", string(out), words...)
}

// quiet waits until no question waits for the person.
func (a *asker) quiet() {
	a.t.Helper()
	domaintest.Eventually(a.t, "no question waits for the person", func() bool { return len(a.pending()) == 0 })
}

// keys presses a key in the client's terminal.
func (a *asker) keys(name string) {
	a.t.Helper()
	if _, err := a.tmux("send-keys", "-t", "t", name); err != nil {
		a.t.Fatal(err)
	}
}

// shows waits until the client's terminal shows a text.
func (a *asker) shows(text string) {
	a.t.Helper()
	domaintest.Eventually(a.t, "the terminal shows "+text, func() bool { return strings.Contains(a.screens(), text) })
}

// prompt is a text of each client's own prompt for a permission, in which Enter allows and Escape refuses.
var prompt = map[string]string{"claude": "Esc to cancel", "codex": "Would you like to run"}

func TestTheCommandAnswerDecidesWhatARealClientMayDo(t *testing.T) {
	askers(t, func(t *testing.T, a *asker) {
		a.model.Add(a.step("touch allowed"), a.step("touch denied"), a.step("touch later"), fakemodel.Say("I stop."))
		a.opens("t", a.args...)
		for _, c := range []struct{ command, answer string }{
			{"touch allowed", "allow"}, {"touch denied", "deny"}, {"touch later", "not on a Friday"},
		} {
			id := a.asked(c.command)
			if _, name, _ := strings.Cut(c.command, " "); a.exists(name) {
				t.Errorf("%s ran before the answer", c.command)
			}
			a.holds("the command", a.run(append([]string{a.parley, "answer", id}, strings.Fields(c.answer)...)...), "answered "+id)
		}
		a.holds("the request after two refusals", a.request(4).Text, "Refused by ", "through Parley.", "who says: not on a Friday")
		if !a.exists("allowed") || a.exists("denied") || a.exists("later") {
			t.Error("the client did not do as the person said")
		}
		shown, err := a.person.ListClients(t.Context(), hook.ClientsInput{})
		if err != nil || len(shown.Clients) == 0 || !strings.Contains(a.run(a.client, "--version"),
			cmp.Or(shown.Clients[0].Version, "none")) {
			t.Errorf("the session's client is %+v, %v", shown.Clients, err)
		}
	})
}

func TestAPermissionThatIsSettledInARealClientWaitsForThePersonNoMore(t *testing.T) {
	askers(t, func(t *testing.T, a *asker) {
		a.model.Add(a.step("touch first"), fakemodel.Say("Done."), a.step("touch second"), fakemodel.Say("Done."))
		a.opens("t", a.args...)
		id := a.asked("touch first")
		if a.client == "claude" { // its prompt is there beside the question
			a.shows(prompt[a.client])
			a.keys("Enter")
			domaintest.Eventually(t, "the command runs", func() bool { return a.exists("first") })
			a.quiet()
			a.late(id, "withdrawn at ", "settled in the client")
			a.request(2)
			a.idle(1)
			a.keys("again")
			a.keys("Enter")
			id = a.asked("touch second")
		}
		a.keys("Escape")
		a.quiet()
		a.late(id, "withdrawn at ", "settled in the client")
		if a.exists("second") || a.exists("first") != (a.client == "claude") {
			t.Error("a command ran that the person refused in the client")
		}
	})
}

func TestWithoutAnAnswerInTimeARealClientAsksByItself(t *testing.T) {
	askers(t, func(t *testing.T, a *asker) {
		a.model.Add(a.step("touch first"), fakemodel.Say("Done."))
		a.opens("t", a.args...)
		id := a.asked("touch first")
		a.quiet()
		a.late(id, "nobody had answered in time, so the client asks by itself")
		a.shows(prompt[a.client])
		if a.exists("first") {
			t.Error("without an answer the command ran")
		}
		a.keys("Enter")
		domaintest.Eventually(t, "the command runs", func() bool { return a.exists("first") })
	}, "--permission-timeout", "6")
}

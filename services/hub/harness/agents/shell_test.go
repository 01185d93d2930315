package agents_test

import (
	"slices"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/fakemodel"
	"parley.internal/services/hub/internal/checkout"
	"parley.internal/shared/domaintest"
	"parley.internal/shared/feed"
	"parley.internal/shared/files"
	"parley.internal/shared/relay"
)

func TestHolderAndEditorHearOfAFileThatARealClientsShellChanged(t *testing.T) {
	t.Parallel()
	for name, run := range withoutAPerson {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shellChanges(t, name, run)
		})
	}
}

func shellChanges(t *testing.T, name string, run headless) {
	t.Helper()
	h := newHooked(t, name)
	if name == "codex" {
		h.write("home/.codex/config.toml", h.model.CodexConfig())
	}
	h.holds("connect", h.run(append([]string{h.parley, "connect", name}, run.connect...)...), "done   hook")
	repo, err := checkout.Find(t.Context(), h.work)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := h.person.GetFeed(t.Context(), feed.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.beta.ReserveFiles(t.Context(), files.ReserveInput{Project: repo.Project, Worktree: repo.Worktree,
		Paths: []string{"held.txt"}, Reason: "a new grammar"}); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	after := run.shell("sleep 1")
	after.Hold = release
	h.model.Add(run.shell("echo mine > held.txt; echo mine > free.txt"), after, run.shell("sleep 1"), run.shell("sleep 1"),
		fakemodel.Say("I speak with beta."))
	wait := h.starts(append([]string{name}, run.args...)...)

	domaintest.Eventually(h.t, "the holder is told", func() bool {
		got, err := h.beta.GetMessages(t.Context(), relay.GetInput{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(got.Messages, func(m relay.View) bool {
			return has(m.Message, "held.txt", `while a command of "`+name+"/") && !strings.Contains(m.Message, "free.txt")
		})
	})
	close(release)
	h.hears("held.txt", "was changed while a command of yours ran", `"beta" holds held.txt`, "a new grammar")
	wait()
	shown, err := h.person.GetFeed(t.Context(), feed.Input{Cursor: seen.Cursor})
	if err != nil || !slices.ContainsFunc(shown.Events, func(e feed.Event) bool { return has(e.Line, "held.txt", "was changed") }) {
		t.Errorf("the console's feed has %+v, %v", shown.Events, err)
	}
}

func TestATurnWithoutAPersonGoesOnForAQuery(t *testing.T) {
	t.Parallel()
	for name, run := range withoutAPerson {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t, name)
			if name == "codex" {
				h.write("home/.codex/config.toml", h.model.CodexConfig())
			}
			h.holds("connect", h.run(append([]string{h.parley, "connect", name}, run.connect...)...), "done   hook")
			release := make(chan struct{})
			last := fakemodel.Say("I am done.")
			last.Hold = release
			h.model.Add(last, fakemodel.Say("I am there."))
			wait := h.starts(append([]string{name}, run.args...)...)
			h.request(1)
			// A person may wake everybody; of agents only those of the same project or team, or with whom it spoke.
			in := relay.SendInput{Target: name, MessageType: "QUERY", Message: "Are you there?"}
			if _, err := h.person.SendMessage(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			close(release)
			h.hears("QUERY", "| Are you there?")
			wait()
		})
	}
}

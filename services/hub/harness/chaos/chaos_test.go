package chaos

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/services/hub/harness/program"
	"parley.internal/shared/store/emulator"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// build builds the hub as it ships.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "parley")
	if err := program.Build(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// short is a run that is as long as its moves take, wherever it runs.
func short(t *testing.T, hub string) Options {
	t.Helper()
	return Options{Hub: []string{hub, "serve"}, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, Dir: t.TempDir(),
		Project: emulator.Project(t), Emulator: emulator.Shared(t), Agents: 8, Seed: 1, Lost: 3, Moves: 16, Kills: 3,
		Grace: 3 * time.Minute, Slack: 2 * time.Minute, SweepEvery: time.Second, Notes: t.Output()}
}

func TestWhatClientsWereToldHoldsWhileHubsAreKilled(t *testing.T) {
	t.Parallel()
	emulator.Shared(t) // before the time that a build takes
	report, err := Run(t.Context(), short(t, build(t)))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.Write(&text); err != nil {
		t.Error(err)
	}
	t.Log(text.String())
	if len(report.Violations) > 0 {
		t.Errorf("%d violations", len(report.Violations))
	}
	if report.Kills["SIGKILL"] != 2 || report.Kills["SIGTERM"] != 1 || report.Restarts != 3 {
		t.Errorf("killed %v, started %d again", report.Kills, report.Restarts)
	}
	// A run in which nothing was done breaks no promise.
	for _, op := range []string{"create_task", "get_tasks", "claim_task", "complete_task", "send_message", "get_messages", "team_task_create", "team_task_update",
		"team_send_message", "team_read_inbox", "campfire_post_message", "campfire_list_messages", "ask_question", "answer_question"} {
		if report.Tally.Succeeded(op) == 0 {
			t.Errorf("%s was never done", op)
		}
	}
	for _, what := range []string{"tasks created", "claims", "tasks completed", "messages sent", "messages read", "team tasks", "team messages", "words at fires",
		"questions asked", "questions answered", "documents"} {
		if report.Checked[what] == 0 {
			t.Errorf("no %s were held against the store", what)
		}
	}
	if _, repeated := report.Tally.Attempts(); repeated == 0 {
		t.Error("no call had to be repeated")
	}
}

func TestAHubThatDoesNotStartIsNoRun(t *testing.T) {
	t.Parallel()
	o := short(t, "/nonexistent/hub")
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "ended before it served") {
		t.Errorf("%v", err)
	}
}

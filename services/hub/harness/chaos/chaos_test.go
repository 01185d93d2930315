package chaos

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/harness/chaos/typescript"
	"parley.internal/services/hub/harness/hubtest"
	"parley.internal/shared/store/emulator"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// shortRun returns the options of a run with a fixed number of moves and kills, however fast the machine is.
func shortRun(t *testing.T, hub string) Options {
	t.Helper()
	return Options{Hub: []string{hub, "serve"}, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		Dir:     t.TempDir(),
		Project: emulator.Project(t), Emulator: emulator.Shared(t), Agents: 8, Seed: 1, Lost: 3, Silent: 25,
		Patience: 5 * time.Second, Hold: 20 * time.Second, Moves: 16, Kills: 4,
		Grace: 3 * time.Minute, Slack: 2 * time.Minute, SweepEvery: time.Second, Notes: t.Output()}
}

func TestPromisesToClientsHoldWhileHubsAreKilled(t *testing.T) {
	t.Parallel()
	emulator.Shared(t) // starts the emulator, or skips the test, before the long build
	o := shortRun(t, hubtest.Build(t))
	sdks, missing := typescript.Find(t.Context())
	if missing != nil && (emulator.Required() || !errors.Is(missing, typescript.ErrMissing)) {
		t.Fatal(missing)
	}
	o.TypeScript = sdks
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	hubtest.Must(t, report.Write(t.Output()))
	if missing == nil && report.TypeScript != 2 {
		t.Errorf("%d agents had an SDK for TypeScript, want one of each era", report.TypeScript)
	}
	if len(report.Violations) > 0 {
		t.Errorf("%d violations", len(report.Violations))
	}
	if report.Kills["SIGKILL"] != 2 || report.Kills["SIGTERM"] != 1 || report.Kills["SIGSTOP"] != 1 ||
		report.Restarts != 3 || report.Stalled != 1 {
		t.Errorf("killed %v, restarted %d, stalled uploads %d", report.Kills, report.Restarts, report.Stalled)
	}
	// A run without successful calls would have no violations either.
	for _, op := range []string{"create_task", "get_tasks", "claim_task", "complete_task",
		"send_message", "get_messages", "team_task_create", "team_task_update", "team_send_message", "team_read_inbox",
		"campfire_post_message", "campfire_list_messages", "ask_question", "answer_question"} {
		if report.Tally.Succeeded(op) == 0 {
			t.Errorf("%s never succeeded", op)
		}
	}
	for _, kind := range []string{"tasks created", "claims", "tasks completed", "messages sent", "messages read",
		"team tasks", "team messages", "fire messages", "questions asked", "questions answered", "documents",
		"calls in an order", "waits given up"} {
		if report.Checked[kind] == 0 {
			t.Errorf("no %s were compared with the store", kind)
		}
	}
	if report.Holes.Calls == 0 || report.Holes.Unsent == report.Holes.Calls {
		t.Errorf("no connection went silent, or all before a hub got the call: %+v", report.Holes)
	}
	if _, repeated := report.Tally.Attempts(); repeated == 0 {
		t.Error("no call had to be repeated")
	}
}

func TestAHubThatDoesNotStartIsAnError(t *testing.T) {
	t.Parallel()
	o := shortRun(t, "/nonexistent/hub")
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "exited before it served") {
		t.Errorf("%v", err)
	}
}

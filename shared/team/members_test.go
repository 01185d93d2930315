package team

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

func TestATeammateHasTheShapeOfTheFileFormat(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		out, err := w.Spawn(t.Context(), alpha, SpawnInput{TeamName: "core", Name: "ann", Prompt: "find it",
			Model: "sonnet", PlanModeRequired: true, Cwd: "src"})
		if err != nil || out.AgentID != "ann@core" || out.Color != "blue" || out.State != Requested ||
			out.ProcessID == "" {
			t.Errorf("%+v, %v", out, err)
		}
		cfg := w.config("core")
		want := `{"agentId":"ann@core","name":"ann","agentType":"general-purpose","model":"sonnet",` +
			`"prompt":"find it","color":"blue","planModeRequired":true,` +
			`"joinedAt":1772366400000,"tmuxPaneId":"","cwd":"src","subscriptions":[],"backendType":"process","isActive":false}`
		if got := asJSON(t, cfg.Members[1]); got != want {
			t.Errorf("%s", got)
		}
		if got := asJSON(t, w.inbox("core",
			"ann")); got != `[{"id":"0000000001","from":"team-lead","text":"find it",`+
			`"timestamp":"2026-03-01T12:00:00.000Z","read":false,"color":"white"}]` {
			t.Errorf("%s", got)
		}
	})
}

func TestAMalformedSpawnIsRefusedAndLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		long := strings.Repeat("x", 65)
		for name, tc := range map[string]struct {
			in    SpawnInput
			kind  fault.Kind
			words string
		}{
			"a name that is taken": {SpawnInput{Name: "ann", Prompt: "p"}, fault.Exists,
				"Member 'ann' already exists in team 'core'"},
			"the lead's name": {SpawnInput{Name: "team-lead", Prompt: "p"}, fault.Invalid,
				"Agent name 'team-lead' is reserved"},
			"the system's name": {SpawnInput{Name: "parley", Prompt: "p"}, fault.Invalid,
				"Agent name 'parley' is reserved"},
			"a name with a slash": {SpawnInput{Name: "a/b", Prompt: "p"}, fault.Invalid,
				"Invalid agent name: 'a/b'. Use only letters, numbers, hyphens, underscores."},
			"a name that is long": {SpawnInput{Name: long, Prompt: "p"}, fault.Invalid,
				"Agent name too long (65 chars, max 64): 'xxxxxxxxxxxxxxxxxxxx'..."},
			"no prompt": {SpawnInput{Name: "bob", Prompt: " \n"}, fault.Invalid,
				"Prompt must not be empty"},
			"a team that is not": {SpawnInput{TeamName: "none", Name: "bob", Prompt: "p"}, fault.NotFound,
				"Team none does not exist"},
			"a team that cannot be": {SpawnInput{TeamName: "a b", Name: "bob", Prompt: "p"}, fault.Invalid,
				"Invalid team name: 'a b'. Use only letters, numbers, hyphens, underscores."},
		} {
			if tc.in.TeamName == "" {
				tc.in.TeamName = "core"
			}
			_, err := w.Spawn(t.Context(), alpha, tc.in)
			if !fault.Is(err, tc.kind) || err.Error() != tc.words {
				t.Errorf("%s: %v %q", name, fault.Of(err), err)
			}
		}
		if cfg := w.config("core"); len(cfg.Members) != 2 {
			t.Errorf("%+v", cfg)
		}
		if got := w.inbox("core", "ann"); len(got) != 1 {
			t.Errorf("%+v", got)
		}
		out, err := w.ListProcesses(t.Context(), alpha, ProcessesInput{TeamName: "core"})
		if err != nil || len(out.Processes) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestTheLeastUsedColorIsAssignedNext(t *testing.T) {
	t.Parallel()
	cfg := newConfig("core", "", "", "", "s", 0)
	var got []string
	join := func(name string) {
		if err := cfg.Join(Member{Name: name}); err != nil {
			t.Fatal(err)
		}
		got = append(got, cfg.Member(name).color())
	}
	for i := range 9 {
		join(fmt.Sprintf("m%d", i))
	}
	cfg.Leave("m2")
	join("m9")
	join("m10")
	same(t, "colors", got, []string{"blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red", "blue",
		"yellow", "green"})
	for i := len(cfg.Members); i < MaxMembers; i++ {
		join(fmt.Sprintf("n%d", i))
	}
	says(t, cfg.Join(Member{Name: "one-more"}), fault.Precondition,
		"Team core has 100 members, which is as many as a team can have; remove one first")
}

func TestASpawnWithAnIdempotencyKeyHappensOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		in := SpawnInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, TeamName: "core", Name: "ann", Prompt: "p"}
		first, err := w.Spawn(t.Context(), alpha, in)
		if again, againErr := w.Spawn(t.Context(), alpha, in); err != nil || againErr != nil || again != first {
			t.Errorf("%+v, %+v, %v, %v", first, again, err, againErr)
		}
		if got := w.inbox("core", "ann"); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheTasksOfARemovedTeammateBecomePending(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann", "bob", "cid")
		ids := w.tasks("core", 4)
		w.updated(UpdateTaskInput{TaskID: ids[0], Owner: new("ann"), Status: InProgress})
		w.updated(UpdateTaskInput{TaskID: ids[1], Owner: new("ann")})
		w.updated(UpdateTaskInput{TaskID: ids[2], Owner: new("ann"), Status: Completed})
		w.updated(UpdateTaskInput{TaskID: ids[3], Owner: new("bob"), Status: InProgress})
		out, err := w.Kill(t.Context(), alpha, MemberInput{"core", "ann"})
		if err != nil || !out.Success || out.Message != "ann has been stopped." ||
			!slices.Equal(out.ReleasedTasks, ids[:2]) {
			t.Errorf("%+v, %v", out, err)
		}
		for id, want := range map[string]Task{ids[0]: {Status: Pending}, ids[1]: {Status: Pending},
			ids[2]: {Status: Completed, Owner: "ann"}, ids[3]: {Status: InProgress, Owner: "bob"}} {
			if got := w.task(id); got.Status != want.Status || got.Owner != want.Owner {
				t.Errorf("%+v", got)
			}
		}
		if out, err := w.ShutdownApproved(t.Context(), alpha, MemberInput{"core", "bob"}); err != nil ||
			out.Message != "bob removed from team." || !slices.Equal(out.ReleasedTasks, ids[3:]) {
			t.Errorf("%+v, %v", out, err)
		}
		cfg := w.config("core")
		same(t, "members", cfg.names(), []string{Lead, "cid"})
		for name, words := range map[string]string{"ann": "Teammate ann not found in team core",
			Lead: "Teammate team-lead not found in team core"} {
			_, err = w.Kill(t.Context(), alpha, MemberInput{"core", name})
			says(t, err, fault.NotFound, words)
		}
		_, err = w.ShutdownApproved(t.Context(), alpha, MemberInput{"core", Lead})
		says(t, err, fault.Invalid, "Cannot process shutdown for team-lead")
		_, err = w.ShutdownApproved(t.Context(), alpha, MemberInput{"core", "ann"})
		says(t, err, fault.NotFound, "Teammate ann not found in team core")
		_, err = w.Kill(t.Context(), alpha, MemberInput{"none", "ann"})
		says(t, err, fault.NotFound, "Team none does not exist")
	})
}

// A new member of the same name has nothing of the earlier one but its inbox.
func TestATeammateMayBeSpawnedAgainUnderItsName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		first := w.spawn("core", "ann", ByRunner)
		if _, err := w.Kill(t.Context(), alpha, MemberInput{"core", "ann"}); err != nil {
			t.Fatal(err)
		}
		second := w.spawn("core", "ann", ByRunner)
		out, err := w.ListProcesses(t.Context(), alpha, ProcessesInput{TeamName: "core"})
		if err != nil || len(out.Processes) != 2 || first.ProcessID == second.ProcessID {
			t.Fatalf("%+v, %v", out, err)
		}
		for _, p := range out.Processes {
			if want := map[string]State{first.ProcessID: Killed,
				second.ProcessID: Requested}[p.ProcessID]; p.State != want {
				t.Errorf("%+v", p)
			}
		}
		if got := w.inbox("core", "ann"); len(got) != 1 || got[0].ID != "0000000002" {
			t.Errorf("%+v", got)
		}
	})
}

// A new team of the same name finds no document of the deleted one, and the sweep deletes them.
func TestADeletedTeamLeavesNoDocuments(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		w.spawn("core", "bob", ByRunner)
		w.tasks("core", 2)
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann"), Status: InProgress})
		for _, name := range []string{"ann", "bob"} {
			if _, err := w.Kill(t.Context(), alpha, MemberInput{"core", name}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Delete(t.Context(), alpha, NameInput{"core"}); err != nil {
			t.Fatal(err)
		}
		w.team("core", "ann")
		check := func(when string) {
			t.Helper()
			if got := w.inbox("core", "ann"); len(got) != 1 || got[0].ID != "0000000001" {
				t.Errorf("%s: %+v", when, got)
			}
			if got := w.list(ListTasksInput{}); !slices.Equal(got, []string{"1"}) {
				t.Errorf("%s: %v", when, got)
			}
		}
		w.tasks("core", 1)
		check("before the sweep")
		w.sweep(func() (int, error) { return w.SweepTeams(t.Context(), w.admin(), 10) }, 1)
		w.sweep(func() (int, error) { return w.SweepTeams(t.Context(), w.admin(), 10) }, 0)
		check("after it")
		w.holds(map[string]int{"teams": 1, "teamBoards": 1, "teamSeats": 1, "teamGraves": 0, "teamInboxes": 1,
			"teamBeats": 0, "teamProcesses": 0})
	})
}

package team

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

var states = []State{Requested, Starting, Running, Exited, Failed, Killed, Lost}

// The events are a claim of the holder and of another runner, each report, the request to end
// the process, and silence. An event that is not listed is refused or changes nothing.
func TestEveryEventInEveryStateOfAProcess(t *testing.T) {
	t.Parallel()
	now := domaintest.Start
	accepted := map[State][]State{
		Starting: {Starting, Running, Exited, Failed, Killed, Lost},
		Running:  {Running, Exited, Failed, Killed, Lost},
		Lost:     {Lost, Running, Exited, Failed, Killed},
		Exited:   {Exited}, Failed: {Failed}, Killed: {Killed},
	}
	keys := map[State][]string{Requested: {"start"}, Starting: {"held:r"}, Running: {"held:r"}, Lost: {"held:r"},
		Exited: {}, Failed: {}, Killed: {}}
	for _, s := range states {
		fresh := func() *storedProcess {
			p := &storedProcess{Process: Process{Name: "ann", State: s, Wanted: WantRunning}, Runner: "r"}
			if s == Requested {
				p.Runner = ""
			}
			p.index(now)
			return p
		}
		if p := fresh(); !slices.Equal(p.Keys, keys[s]) || p.PurgeAt.IsZero() == s.Ended() {
			t.Errorf("%s has the keys %v and is purged at %v", s, p.Keys, p.PurgeAt)
		}
		for runner, wins := range map[string]bool{"r": s == Requested || s == Starting || s == Running,
			"other": s == Requested} {
			p := fresh()
			again, err := p.Claim(runner, now)
			if (err == nil) != wins || again != (wins && s != Requested) ||
				(wins && s == Requested && (p.State != Starting || p.Runner != runner)) {
				t.Errorf("%s claimed by %s: %v, %v, %+v", s, runner, again, err, p)
			}
		}
		for _, to := range states {
			p := fresh()
			news, err := p.Apply("r", Report{State: to}, now)
			want := slices.Contains(accepted[s], to)
			if (err == nil) != want || news != (want && to != s) || (want && p.State != to) || (!want && p.State != s) {
				t.Errorf("%s reported %s: %v, %v", s, to, news, err)
			}
			if p := fresh(); s != Requested {
				_, err = p.Apply("other", Report{State: to}, now)
				says(t, err, fault.Forbidden, "this runner does not hold the process of ann; claim it first")
			}
		}
		p := fresh()
		p.End(now)
		want := []string{}
		if s == Starting || s == Running || s == Lost {
			want = []string{"held:r", "end:r"}
		}
		if !slices.Equal(p.Keys, want) || p.Wanted != WantEnded || p.PurgeAt.IsZero() ||
			(s == Requested) != (p.State == Killed && s != Killed) {
			t.Errorf("%s ended: %+v", s, p)
		}
		p = fresh()
		if lost := p.MarkLost(now); lost != (s == Starting || s == Running) ||
			(lost && (p.State != Lost || p.EndedAt.IsZero())) {
			t.Errorf("%s lost: %+v", s, p)
		}
	}
}

func (w *world) claim(team, id, runner string) (ClaimOutput, error) {
	return w.ClaimProcess(w.t.Context(), runs, ClaimInput{team, id, runner})
}

func (w *world) report(in ReportInput) Process {
	w.t.Helper()
	in.TeamName = "core"
	return domaintest.Must(w.ReportProcess(w.t.Context(), runs, in))(w.t).Process
}

func (w *world) processes(in ProcessesInput) []Process {
	w.t.Helper()
	in.TeamName = "core"
	return domaintest.Must(w.ListProcesses(w.t.Context(), runs, in))(w.t).Processes
}

// running creates a team with a teammate whose process runner r reports as running.
func (w *world) running(name string) (id string) {
	w.t.Helper()
	w.team("core")
	id = w.spawn("core", name, ByRunner).ProcessID
	domaintest.Must(w.claim("core", id, "r"))(w.t)
	w.report(ReportInput{ProcessID: id, Runner: "r", State: Running, PID: 7, StartedAt: "boot 99", LogFile: "/log"})
	return id
}

func TestAProcessRunsFromRequestToEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		spawned, err := w.Spawn(t.Context(), alpha, SpawnInput{TeamName: "core", Name: "ann", Prompt: "p", Model: "m",
			SubagentType: "tester", PlanModeRequired: true, Cwd: "src"})
		if err != nil {
			t.Fatal(err)
		}
		id := spawned.ProcessID
		lead := w.config("core").LeadSessionID
		want := fmt.Sprintf(
			`{"process_id":%q,"team_name":"core","name":"ann","agent_id":"ann@core","agent_type":"tester",`+
				`"model":"m","color":"blue","plan_mode_required":true,"cwd":"src","lead_session_id":%q,`+
				`"state":"requested","wanted":"running","requested_at":"2026-03-01T12:00:00Z"}`,
			id,
			lead,
		)
		if got := w.processes(ProcessesInput{Runner: "r"}); len(got) != 1 || asJSON(t, got[0]) != want {
			t.Errorf("%s", asJSON(t, got))
		}
		if out, err := w.claim("core", id, "r"); err != nil || out.Process.State != Starting || out.AlreadyClaimed {
			t.Errorf("%+v, %v", out, err)
		}
		if out, err := w.claim("core", id, "r"); err != nil || !out.AlreadyClaimed {
			t.Errorf("%+v, %v", out, err)
		}
		_, err = w.claim("core", id, "other")
		says(t, err, fault.Precondition, "another runner has claimed the process of ann")
		if got := w.processes(ProcessesInput{Runner: "other"}); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if w.active("core", "ann") {
			t.Error("it is active before it runs")
		}
		if p := w.report(ReportInput{ProcessID: id, Runner: "r", State: Running, PID: 7, StartedAt: "boot 99",
			LogFile: "/log"}); p.PID != 7 || p.StartedAt != "boot 99" || p.Wanted != WantRunning ||
			!w.active("core", "ann") {
			t.Errorf("%+v", p)
		}
		for runner, n := range map[string]int{"r": 1, "other": 0} {
			if got := w.processes(ProcessesInput{Runner: runner, Held: true}); len(got) != n {
				t.Errorf("%s holds %+v", runner, got)
			}
		}
		w.tasks("core", 1)
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann"), Status: InProgress})
		w.Pass(time.Minute)
		p := w.report(ReportInput{ProcessID: id, Runner: "r", State: Exited, ExitCode: new(3), Error: "so it said"})
		if p.State != Exited || *p.ExitCode != 3 || p.PID != 7 || p.LogFile != "/log" || !p.EndedAt.Equal(w.Now()) {
			t.Errorf("%+v", p)
		}
		if m := w.last("core", Lead); m.From != "parley" || m.Summary != "ann is inactive" ||
			m.Text != "ann has no process any more: it exited with code 3 (so it said). Back to pending, without an "+
				"owner: task 1." ||
			m.Timestamp != "2026-03-01T12:01:00.000Z" {
			t.Errorf("%+v", m)
		}
		if w.active("core", "ann") || w.task("1").Owner != "" ||
			len(w.processes(ProcessesInput{Runner: "r", Held: true})) != 0 {
			t.Error("the end of the process has changed nothing")
		}
		w.report(ReportInput{ProcessID: id, Runner: "r", State: Exited, ExitCode: new(3)}) // a repeat
		if got := w.inbox("core", Lead); len(got) != 1 {
			t.Errorf("%+v", got)
		}
		_, err = w.ReportProcess(t.Context(), runs, ReportInput{TeamName: "core", ProcessID: id, Runner: "r",
			State: Running})
		says(t, err, fault.Precondition, "Cannot report running of a process that is exited")
		_, err = w.claim("core", id, "r")
		says(t, err, fault.Precondition, "the process of ann has ended (exited)")
		_, err = w.claim("core", "none", "r")
		says(t, err, fault.NotFound, "Process none not found in team core")
	})
}

func TestOfManyRunnersOneClaimsAProcess(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		id := w.spawn("core", "ann", ByRunner).ProcessID
		lost := domaintest.Together(8, func(i int) error {
			return domaintest.Retry(t.Context(), func() error {
				return domaintest.Err(w.claim("core", id, fmt.Sprintf("r%d", i)))
			})
		})
		if len(lost) != 7 {
			t.Errorf("%d runners have it", 8-len(lost))
		}
		for _, err := range lost {
			domaintest.Refused(t, "one that lost", err, fault.Precondition)
		}
	})
}

func TestAKillReachesTheRunnerThatHoldsTheProcess(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.running("ann")
		done := make(chan []Process, 1)
		go func() { done <- w.processes(ProcessesInput{Runner: "r", WaitMs: 55_000}) }()
		out, err := w.Kill(t.Context(), alpha, MemberInput{"core", "ann"})
		if err != nil || out.ProcessState != Running ||
			out.Message != "ann is removed from the team; its runner ends its process." {
			t.Errorf("%+v, %v", out, err)
		}
		if got := <-done; len(got) != 1 || got[0].ProcessID != id || got[0].Wanted != WantEnded {
			t.Errorf("%+v", got)
		}
		if got := w.processes(ProcessesInput{Runner: "other"}); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if p := w.report(ReportInput{ProcessID: id, Runner: "r", State: Running}); p.Wanted != WantEnded {
			t.Errorf("%+v", p)
		}
		if p := w.report(ReportInput{ProcessID: id, Runner: "r", State: Killed,
			Signal: "SIGKILL"}); p.State != Killed || p.Signal != "SIGKILL" {
			t.Errorf("%+v", p)
		}
		if got := w.processes(ProcessesInput{Runner: "r"}); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if got := w.inbox("core", Lead); len(got) != 0 {
			t.Errorf("the lead gets a message about its own kill: %+v", got)
		}
	})
}

func TestASpawnEndsTheWaitOfARunner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		done := make(chan []Process, 1)
		go func() { done <- w.processes(ProcessesInput{Runner: "r", WaitMs: 55_000}) }()
		w.spawn("core", "ann", External)
		w.spawn("core", "bob", ByRunner)
		if got := <-done; len(got) != 1 || got[0].Name != "bob" {
			t.Errorf("%+v", got)
		}
	})
}

func TestASilentMemberLosesItsTasksAndTheLeadGetsAMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann", "bob", "cid")
		w.tasks("core", 4)
		for _, name := range []string{"ann", "bob", "cid"} {
			out, err := w.Heartbeat(t.Context(), domaintest.Bound("u", name),
				HeartbeatInput{TeamName: "core", AgentName: name, PID: 5})
			if err != nil || !out.Active || !out.LeaseUntil.Equal(w.Now().Add(Lease)) || !w.active("core", name) {
				t.Errorf("%+v, %v", out, err)
			}
		}
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann"), Status: InProgress})
		w.updated(UpdateTaskInput{TaskID: "2", Owner: new("ann")})
		w.updated(UpdateTaskInput{TaskID: "3", Owner: new("bob"), Status: InProgress})
		w.updated(UpdateTaskInput{TaskID: "4", Owner: new("cid")})
		w.Pass(Lease - time.Second)
		w.sweepMembers(0)
		if _, err := w.Heartbeat(t.Context(), domaintest.Bound("u", "bob"),
			HeartbeatInput{TeamName: "core", AgentName: "bob"}); err != nil {
			t.Fatal(err)
		}
		w.Pass(time.Second)
		w.sweepMembers(2) // cid has no task in progress: it is checked and stays active
		w.sweepMembers(0)
		for name, want := range map[string]bool{"ann": false, "bob": true, "cid": true} {
			if got := w.active("core", name); got != want {
				t.Errorf("%s is active: %v", name, got)
			}
		}
		for id, want := range map[string]Task{"1": {Status: Pending}, "2": {Status: Pending},
			"3": {Status: InProgress, Owner: "bob"}, "4": {Status: Pending, Owner: "cid"}} {
			if got := w.task(id); got.Status != want.Status || got.Owner != want.Owner {
				t.Errorf("%+v", got)
			}
		}
		if got := w.inbox("core", Lead); len(got) != 1 || got[0].From != "parley" ||
			got[0].Text != "ann sent no heartbeat for 10 minutes and is inactive. Back to pending, without an owner: "+
				"tasks 1, 2." {
			t.Errorf("%+v", got)
		}
		// The member comes back. Its next task begins a lease, with or without a heartbeat.
		if _, err := w.Heartbeat(t.Context(), domaintest.Bound("u", "ann"),
			HeartbeatInput{TeamName: "core", AgentName: "ann"}); err != nil || !w.active("core", "ann") {
			t.Error(err)
		}
		w.updated(UpdateTaskInput{TaskID: "4", Status: InProgress})
		w.Pass(Lease)
		w.sweepMembers(3)
		if got := w.inbox("core", Lead); len(got) != 3 || w.active("core", "cid") || w.task("4").Owner != "" {
			t.Errorf("%+v", got)
		}
		w.sweepMembers(0)
	})
}

func TestAMemberThatReportsItsEndIsRetiredAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		w.tasks("core", 1)
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann"), Status: InProgress})
		out, err := w.Heartbeat(t.Context(), domaintest.Bound("u", "ann"),
			HeartbeatInput{TeamName: "core", AgentName: "ann", State: Exited})
		if err != nil || out.Active || !slices.Equal(out.ReleasedTasks, []string{"1"}) || w.task("1").Owner != "" ||
			!strings.Contains(w.last("core", Lead).Text, "ann says that it is exited.") {
			t.Errorf("%+v, %v", out, err)
		}
		w.Pass(Lease)
		w.sweepMembers(0)
		_, err = w.Heartbeat(t.Context(), domaintest.Bound("u", "eve"),
			HeartbeatInput{TeamName: "core", AgentName: "eve"})
		says(t, err, fault.NotFound, "Teammate eve not found in team core")
		_, err = w.Heartbeat(t.Context(), human, HeartbeatInput{TeamName: "core", AgentName: Lead})
		says(t, err, fault.NotFound, "Teammate team-lead not found in team core")
	})
}

func TestAProcessOfASilentRunnerIsLostUntilItIsReportedAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.running("ann")
		w.Pass(Lease / 2)
		w.report(ReportInput{ProcessID: id, Runner: "r", State: Running})
		w.Pass(Lease / 2)
		w.sweepMembers(0)
		w.Pass(Lease / 2)
		w.sweepMembers(1)
		if got := w.processes(ProcessesInput{}); got[0].State != Lost || w.active("core", "ann") ||
			len(w.inbox("core", Lead)) != 1 {
			t.Errorf("%+v", got)
		}
		if got := w.processes(ProcessesInput{Runner: "r", Held: true}); len(got) != 1 {
			t.Errorf("its runner cannot come back to it: %+v", got)
		}
		if p := w.report(ReportInput{ProcessID: id, Runner: "r", State: Running}); p.State != Running ||
			!p.EndedAt.IsZero() || p.Error != "" || !w.active("core", "ann") {
			t.Errorf("%+v", p)
		}
		w.Pass(Lease)
		w.sweepMembers(1)
	})
}

// A heartbeat between the listing and the transaction of a sweep keeps the member's task.
func TestASweepDoesNotOverrideAHeartbeat(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		w.tasks("core", 1)
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann"), Status: InProgress})
		w.Pass(Lease)
		listed := beat{TeamName: "core", Agent: "ann"}
		if _, err := w.Heartbeat(t.Context(), domaintest.Bound("u", "ann"),
			HeartbeatInput{TeamName: "core", AgentName: "ann"}); err != nil {
			t.Fatal(err)
		}
		if err := w.expireLease(t.Context(), w.DB.User("u"), memberID("core", "ann"), listed, w.Now()); err != nil ||
			w.task("1").Owner != "ann" || !w.active("core", "ann") {
			t.Errorf("%+v, %v", w.task("1"), err)
		}
	})
}

func TestTeamsOfAllUsersAreSweptSeparately(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, user := range []string{"u", "v"} {
			c := identity.Caller{User: user, KeyID: "k"}
			for _, err := range []error{
				domaintest.Err(w.Create(t.Context(), c, CreateInput{TeamName: "core"})),
				domaintest.Err(w.Spawn(t.Context(), c, SpawnInput{TeamName: "core", Name: "ann", Prompt: "p",
					BackendType: External})),
				domaintest.Err(w.CreateTask(t.Context(), c, CreateTaskInput{TeamName: "core", Subject: "of " + user})),
				domaintest.Err(w.UpdateTask(t.Context(), c, UpdateTaskInput{TeamName: "core", TaskID: "1",
					Owner: new("ann"), Status: InProgress})),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		w.Pass(Lease)
		w.sweep(func() (int, error) { return w.SweepMembers(t.Context(), store.NewAdmin(w.DB), 1) }, 1)
		w.sweepMembers(1)
		for _, user := range []string{"u", "v"} {
			out, err := w.GetTask(t.Context(), identity.Caller{User: user, KeyID: "k"}, TaskInput{"core", "1"})
			if err != nil || out.Subject != "of "+user || out.Status != Pending {
				t.Errorf("%+v, %v", out, err)
			}
		}
	})
}

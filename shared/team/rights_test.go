package team

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// asMember returns the caller with the key of a member of a team.
func asMember(user, team, member string) identity.Caller {
	c := domaintest.Bound(user, team+"."+member)
	c.Team, c.Member = team, member
	return c
}

// runnerOf returns a caller with the scope runner, for one team or for all.
func runnerOf(user, team string) identity.Caller {
	return identity.Caller{User: user, KeyID: "key-of-runner", Kind: identity.Agent, Team: team,
		Scopes: []string{identity.ScopeRunner}}
}

// rightsOf calls each operation on a team of one user. Alpha leads it, ann is an external member, and the runner r holds
// the process of bob.
func (w *world) rightsOf(process string) map[string]func(context.Context, identity.Caller) error {
	name := NameInput{"core"}
	return map[string]func(context.Context, identity.Caller) error{
		"delete": func(ctx context.Context, c identity.Caller) error {
			err := domaintest.Err(w.Delete(ctx, c, name))
			if fault.Is(err, fault.Precondition) { // it has teammates: whoever may delete it gets that far
				return nil
			}
			return err
		},
		"export": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.Export(ctx, c, "core"))
		},
		"spawn": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.Spawn(ctx, c, SpawnInput{TeamName: "core", Name: "eve", Prompt: "p"}))
		},
		"kill": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.Kill(ctx, c, MemberInput{"core", "bob"}))
		},
		"shutdown": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.ShutdownApproved(ctx, c, MemberInput{"core", "ann"}))
		},
		"heartbeat of ann": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.Heartbeat(ctx, c, HeartbeatInput{TeamName: "core", AgentName: "ann"}))
		},
		"end of ann": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.Heartbeat(ctx, c, HeartbeatInput{TeamName: "core", AgentName: "ann", State: Exited}))
		},
		"message": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.Send(ctx, c, SendInput{TeamName: "core", Type: plain, Recipient: "ann", Content: "c",
				Summary: "s"}))
		},
		"broadcast": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.Send(ctx, c, SendInput{TeamName: "core", Type: broadcast, Summary: "s"}))
		},
		"message as ann": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.Send(ctx, c, SendInput{TeamName: "core", Type: plain, Sender: "ann", Recipient: "bob",
				Content: "c", Summary: "s"}))
		},
		"inbox of ann": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.ReadInbox(ctx, c, ReadInput{TeamName: "core", AgentName: "ann"}))
		},
		"inbox of the lead": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.PollInbox(ctx, c, PollInput{TeamName: "core", AgentName: Lead, TimeoutMs: new(0)}))
		},
		"task": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.CreateTask(ctx, c, CreateTaskInput{TeamName: "core", Subject: "s"}))
		},
		"update of a task": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.UpdateTask(ctx, c, UpdateTaskInput{TeamName: "core", TaskID: "1", Owner: new("ann")}))
		},
		"list of tasks": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.ListTasks(ctx, c, ListTasksInput{TeamName: "core"}))
		},
		"read of a task": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.GetTask(ctx, c, TaskInput{"core", "1"}))
		},
		"list of processes": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.ListProcesses(ctx, c, ProcessesInput{TeamName: "core"}))
		},
		"claim of a process": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.ClaimProcess(ctx, c, ClaimInput{"core", process, "r"}))
		},
		"report of a process": func(ctx context.Context, c identity.Caller) error {
			return domaintest.Err(w.ReportProcess(ctx, c, ReportInput{TeamName: "core", ProcessID: process, Runner: "r",
				State: Killed}))
		},
	}
}

// prepare creates the team that rightsOf needs, and returns the id of bob's process.
func (w *world) prepare(user string) string {
	w.t.Helper()
	ctx, lead := w.t.Context(), domaintest.Bound(user, "alpha")
	domaintest.Must(w.Create(ctx, lead, CreateInput{TeamName: "core"}))(w.t)
	domaintest.Must(w.Spawn(ctx, lead, SpawnInput{TeamName: "core", Name: "ann", Prompt: "p", BackendType: External}))(w.t)
	bob := domaintest.Must(w.Spawn(ctx, lead, SpawnInput{TeamName: "core", Name: "bob", Prompt: "p"}))(w.t)
	domaintest.Must(w.ClaimProcess(ctx, runnerOf(user, "core"), ClaimInput{"core", bob.ProcessID, "r"}))(w.t)
	domaintest.Must(w.CreateTask(ctx, lead, CreateTaskInput{TeamName: "core", Subject: "s"}))(w.t)
	return bob.ProcessID
}

// Each caller makes each call on a team of its own.
func TestATeamObeysItsLeadItsMembersAndPeople(t *testing.T) {
	const (
		leads   = " delete export spawn kill shutdown "
		works   = " message broadcast task update_of_a_task list_of_tasks read_of_a_task "
		runs    = " list_of_processes claim_of_a_process report_of_a_process "
		asAnn   = " heartbeat_of_ann end_of_ann message_as_ann inbox_of_ann "
		asLead  = " inbox_of_the_lead "
		nothing = ""
	)
	program := func(name string) func(string) identity.Caller {
		return func(user string) identity.Caller { return domaintest.Bound(user, name) }
	}
	each(t, func(t *testing.T, w *world) {
		n := 0
		for by, tc := range map[string]struct {
			caller func(user string) identity.Caller
			may    string
		}{
			"the lead": {program("alpha"), leads + works + runs + asLead + " inbox_of_ann "},
			"another key of the lead's program, in capitals": {program("ALPHA"), leads + works + runs + asLead + " inbox_of_ann "},
			"a human":                     {domaintest.Human, leads + works + runs + asAnn + asLead},
			"the member ann":              {program("ann"), works + asAnn},
			"the member ann, in capitals": {program("ANN"), works + asAnn},
			"the key of the member bob":   {func(u string) identity.Caller { return asMember(u, "core", "bob") }, works},
			"the key of a member that is gone": {
				func(u string) identity.Caller { return asMember(u, "core", "gone") }, nothing},
			"the key of a member bob of another team": {
				func(u string) identity.Caller { return asMember(u, "other", "bob") }, nothing},
			"the key of a member ann of a team that differs in case": {
				func(u string) identity.Caller { return asMember(u, "Core", "ann") }, nothing},
			"a program with the name of bob, whose process has a key of its own": {program("bob"), nothing},
			"a program with the name of the lead":                                {program(Lead), nothing},
			"another program":                                                    {program("beta"), nothing},
			"a key of no program":                                                {domaintest.Unbound, nothing},
			"a runner of the team":                                               {func(u string) identity.Caller { return runnerOf(u, "core") }, runs},
			"a runner of all teams":                                              {func(u string) identity.Caller { return runnerOf(u, "") }, runs},
			"a runner of another":                                                {func(u string) identity.Caller { return runnerOf(u, "other") }, nothing},
			"a member's key with the scope runner": {func(u string) identity.Caller {
				c := asMember(u, "core", "bob")
				c.Scopes = []string{identity.ScopeRunner}
				return c
			}, works},
		} {
			for name := range w.rightsOf("") {
				n++
				user := fmt.Sprintf("u%d", n)
				call := w.rightsOf(w.prepare(user))[name]
				err := call(t.Context(), tc.caller(user))
				may := strings.Contains(tc.may, " "+strings.ReplaceAll(name, " ", "_")+" ")
				if may && err != nil || !may && !fault.Is(err, fault.Forbidden) {
					t.Errorf("%s by %s: %v, allowed: %v", name, by, err, may)
				}
			}
		}
	})
}

func TestAnyCallerReadsATeamAndItsMembersReadThePrompts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		for _, tc := range []struct {
			c       identity.Caller
			prompts bool
		}{{alpha, true}, {domaintest.Bound("u", "ann"), true}, {human, true}, {beta, false}, {loose, false}, {runs, false}} {
			cfg, err := w.ReadConfig(t.Context(), tc.c, NameInput{"core"})
			if err != nil || len(cfg.Members) != 2 || (deref(cfg.Members[1].Prompt) != "") != tc.prompts {
				t.Errorf("%v: %+v, %v", tc.c, cfg, err)
			}
		}
	})
}

// Several agents may share the key of no program that founded a team.
func TestAnUnboundFounderActsForItsMembersButNotForProgramsWithKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		domaintest.Must(w.Create(t.Context(), loose, CreateInput{TeamName: "core"}))(t)
		founder := loose
		founder.Reserved = []string{"bob"}
		for _, name := range []string{"ann", "bob"} {
			domaintest.Must(w.Spawn(t.Context(), founder, SpawnInput{TeamName: "core", Name: name, Prompt: "p",
				BackendType: External}))(t)
		}
		say := SendInput{TeamName: "core", Type: plain, Recipient: Lead, Content: "c", Summary: "s", Sender: "ann"}
		if out := domaintest.Must(w.Send(t.Context(), founder, say))(t); out.Routing.Sender != "ann" {
			t.Errorf("%+v", out)
		}
		say.Sender = "Bob"
		_, err := w.Send(t.Context(), founder, say)
		domaintest.Refused(t, "a message as bob", err, fault.Forbidden, `"bob" has a key of its own`)
		_, err = w.Heartbeat(t.Context(), founder, HeartbeatInput{TeamName: "core", AgentName: "bob"})
		domaintest.Refused(t, "a heartbeat of bob", err, fault.Forbidden, `"bob" has a key of its own`)
		for range 2 { // the lead sees the mail of bob and marks none of it
			out, err := w.PollInbox(t.Context(), founder, PollInput{TeamName: "core", AgentName: "bob"})
			if err != nil || len(out.Messages) != 1 {
				t.Errorf("the inbox of bob: %+v, %v", out, err)
			}
		}
		for want := range 2 {
			out, err := w.PollInbox(t.Context(), founder, PollInput{TeamName: "core", AgentName: "ann", TimeoutMs: new(0)})
			if err != nil || len(out.Messages) != 1-want {
				t.Errorf("the inbox of ann: %+v, %v", out, err)
			}
		}
	})
}

func TestNamesOfMembersAreComparedWithoutCase(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "Ann")
		_, err := w.Spawn(t.Context(), alpha, SpawnInput{TeamName: "core", Name: "ANN", Prompt: "p"})
		says(t, err, fault.Exists, "Member 'ANN' already exists in team 'core'")
		for _, name := range []string{"TEAM-LEAD", "Parley"} {
			_, err = w.Spawn(t.Context(), alpha, SpawnInput{TeamName: "core", Name: name, Prompt: "p"})
			says(t, err, fault.Invalid, "Agent name '"+name+"' is reserved")
		}
		if out := w.send(alpha, SendInput{Type: plain, Recipient: "ann", Content: "c", Summary: "s"}); out.Routing.Target != "Ann" {
			t.Errorf("%+v", out)
		}
		w.tasks("core", 1)
		if got := w.updated(UpdateTaskInput{TaskID: "1", Owner: new("aNN"), Status: InProgress}); got.Owner != "Ann" {
			t.Errorf("%+v", got)
		}
		same(t, "tasks of ann", w.list(ListTasksInput{Owner: "ANN"}), []string{"1"})
		if out, err := w.Heartbeat(t.Context(), domaintest.Bound("u", "ann"),
			HeartbeatInput{TeamName: "core", AgentName: "ann"}); err != nil || out.AgentName != "Ann" {
			t.Errorf("%+v, %v", out, err)
		}
		if out, err := w.PollInbox(t.Context(), domaintest.Bound("u", "ANN"),
			PollInput{TeamName: "core", AgentName: "ann"}); err != nil || len(out.Messages) != 3 {
			t.Errorf("%+v, %v", out, err)
		}
		out, err := w.Kill(t.Context(), alpha, MemberInput{"core", "ann"})
		if err != nil || len(out.ReleasedTasks) != 1 || w.task("1").Owner != "" || len(w.config("core").Members) != 1 {
			t.Errorf("%+v, %v", out, err)
		}
		w.holds(map[string]int{"teamInboxes": 1, "teamBeats": 0})
	})
}

func TestAProgramLeadsOneTeamHoweverItIsSpelled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		_, err := w.Create(t.Context(), domaintest.Bound("u", "Alpha"), CreateInput{TeamName: "two"})
		says(t, err, fault.Precondition, "Session already has active team: core. One team per session.")
	})
}

// Teams from before owners were kept have no founder's key, and their leads are stored as they were spelled.
func TestAnOlderTeamIsItsProgramsStill(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		domaintest.Check(t, w.DB.User("u").Update(t.Context(), func(_ context.Context, tx *store.Tx) error {
			createTeam(tx, document{Config: newConfig("core", "", "", "", "s", 1), ID: "t1", Owner: "program:Alpha"},
				Board{Tasks: []Node{}})
			return nil
		}))
		for _, by := range []identity.Caller{alpha, domaintest.Bound("u", "Alpha")} {
			_, err := w.Create(t.Context(), domaintest.Bound("u", "Alpha"), CreateInput{TeamName: "two"})
			says(t, err, fault.Precondition, "Session already has active team: core. One team per session.")
			domaintest.Must(w.CreateTask(t.Context(), by, CreateTaskInput{TeamName: "core", Subject: "s"}))(t)
		}
		_, err := w.Delete(t.Context(), beta, NameInput{"core"})
		domaintest.Refused(t, "a delete by another", err, fault.Forbidden, "only the lead of team core")
		domaintest.Must(w.Delete(t.Context(), alpha, NameInput{"core"}))(t)
		w.holds(map[string]int{"teams": 0, "teamSeats": 0})
	})
}

func TestARecordSaysThatAPersonSentAMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		w.tasks("core", 1)
		w.send(human, SendInput{Type: plain, Sender: "ann", Recipient: Lead, Content: "c", Summary: "s"})
		w.send(human, SendInput{Type: broadcast, Summary: "s"})
		domaintest.Must(w.UpdateTask(t.Context(), human, UpdateTaskInput{TeamName: "core", TaskID: "1",
			Owner: new(Lead)}))(t)
		domaintest.Must(w.Spawn(t.Context(), human, SpawnInput{TeamName: "core", Name: "bob", Prompt: "p"}))(t)
		for box, from := range map[string]string{Lead: "ann team-lead", "ann": "team-lead team-lead", "bob": "team-lead"} {
			var names, by []string
			for _, m := range w.inbox("core", box) {
				names, by = append(names, m.From), append(by, m.By)
			}
			if last := len(by) - 1; strings.Join(names[max(0, len(names)-2):], " ") != from || by[last] != "human:fedcba987654" {
				t.Errorf("%s has messages from %q by %q", box, names, by)
			}
		}
		if m := w.inbox("core", "ann")[0]; m.By != "" {
			t.Errorf("an agent's message has the person %q", m.By)
		}
	})
}

// The scope runner reaches the operations that a runner needs and nothing else.
func TestARunnersKeyReachesTheOperationsOfRunners(t *testing.T) {
	t.Parallel()
	for _, o := range new(Service).Operations() {
		want := o.Name == "team_list_processes" || o.Name == "team_claim_process" || o.Name == "team_report_process"
		if err := o.MayCall(runs); (err == nil) != want {
			t.Errorf("%s: %v", o.Name, err)
		}
	}
}

// A claim returns a secret, which no key of the console gets.
func TestTheConsoleClaimsNoProcess(t *testing.T) {
	t.Parallel()
	console := human
	console.Scopes = []string{identity.ScopeConsole}
	for _, o := range new(Service).Operations() {
		if err := o.MayCall(console); (err == nil) != (o.Name != "team_claim_process") {
			t.Errorf("%s: %v", o.Name, err)
		}
	}
}

package team

import (
	"maps"
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The initial steps of the cases.
var (
	// founded creates the team crew, led by alpha.
	founded = []op.Step{{Op: "team_create", In: op.In{"team_name": "crew"}}}
	// staffed adds the teammates beta and gamma of the backend external.
	staffed = op.After(founded, spawn("beta", External), spawn("gamma", External))
	// running adds the teammate beta with a process that waits for a runner.
	running = op.After(founded, spawn("beta", ByRunner))
	// claimed has the runner r claim that process.
	claimed = op.After(running, op.Step{Op: "team_claim_process",
		In: op.In{"team_name": "crew", "process_id": "$process", "runner": "r"}})
)

// spawn adds a teammate. With the backend process it saves the id of the process.
func spawn(name, backend string) op.Step {
	s := op.Step{Op: "team_spawn_teammate", In: op.In{"team_name": "crew", "name": name, "prompt": "p",
		"backend_type": backend}}
	if backend == ByRunner {
		s.Save = "process_id as process"
	}
	return s
}

// ofTeam returns the input with the name of a team.
func ofTeam(name string, in op.In) op.In {
	out := maps.Clone(in)
	out["team_name"] = name
	return out
}

// wrongTeams repeats a call with the name of a team that does not exist and with a malformed one.
func wrongTeams(in op.In) []op.Example {
	return []op.Example{
		{Name: "in a team that is nowhere", In: ofTeam("nowhere", in), Fault: fault.NotFound},
		{Name: "in a team with an invalid name", In: ofTeam("no team!", in), Fault: fault.Invalid, RPCs: op.NoRPCs},
	}
}

// The rights of other callers: only the lead and people lead the team, and only its members belong to it.
var forInsiders = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}

// byOthers repeats a call by a program and by a key that do not belong to the team.
func byOthers(given []op.Step, in op.In) []op.Example {
	return []op.Example{
		{Name: "by another program", Given: given, As: "other", In: in, Fault: fault.Forbidden},
		{Name: "by a key of no program", Given: given, As: op.Unbound, In: in, Fault: fault.Forbidden},
	}
}

// tooLong is a name above the limit of the schema.
var tooLong = strings.Repeat("x", 1001)

const atMost1000 = "must be at most 1000 characters, not 1001"

func createCases() op.Cases {
	once := op.In{"team_name": "crew", "description": "d <e>", "idempotencyKey": "k"}
	anybody := op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	return op.Cases{Rights: anybody, Named: []string{"team_name"}, Examples: []op.Example{
		{In: op.In{"team_name": "parser-crew"}},
		{Name: "with the lead's model and directory", In: op.In{"team_name": "crew", "model": "opus", "cwd": "/work"}},
		{Name: "with an idempotency key", In: once},
		{Name: "again with the same key", Given: []op.Step{{Op: "team_create", In: once}}, In: once},
		{Name: "after the one before was deleted", Given: op.After(founded,
			op.Step{Op: "team_delete", In: op.In{"team_name": "crew"}}),
			In: op.In{"team_name": "crew"}},
		{Name: "beside another", Given: founded, In: op.In{"team_name": "second"}, Fault: fault.Precondition},
		{Name: "by a name that is taken", Given: founded, As: op.Human, In: op.In{"team_name": "crew"},
			Fault: fault.Exists},
		{Name: "by a name with other characters", In: op.In{"team_name": "ä/.."}, Fault: fault.Invalid,
			RPCs: op.NoRPCs},
		{Name: "by a name too long", In: op.In{"team_name": strings.Repeat("x", 65)}, Fault: fault.Invalid,
			RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a description that is an object", In: `{"team_name":"a","description":{"a":1}}`, Path: "description",
			Words: "must be of type string, not object"},
	}}
}

func deleteCases() op.Cases {
	return op.Cases{Rights: forInsiders, Owned: []string{"team_name"}, Examples: slices.Concat([]op.Example{
		{Given: founded, In: op.In{"team_name": "crew"}},
		{Name: "that has teammates", Given: staffed, In: op.In{"team_name": "crew"}, Fault: fault.Precondition},
		{Name: "by a member", Given: staffed, As: "beta", In: op.In{"team_name": "crew"}, Fault: fault.Forbidden},
	}, byOthers(founded, op.In{"team_name": "crew"}), wrongTeams(op.In{})), Refused: []op.Refusal{
		{Name: "a name too long", In: `{"team_name":"` + tooLong + `"}`, Path: "team_name", Words: atMost1000},
	}}
}

func readCases() op.Cases {
	anybody := op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	return op.Cases{Rights: anybody, RPCs: 2, Owned: []string{"team_name"}, Examples: append([]op.Example{
		{Given: running, In: op.In{"team_name": "crew"}},
		{Name: "by another program, without the prompts", Given: running, As: "other", In: op.In{"team_name": "crew"}},
		{Name: "without teammates", Given: founded, In: op.In{"team_name": "crew"}},
	}, wrongTeams(op.In{})...), Refused: []op.Refusal{
		{Name: "a name too long", In: `{"team_name":"` + tooLong + `"}`, Path: "team_name", Words: atMost1000},
	}}
}

func listCases() op.Cases {
	second := op.After(founded, op.Step{Op: "team_create", As: "other", In: op.In{"team_name": "other-crew"}},
		op.Step{Op: "team_list", As: op.Human, In: op.In{"limit": 1}, Save: "nextCursor as cursor"})
	return op.Cases{RPCs: 1, Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}, Examples: []op.Example{
		{Given: running, As: op.Human},
		{Name: "the next page", Given: second, As: op.Human, In: op.In{"limit": 1, "cursor": "$cursor"}},
		{Name: "where there is none", As: op.Human},
		{Name: "by an agent", Given: founded, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a limit of 0", As: op.Human, In: `{"limit":0}`, Path: "limit", Words: "must be at least 1"},
		{Name: "an unknown cursor", As: op.Human, In: `{"cursor":"xyz"}`, Path: "cursor", Words: "use the one that came with the page before"},
	}}
}

func spawnCases() op.Cases {
	once := op.In{"team_name": "crew", "name": "beta", "prompt": "do <this> ✓", "model": "m",
		"subagent_type": "reviewer", "plan_mode_required": true,
		"cwd": "sub/dir", "idempotencyKey": "k"}
	before := op.After(founded, op.Step{Op: "team_spawn_teammate", In: once})
	named := func(name, prompt string) op.In { return op.In{"team_name": "crew", "name": name, "prompt": prompt} }
	return op.Cases{Rights: forInsiders, RPCs: 2, Owned: []string{"team_name"}, Examples: slices.Concat([]op.Example{
		{Given: founded, In: named("beta", "Review what gamma writes.")},
		{Name: "that you start", Given: founded, In: op.In{"team_name": "crew", "name": "gamma", "prompt": "p",
			"backend_type": "external"}},
		{Name: "with an idempotency key", Given: founded, In: once, RPCs: 3, Over: "the key is read"},
		{Name: "again with the same key", Given: before, In: once},
		{Name: "another with the same key", Given: before, Fault: fault.Precondition,
			In: op.In{"team_name": "crew", "name": "beta", "prompt": "another", "idempotencyKey": "k"}},
		{Name: "by a name that is taken", Given: running, In: named("beta", "again"), Fault: fault.Exists},
		{Name: "by the lead's name", Given: founded, In: named("team-lead", "p"), Fault: fault.Invalid,
			RPCs: op.NoRPCs},
		{Name: "by a name with other characters", Given: founded, In: named("no name!", "p"), Fault: fault.Invalid,
			RPCs: op.NoRPCs},
		{Name: "by a name too long", Given: founded, In: named(strings.Repeat("x", 65), "p"), Fault: fault.Invalid,
			RPCs: op.NoRPCs},
		{Name: "with a blank prompt", Given: founded, In: named("beta", " "), Fault: fault.Invalid, RPCs: op.NoRPCs},
		{Name: "by a member", Given: staffed, As: "beta", In: named("delta", "p"), Fault: fault.Forbidden},
		{Name: "by a name that differs in case", Given: running, In: named("BETA", "again"), Fault: fault.Exists},
	}, byOthers(founded, named("beta", "p")), wrongTeams(named("beta", "p"))), Refused: []op.Refusal{
		{Name: "no prompt", In: `{"team_name":"crew","name":"x"}`, Path: "prompt", Words: "is required"},
		{Name: "a prompt too long", In: `{"team_name":"crew","name":"x","prompt":"` + strings.Repeat("é", 32001) + `"}`,
			Path:  "prompt",
			Words: "must be at most 32000 characters, not 32001"},
		{Name: "a terminal", In: `{"team_name":"crew","name":"x","prompt":"p","backend_type":"tmux"}`,
			Path: "backend_type", Words: "must be one of process, external"},
		{Name: "a truth value that is a text",
			In: `{"team_name":"crew","name":"x","prompt":"p","plan_mode_required":"maybe"}`, Path: "plan_mode_required",
			Words: "must be of type boolean, not string"},
	}}
}

func killCases() op.Cases {
	kill := op.In{"team_name": "crew", "agent_name": "beta"}
	busy := op.After(claimed, op.Step{Op: "team_task_create", In: op.In{"team_name": "crew", "subject": "s",
		"description": "d"}},
		op.Step{Op: "team_task_update", In: op.In{"team_name": "crew", "task_id": "1", "status": "in_progress",
			"owner": "beta"}})
	const keyRead = "the key of the process is read, and those below it"
	return op.Cases{Rights: forInsiders, Owned: []string{"team_name", "agent_name"},
		Examples: slices.Concat([]op.Example{
			{Given: staffed, In: kill},
			{Name: "with a process and a task", Given: busy, In: kill, RPCs: 5, Over: keyRead},
			{Name: "by a member", Given: staffed, As: "gamma", In: kill, Fault: fault.Forbidden},
			{Name: "twice", Given: op.After(staffed, op.Step{Op: "team_force_kill_teammate", In: kill}), In: kill,
				Fault: fault.NotFound},
			{Name: "that is the lead", Given: staffed, In: op.In{"team_name": "crew", "agent_name": "team-lead"},
				Fault: fault.NotFound},
		}, byOthers(staffed, kill), wrongTeams(kill)), Refused: []op.Refusal{
			{Name: "a name too long", In: `{"team_name":"crew","agent_name":"` + tooLong + `"}`, Path: "agent_name",
				Words: atMost1000},
		}}
}

func shutdownCases() op.Cases {
	end := op.In{"team_name": "crew", "agent_name": "gamma"}
	const keyRead = "the key of the process is read, and those below it"
	return op.Cases{Rights: forInsiders, Owned: []string{"team_name", "agent_name"},
		Examples: slices.Concat([]op.Example{
			{Given: staffed, In: end},
			{Name: "with a process", Given: claimed, In: op.In{"team_name": "crew", "agent_name": "beta"}, RPCs: 5,
				Over: keyRead},
			{Name: "by the member itself", Given: staffed, As: "gamma", In: end, Fault: fault.Forbidden},
			{Name: "twice", Given: op.After(staffed, op.Step{Op: "team_process_shutdown_approved", In: end}), In: end,
				Fault: fault.NotFound},
			{Name: "of the lead", Given: staffed, In: op.In{"team_name": "crew", "agent_name": "team-lead"},
				Fault: fault.Invalid, RPCs: op.NoRPCs},
		}, byOthers(staffed, end), wrongTeams(end)), Refused: []op.Refusal{
			{Name: "a name too long", In: `{"team_name":"crew","agent_name":"` + tooLong + `"}`, Path: "agent_name",
				Words: atMost1000},
		}}
}

func heartbeatCases() op.Cases {
	const leadTold = "the board and the lead's inbox are read"
	beat := op.In{"team_name": "crew", "agent_name": "beta"}
	examples := slices.Concat([]op.Example{
		{Given: staffed, As: "beta", In: beat},
		{Name: "for another, by the human", Given: staffed, As: op.Human,
			In: op.In{"team_name": "crew", "agent_name": "beta", "pid": 4711}},
		{Name: "at the end", Given: staffed, As: "beta", In: op.In{"team_name": "crew", "agent_name": "beta",
			"state": "exited"}, RPCs: 3, Over: leadTold},
		{Name: "for another program", Given: staffed, In: beat, Fault: fault.Forbidden},
		{Name: "by a program with the name of a member that has a process", Given: running, As: "beta", In: beat,
			Fault: fault.Forbidden},
		{Name: "of the lead", Given: staffed, As: op.Human, In: op.In{"team_name": "crew", "agent_name": "team-lead"},
			Fault: fault.NotFound},
		{Name: "of nobody", Given: staffed, In: op.In{"team_name": "crew", "agent_name": "nobody"},
			Fault: fault.NotFound},
	}, byOthers(staffed, beat), wrongTeams(beat))
	return op.Cases{Rights: forInsiders, RPCs: 2, Owned: []string{"team_name", "agent_name"},
		Examples: examples,
		Refused: []op.Refusal{
			{Name: "an unknown state", In: `{"team_name":"crew","agent_name":"beta","state":"asleep"}`, Path: "state",
				Words: "must be one of starting, running, exited, failed, killed, lost"},
			{Name: "process nought", In: `{"team_name":"crew","agent_name":"beta","pid":0}`, Path: "pid",
				Words: "must be at least 1"},
		}}
}

package team

import (
	"slices"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

var (
	// begun reports the process as running, killed as ended.
	begun  = op.After(claimed, op.Step{Op: "team_report_process", In: reporting("r", "running")})
	killed = op.After(begun, op.Step{Op: "team_report_process", In: reporting("r", "killed")})
)

// claiming returns the input of a runner's claim of the process.
func claiming(runner string) op.In {
	return op.In{"team_name": "crew", "process_id": "$process", "runner": runner}
}

// reporting returns the input of a runner's report on the process.
func reporting(runner, state string) op.In {
	return op.In{"team_name": "crew", "process_id": "$process", "runner": runner, "state": state}
}

func listProcessesCases() op.Cases {
	doomed := op.After(claimed, op.Step{Op: "team_force_kill_teammate",
		In: op.In{"team_name": "crew", "agent_name": "beta"}})
	const heard = "it is recorded that the team has a runner"
	return op.Cases{Rights: forInsiders, RPCs: 2, Owned: []string{"team_name"}, Examples: slices.Concat([]op.Example{
		{Given: running, In: op.In{"team_name": "crew"}},
		{Name: "to start", Given: running, In: op.In{"team_name": "crew", "runner": "r", "wait_ms": 1}, RPCs: 3, Over: heard},
		{Name: "to end", Given: doomed, In: op.In{"team_name": "crew", "runner": "r"}, RPCs: 3, Over: heard},
		{Name: "that the runner holds", Given: claimed, In: op.In{"team_name": "crew", "runner": "r", "held": true}, RPCs: 3,
			Over: heard},
		{Name: "for a runner without any", Given: claimed, In: op.In{"team_name": "crew", "runner": "another"}, RPCs: 3,
			Over: heard},
		{Name: "soon again", Given: op.After(claimed, op.Step{Op: "team_list_processes",
			In: op.In{"team_name": "crew", "runner": "r"}}), In: op.In{"team_name": "crew", "runner": "r"}},
		{Name: "by a member", Given: staffed, As: "beta", In: op.In{"team_name": "crew"}, Fault: fault.Forbidden},
	}, byOthers(running, op.In{"team_name": "crew"}), wrongTeams(op.In{})), Refused: []op.Refusal{
		{Name: "a runner with a slash", In: `{"team_name":"crew","runner":"a/b"}`, Path: "runner",
			Words: "must match ^[A-Za-z0-9]"},
		{Name: "a wait too long", In: `{"team_name":"crew","runner":"r","wait_ms":55001}`, Path: "wait_ms",
			Words: "must be at most 55000"},
	}}
}

func claimProcessCases() op.Cases {
	nowhere := op.In{"team_name": "crew", "process_id": "nobody-made-this", "runner": "r"}
	return op.Cases{Rights: forInsiders, RPCs: 4, Owned: []string{"team_name", "process_id"},
		Examples: slices.Concat([]op.Example{
			{Given: running, In: claiming("r")},
			{Name: "again by the same runner", Given: claimed, In: claiming("r"), RPCs: 6,
				Over: "the earlier key is read, and those below it"},
			{Name: "by another runner", Given: claimed, In: claiming("another"), Fault: fault.Precondition},
			{Name: "that has ended", Given: killed, In: claiming("r"), Fault: fault.Precondition},
			{Name: "that is nowhere", Given: running, In: nowhere, Fault: fault.NotFound},
			{Name: "by a member", Given: op.After(running, spawn("gamma", External)), As: "gamma", In: claiming("r"),
				Fault: fault.Forbidden},
		}, byOthers(running, claiming("r")), wrongTeams(nowhere)), Refused: []op.Refusal{
			{Name: "no runner", Given: running, In: `{"team_name":"crew","process_id":"$process","runner":""}`,
				Path: "runner", Words: "must not be empty"},
			{Name: "an id with a slash", In: `{"team_name":"crew","process_id":"a/b","runner":"r"}`, Path: "process_id",
				Words: "must match ^[A-Za-z0-9]"},
		}}
}

func reportProcessCases() op.Cases {
	const leadTold = "the board and the lead's inbox are read, the member's key, and those below it"
	nowhere := op.In{"team_name": "crew", "process_id": "nobody-made-this", "runner": "r", "state": "lost"}
	return op.Cases{Rights: forInsiders, RPCs: 2, Owned: []string{"team_name", "process_id"},
		Examples: slices.Concat([]op.Example{
			{Given: claimed, In: op.In{"team_name": "crew", "process_id": "$process", "runner": "r", "state": "running",
				"pid": 4711, "started_at": "s.1",
				"log_file": "/l/beta.log"}},
			{Name: "that runs on", Given: begun, In: reporting("r", "running")},
			{Name: "that has exited", Given: begun, RPCs: 5, Over: leadTold,
				In: op.In{"team_name": "crew", "process_id": "$process", "runner": "r", "state": "exited", "exit_code": 0}},
			{Name: "that was killed", Given: begun, RPCs: 5, Over: leadTold,
				In: op.In{"team_name": "crew", "process_id": "$process", "runner": "r",
					"state": "killed", "signal": "terminated", "exit_code": -1, "error": "e <f>"}},
			{Name: "that nobody holds", Given: running, In: reporting("r", "running"), Fault: fault.Forbidden},
			{Name: "that another runner holds", Given: claimed, In: reporting("another", "running"),
				Fault: fault.Forbidden},
			{Name: "that has ended", Given: killed, In: reporting("r", "running"), Fault: fault.Precondition},
			{Name: "that is nowhere", Given: running, In: nowhere, Fault: fault.NotFound},
		}, byOthers(claimed, reporting("r", "killed")), wrongTeams(nowhere)), Refused: []op.Refusal{
			{Name: "a state that no runner reports", Given: claimed,
				In: `{"team_name":"crew","process_id":"$process","runner":"r","state":"requested"}`, Path: "state",
				Words: "must be one of running, exited, failed, killed, lost"},
			{Name: "an exit code that is a fraction", Given: claimed, Path: "exit_code", Words: "must be of type integer",
				In: `{"team_name":"crew","process_id":"$process","runner":"r","state":"exited","exit_code":0.5}`},
		}}
}

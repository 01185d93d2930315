package team

import (
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// graph creates six tasks: 2 waits for 1, 3 for 2, and 6 for 5; 4 is completed and 5 in progress.
var graph = op.After(staffed,
	op.Step{Op: "team_task_create", Times: 6,
		In: op.In{"team_name": "crew", "subject": "s", "description": "d", "metadata": op.In{"k": "a value"}}},
	op.Step{Op: "team_task_update", In: changing("1", op.In{"add_blocks": []string{"2"}})},
	op.Step{Op: "team_task_update", In: changing("3", op.In{"add_blocked_by": []string{"2"}})},
	op.Step{Op: "team_task_update", In: changing("4", op.In{"status": "completed"})},
	op.Step{Op: "team_task_update", In: changing("5", op.In{"status": "in_progress", "add_blocks": []string{"6"}})})

// changing returns the input of a change of a task.
func changing(id string, in op.In) op.In {
	out := ofTeam("crew", in)
	out["task_id"] = id
	return out
}

func createTaskCases() op.Cases {
	plain := op.In{"team_name": "crew", "subject": "Write the parser", "description": "It reads one file."}
	once := op.In{"team_name": "crew", "subject": "a ✓ subject", "description": "do <that>",
		"active_form": "Doing that", "metadata": op.In{"<a>": 1, "b": op.In{"c": nil}}, "idempotencyKey": "k"}
	before := op.After(founded, op.Step{Op: "team_task_create", In: once})
	return op.Cases{Rights: forInsiders, RPCs: 2, Owned: []string{"team_name"}, Examples: slices.Concat([]op.Example{
		{Given: founded, In: plain},
		{Name: "by a member", Given: staffed, As: "beta", In: plain},
		{Name: "with everything, and an idempotency key", Given: founded, In: once, RPCs: 3, Over: "the key is read"},
		{Name: "again with the same key", Given: before, In: once},
		{Name: "another with the same key", Given: before, Fault: fault.Precondition,
			In: op.In{"team_name": "crew", "subject": "another", "description": "", "idempotencyKey": "k"}},
		{Name: "with a blank subject", Given: founded, In: op.In{"team_name": "crew", "subject": " ",
			"description": "d"}, Fault: fault.Invalid, RPCs: op.NoRPCs},
	}, byOthers(founded, plain), wrongTeams(plain)), Refused: []op.Refusal{
		{Name: "no description", In: `{"team_name":"crew","subject":"s"}`, Path: "description", Words: "is required"},
		{Name: "metadata that is a list", In: `{"team_name":"crew","subject":"s","description":"d","metadata":["k"]}`,
			Path:  "metadata",
			Words: "must be of type object, not array"},
		{Name: "metadata too large", Path: "metadata", Words: "must have at most 16000 bytes",
			In: `{"team_name":"crew","subject":"s","description":"d","metadata":{"k":"` + strings.Repeat("x",
				16_000) + `"}}`},
	}}
}

func updateTaskCases() op.Cases {
	examples := []op.Example{
		{Given: graph, In: changing("1", op.In{"status": "in_progress", "owner": "beta"})},
		{Name: "of all at once", Given: graph, In: changing("1", op.In{"status": "in_progress", "owner": "beta",
			"subject": "t", "description": "d", "active_form": "At it", "add_blocks": []string{"3"},
			"metadata": op.In{"k": nil, "d": "e"}})},
		{Name: "that makes it wait", Given: graph, In: changing("1", op.In{"add_blocked_by": []string{"5"}})},
		{Name: "with an owner who is no member", Given: graph, In: changing("1", op.In{"owner": "stranger"})},
		{Name: "by the human", Given: graph, As: op.Human, In: changing("1", op.In{"owner": "beta"})},
		{Name: "with an owner in another case", Given: graph, In: changing("1", op.In{"owner": "BETA"}), RPCs: 4,
			Over: "the inbox of the name as the team spells it is read"},
		{Name: "to deleted", Given: graph, In: changing("1", op.In{"status": "deleted"})},
	}
	faulty := func(kind fault.Kind, name, id string, in op.In) {
		examples = append(examples, op.Example{Name: name, Given: graph, In: changing(id, in), Fault: kind})
	}
	faulty(fault.Precondition, "from completed to in_progress", "4", op.In{"subject": "never", "status": "in_progress"})
	faulty(fault.Precondition, "from completed to pending", "4", op.In{"subject": "never", "status": "pending"})
	faulty(fault.Precondition, "from in_progress to pending", "5", op.In{"owner": "beta", "status": "pending"})
	faulty(fault.Precondition, "to in_progress before another", "2", op.In{"owner": "beta", "status": "in_progress"})
	faulty(fault.Precondition, "to completed before another", "6", op.In{"owner": "beta", "status": "completed"})
	faulty(fault.Precondition, "that completes it and makes it wait", "1", op.In{"owner": "beta", "status": "completed",
		"add_blocked_by": []string{"6"}})
	faulty(fault.Precondition, "that blocks a task that is nowhere", "1", op.In{"owner": "beta",
		"add_blocks": []string{"3", "99"}})
	faulty(fault.Precondition, "that waits for a task that is nowhere", "1", op.In{"owner": "beta",
		"add_blocked_by": []string{"5", "99"}})
	faulty(fault.Precondition, "that blocks its blocker", "2", op.In{"owner": "beta", "add_blocks": []string{"5", "1"}})
	faulty(fault.Precondition, "that blocks its blocker's blocker", "3",
		op.In{"owner": "beta", "add_blocks": []string{"1"}})
	faulty(fault.Precondition, "that waits for the one it blocks", "1",
		op.In{"owner": "beta", "add_blocked_by": []string{"2"}})
	faulty(fault.Precondition, "that waits for one it blocks through another", "1", op.In{"owner": "beta",
		"add_blocked_by": []string{"5", "3"}})
	faulty(fault.Precondition, "that closes a circle with both its ends", "1",
		op.In{"owner": "beta", "add_blocks": []string{"5"}, "add_blocked_by": []string{"6"}})
	faulty(fault.Invalid, "that blocks itself", "1", op.In{"subject": "never", "add_blocks": []string{"3", "1"}})
	faulty(fault.Invalid, "that waits for itself", "1", op.In{"owner": "beta", "add_blocked_by": []string{"5", "1"}})
	faulty(fault.Invalid, "to an unknown status", "1", op.In{"subject": "never", "status": "done"})
	faulty(fault.NotFound, "of a task that is nowhere", "99", op.In{"status": "completed"})
	plain := changing("1", op.In{"subject": "s"})
	return op.Cases{Rights: forInsiders, Owned: []string{"team_name", "task_id"},
		Examples: slices.Concat(examples, byOthers(graph, plain), wrongTeams(plain)), Refused: []op.Refusal{
			{Name: "metadata that is a text", In: `{"team_name":"crew","task_id":"1","subject":"mine","metadata":"k"}`,
				Path:  "metadata",
				Words: "must be of type object, not string"},
			{Name: "metadata that grows too large", Given: graph, Path: "metadata",
				Words: "must have at most 16000 bytes",
				In: `{"team_name":"crew","task_id":"1","status":"in_progress","metadata":{"more":"` + strings.Repeat("x",
					15_980) + `"}}`},
			{Name: "a blocker that is a list",
				In:   `{"team_name":"crew","task_id":"1","subject":"mine","add_blocked_by":["1",["2"]]}`,
				Path: "add_blocked_by[1]", Words: "must be of type string, not array"},
			{Name: "too many to block", Path: "add_blocks", Words: "must have at most 100 members, not 101",
				In: `{"team_name":"crew","task_id":"1","subject":"mine","add_blocks":["` + strings.Repeat(`1","`,
					100) + `1"]}`},
		}}
}

func listTasksCases() op.Cases {
	page := op.After(graph, op.Step{Op: "team_task_list", In: op.In{"team_name": "crew", "limit": 1},
		Save: "nextCursor as cursor"})
	return op.Cases{Rights: forInsiders, RPCs: 2, Owned: []string{"team_name"}, Examples: slices.Concat([]op.Example{
		{Given: graph, In: op.In{"team_name": "crew"}},
		{Name: "by a member", Given: graph, As: "beta", In: op.In{"team_name": "crew"}},
		{Name: "that are ready", Given: graph, In: op.In{"team_name": "crew", "ready": true}},
		{Name: "by status and owner", Given: graph, In: op.In{"team_name": "crew", "ready": true, "status": "pending",
			"owner": "beta"}},
		{Name: "the next page", Given: page, In: op.In{"team_name": "crew", "limit": 1, "cursor": "$cursor"}},
		{Name: "of an unknown status", Given: graph, In: op.In{"team_name": "crew", "status": "done"},
			Fault: fault.Invalid, RPCs: op.NoRPCs},
	}, byOthers(graph, op.In{"team_name": "crew"}), wrongTeams(op.In{})), Refused: []op.Refusal{
		{Name: "too many", In: `{"team_name":"crew","limit":201}`, Path: "limit", Words: "must be at most 200"},
		{Name: "a cursor that is no task", In: `{"team_name":"crew","cursor":"first"}`, Path: "cursor",
			Words: "must be the a nextCursor"},
	}}
}

func getTaskCases() op.Cases {
	return op.Cases{Rights: forInsiders, RPCs: 2, Owned: []string{"team_name", "task_id"},
		Examples: slices.Concat([]op.Example{
			{Given: graph, In: op.In{"team_name": "crew", "task_id": "1"}},
			{Name: "that is nowhere", Given: graph, In: op.In{"team_name": "crew", "task_id": "99"}, Fault: fault.NotFound},
			{Name: "by another form of its id", Given: graph, In: op.In{"team_name": "crew", "task_id": "01"},
				Fault: fault.NotFound},
			{Name: "by an id that is no number", Given: graph, In: op.In{"team_name": "crew", "task_id": "no task"},
				Fault: fault.NotFound},
		}, byOthers(graph, op.In{"team_name": "crew", "task_id": "1"}), wrongTeams(op.In{"task_id": "1"})), Refused: []op.Refusal{
			{Name: "an id too long", In: `{"team_name":"crew","task_id":"` + strings.Repeat("1", 101) + `"}`,
				Path: "task_id", Words: "must be at most 100 characters, not 101"},
		}}
}

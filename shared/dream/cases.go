package dream

import (
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The initial steps of the cases.
var (
	waiting = []op.Step{{Op: "create_task", Save: "taskId as dream",
		In: op.In{"title": "Port the parser", "target": "any", "type": "dream",
			"dream": op.In{"agent": "alpha", "budget_cap_usd": 2.5, "branch": "b", "timeout_hours": 1}}}}
	// alphas is a dream that only the program alpha may begin.
	alphas = []op.Step{{Op: "create_task", In: op.In{"title": "t", "target": "alpha", "type": "dream"},
		Save: "taskId as dream"}}
	begun = op.After(waiting, op.Step{Op: "dream_activate", In: op.In{"dreamId": "$dream", "sessionId": "alpha.1"}})
	// noDream is a task of another type.
	noDream = []op.Step{{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}, Save: "taskId as task"}}
	// betas is a dream that only the program beta may begin.
	betas = []op.Step{{Op: "create_task", In: op.In{"title": "t", "target": "beta", "type": "dream"},
		Save: "taskId as dream"}}
)

func peekCases() op.Cases {
	return op.Cases{Rights: op.Rights{Program: op.OwnOnly, Unbound: op.OwnOnly, Human: op.May}, Examples: []op.Example{
		{Given: waiting},
		{Name: "where there are none"},
		{Name: "of a program", Given: betas, In: op.In{"target": "beta", "limit": 1}},
		{Name: "of the own program", Given: waiting, In: op.In{"target": "alpha", "limit": 50}},
		{Name: "after one was begun", Given: begun, In: op.In{"target": "alpha"}},
	}, Refused: []op.Refusal{
		{Name: "a limit too large", In: `{"limit":51}`, Path: "limit", Words: "must be at most 50"},
	}}
}

func activateCases() op.Cases {
	rights := op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	return op.Cases{Rights: rights, Owned: []string{"dreamId"}, Examples: []op.Example{
		{Given: alphas, In: op.In{"dreamId": "$dream"}},
		{Name: "of a dream for any program", Given: waiting, In: op.In{"dreamId": "$dream"}},
		{Name: "by a session", Given: waiting, In: op.In{"dreamId": "$dream", "sessionId": "alpha.1"}},
		{Name: "again by the same session", Given: begun, In: op.In{"dreamId": "$dream", "sessionId": "alpha.1"}},
		{Name: "by another session", Given: begun, In: op.In{"dreamId": "$dream", "sessionId": "alpha.2"},
			Fault: fault.Precondition},
		{Name: "of another program's dream", Given: betas, In: op.In{"dreamId": "$dream"}, Fault: fault.Forbidden},
		{Name: "of a program's dream, with a key that is bound to none", Given: alphas, As: op.Unbound,
			In: op.In{"dreamId": "$dream"}, Fault: fault.Forbidden},
		{Name: "of a task of another type", Given: noDream, In: op.In{"dreamId": "$task"}, Fault: fault.Precondition},
		{Name: "of a dream that is nowhere", In: op.In{"dreamId": "nobody-made-this"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "an id of dots", In: `{"dreamId":".."}`, Path: "dreamId", Words: "must match ^[A-Za-z0-9]"},
		{Name: "an id with a space", In: `{"dreamId":"-no id-"}`, Path: "dreamId", Words: "must match ^[A-Za-z0-9]"},
	}}
}

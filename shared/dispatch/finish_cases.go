package dispatch

import (
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

func completeCases() op.Cases {
	report := op.In{
		"taskId":     "$task",
		"claimToken": "$token",
		"result":     "42",
		"tokens_in":  10,
		"tokens_out": 20,
		"cost_usd":   0.01,
	}
	return op.Cases{Rights: claimers, Owned: []string{"taskId"}, Examples: []op.Example{
		{Given: claimed, In: report},
		{Name: "without a token", Given: claimed, In: op.In{"taskId": "$task"}},
		{Name: "without a token, of a second claim", Given: twice, In: op.In{"taskId": "$task"}, Fault: fault.Precondition},
		{Name: "by the session of the claim", Given: twice, In: op.In{"taskId": "$task", "sessionId": "alpha.2"}},
		{Name: "of a claim of a key that is bound to no program", Given: unbounds, As: op.Unbound,
			In: op.In{"taskId": "$task", "claimToken": "$token"}},
		{Name: "of another program's claim", Given: claimed, As: "beta", In: report, Fault: fault.Forbidden},
		{Name: "of another's claim, with a key that is bound to no program", Given: claimed, As: op.Unbound, In: report,
			Fault: fault.Forbidden},
		{Name: "of another's claim, by the human", Given: claimed, As: op.Human, In: op.In{"taskId": "$task"}},
		{Name: "of a cancelled task", Given: cancelled, As: "beta", In: op.In{"taskId": "$task"}, Fault: fault.Precondition},
		{Name: "twice", Given: op.After(claimed, op.Step{Op: "complete_task", In: report}), In: report},
		{
			Name: "with the token of an earlier claim",
			Given: op.After(
				claimed,
				op.Step{Op: "release_task", In: op.In{"taskId": "$task", "claimToken": "$token"}},
				op.Step{
					Op: "claim_task",
					In: op.In{"taskId": "$task"},
				},
			),
			In:    op.In{"taskId": "$task", "claimToken": "$token"},
			Fault: fault.Precondition,
		},
	}, Refused: []op.Refusal{
		{Name: "a token that is a text", Given: claimed, In: `{"taskId":"$task","claimToken":"first"}`, Path: "claimToken",
			Words: "must be of type integer, not string"},
		{
			Name:  "a gain",
			Given: claimed,
			In:    `{"taskId":"$task","cost_usd":-0.01}`,
			Path:  "cost_usd",
			Words: "must be at least 0",
		},
		{
			Name:  "an unknown outcome",
			Given: claimed,
			In:    `{"taskId":"$task","outcome":"maybe"}`,
			Path:  "outcome",
			Words: "must be one of done, failed",
		},
	}}
}

func updateCases() op.Cases {
	return op.Cases{Rights: claimers, Owned: []string{"taskId"}, Examples: []op.Example{
		{Given: claimed, In: op.In{"taskId": "$task", "note": "I <saw> it"}},
		{
			Name:  "to blocked",
			Given: claimed,
			In:    op.In{"taskId": "$task", "status": "blocked", "note": "it waits", "claimToken": "$token"},
		},
		{
			Name:  "to created, by the human",
			Given: op.After(claimed, op.Step{Op: "update_task", In: op.In{"taskId": "$task", "status": "failed"}}),
			As:    op.Human,
			In:    op.In{"taskId": "$task", "status": "created"},
		},
		{Name: "to derezzed", Given: someTask, In: op.In{"taskId": "$task", "status": "derezzed"}},
		{Name: "to derezzed, while another works on it", Given: underway, In: op.In{"taskId": "$task", "status": "derezzed"}},
		{Name: "to derezzed, by its claimant", Given: underway, As: "beta", In: op.In{"taskId": "$task", "status": "derezzed"},
			Fault: fault.Forbidden},
		{Name: "of another program's claim", Given: claimed, As: "beta",
			In: op.In{"taskId": "$task", "note": "n", "claimToken": "$token"}, Fault: fault.Forbidden},
		{Name: "of a task for another program", Given: someTask, As: "beta", In: op.In{"taskId": "$task", "status": "failed"},
			Fault: fault.Forbidden},
		{Name: "to another queue", Given: someTask, In: op.In{"taskId": "$task", "priority": "high", "target": "beta"}},
		{Name: "to another queue, by the human", Given: someTask, As: op.Human, In: op.In{"taskId": "$task", "target": "user"}},
		{Name: "to another queue, by one that may claim it", Given: betas, As: "beta",
			In: op.In{"taskId": "$task", "priority": "low"}, Fault: fault.Forbidden},
		{Name: "to another queue, of what is claimed", Given: claimed, In: op.In{"taskId": "$task", "priority": "low", "claimToken": "$token"},
			Fault: fault.Precondition},
		{Name: "of a cancelled task", Given: cancelled, As: "beta", In: op.In{"taskId": "$task", "note": "n"},
			Fault: fault.Precondition},
		{
			Name:  "past its lifecycle",
			Given: someTask,
			In:    op.In{"taskId": "$task", "status": "active"},
			Fault: fault.Precondition,
		},
		{
			Name:  "with another's token",
			Given: claimed,
			In:    op.In{"taskId": "$task", "status": "active", "claimToken": 77},
			Fault: fault.Precondition,
		},
		{Name: "of a task that is nowhere", In: op.In{"taskId": "nobody-made-this", "note": "n"}, Fault: fault.NotFound},
		{
			Name:  "from derezzed to created",
			Given: op.After(someTask, op.Step{Op: "update_task", In: op.In{"taskId": "$task", "status": "derezzed"}}),
			As:    op.Human,
			In:    op.In{"taskId": "$task", "status": "created"},
			Fault: fault.Precondition,
		},
	}, Refused: []op.Refusal{
		{Name: "no news", Given: someTask, In: `{"taskId":"$task"}`, Path: "status",
			Words: "is required unless there is a note, a priority or a target"},
		{Name: "an unknown priority", Given: someTask, In: `{"taskId":"$task","priority":"urgent"}`, Path: "priority",
			Words: "must be one of low, normal, high"},
		{Name: "a target that is no name", Given: someTask, In: `{"taskId":"$task","target":"a b"}`, Path: "target",
			Words: "must"},
		{Name: "an end and a priority", Given: someTask, In: `{"taskId":"$task","status":"derezzed","priority":"low"}`,
			Path: "status", Words: "must be left out with a new priority or target"},
		{Name: "an unknown status", Given: someTask, In: `{"taskId":"$task","status":"finished"}`, Path: "status",
			Words: "must be one of created, active, blocked, completing, done, failed, derezzed"},
		{
			Name:  "a note too long",
			Given: someTask,
			In:    `{"taskId":"$task","note":"` + strings.Repeat("é", 2001) + `"}`,
			Path:  "note",
			Words: "must be at most 2000 characters, not 2001",
		},
		{
			Name:  "a note that is a list",
			Given: someTask,
			In:    `{"taskId":"$task","note":["n"]}`,
			Path:  "note",
			Words: "must be of type string, not array",
		},
	}}
}

package dispatch

import (
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The rights of operations that belong to nobody, and of those on a task that has a claimant or a target.
var (
	anyones  = op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	claimers = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
)

// The initial steps of the cases.
var (
	someTask = []op.Step{{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}, Save: "taskId as task"}}
	claimed  = op.After(
		someTask,
		op.Step{Op: "claim_task", In: op.In{"taskId": "$task", "sessionId": "alpha.1"}, Save: "claimToken as token"},
	)
	// betas creates a task that only the program beta may claim, and underway one that beta works on.
	betas    = []op.Step{{Op: "create_task", In: op.In{"title": "t", "target": "beta"}, Save: "taskId as task"}}
	underway = op.After(betas, op.Step{Op: "claim_task", As: "beta", In: op.In{"taskId": "$task"}})
	// cancelled is such a task after its cancellation, twice one that alpha claimed for the second time, and unbounds one
	// that an unbound key claimed.
	cancelled = op.After(underway, op.Step{Op: "update_task", In: op.In{"taskId": "$task", "status": "derezzed"}})
	twice     = op.After(claimed, op.Step{Op: "release_task", In: op.In{"taskId": "$task"}},
		op.Step{Op: "claim_task", In: op.In{"taskId": "$task", "sessionId": "alpha.2"}, Save: "claimToken as second"})
	unbounds = []op.Step{
		{Op: "create_task", In: op.In{"title": "t", "target": "any"}, Save: "taskId as task"},
		{Op: "claim_task", As: op.Unbound, In: op.In{"taskId": "$task"}, Save: "claimToken as token"},
	}
	// alerted sends the human an alert, which is no work.
	alerted = []op.Step{{Op: "send_alert", In: op.In{"message": "the build is red"}, Save: "alertId as task"}}
	// page saves the cursor to the second of two tasks.
	page = []op.Step{
		{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}, Times: 2},
		{Op: "get_tasks", In: op.In{"target": "alpha", "limit": 1}, Save: "nextCursor as cursor"},
	}
)

func createCases() op.Cases {
	once := op.In{"title": "once", "target": "beta", "idempotencyKey": "k"}
	return op.Cases{RPCs: 1, Rights: anyones, Examples: []op.Example{
		{In: op.In{"title": "Review the parser", "target": "beta"}},
		{
			Name: "with everything",
			In: op.In{"title": "a ✓ title", "target": "alpha", "instructions": "do <this> & \"that\"\n", "priority": "high",
				"action": "interrupt", "source": "alpha", "projectId": "p", "ttl": 3600, "replyTo": "r", "threadId": "th",
				"fallback": []string{"beta", "gamma"}, "provenance": op.In{"model": "m", "cost_tokens": 12.5, "confidence": 0.5}},
		},
		{Name: "a dream", In: op.In{"title": "a dream", "target": "any", "type": "dream", "priority": "low",
			"dream": op.In{"agent": "alpha", "budget_cap_usd": 2.5, "branch": "b", "timeout_hours": 1}}},
		{Name: "with an idempotency key", In: once, RPCs: 2, Over: "the key is read"},
		{
			Name:  "again with the same key",
			Given: []op.Step{{Op: "create_task", In: once}},
			In:    once,
			RPCs:  2,
			Over:  "the key is read",
		},
		{Name: "another with the same key", Given: []op.Step{{Op: "create_task", In: once}}, RPCs: 2, Over: "the key is read",
			In: op.In{"title": "another", "target": "beta", "idempotencyKey": "k"}, Fault: fault.Precondition},
		{
			Name:  "as another program",
			In:    op.In{"title": "not mine", "target": "beta", "source": "beta"},
			Fault: fault.Forbidden,
			RPCs:  op.NoRPCs,
		},
		{
			Name:  "under the name of a program, with a key that is bound to none",
			Given: someTask, // so that the program has a key
			As:    op.Unbound,
			In:    op.In{"title": "not mine", "target": "beta", "source": "Alpha"},
			Fault: fault.Forbidden,
			RPCs:  op.NoRPCs,
		},
	}, Refused: []op.Refusal{
		{
			Name:  "an unknown field",
			In:    `{"title":"t","target":"a","titel":"t"}`,
			Path:  "titel",
			Words: "the fields are idempotencyKey, title, target",
		},
		{Name: "an unknown field inside", In: `{"title":"t","target":"a","provenance":{"modle":"m"}}`, Path: "provenance.modle",
			Words: "the fields are model, cost_tokens, confidence"},
		{Name: "a missing field", In: `{"title":"t"}`, Path: "target", Words: "is required"},
		{Name: "an empty field", In: `{"title":"","target":"a"}`, Path: "title", Words: "must not be empty"},
		{
			Name:  "a null that is required",
			In:    `{"title":null,"target":"a"}`,
			Path:  "title",
			Words: "must be of type string, not null",
		},
		{Name: "a wrong type", In: `{"title":{"a":1},"target":"a"}`, Path: "title", Words: "must be of type string, not object"},
		{
			Name:  "a wrong type inside",
			In:    `{"title":"t","target":"a","provenance":{"confidence":"high"}}`,
			Path:  "provenance.confidence",
			Words: "must be of type number, not string",
		},
		{Name: "a fraction", In: `{"title":"t","target":"a","ttl":1.5}`, Path: "ttl", Words: "must be of type integer"},
		{
			Name:  "a number past all numbers",
			In:    `{"title":"t","target":"a","ttl":1e400}`,
			Path:  "ttl",
			Words: "must be at most 31536000",
		},
		{Name: "a text too long", In: `{"title":"` + strings.Repeat("é", 201) + `","target":"a"}`, Path: "title",
			Words: "must be at most 200 characters, not 201"},
		{Name: "half a character", In: `{"title":"\ud800","target":"a"}`, Path: "title", Words: "must be valid UTF-8 text"},
		{
			Name:  "the other half of a character",
			In:    `{"title":"t","target":"a","provenance":{"model":"x\udfffx"}}`,
			Path:  "provenance.model",
			Words: "must be valid UTF-8 text",
		},
		{
			Name:  "bytes that are no text",
			In:    "{\"title\":\"a\xffb\",\"target\":\"a\"}",
			Path:  "title",
			Words: "must be valid UTF-8 text",
		},
		{Name: "bytes that are no text, inside", In: "{\"title\":\"t\",\"target\":\"a\",\"provenance\":{\"model\":\"\xc3\x28\"}}",
			Path: "provenance.model", Words: "must be valid UTF-8 text"},
		{
			Name:  "a dream's length",
			In:    `{"title":"t","target":"a","type":"dream","dream":{"timeout_hours":169}}`,
			Path:  "dream.timeout_hours",
			Words: "must be at most 168",
		},
		{
			Name:  "a dream that is none",
			In:    `{"title":"t","target":"a","dream":{}}`,
			Path:  "dream",
			Words: "is allowed with the type dream only",
		},
	}}
}

func listCases() op.Cases {
	rights := op.Rights{Program: op.OwnOnly, Unbound: op.OwnOnly, Human: op.May}
	return op.Cases{RPCs: 1, Rights: rights, Examples: []op.Example{
		{Given: someTask},
		{Name: "where there are none"},
		{Name: "of everybody, by the human", Given: op.After(someTask, betas...), As: op.Human},
		{Name: "of nobody in particular, with a key that is bound to no program", Given: someTask, As: op.Unbound},
		{Name: "of a program in capitals", Given: betas, In: op.In{"target": "BETA", "source": "ALPHA"}},
		{Name: "of a program", Given: someTask, In: op.In{"target": "alpha", "status": "all", "limit": 50}},
		{Name: "without instructions", Given: betas,
			In: op.In{"target": "beta", "includeInstructions": false, "status": "all", "type": "task", "source": "alpha"}},
		{
			Name:  "that are done",
			Given: op.After(claimed, op.Step{Op: "complete_task", In: op.In{"taskId": "$task"}}),
			In:    op.In{"status": "done"},
		},
		{Name: "with a wait", Given: someTask, In: op.In{"target": "alpha", "waitMs": 55000}},
		{Name: "the next page", Given: page, In: op.In{"target": "alpha", "limit": 1, "cursor": "$cursor"}},
		{Name: "alerts", Given: alerted, In: op.In{"type": "alert", "status": "all"}},
	}, Refused: []op.Refusal{
		{Name: "an unknown field", In: `{"stauts":"done"}`, Path: "stauts", Words: "the fields are status"},
		{Name: "a negative limit", In: `{"limit":-1}`, Path: "limit", Words: "must be at least 1"},
		{Name: "an unknown status", In: `{"status":"open"}`, Path: "status",
			Words: "must be one of created, active, blocked, completing, done, failed, derezzed, all"},
		{Name: "no cursor", In: `{"cursor":"xyz"}`, Path: "cursor", Words: "use the one that came with the page before"},
		{Name: "a cursor of other filters", Given: page, In: `{"cursor":"$cursor","status":"done"}`, Path: "cursor",
			Words: "use the one that came with the page before"},
	}}
}

func getCases() op.Cases {
	return op.Cases{Rights: anyones, Owned: []string{"taskId"}, Examples: []op.Example{
		{Given: someTask, In: op.In{"taskId": "$task"}},
		{Name: "of a claimed task", Given: claimed, In: op.In{"taskId": "$task"}},
		{Name: "of an alert", Given: alerted, In: op.In{"taskId": "$task"}},
		{Name: "of a task that is nowhere", In: op.In{"taskId": "nobody-made-this"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "an id with a slash", In: `{"taskId":"a/b"}`, Path: "taskId", Words: "must match ^[A-Za-z0-9]"},
		{Name: "an id of dots", In: `{"taskId":".."}`, Path: "taskId", Words: "must match ^[A-Za-z0-9]"},
		{Name: "an id that Firestore reserves", In: `{"taskId":"__x__"}`, Path: "taskId", Words: "must match ^[A-Za-z0-9]"},
	}}
}

func claimCases() op.Cases {
	return op.Cases{Rights: claimers, Owned: []string{"taskId"}, Examples: []op.Example{
		{Given: someTask, In: op.In{"taskId": "$task", "sessionId": "alpha.1", "leaseSeconds": 60}},
		{Name: "again by the same session", Given: claimed, In: op.In{"taskId": "$task", "sessionId": "alpha.1"}},
		{
			Name:  "of a claimed task",
			Given: claimed,
			In:    op.In{"taskId": "$task", "sessionId": "alpha.2"},
			Fault: fault.Precondition,
		},
		{Name: "of another program's task", Given: betas, In: op.In{"taskId": "$task"}, Fault: fault.Forbidden},
		{Name: "of a program's task, with a key that is bound to none", Given: someTask, As: op.Unbound,
			In: op.In{"taskId": "$task"}, Fault: fault.Forbidden},
		{Name: "of a cancelled task", Given: cancelled, As: "beta", In: op.In{"taskId": "$task"}, Fault: fault.Precondition},
		{Name: "of an alert", Given: alerted, In: op.In{"taskId": "$task"}, Fault: fault.Precondition},
		{Name: "of a task that is nowhere", In: op.In{"taskId": "nobody-made-this"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{
			Name:  "an id too long",
			In:    `{"taskId":"` + strings.Repeat("x", 101) + `"}`,
			Path:  "taskId",
			Words: "must be at most 100 characters, not 101",
		},
		{
			Name:  "a lease too short",
			Given: someTask,
			In:    `{"taskId":"$task","leaseSeconds":29}`,
			Path:  "leaseSeconds",
			Words: "must be at least 30",
		},
	}}
}

func nextCases() op.Cases {
	// It takes the caller's own queue alone.
	rights := op.Rights{Program: op.OwnOnly, Unbound: op.OwnOnly, Human: op.OwnOnly}
	return op.Cases{Rights: rights, Examples: []op.Example{
		{Given: someTask, In: op.In{"leaseSeconds": 60}},
		{Name: "with everything", Given: someTask, In: op.In{"types": []any{"dream", "task"}, "waitMs": 55000,
			"sessionId": "alpha/1", "leaseSeconds": 60}},
		{Name: "where there is none", In: op.In{}, RPCs: 1},
		{Name: "of a project that has none", Given: someTask, In: op.In{"projectId": "elsewhere"}, RPCs: 1},
		{Name: "where all are claimed", Given: claimed, In: op.In{}, RPCs: 1},
		{Name: "with a key that is bound to none", Given: someTask, As: op.Unbound, In: op.In{}, RPCs: 1},
	}, Refused: []op.Refusal{
		{Name: "an unknown type", In: `{"types":["alert"]}`, Path: "types[0]", Words: "must be one of task, dream"},
		{Name: "a lease too short", In: `{"leaseSeconds":29}`, Path: "leaseSeconds", Words: "must be at least 30"},
		{Name: "a wait too long", In: `{"waitMs":55001}`, Path: "waitMs", Words: "must be at most 55000"},
	}}
}

func renewCases() op.Cases {
	return op.Cases{Rights: claimers, Owned: []string{"taskId"}, Examples: []op.Example{
		{Given: claimed, In: op.In{"taskId": "$task", "claimToken": "$token", "leaseSeconds": 120}},
		{Name: "without a token", Given: claimed, In: op.In{"taskId": "$task"}},
		{Name: "by the session of the claim", Given: twice, In: op.In{"taskId": "$task", "sessionId": "alpha.2"}},
		{Name: "without a token, of a second claim", Given: twice, In: op.In{"taskId": "$task"}, Fault: fault.Precondition},
		{Name: "with another's token", Given: claimed, In: op.In{"taskId": "$task", "claimToken": 77}, Fault: fault.Precondition},
		{Name: "of another program's claim", Given: claimed, As: "beta", In: op.In{"taskId": "$task", "claimToken": "$token"},
			Fault: fault.Forbidden},
		{Name: "of a cancelled task", Given: cancelled, As: "beta", In: op.In{"taskId": "$task"}, Fault: fault.Precondition},
		{
			Name:  "after the lease",
			Given: claimed,
			Pass:  time.Hour,
			In:    op.In{"taskId": "$task", "claimToken": "$token"},
			Fault: fault.Precondition,
		},
	}, Refused: []op.Refusal{
		{Name: "an id with a space", In: `{"taskId":"a b","claimToken":1}`, Path: "taskId", Words: "must match ^[A-Za-z0-9]"},
		{Name: "no token, with a key that is bound to no program", Given: unbounds, As: op.Unbound, In: `{"taskId":"$task"}`,
			Path: "claimToken", Words: "is required"},
	}}
}

func releaseCases() op.Cases {
	return op.Cases{Rights: claimers, Owned: []string{"taskId"}, Examples: []op.Example{
		{Given: claimed, In: op.In{"taskId": "$task", "claimToken": "$token", "reason": "tired"}},
		{Name: "without a token", Given: claimed, In: op.In{"taskId": "$task"}},
		{Name: "by the session of the claim", Given: twice, In: op.In{"taskId": "$task", "sessionId": "alpha.2"}},
		{Name: "by an earlier session", Given: twice, In: op.In{"taskId": "$task", "sessionId": "alpha.1"},
			Fault: fault.Precondition},
		{Name: "with another's token", Given: claimed, In: op.In{"taskId": "$task", "claimToken": 77}, Fault: fault.Precondition},
		{Name: "of another program's claim", Given: claimed, As: "beta", In: op.In{"taskId": "$task", "claimToken": "$token"},
			Fault: fault.Forbidden},
		{
			Name:  "twice",
			Given: op.After(claimed, op.Step{Op: "release_task", In: op.In{"taskId": "$task", "claimToken": "$token"}}),
			In:    op.In{"taskId": "$task", "claimToken": "$token"},
			Fault: fault.Precondition,
		},
	}, Refused: []op.Refusal{
		{
			Name:  "token nought",
			Given: claimed,
			In:    `{"taskId":"$task","claimToken":0}`,
			Path:  "claimToken",
			Words: "must be at least 1",
		},
	}}
}

package pulse

import (
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The initial steps of the cases.
var (
	alphas = []op.Step{{Op: "create_session", In: op.In{"name": "the parser"}, Save: "sessionId as session"}}
	betas  = []op.Step{{Op: "create_session", As: op.Human, Save: "sessionId as session",
		In: op.In{"name": "beta's", "programId": "beta", "state": "blocked"}}}
	// plain has an id that is no address.
	plain = []op.Step{{Op: "create_session", In: op.In{"name": "plain", "sessionId": "plain"}}}
	// page saves the cursor to the second of two sessions.
	page = op.After(alphas, alphas[0], op.Step{Op: "list_sessions", In: op.In{"limit": 1},
		Save: "nextCursor as cursor"})
)

func createCases() op.Cases {
	once := op.In{"name": "once", "idempotencyKey": "k"}
	rights := op.Rights{Program: op.May, Unbound: op.May, Human: op.May} // each begins a session of its own
	return op.Cases{Named: []string{"sessionId"}, Rights: rights, Examples: []op.Example{
		{In: op.In{"name": "Rewrite of the parser"}},
		{Name: "with everything", In: op.In{"name": "a ✓ session", "sessionId": "alpha.1", "programId": "alpha",
			"status": "at <work>", "state": "working", "progress": 10, "projectName": "p"}},
		{Name: "with an address", In: op.In{"name": "the second", "sessionId": "alpha/2"}},
		{Name: "of a session that is there", Given: alphas,
			In: op.In{"name": "renamed", "sessionId": "$session", "state": "pinned"}},
		{Name: "with an idempotency key", In: once, RPCs: 4, Over: "a free address is looked for"},
		{Name: "with an id and an idempotency key", In: op.In{"name": "n", "sessionId": "alpha.1", "idempotencyKey": "k"}, RPCs: 4,
			Over: "the session is looked for under both its names"},
		{Name: "again with the same key", Given: []op.Step{{Op: "create_session", In: once}}, In: once},
		{Name: "another with the same key", Given: []op.Step{{Op: "create_session", In: once}},
			In: op.In{"name": "another", "idempotencyKey": "k"}, Fault: fault.Precondition},
		{Name: "of a session that is there, with an idempotency key", Given: alphas,
			In: op.In{"name": "n", "sessionId": "$session", "idempotencyKey": "k"}},
		{Name: "for a program, by the human", As: op.Human,
			In: op.In{"name": "beta's", "programId": "beta", "state": "blocked"}},
		{Name: "of a session that the human made for the program", Given: betas, As: "beta",
			In: op.In{"name": "resumed", "sessionId": "$session"}},
		{Name: "of another program's session", Given: alphas, As: "beta",
			In: op.In{"name": "taken over", "sessionId": "$session"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "of another program's session without an address", Given: plain, As: "beta",
			In: op.In{"name": "taken over", "sessionId": "plain"}, Fault: fault.Forbidden},
		{Name: "of a program's session, by an unbound key", Given: alphas, As: op.Unbound,
			In: op.In{"name": "taken over", "sessionId": "$session"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "as another program", In: op.In{"name": "not mine", "programId": "beta"},
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "no name", In: `{"status":"s"}`, Path: "name", Words: "is required"},
		{Name: "an empty name", In: `{"name":""}`, Path: "name", Words: "must not be empty"},
		{Name: "an unknown field", In: `{"name":"n","surprise":1}`, Path: "surprise", Words: "the fields are"},
		{Name: "an id with two slashes", In: `{"name":"n","sessionId":"a/b/c"}`, Path: "sessionId",
			Words: "must match ^"},
		{Name: "a program too long", In: `{"name":"n","programId":"` + strings.Repeat("x", 51) + `"}`,
			Path: "programId", Words: "must be at most 50 characters, not 51"},
		{Name: "an unknown state", In: `{"name":"n","state":"asleep"}`, Path: "state",
			Words: "must be one of working, blocked, complete, pinned"},
		{Name: "a progress too large", In: `{"name":"n","progress":101}`, Path: "progress",
			Words: "must be at most 100"},
	}}
}

func updateCases() op.Cases {
	rights := op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	return op.Cases{RPCs: 2, Owned: []string{"sessionId"}, Rights: rights, Examples: []op.Example{
		{Given: alphas,
			In: op.In{"sessionId": "$session", "status": "waiting for a review", "state": "blocked", "progress": 60}},
		{Name: "with a heartbeat", Given: alphas, In: op.In{"sessionId": "$session", "lastHeartbeat": true}},
		{Name: "with an empty status", Given: alphas,
			In: op.In{"sessionId": "$session", "state": "working", "status": "", "progress": 0, "projectName": "q"}},
		{Name: "to complete", Given: alphas, In: op.In{"sessionId": "$session", "state": "complete"}, RPCs: 3,
			Over: "its mail goes to its program"},
		{Name: "of the newest session", Given: alphas, In: op.In{"lastHeartbeat": true}},
		{Name: "of the newest session, where there is none", In: op.In{"lastHeartbeat": true}, Fault: fault.NotFound},
		{Name: "of another program's session", Given: betas, In: op.In{"sessionId": "$session", "progress": 1},
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "of another program's session without an address", Given: plain, As: "beta",
			In: op.In{"sessionId": "plain", "progress": 1}, Fault: fault.Forbidden},
		{Name: "of a program's session, by an unbound key", Given: alphas, As: op.Unbound,
			In: op.In{"sessionId": "$session", "state": "complete"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "of a session that the human made for the program", Given: betas, As: "beta",
			In: op.In{"sessionId": "$session", "progress": 1}},
		{Name: "of any session, by the human", Given: alphas, As: op.Human,
			In: op.In{"sessionId": "$session", "progress": 90}},
		{Name: "of a session that is nowhere", In: op.In{"sessionId": "nobody-made-this", "progress": 1},
			Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "a state of lists alone", Given: alphas, In: `{"sessionId":"$session","state":"all"}`, Path: "state",
			Words: "must be one of working, blocked, complete, pinned"},
		{Name: "a progress too large", Given: alphas, In: `{"sessionId":"$session","progress":101}`, Path: "progress",
			Words: "must be at most 100"},
		{Name: "a negative progress", Given: alphas, In: `{"sessionId":"$session","progress":-1}`, Path: "progress",
			Words: "must be at least 0"},
		{Name: "half a percent", Given: alphas, In: `{"sessionId":"$session","progress":0.5}`, Path: "progress",
			Words: "must be of type integer"},
		{Name: "a heartbeat that is a time", Given: alphas,
			In: `{"sessionId":"$session","lastHeartbeat":"2026-03-01T12:00:00Z"}`, Path: "lastHeartbeat",
			Words: "must be of type boolean, not string"},
		{Name: "a status too long", Given: alphas,
			In:   `{"sessionId":"$session","status":"` + strings.Repeat("é", 201) + `"}`,
			Path: "status", Words: "must be at most 200 characters, not 201"},
	}}
}

func listCases() op.Cases {
	tasks := []op.Step{
		{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}, Times: 2},
		{Op: "get_tasks", In: op.In{"limit": 1}, Save: "nextCursor as cursor"},
	}
	return op.Cases{RPCs: 2, Rights: op.Rights{Program: op.May, Unbound: op.May, Human: op.May}, Examples: []op.Example{
		{Given: alphas},
		{Name: "where there are none", RPCs: 1},
		{Name: "of a program without any", Given: alphas, In: op.In{"programId": "nobody"}, RPCs: 1},
		{Name: "of a program", Given: alphas,
			In: op.In{"programId": "alpha", "state": "working", "includeArchived": true, "limit": 50}},
		{Name: "of another program", Given: betas, In: op.In{"programId": "beta", "state": "blocked"}},
		{Name: "the first page", Given: op.After(alphas, alphas...), In: op.In{"limit": 1}},
		{Name: "the next page", Given: page, In: op.In{"limit": 1, "cursor": "$cursor"}},
	}, Refused: []op.Refusal{
		{Name: "an unknown state", In: `{"state":"asleep"}`, Path: "state",
			Words: "must be one of working, blocked, complete, pinned, all"},
		{Name: "a limit too large", In: `{"limit":51}`, Path: "limit", Words: "must be at most 50"},
		{Name: "a cursor of another call", Given: tasks, In: `{"cursor":"$cursor"}`, Path: "cursor",
			Words: "use the one that came with the page before"},
		{Name: "a cursor of other filters", Given: page, In: `{"limit":1,"cursor":"$cursor","state":"working"}`,
			Path: "cursor", Words: "use the one that came with the page before"},
	}}
}

package council

import (
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The steps that set up the cases of councils.
var (
	// opened starts a council of alpha.
	opened = []op.Step{{Op: "start_council", In: op.In{"agent_name": "alpha", "request": "which <store>?"},
		Save: "session_id as council"}}
	// answered adds a response of beta, with the label A.
	answered = op.After(opened, op.Step{Op: "send_response", As: "beta",
		In: op.In{"agent_name": "beta", "session_id": "$council", "content": "SQLite ✓"}})
	// read lets alpha read that response.
	read = op.After(answered, op.Step{Op: "get_current_session_data", In: op.In{"agent_name": "alpha"},
		Save: "next_cursor as cursor"})
	closed = op.After(answered, op.Step{Op: "close_council", In: op.In{"agent_name": "alpha", "session_id": "$council",
		"conclusion": "both"}})
	// next starts another council, whose request beta has not seen.
	next = op.After(closed, opened...)
)

const unknownID = "nobody-made-this"

// anyone are the rights to take part in councils: each caller does so under a name of its own.
var anyone = op.Rights{Program: op.May, Unbound: op.May, Human: op.May}

func startCases() op.Cases {
	once := op.In{"agent_name": "alpha", "request": "which <store>?", "idempotencyKey": "k"}
	return op.Cases{RPCs: 1, Rights: anyone, Examples: []op.Example{
		{In: op.In{"agent_name": "Gandalf", "request": "Which store shall we use?"}},
		{Name: "under the program's name", In: op.In{"request": "Which store shall we use?"}},
		{Name: "with an idempotency key", In: once, RPCs: 2, Over: "the key is read"},
		{Name: "again with the same key", Given: []op.Step{{Op: "start_council", In: once}}, In: once},
		{Name: "beside another", Given: opened, In: op.In{"agent_name": "alpha", "request": "and which port?"}},
		{Name: "as another program", In: op.In{"agent_name": "beta/Gandalf", "request": "not mine"}, Fault: fault.Forbidden,
			RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{
			Name:  "an empty request",
			In:    `{"agent_name":"alpha","request":""}`,
			Path:  "request",
			Words: "must not be empty",
		},
		{Name: "no name, with a key that is bound to no program", As: op.Unbound, In: `{"request":"which <store>?"}`,
			Path: "agent_name", Words: "is required with a key that is bound to no program"},
	}}
}

func joinCases() op.Cases {
	return op.Cases{Owned: []string{"session_id"}, Rights: anyone, Examples: []op.Example{
		{Given: opened, As: "beta", In: op.In{"agent_name": "Gimli", "session_id": "$council"}},
		{Name: "under the program's name", Given: opened, As: "beta", In: op.In{"session_id": "$council"}},
		{
			Name:  "that is already joined",
			Given: answered,
			As:    "beta",
			In:    op.In{"agent_name": "beta", "session_id": "$council"},
		},
		{Name: "of the only one", Given: opened, As: "beta", In: op.In{"agent_name": "beta"}},
		{Name: "for another, by the human", Given: opened, As: op.Human,
			In: op.In{"agent_name": "beta", "session_id": "$council"}},
		{Name: "of the newest of several", Given: op.After(opened, opened...), As: "beta", In: op.In{"agent_name": "beta"}},
		{Name: "as another program", Given: opened, In: op.In{"agent_name": "beta/Gimli", "session_id": "$council"},
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "under a program's name, by an unbound key", Given: opened, As: op.Unbound,
			In: op.In{"agent_name": "Alpha", "session_id": "$council"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{
			Name:  "of an unknown council",
			In:    op.In{"agent_name": "alpha", "session_id": unknownID},
			Fault: fault.NotFound,
		},
	}, Refused: []op.Refusal{
		{Name: "an empty name, with a key that is bound to no program", As: op.Unbound,
			In:   `{"agent_name":"","session_id":"x"}`,
			Path: "agent_name", Words: "is required with a key that is bound to no program"},
		{Name: "a name too long", In: `{"agent_name":"` + strings.Repeat("é", 61) + `","session_id":"x"}`,
			Path:  "agent_name",
			Words: "must be at most 60 characters, not 61"},
		{Name: "a name of two lines", In: `{"agent_name":"Gimli\nsays","session_id":"x"}`, Path: "agent_name",
			Words: "must be one line of printable characters"},
	}}
}

func followCases() op.Cases {
	return op.Cases{Owned: []string{"session_id"}, Rights: anyone, Examples: []op.Example{
		{Given: answered, In: op.In{"agent_name": "Gandalf", "session_id": "$council"}},
		{Name: "of the opener", Given: answered, In: op.In{"agent_name": "alpha", "session_id": "$council"}},
		{
			Name:  "with a wait",
			Given: answered,
			In:    op.In{"agent_name": "alpha", "session_id": "$council", "wait_ms": 1},
		},
		{Name: "of the current council", Given: opened, In: op.In{"agent_name": "alpha"}},
		{Name: "without a council", In: op.In{"agent_name": "alpha"}},
		{
			Name:  "with a cursor",
			Given: read,
			In:    op.In{"agent_name": "alpha", "session_id": "$council", "cursor": "$cursor"},
			RPCs:  2,
		},
		{
			Name:  "of the current council with a cursor",
			Given: read,
			In:    op.In{"agent_name": "alpha", "cursor": "$cursor"},
			RPCs:  2,
		},
		{Name: "of a closed council", Given: closed, In: op.In{"agent_name": "alpha", "session_id": "$council"}},
		{
			Name: "of a closed council with a cursor",
			Given: op.After(closed, op.Step{Op: "get_current_session_data",
				In: op.In{"agent_name": "alpha", "session_id": "$council"}, Save: "next_cursor as cursor"}),
			In:   op.In{"agent_name": "alpha", "session_id": "$council", "cursor": "$cursor"},
			RPCs: 2,
		},
		{
			Name:  "of an unknown council",
			In:    op.In{"agent_name": "alpha", "session_id": unknownID},
			Fault: fault.NotFound,
		},
	}, Refused: []op.Refusal{
		{Name: "a wait too long", In: `{"agent_name":"alpha","session_id":"x","wait_ms":55001}`, Path: "wait_ms",
			Words: "must be at most 55000"},
	}}
}

func sendCases() op.Cases {
	once := op.In{"agent_name": "beta", "session_id": "$council", "content": "SQLite ✓", "idempotencyKey": "k"}
	before := op.After(opened, op.Step{Op: "send_response", As: "beta", In: once})
	return op.Cases{Owned: []string{"session_id"}, Rights: anyone, Examples: []op.Example{
		{Given: opened, As: "beta", In: op.In{"agent_name": "Gimli", "session_id": "$council",
			"content": "SQLite, for one machine."}},
		{Name: "of the opener", Given: opened, In: op.In{"agent_name": "alpha", "session_id": "$council",
			"content": "I think so too."}},
		{Name: "to the current council", Given: opened, In: op.In{"agent_name": "alpha", "content": "I think so too."}},
		{Name: "with an idempotency key", Given: opened, As: "beta", In: once},
		{
			Name:  "to the current council with an idempotency key",
			Given: opened,
			In:    op.In{"agent_name": "alpha", "content": "I think so too.", "idempotencyKey": "k"},
			RPCs:  4,
			Over:  "the key is read",
		},
		{Name: "again with the same key", Given: before, As: "beta", In: once},
		{
			Name:  "without a council",
			In:    op.In{"agent_name": "alpha", "content": "too early"},
			Fault: fault.Precondition,
		},
		{Name: "to a closed council", Given: closed, In: op.In{"agent_name": "alpha", "session_id": "$council",
			"content": "too late"}, Fault: fault.Precondition},
		{Name: "to the next council, after the first", Given: next, As: "beta",
			In: op.In{"agent_name": "beta", "content": "to the next"}, RPCs: 4, Over: "its last council is over"},
		{Name: "after the last council", Given: closed, As: "beta", In: op.In{"agent_name": "beta", "content": "too late"},
			RPCs: 4, Over: "no council is active", Fault: fault.Precondition},
		{Name: "as another program", Given: opened, In: op.In{"agent_name": "beta/Gimli", "session_id": "$council",
			"content": "not mine"},
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "to an unknown council", In: op.In{"agent_name": "alpha", "session_id": unknownID, "content": "c"},
			Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "a response that is a list", In: `{"agent_name":"alpha","content":["c"]}`, Path: "content",
			Words: "must be of type string, not array"},
	}}
}

func rankCases() op.Cases {
	return op.Cases{Owned: []string{"session_id"}, Rights: anyone, Examples: []op.Example{
		{Given: answered, In: op.In{"agent_name": "Gandalf", "session_id": "$council", "ranking": []string{"A"}}},
		{Name: "of the opener", Given: answered,
			In: op.In{"agent_name": "alpha", "session_id": "$council", "ranking": []string{"A"}}},
		{Name: "in the current council", Given: answered, In: op.In{"agent_name": "alpha", "ranking": []string{"A"}}},
		{Name: "in a closed council", Given: closed, In: op.In{"agent_name": "alpha", "session_id": "$council",
			"ranking": []string{"A"}}, Fault: fault.Precondition},
		{Name: "in an unknown council", In: op.In{"agent_name": "alpha", "session_id": unknownID,
			"ranking": []string{"A"}}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{
			Name:  "an empty ranking",
			In:    `{"agent_name":"alpha","ranking":[]}`,
			Path:  "ranking",
			Words: "must not be empty",
		},
		{
			Name:  "an unknown label",
			Given: answered,
			In:    `{"agent_name":"alpha","session_id":"$council","ranking":["D"]}`,
			Path:  "ranking[0]",
			Words: `"D" is not a response of this council`,
		},
		{
			Name:  "one's own response",
			Given: answered,
			As:    "beta",
			In:    `{"agent_name":"beta","session_id":"$council","ranking":["A"]}`,
			Path:  "ranking[0]",
			Words: "is your own response",
		},
	}}
}

func closeCases() op.Cases {
	ending := op.In{"session_id": "$council", "conclusion": "both"}
	rights := op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	return op.Cases{Owned: []string{"session_id"}, Rights: rights, Examples: []op.Example{
		{Given: answered, In: op.In{"agent_name": "alpha", "session_id": "$council",
			"conclusion": "SQLite, until there are two machines."}, RPCs: 2},
		{Name: "of the current council", Given: opened, In: op.In{"agent_name": "alpha", "conclusion": "both"}},
		{Name: "by a participant, once the starter is silent", Given: answered, As: "beta", Pass: Silence, In: ending},
		{Name: "by a participant", Given: answered, As: "beta", In: ending, Fault: fault.Forbidden},
		{Name: "by a caller that takes no part, once the starter is silent", Given: answered, As: "gamma", Pass: Silence,
			In: ending, Fault: fault.Forbidden},
		{Name: "by the human", Given: answered, As: op.Human, In: op.In{"agent_name": "Ann", "session_id": "$council",
			"conclusion": "both"}},
		{Name: "without a council", In: op.In{"agent_name": "alpha", "conclusion": "both"}, Fault: fault.Precondition},
		{Name: "twice", Given: closed, In: op.In{"agent_name": "alpha", "session_id": "$council", "conclusion": "both"},
			Fault: fault.Precondition},
		{
			Name:  "of an unknown council",
			In:    op.In{"agent_name": "alpha", "session_id": unknownID, "conclusion": "both"},
			Fault: fault.NotFound,
		},
	}, Refused: []op.Refusal{
		{Name: "a conclusion too long", In: `{"agent_name":"alpha","conclusion":"` + strings.Repeat("é", 8001) + `"}`,
			Path:  "conclusion",
			Words: "must be at most 8000 characters, not 8001"},
	}}
}

func listCases() op.Cases {
	page := op.After(opened, op.Step{Op: "start_council", In: op.In{"agent_name": "alpha", "request": "another"}},
		op.Step{Op: "list_councils", In: op.In{"limit": 1}, Save: "next_cursor as cursor"})
	return op.Cases{RPCs: 1, Rights: anyone, Examples: []op.Example{
		{Given: opened, In: op.In{}},
		{Name: "that are closed", Given: closed, In: op.In{"status": "closed", "limit": 1}},
		{Name: "the next page", Given: page, In: op.In{"limit": 1, "cursor": "$cursor"}},
	}, Refused: []op.Refusal{
		{Name: "an unknown status", In: `{"status":"open"}`, Path: "status", Words: "must be one of active, closed"},
		{Name: "a limit of 0", In: `{"status":"active","limit":0}`, Path: "limit", Words: "must be at least 1"},
		{
			Name:  "an unknown cursor",
			In:    `{"cursor":"xyz"}`,
			Path:  "cursor",
			Words: "use the one that came with the page before",
		},
	}}
}

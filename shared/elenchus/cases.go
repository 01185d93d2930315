package elenchus

import (
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// anybody are the rights where all callers of a user may do the same, and owners the rights to an object of a program.
var (
	anybody = op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	owners  = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
)

// The steps that set up the cases of verifications.
var (
	// started has one file, which imports another that is missing.
	started = []op.Step{{Op: "elenchus_start_session", Save: "sessionId as session",
		In: op.In{"target": "src/a.ts", "requirements": "r", "workingDir": "/w",
			"files": []any{op.In{"path": "src/a.ts", "content": "import './b'"}}}}}
	// raised has a round of the verifier with two issues; rebutted also has one of the critic.
	raised = op.After(started, op.Step{Op: "elenchus_submit_round",
		In: op.In{"sessionId": "$session", "role": "verifier", "output": "see src/b.ts:1",
			"issuesRaised": []any{op.In{"id": "SEC-1", "severity": "CRITICAL", "summary": "s <b>"},
				op.In{"id": "COR-1", "severity": "LOW", "summary": "s"}}}})
	rebutted = op.After(raised, op.Step{Op: "elenchus_submit_round",
		In: op.In{"sessionId": "$session", "role": "critic", "output": "it stands"}})
	// shared has a round of beta as the verifier and one of gamma as the critic.
	shared = op.After(started,
		op.Step{Op: "elenchus_submit_round", As: "beta",
			In: op.In{"sessionId": "$session", "role": "verifier", "output": "it leaks",
				"issuesRaised": []any{op.In{"id": "SEC-1", "severity": "CRITICAL", "summary": "s"}}}},
		op.Step{Op: "elenchus_submit_round", As: "gamma",
			In: op.In{"sessionId": "$session", "role": "critic", "output": "it does not"}})
	ended = op.After(started,
		op.Step{Op: "elenchus_end_session", In: op.In{"sessionId": "$session", "verdict": "PASS"}})
)

const unknownID = "nobody-made-this"

func startCases() op.Cases {
	once := op.In{"target": "src/a.ts", "requirements": "r", "workingDir": "/w", "idempotencyKey": "k",
		"files": []any{op.In{"path": "src/a.ts", "content": "import './b'"}}}
	return op.Cases{RPCs: 1, Rights: anybody, Examples: []op.Example{
		{
			In: op.In{
				"target":       "src/login.ts",
				"requirements": "No password is ever logged.",
				"workingDir":   "/home/me/shop",
				"files":        []any{op.In{"path": "src/login.ts", "content": "import { log } from './log'\n"}},
			},
		},
		{
			Name: "without files",
			In:   op.In{"target": "src/a.ts", "requirements": "r", "workingDir": "/w", "maxRounds": 4},
		},
		{Name: "with an idempotency key", In: once, RPCs: 2, Over: "the key is read"},
		{Name: "again with the same key", Given: []op.Step{{Op: "elenchus_start_session", In: once}}, In: once},
	}, Refused: []op.Refusal{
		{
			Name:  "a working directory that is not absolute",
			In:    `{"target":"a","requirements":"r","workingDir":"./app"}`,
			Path:  "workingDir",
			Words: "must be an absolute path",
		},
		{
			Name:  "a file outside",
			In:    `{"target":"a","requirements":"r","workingDir":"/w","files":[{"path":"../a","content":""}]}`,
			Path:  "files[0].path",
			Words: "must not leave the working directory",
		},
	}}
}

func contextCases() op.Cases {
	earlier := op.After(rebutted, op.Step{Op: "elenchus_get_context", In: op.In{"sessionId": "$session", "rounds": 1},
		Save: "nextCursor as cursor"})
	return op.Cases{Rights: anybody, Owned: []string{"sessionId"}, Examples: []op.Example{
		{Given: rebutted, In: op.In{"sessionId": "$session"}},
		{Name: "before the first round", Given: started, In: op.In{"sessionId": "$session"}},
		{Name: "without outputs", Given: rebutted, In: op.In{"sessionId": "$session", "rounds": 0}, RPCs: 2},
		{Name: "of the rounds before", Given: earlier, In: op.In{"sessionId": "$session", "cursor": "$cursor"}},
		{Name: "with a file", Given: started, In: op.In{"sessionId": "$session", "path": "src/a.ts"}},
		{Name: "with an unknown file", Given: started, In: op.In{"sessionId": "$session", "path": "nowhere.ts"},
			Fault: fault.NotFound},
		{Name: "of an unknown verification", In: op.In{"sessionId": unknownID}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "an unknown cursor", Given: rebutted, In: `{"sessionId":"$session","cursor":"xyz"}`, Path: "cursor",
			Words: "use the one that came with the page before"},
		{Name: "an id with a slash", In: `{"sessionId":"a/b"}`, Path: "sessionId", Words: "must match ^[A-Za-z0-9]"},
	}}
}

func roundCases() op.Cases {
	once := op.In{"sessionId": "$session", "role": "verifier", "output": "a.ts:1", "idempotencyKey": "k",
		"issuesRaised": []any{op.In{"id": "SEC-1", "severity": "HIGH", "summary": "s"}}}
	return op.Cases{Rights: owners, Owned: []string{"sessionId"}, Examples: []op.Example{
		{
			Given: rebutted,
			In: op.In{"sessionId": "$session", "role": "verifier", "output": "src/b.ts:1 logs the password.",
				"issuesRaised": []any{op.In{"id": "SEC-1", "severity": "CRITICAL", "summary": "the password is logged",
					"location": "src/b.ts:1"}}},
		},
		{
			Name:  "of the critic",
			Given: raised,
			In: op.In{"sessionId": "$session", "role": "critic", "output": "it stands",
				"issuesRaised": []any{op.In{"id": "SEC-1"}}, "issuesResolved": []string{"COR-1", "SEC-9"}},
		},
		{
			Name:  "in lower case",
			Given: started,
			In: op.In{"sessionId": "$session", "role": "verifier", "output": "it leaks", "issuesRaised": []any{
				op.In{"id": "X-1", "severity": "critical", "category": "security", "summary": "it leaks"}}},
		},
		{
			Name:  "with files",
			Given: started,
			In: op.In{"sessionId": "$session", "role": "verifier", "output": "src/b.ts:1",
				"files": []any{op.In{"path": "src/b.ts", "content": "export {}"}}},
		},
		{Name: "with an idempotency key", Given: started, In: once, RPCs: 4, Over: "the key is read"},
		{
			Name:  "again with the same key",
			Given: op.After(started, op.Step{Op: "elenchus_submit_round", In: once}),
			In:    once,
		},
		{
			Name:  "the first, by another program",
			Given: started,
			As:    "beta",
			In:    op.In{"sessionId": "$session", "role": "verifier", "output": "it leaks"},
		},
		{
			Name:  "by the role's program",
			Given: shared,
			As:    "beta",
			In:    op.In{"sessionId": "$session", "role": "verifier", "output": "it does"},
		},
		{
			Name:  "by the other role's program",
			Given: shared,
			As:    "gamma",
			In:    op.In{"sessionId": "$session", "role": "verifier", "output": "it does not"},
			Fault: fault.Forbidden,
		},
		{
			Name:  "by an unbound key",
			Given: rebutted,
			As:    op.Unbound,
			In:    op.In{"sessionId": "$session", "role": "verifier", "output": "it does not"},
			Fault: fault.Forbidden,
		},
		{Name: "out of turn", Given: started, In: op.In{"sessionId": "$session", "role": "critic", "output": "o"},
			Fault: fault.Precondition},
		{Name: "after the end", Given: ended, In: op.In{"sessionId": "$session", "role": "verifier", "output": "o"},
			Fault: fault.Precondition},
		{Name: "of an unknown verification", In: op.In{"sessionId": unknownID, "role": "verifier", "output": "o"},
			Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "the judge's role", In: `{"sessionId":"x","role":"judge","output":"o"}`, Path: "role",
			Words: "must be one of verifier, critic"},
		{Name: "an unknown severity", Given: started, Path: "issuesRaised[0].severity",
			Words: "must be one of CRITICAL, HIGH, MEDIUM, LOW",
			In: `{"sessionId":"$session","role":"verifier","output":"o","issuesRaised":[{"id":"SEC-1","severity":"URGENT",` +
				`"summary":"s"}]}`},
		{Name: "an unknown category", Given: started, Path: "issuesRaised[0].category",
			Words: "must be one of SECURITY, CORRECTNESS",
			In: `{"sessionId":"$session","role":"verifier","output":"o","issuesRaised":[{"id":"X-1","severity":"HIGH",` +
				`"category":"STYLE","summary":"s"}]}`},
		{Name: "a new issue without a summary", Given: started, Path: "issuesRaised[0].summary",
			Words: "is required: the issue is new",
			In:    `{"sessionId":"$session","role":"verifier","output":"o","issuesRaised":[{"id":"SEC-1","severity":"HIGH"}]}`},
	}}
}

func addCases() op.Cases {
	files := []any{op.In{"path": "src/b.ts", "content": "export {}"}}
	return op.Cases{Rights: owners, Owned: []string{"sessionId"}, Examples: []op.Example{
		{Given: rebutted, In: op.In{"sessionId": "$session", "files": files}},
		{Name: "before the first round, by another program", Given: started, As: "beta",
			In: op.In{"sessionId": "$session", "files": files}},
		{Name: "by the critic", Given: shared, As: "gamma", In: op.In{"sessionId": "$session", "files": files}},
		{
			Name:  "by another program",
			Given: shared,
			As:    "delta",
			In:    op.In{"sessionId": "$session", "files": files},
			Fault: fault.Forbidden,
		},
		{Name: "in place of one", Given: started, In: op.In{"sessionId": "$session",
			"files": []any{op.In{"path": "src/a.ts", "content": "export {}"}}}},
		{
			Name:  "after the end",
			Given: ended,
			In:    op.In{"sessionId": "$session", "files": files},
			Fault: fault.Precondition,
		},
		{
			Name:  "to an unknown verification",
			In:    op.In{"sessionId": unknownID, "files": files},
			Fault: fault.NotFound,
		},
	}, Refused: []op.Refusal{
		{
			Name:  "no files",
			Given: started,
			In:    `{"sessionId":"$session","files":[]}`,
			Path:  "files",
			Words: "must not be empty",
		},
		{
			Name:  "an absolute path",
			In:    `{"sessionId":"x","files":[{"path":"/etc/passwd","content":""}]}`,
			Path:  "files[0].path",
			Words: "must be relative to the working directory",
		},
	}}
}

func issuesCases() op.Cases {
	page := op.After(raised, op.Step{Op: "elenchus_get_issues", In: op.In{"sessionId": "$session", "limit": 1},
		Save: "nextCursor as cursor"})
	return op.Cases{RPCs: 2, Rights: anybody, Owned: []string{"sessionId"}, Examples: []op.Example{
		{Given: raised, In: op.In{"sessionId": "$session"}},
		{Name: "that are critical", Given: raised, In: op.In{"sessionId": "$session", "status": "critical"}},
		{Name: "before the first round", Given: started, In: op.In{"sessionId": "$session"}},
		{Name: "the next page", Given: page, In: op.In{"sessionId": "$session", "limit": 1, "cursor": "$cursor"}},
		{Name: "of an unknown verification", In: op.In{"sessionId": unknownID}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "an unknown status", In: `{"sessionId":"x","status":"open"}`, Path: "status",
			Words: "must be one of all, unresolved, critical"},
	}}
}

func checkpointCases() op.Cases {
	return op.Cases{RPCs: 2, Rights: owners, Owned: []string{"sessionId"}, Examples: []op.Example{
		{Given: rebutted, In: op.In{"sessionId": "$session"}},
		{Name: "by the verifier", Given: shared, As: "beta", In: op.In{"sessionId": "$session"}},
		{Name: "by another program", Given: shared, As: "delta", In: op.In{"sessionId": "$session"},
			Fault: fault.Forbidden},
		{Name: "after the end", Given: ended, In: op.In{"sessionId": "$session"}, Fault: fault.Precondition},
		{Name: "of an unknown verification", In: op.In{"sessionId": unknownID}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "a round", In: `{"sessionId":"x","round":1}`, Path: "round", Words: "is not a field here"},
	}}
}

func rollbackCases() op.Cases {
	return op.Cases{Rights: owners, Owned: []string{"sessionId"}, Examples: []op.Example{
		{Given: rebutted, In: op.In{"sessionId": "$session", "toRound": 2}},
		{Name: "past a round", In: op.In{"sessionId": "$session", "toRound": 2}, Given: op.After(rebutted, op.Step{
			Op: "elenchus_submit_round",
			In: op.In{"sessionId": "$session", "role": "verifier", "output": "it does"},
		})},
		{Name: "by the verifier", Given: shared, As: "beta", In: op.In{"sessionId": "$session", "toRound": 2},
			Fault: fault.Forbidden},
		{Name: "to a round without a checkpoint", Given: rebutted, In: op.In{"sessionId": "$session", "toRound": 1},
			Fault: fault.Precondition},
		{
			Name:  "of an unknown verification",
			In:    op.In{"sessionId": unknownID, "toRound": 2},
			Fault: fault.NotFound,
		},
	}, Refused: []op.Refusal{
		{Name: "a negative round", In: `{"sessionId":"x","toRound":-1}`, Path: "toRound", Words: "must be at least"},
	}}
}

func endCases() op.Cases {
	return op.Cases{Rights: owners, Owned: []string{"sessionId"}, Examples: []op.Example{
		{Given: rebutted, In: op.In{"sessionId": "$session", "verdict": "CONDITIONAL"}},
		{Name: "before the first round", Given: started, In: op.In{"sessionId": "$session", "verdict": "FAIL"}},
		{Name: "by the critic", Given: shared, As: "gamma", In: op.In{"sessionId": "$session", "verdict": "PASS"},
			Fault: fault.Forbidden},
		{Name: "twice", Given: ended, In: op.In{"sessionId": "$session", "verdict": "PASS"}, Fault: fault.Precondition},
		{
			Name:  "of an unknown verification",
			In:    op.In{"sessionId": unknownID, "verdict": "FAIL"},
			Fault: fault.NotFound,
		},
	}, Refused: []op.Refusal{
		{Name: "an unknown verdict", In: `{"sessionId":"x","verdict":"MAYBE"}`, Path: "verdict",
			Words: "must be one of PASS, FAIL, CONDITIONAL"},
	}}
}

func listCases() op.Cases {
	page := op.After(started, started[0], op.Step{Op: "elenchus_list_sessions", In: op.In{"limit": 1},
		Save: "nextCursor as cursor"})
	return op.Cases{RPCs: 1, Rights: anybody, Examples: []op.Example{
		{Given: started, In: op.In{}},
		{Name: "that are completed", Given: ended, In: op.In{"status": "completed", "limit": 1}},
		{Name: "the next page", Given: page, In: op.In{"limit": 1, "cursor": "$cursor"}},
	}, Refused: []op.Refusal{
		{Name: "a limit of 0", In: `{"limit":0}`, Path: "limit", Words: "must be at least 1"},
		{Name: "too many", In: `{"limit":1000}`, Path: "limit", Words: "must be at most 100"},
		{
			Name:  "an unknown cursor",
			In:    `{"cursor":"xyz"}`,
			Path:  "cursor",
			Words: "use the one that came with the page before",
		},
	}}
}

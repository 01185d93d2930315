package hook

import (
	"maps"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// app is the project of the examples.
const app = "github.com/acme/app"

// event returns the input of an event of one thread of a client.
func event(name string, more op.In) op.In {
	in := op.In{"version": 1, "client": "claude", "event": name, "thread": "t-1"}
	maps.Copy(in, more)
	return in
}

// later returns the input of a later event of the session that a step has begun.
func later(name string, more op.In) op.In {
	in := event(name, op.In{"sessionId": "$session"})
	maps.Copy(in, more)
	return in
}

// started is the second session of alpha, alpha/2: another user who names it begins a session, alpha/1.
var started = []op.Step{{Op: "create_session", In: op.In{"name": "first"}},
	{Op: "hook_event", In: event("start", op.In{"directory": "/src/app", "project": app, "branch": "main"}),
		Save: "sessionId as session"}}

// mailed are the steps of a session of alpha with a message, an answer, a claim and a task.
var mailed = op.After(started,
	op.Step{Op: "send_message", As: "beta",
		In: op.In{"message": "look at the parser", "target": "$session", "message_type": "DIRECTIVE"}},
	op.Step{Op: "ask_question", In: op.In{"question": "ship it?", "sessionId": "$session"}, Save: "questionId as question"},
	op.Step{Op: "answer_question", As: op.Human, In: op.In{"questionId": "$question", "response": "yes"}},
	op.Step{Op: "create_task", In: op.In{"title": "mend", "target": "alpha"}, Save: "taskId as task"},
	op.Step{Op: "claim_task", In: op.In{"taskId": "$task", "sessionId": "$session"}},
	op.Step{Op: "create_task", In: op.In{"title": "another", "target": "alpha"}},
)

// guarded are the steps of a project that reserves files that are edited, in which beta holds a file.
var guarded = op.After(started,
	op.Step{Op: "set_file_settings", As: op.Human, In: op.In{"project": app, "auto": true}},
	op.Step{Op: "reserve_files", As: "beta", In: op.In{"project": app, "paths": []string{"b.go"}}})

// agents are the rights of calls that only a key of an agent with an inbox may make, about its own sessions.
var agents = op.Rights{Program: op.OwnOnly, Unbound: op.MayNot, Human: op.MayNot}

func hookCases() op.Cases {
	// A call reads, all at once: the session with its link, the mail, the questions, and the claims. Handing over or
	// remembering takes a transaction of five more; a start reads the session's thread and takes another transaction.
	const look, hand, begin = 4, 5, 1 + 6
	const why = "it begins the session first, and reads the queue, the project's sessions and its reservations too"
	used := []any{op.In{"id": "m-1", "model": "opus", "tokensIn": 900, "tokensOut": 40, "tokensCached": 12000, "costUsd": 0.02}}
	return op.Cases{RPCs: look + hand + 2, Named: []string{"sessionId", "thread"}, Rights: agents, Examples: []op.Example{
		{In: event("start", op.In{"directory": "/src/app", "project": app, "branch": "main", "worktree": "main",
			"host": "mac ✓", "model": "opus", "clientVersion": "2.1", "name": "parser"}), RPCs: begin + look + 4, Over: why},
		{Name: "at the start of another session of the project", Given: started,
			In: event("start", op.In{"thread": "t-2", "project": app}), RPCs: begin + look + 5, Over: why},
		{Name: "of a session that goes on", Given: mailed, In: event("resume", op.In{"project": app, "maxBytes": 2048}),
			RPCs: 1 + look + hand + 5, Over: why},
		{Name: "while nothing is new", Given: started, In: later("tool", op.In{"doing": "Bash: make test"}), RPCs: look},
		{Name: "with a heartbeat that is due", Given: started, In: later("tool", op.In{"doing": "Bash: make test"}),
			Pass: beatEvery, RPCs: look + 1},
		{Name: "with mail", Given: mailed, In: later("tool", op.In{"maxBytes": 1024}), RPCs: look + hand + 1},
		{Name: "with rules of permissions", Given: started, In: later("prompt", op.In{"permissions": op.In{"on": true,
			"allow": []string{"Bash(git status*)"}}})},
		{Name: "with counts alone", Given: mailed, In: later("prompt", nil)},
		{Name: "with the receipt of what came", Given: op.After(mailed,
			op.Step{Op: "hook_event", In: later("tool", op.In{"maxBytes": 4096}), Save: "receipt as receipt"}),
			In: later("tool", op.In{"maxBytes": 1024, "receipt": "$receipt"})},
		{Name: "at the end of a turn", Given: mailed, In: later("turn", op.In{"usage": used, "headless": true}), RPCs: look + hand + 5,
			Over: "it counts the queue and records usage"},
		{Name: "after a compaction", Given: mailed, In: later("compact", op.In{"project": app, "maxBytes": 2048}),
			RPCs: look + hand + 5, Over: why},
		{Name: "before an edit of a free file", Given: guarded, In: later("edit", op.In{"project": app,
			"paths": []string{"a.go"}, "worktree": "main", "branch": "main"})},
		{Name: "before an edit of what another holds", Given: guarded,
			In: later("edit", op.In{"project": app, "paths": []string{"b.go"}})},
		{Name: "after a shell call", Given: guarded,
			In: later("tool", op.In{"project": app, "changed": []string{"b.go", "c.go"}})},
		{Name: "to fetch mail", Given: mailed, In: later("read", op.In{"maxBytes": 4096}), RPCs: look + hand + 2},
		{Name: "while it is paused", Given: op.After(mailed, op.Step{Op: "pause_agents", As: op.Human,
			In: op.In{"scope": "program", "name": "alpha", "words": "wait"}}), In: later("tool", op.In{"maxBytes": 1024})},
		{Name: "at its end", Given: mailed, In: later("end", op.In{"usage": used}), RPCs: 2*look + hand + 8,
			Over: "it gives back each claim, ends the session and forwards its mail"},
		{Name: "at the end of an unknown session", In: event("end", nil)},
		{Name: "to fetch mail of an unknown session", In: event("read", nil), Fault: fault.NotFound},
		{Name: "by a person", As: op.Human, In: event("start", nil), Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "by a key without a program", As: op.Unbound, In: event("start", nil), Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "for a session of another program", In: event("tool", op.In{"sessionId": "beta/1"}), Fault: fault.Forbidden,
			RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a later version", In: `{"version":2,"client":"claude","event":"start","thread":"t"}`, Path: "version",
			Words: "must be at most 1"},
		{Name: "no thread", In: `{"version":1,"client":"claude","event":"start"}`, Path: "thread", Words: "is required"},
		{Name: "an unknown event", In: `{"version":1,"client":"claude","event":"sneeze","thread":"t"}`, Path: "event",
			Words: "must be one of start, resume"},
		{Name: "too many bytes", In: `{"version":1,"client":"claude","event":"tool","thread":"t","maxBytes":4097}`,
			Path: "maxBytes", Words: "must be at most 4096"},
		{Name: "a pattern that is too long", In: `{"version":1,"client":"c","event":"start","thread":"t","permissions":{"on":true,"allow":["` +
			strings.Repeat("a", 201) + `"]}}`, Path: "permissions.allow[0]", Words: "must be at most 200 characters"},
		{Name: "usage without an id", In: `{"version":1,"client":"c","event":"turn","thread":"t","usage":[{"model":"m"}]}`,
			Path: "usage[0].id", Words: "is required"},
		{Name: "too many paths", In: `{"version":1,"client":"c","event":"edit","thread":"t","project":"x","paths":["` +
			strings.Repeat(`a","`, 100) + `a"]}`, Path: "paths", Words: "must have at most 100"},
		{Name: "paths without a project", Given: started, In: `{"version":1,"client":"claude","event":"edit","thread":"t-1",` +
			`"sessionId":"$session","paths":["a"]}`, Path: "project", Words: "is required"},
	}}
}

func clientsCases() op.Cases {
	rules := op.In{"on": true, "assurance": "paired", "timeout": 120, "allow": []string{"Bash(git status*)"}, "deny": []string{"Bash(rm *)"}}
	return op.Cases{RPCs: 1, Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}, Examples: []op.Example{
		{Given: op.After(started, op.Step{Op: "hook_event", In: later("prompt", op.In{"permissions": rules})}), As: op.Human},
		{Name: "where none has come", As: op.Human},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "too many at once", As: op.Human, In: `{"limit":101}`, Path: "limit", Words: "must be at most 100"},
		{Name: "a cursor that is none", As: op.Human, In: `{"cursor":"!"}`, Path: "cursor", Words: "use the one that came with the page before"},
	}}
}

func waitCases() op.Cases {
	waiting := func(more op.In) op.In {
		in := op.In{"version": 1, "sessions": []any{op.In{"sessionId": "$session"}}}
		maps.Copy(in, more)
		return in
	}
	// It reads the sessions, the pauses, the queue, the mail of sessions and program, claims and questions at once, and
	// the rights to wake once for each sender of mail.
	const state = 7 + 3
	return op.Cases{RPCs: state, Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.MayNot},
		Examples: []op.Example{
			{Given: mailed, In: waiting(nil)},
			{Name: "of a session that has ended", Given: op.After(started, op.Step{Op: "hook_event", In: later("end", nil)}),
				In: waiting(nil)},
			{Name: "of a session that was never there",
				In: op.In{"version": 1, "sessions": []any{op.In{"sessionId": "alpha/9"}}}},
			{Name: "with a wait, for what is not known yet", Given: started, In: waiting(op.In{"waitMs": 1})},
			{Name: "for a session of another program", In: op.In{"version": 1, "sessions": []any{op.In{"sessionId": "beta/1"}}},
				Fault: fault.Forbidden, RPCs: op.NoRPCs},
			{Name: "by a person", As: op.Human, In: op.In{"version": 1, "sessions": []any{op.In{"sessionId": "alpha/1"}}},
				Fault: fault.Forbidden, RPCs: op.NoRPCs},
		}, Refused: []op.Refusal{
			{Name: "no session", In: `{"version":1,"sessions":[]}`, Path: "sessions", Words: "must not be empty"},
			{Name: "one session twice", In: `{"version":1,"sessions":[{"sessionId":"alpha/1"},{"sessionId":"alpha/1"}]}`,
				Path: "sessions", Words: "twice"},
			{Name: "a session's id that is none", In: `{"version":1,"sessions":[{"sessionId":"a b"}]}`,
				Path: "sessions[0].sessionId", Words: "must match"},
		}}
}

package team

import (
	"slices"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

var (
	// told sends beta two messages after its prompt.
	told     = op.After(staffed, greeting, greeting)
	greeting = op.Step{Op: "team_send_message", In: op.In{"team_name": "crew", "type": "message", "recipient": "beta",
		"summary": "s", "content": "hello <b>"}}
	// asked sends beta a shutdown request.
	asked = op.After(staffed, op.Step{Op: "team_send_message", Save: "request_id as request",
		In: op.In{"team_name": "crew", "type": "shutdown_request", "recipient": "beta", "content": "it is <late>"}})
)

// sending returns the input of a message of that type. The further inputs are pairs of name and value.
func sending(kind string, more ...string) op.In {
	in := op.In{"team_name": "crew", "type": kind}
	for i := 0; i < len(more); i += 2 {
		in[more[i]] = more[i+1]
	}
	return in
}

func sendCases() op.Cases {
	const all = "the members are read before their inboxes"
	once := sending("message", "recipient", "beta", "content", "hello <b>", "summary", "s", "idempotencyKey", "k")
	examples := []op.Example{
		{Given: staffed, In: sending("message", "recipient", "beta", "content", "The tests are red again.", "summary",
			"red tests")},
		{Name: "with an idempotency key", Given: staffed, In: once, RPCs: 3, Over: "the key is read"},
		{Name: "again with the same key", Given: op.After(staffed, op.Step{Op: "team_send_message", In: once}),
			In: once},
		{Name: "to all", Given: staffed, In: sending("broadcast", "summary", "s", "content", "to all"), RPCs: 3,
			Over: all},
		{Name: "to all, with an idempotency key", Given: staffed,
			In: sending("broadcast", "summary", "s", "idempotencyKey", "k"), RPCs: 4,
			Over: all + ", and the key is read"},
		{Name: "to all for another, by the human", Given: staffed, As: op.Human, RPCs: 3, Over: all,
			In: sending("broadcast", "sender", "gamma", "content", "to all", "summary", "s")},
		{Name: "to the lead", Given: staffed, As: "beta", In: sending("message", "recipient", "team-lead", "content",
			"c", "summary", "s")},
		{Name: "on a plan", Given: staffed, In: op.In{"team_name": "crew", "type": "plan_approval_response",
			"recipient": "beta", "approve": true}},
		{Name: "that asks to shut down", Given: staffed, In: sending("shutdown_request", "recipient", "beta", "content",
			"it is late")},
		{Name: "that agrees to shut down", Given: asked, As: "beta",
			In: op.In{"team_name": "crew", "type": "shutdown_response", "request_id": "$request", "approve": true}},
		{Name: "that refuses for another, by the human", Given: asked, As: op.Human,
			In: sending("shutdown_response", "sender", "beta", "request_id", "$request")},
		{Name: "to a name in another case", Given: staffed, In: sending("message", "recipient", "BETA", "content", "c",
			"summary", "s"), RPCs: 3, Over: "the inbox of the name as the team spells it is read"},
		{Name: "as another program", Given: staffed, In: sending("message", "recipient", "beta", "content", "c",
			"summary", "s", "sender", "gamma"),
			Fault: fault.Forbidden},
	}
	for _, kind := range []string{"message", "shutdown_request", "plan_approval_response"} {
		examples = append(examples, op.Example{Name: "of type " + kind + " to nobody", Given: staffed,
			Fault: fault.NotFound, In: sending(kind, "recipient", "nobody", "content", "c", "summary", "s")})
	}
	lacking := func(name string, in op.In) {
		examples = append(examples, op.Example{Name: name, Given: staffed, In: in, Fault: fault.Invalid,
			RPCs: op.NoRPCs})
	}
	lacking("without content", sending("message", "recipient", "beta", "summary", "s"))
	lacking("with blank content", sending("message", "recipient", "beta", "summary", "s", "content", " \n"))
	lacking("without a summary", sending("message", "recipient", "beta", "content", "c"))
	lacking("without a recipient", sending("message", "content", "c", "summary", "s"))
	lacking("to all without a summary", sending("broadcast", "content", "c"))
	lacking("that asks nobody to shut down", sending("shutdown_request"))
	lacking("that asks the lead to shut down", sending("shutdown_request", "recipient", "team-lead"))
	lacking("on nobody's plan", op.In{"team_name": "crew", "type": "plan_approval_response", "approve": true})
	lacking("of an unknown type", sending("shout", "recipient", "beta"))
	lacking("of an empty type", sending(""))
	plain := sending("message", "recipient", "beta", "content", "c", "summary", "s")
	return op.Cases{Rights: forInsiders, RPCs: 2, Owned: []string{"team_name"},
		Examples: slices.Concat(examples, byOthers(staffed, plain), wrongTeams(plain)),
		Refused: []op.Refusal{
			{Name: "no type", In: `{"team_name":"crew","content":"c"}`, Path: "type", Words: "is required"},
			{Name: "content too long", Path: "content", Words: "must be at most 32000 characters, not 32001",
				In: `{"team_name":"crew","type":"message","recipient":"beta","summary":"s","content":"` + strings.Repeat("é",
					32001) + `"}`},
			{Name: "a truth value that is a text",
				In: `{"team_name":"crew","type":"shutdown_response","approve":"half"}`, Path: "approve",
				Words: "must be of type boolean, not string"},
		}}
}

func readInboxCases() op.Cases {
	inbox := func(name string) op.In { return op.In{"team_name": "crew", "agent_name": name} }
	marking := func(mark bool) op.In { return op.In{"team_name": "crew", "agent_name": "beta", "mark_as_read": mark} }
	page := op.After(told, op.Step{Op: "team_read_inbox", As: "beta",
		In: op.In{"team_name": "crew", "agent_name": "beta", "limit": 2}, Save: "nextCursor as cursor"})
	tasks := op.After(founded, op.Step{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}, Times: 2},
		op.Step{Op: "get_tasks", In: op.In{"limit": 1}, Save: "nextCursor as cursor"})
	return op.Cases{Rights: forInsiders, Owned: []string{"team_name", "agent_name"},
		Examples: slices.Concat([]op.Example{
			{Given: told, As: "beta", In: inbox("beta")},
			{Name: "of the lead", Given: staffed, In: inbox("team-lead")},
			{Name: "of what is unread", Given: staffed, In: op.In{"team_name": "crew", "agent_name": "team-lead",
				"unread_only": true}},
			{Name: "without marking it", Given: told, As: "beta", In: marking(false)},
			{Name: "of a teammate, by the lead", Given: told, In: marking(false)},
			{Name: "the next page", Given: page, As: "beta", In: op.In{"team_name": "crew", "agent_name": "beta",
				"limit": 2, "cursor": "$cursor"}},
			{Name: "of nobody, by the human", Given: staffed, As: op.Human, In: inbox("nobody")},
			{Name: "of a teammate, in which the lead marks nothing", Given: told, In: marking(true)},
			{Name: "of another teammate", Given: told, As: "gamma", In: inbox("beta"), Fault: fault.Forbidden},
		}, byOthers(told, inbox("beta")), wrongTeams(inbox("team-lead"))), Refused: []op.Refusal{
			{Name: "too many", In: `{"team_name":"crew","agent_name":"beta","limit":101}`, Path: "limit",
				Words: "must be at most 100"},
			{Name: "a cursor of another call", Given: tasks,
				In: `{"team_name":"crew","agent_name":"team-lead","cursor":"$cursor"}`, Path: "cursor",
				Words: "use the one that came with the page before"},
		}}
}

func pollInboxCases() op.Cases {
	now := func(name string) op.In { return op.In{"team_name": "crew", "agent_name": name, "timeout_ms": 0} }
	return op.Cases{Rights: forInsiders, Owned: []string{"team_name", "agent_name"},
		Examples: slices.Concat([]op.Example{
			{Given: told, As: "beta", In: op.In{"team_name": "crew", "agent_name": "beta"}},
			{Name: "for another, by the human", Given: staffed, As: op.Human,
				In: op.In{"team_name": "crew", "agent_name": "gamma"}},
			{Name: "of nothing", Given: staffed, In: now("team-lead")},
			{Name: "of a teammate, by the lead", Given: told, In: now("beta")},
			{Name: "of another teammate", Given: told, As: "gamma", In: now("beta"), Fault: fault.Forbidden},
		}, byOthers(told, now("beta")), wrongTeams(now("team-lead"))), Refused: []op.Refusal{
			{Name: "a wait too long", In: `{"team_name":"crew","agent_name":"team-lead","timeout_ms":55001}`,
				Path: "timeout_ms", Words: "must be at most 55000"},
			{Name: "a negative wait", In: `{"team_name":"crew","agent_name":"team-lead","timeout_ms":-1}`,
				Path: "timeout_ms", Words: "must be at least 0"},
		}}
}

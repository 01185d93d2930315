package signal

import (
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// The rights of operations that any caller may use for itself, of those on a question, which its asker has, and of those
// of people.
var (
	anyones = op.Rights{Program: op.May, Unbound: op.May, Human: op.May}
	askers  = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	peoples = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
)

// The initial steps of the cases.
var (
	asked   = []op.Step{{Op: "ask_question", In: op.In{"question": "Shall I?"}, Save: "questionId as question"}}
	guarded = []op.Step{{Op: "ask_question", In: op.In{"question": "Shall I?", "assurance": "device"},
		Save: "questionId as question"}}
	answered = op.After(asked, op.Step{Op: "answer_question", As: op.Human,
		In: op.In{"questionId": "$question", "response": "yes"}})
	// noQuestion is a task of another type.
	noQuestion = []op.Step{{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}, Save: "taskId as task"}}
)

func askCases() op.Cases {
	const theKey = "the key is read"
	once := op.In{"question": "Shall I?", "idempotencyKey": "k"}
	return op.Cases{RPCs: 1, Rights: anyones, Examples: []op.Example{
		{In: op.In{"question": "May I delete the old parser?", "options": []string{"yes", "no"}}},
		{Name: "with everything", In: op.In{"question": "shall I?", "options": []string{"yes", "no"}, "context": "c",
			"priority": "high", "threadId": "th", "inReplyTo": "r", "projectId": "p", "ttl": 60,
			"assurance": "device"}},
		{Name: "with an idempotency key", In: once, RPCs: 2, Over: theKey},
		{Name: "again with the same key", Given: []op.Step{{Op: "ask_question", In: once}}, In: once, RPCs: 2,
			Over: theKey},
		{Name: "another with the same key", Given: []op.Step{{Op: "ask_question", In: once}}, RPCs: 2, Over: theKey,
			In: op.In{"question": "another", "idempotencyKey": "k"}, Fault: fault.Precondition},
	}, Refused: []op.Refusal{
		{Name: "an empty question", In: `{"question":""}`, Path: "question", Words: "must not be empty"},
		{Name: "six options", In: `{"question":"q","options":["1","2","3","4","5","6"]}`, Path: "options",
			Words: "must have at most 5 members, not 6"},
		{Name: "an unknown assurance", In: `{"question":"q","assurance":"sure"}`, Path: "assurance",
			Words: "must be one of local, paired, device, passkey"},
	}}
}

func responseCases() op.Cases {
	return op.Cases{RPCs: 1, Rights: askers, Owned: []string{"questionId"}, Examples: []op.Example{
		{Given: answered, In: op.In{"questionId": "$question"}},
		{Name: "before the answer", Given: asked, In: op.In{"questionId": "$question"}},
		{Name: "with a wait", Given: answered, In: op.In{"questionId": "$question", "waitMs": 55000}},
		{Name: "to another program's question", Given: answered, As: "beta", In: op.In{"questionId": "$question"},
			Fault: fault.Forbidden},
		{Name: "to another's question, with an unbound key", Given: answered, As: op.Unbound,
			In: op.In{"questionId": "$question"}, Fault: fault.Forbidden},
		{Name: "to a question, by the human", Given: answered, As: op.Human, In: op.In{"questionId": "$question"}},
		{Name: "to a question that is nowhere", In: op.In{"questionId": "nobody-made-this"}, Fault: fault.NotFound},
		{Name: "to a task", Given: noQuestion, In: op.In{"questionId": "$task"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "a wait too long", Given: asked, In: `{"questionId":"$question","waitMs":55001}`, Path: "waitMs",
			Words: "must be at most 55000"},
	}}
}

func alertCases() op.Cases {
	once := op.In{"message": "once", "idempotencyKey": "k"}
	return op.Cases{Rights: anyones, Examples: []op.Example{
		{In: op.In{"message": "The build is broken.", "alertType": "error"}},
		{Name: "with everything",
			In: op.In{"message": "it <burns>", "alertType": "error", "priority": "high", "context": "c",
				"sessionId": "alpha.1", "ttl": 60}},
		{Name: "with an idempotency key", In: once},
		{Name: "again with the same key", Given: []op.Step{{Op: "send_alert", In: once}}, In: once},
		{Name: "another with the same key", Given: []op.Step{{Op: "send_alert", In: once}},
			In: op.In{"message": "another", "idempotencyKey": "k"}, Fault: fault.Precondition},
	}, Refused: []op.Refusal{
		{Name: "an empty message", In: `{"message":""}`, Path: "message", Words: "must not be empty"},
		{Name: "an unknown type", In: `{"message":"m","alertType":"doom"}`, Path: "alertType",
			Words: "must be one of error, warning, success, info"},
		{Name: "no time to live", In: `{"message":"m","ttl":0}`, Path: "ttl", Words: "must be more than 0"},
	}}
}

func answerCases() op.Cases {
	return op.Cases{Rights: peoples, Owned: []string{"questionId"}, Examples: []op.Example{
		{Given: asked, As: op.Human, In: op.In{"questionId": "$question", "response": "yes"}},
		{Name: "from a device that is demanded", Given: guarded, As: op.Device,
			In: op.In{"questionId": "$question", "response": "yes"}},
		{Name: "from a device where a passkey is demanded", Given: []op.Step{{Op: "ask_question",
			In: op.In{"question": "Shall I?", "assurance": "passkey"}, Save: "questionId as question"}}, As: op.Device,
			In: op.In{"questionId": "$question", "response": "yes"}, Fault: fault.Forbidden},
		{Name: "from the machine where a device is demanded", Given: guarded, As: op.Human,
			In: op.In{"questionId": "$question", "response": "yes"}, Fault: fault.Forbidden},
		{Name: "twice", Given: answered, As: op.Human, In: op.In{"questionId": "$question", "response": "no"},
			Fault: fault.Precondition},
		{Name: "after it was withdrawn", Given: op.After(asked, op.Step{Op: "withdraw_question", In: op.In{"questionId": "$question"}}),
			As: op.Human, In: op.In{"questionId": "$question", "response": "yes"}, Fault: fault.Precondition},
		{Name: "after its expiry", Given: asked, Pass: 25 * time.Hour, As: op.Human,
			In: op.In{"questionId": "$question", "response": "yes"}, Fault: fault.Precondition},
		{Name: "by an agent", Given: asked, In: op.In{"questionId": "$question", "response": "yes"},
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "no answer", Given: asked, As: op.Human, In: `{"questionId":"$question"}`, Path: "response",
			Words: "is required"},
		{Name: "an empty answer", Given: asked, As: op.Human, In: `{"questionId":"$question","response":""}`,
			Path: "response", Words: "must not be empty"},
	}}
}

func withdrawCases() op.Cases {
	withdrawn := op.After(asked, op.Step{Op: "withdraw_question", In: op.In{"questionId": "$question", "reason": "it was settled"}})
	return op.Cases{Rights: askers, Owned: []string{"questionId"}, Examples: []op.Example{
		{Given: asked, In: op.In{"questionId": "$question", "reason": "it was settled in the client"}},
		{Name: "without a reason", Given: asked, In: op.In{"questionId": "$question"}},
		{Name: "twice", Given: withdrawn, In: op.In{"questionId": "$question", "reason": "another"}},
		{Name: "after the answer, which stands", Given: answered, In: op.In{"questionId": "$question"}},
		{Name: "by another program", Given: asked, As: "beta", In: op.In{"questionId": "$question"}, Fault: fault.Forbidden},
		{Name: "that is nowhere", In: op.In{"questionId": "nobody-made-this"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "a reason that is too long", Given: asked, In: `{"questionId":"$question","reason":"` + strings.Repeat("a", 301) + `"}`,
			Path: "reason", Words: "must be at most 300 characters"},
	}}
}

func listCases() op.Cases {
	page := op.After(asked, asked[0], op.Step{Op: "list_questions", As: op.Human, In: op.In{"limit": 1},
		Save: "nextCursor as cursor"})
	return op.Cases{Rights: peoples, Examples: []op.Example{
		{Given: asked, As: op.Human},
		{Name: "where there are none", As: op.Human},
		{Name: "that wait, the first page", Given: op.After(asked, asked...), As: op.Human,
			In: op.In{"status": "pending", "limit": 1}},
		{Name: "the next page", Given: page, As: op.Human, In: op.In{"limit": 1, "cursor": "$cursor"}},
		{Name: "of every status", Given: answered, As: op.Human, In: op.In{"status": "all"}},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "an unknown status", As: op.Human, In: `{"status":"open"}`, Path: "status",
			Words: "must be one of pending, answered, expired, all"},
	}}
}

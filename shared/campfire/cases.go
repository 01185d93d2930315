package campfire

import (
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// anybody are the rights where all callers of a user may do the same.
var anybody = op.Rights{Program: op.May, Unbound: op.May, Human: op.May}

// The steps that set up the cases of fires.
var (
	lit = []op.Step{{Op: "campfire_get_or_create_fire", In: op.In{"fireId": "f"}}}
	// spoken posts two messages and saves the cursor after the first one.
	spoken = op.After(lit,
		op.Step{Op: "campfire_post_message", In: op.In{"fireId": "f", "text": "I hold this"}},
		op.Step{Op: "campfire_post_message", As: "beta", In: op.In{"fireId": "f", "text": "and I that"}},
		op.Step{Op: "campfire_list_messages", In: op.In{"fireId": "f", "limit": 1}, Save: "nextCursor as cursor"})
	drafted = op.After(lit, op.Step{Op: "campfire_update_battle_plan", In: op.In{"fireId": "f", "content": "the plan"}})
)

func pingCases() op.Cases {
	return op.Cases{Rights: anybody, Examples: []op.Example{
		{In: op.In{}, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a message", In: `{"message":"m"}`, Path: "message", Words: "is not a field here; there are none"},
	}}
}

func echoCases() op.Cases {
	return op.Cases{Rights: anybody, Examples: []op.Example{
		{In: op.In{"message": "hi <b>"}, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a blank message", In: `{"message":" "}`, Path: "message", Words: "message cannot be empty."},
	}}
}

func lightCases() op.Cases {
	return op.Cases{RPCs: 2, Rights: anybody, Named: []string{"fireId"}, Examples: []op.Example{
		{In: op.In{"fireId": "the-store"}},
		{Name: "that is lit", Given: drafted, In: op.In{"fireId": "f"}, RPCs: 1},
	}, Refused: []op.Refusal{
		{Name: "an id with a slash", In: `{"fireId":"a/b"}`, Path: "fireId", Words: "must match ^[A-Za-z0-9]"},
	}}
}

func postCases() op.Cases {
	once := op.In{"fireId": "f", "text": " I hold <this> ", "idempotencyKey": "k"}
	return op.Cases{RPCs: 2, Rights: anybody, Owned: []string{"fireId"}, Examples: []op.Example{
		{Given: lit, In: op.In{"fireId": "f", "text": "One file is enough."}},
		{Name: "with an idempotency key", Given: lit, In: once, RPCs: 3, Over: "the key is read"},
		{
			Name:  "again with the same key",
			Given: op.After(lit, op.Step{Op: "campfire_post_message", In: once}),
			In:    once,
		},
		{Name: "as a character", Given: lit, In: op.In{"fireId": "f", "text": "You shall not pass.", "author": "Gandalf"}},
		{Name: "as another program's character", Given: lit, Fault: fault.Forbidden, RPCs: op.NoRPCs,
			In: op.In{"fireId": "f", "text": "x", "author": "beta/Gandalf"}},
		{Name: "as a program, by an unbound key", Given: lit, As: op.Unbound, Fault: fault.Forbidden, RPCs: op.NoRPCs,
			In: op.In{"fireId": "f", "text": "x", "author": "ALPHA"}},
		{Name: "during a duel", Given: thrown, In: op.In{"fireId": "f", "text": "psst"}, Fault: fault.Precondition},
		{Name: "after an overdue duel", Given: thrown, Pass: time.Hour, In: op.In{"fireId": "f", "text": "at last"}},
		{Name: "at an unknown fire", In: op.In{"fireId": "nowhere", "text": "x"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "a blank text", In: `{"fireId":"f","text":" \t"}`, Path: "text", Words: "message cannot be empty."},
	}}
}

func speakCases() op.Cases {
	return op.Cases{RPCs: 2, Rights: anybody, Owned: []string{"fireId"}, Examples: []op.Example{
		{Given: lit, In: op.In{"fireId": "f", "text": "We decide tonight."}},
		{Name: "for another, by the human", Given: lit, As: op.Human,
			In: op.In{"fireId": "f", "text": "and I that", "author": "beta"}},
		{Name: "as another program's character", Given: lit, Fault: fault.Forbidden, RPCs: op.NoRPCs,
			In: op.In{"fireId": "f", "text": "x", "author": "beta/Gandalf"}},
		{Name: "during a duel", Given: thrown, In: op.In{"fireId": "f", "text": "psst"}, Fault: fault.Precondition},
		{Name: "at an unknown fire", In: op.In{"fireId": "nowhere", "text": "x"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "an empty text", In: `{"fireId":"f","text":""}`, Path: "text", Words: "message cannot be empty."},
		{Name: "a blank text", In: `{"fireId":"f","text":" "}`, Path: "text", Words: "message cannot be empty."},
	}}
}

func messagesCases() op.Cases {
	return op.Cases{RPCs: 2, Rights: anybody, Owned: []string{"fireId"}, Examples: []op.Example{
		{Given: spoken, In: op.In{"fireId": "f"}, RPCs: 1},
		{Name: "of a silent fire", Given: lit, In: op.In{"fireId": "f"}},
		{Name: "one at a time", Given: spoken, In: op.In{"fireId": "f", "limit": 1}, RPCs: 1},
		{Name: "the next page, with a wait", Given: spoken, In: op.In{"fireId": "f", "cursor": "$cursor", "waitMs": 1}},
		{Name: "of an unknown fire", In: op.In{"fireId": "nowhere"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{Name: "too many", In: `{"fireId":"f","limit":101}`, Path: "limit", Words: "must be at most 100"},
		{Name: "an unknown cursor", Given: spoken, In: `{"fireId":"f","cursor":"nonsense"}`, Path: "cursor",
			Words: "does not belong to this fire"},
	}}
}

func planCases() op.Cases {
	return op.Cases{RPCs: 2, Rights: anybody, Owned: []string{"fireId"}, Examples: []op.Example{
		{Given: lit, In: op.In{"fireId": "f", "content": "One file now, a server later."}},
		{Name: "as another program's character", Given: lit, Fault: fault.Forbidden, RPCs: op.NoRPCs,
			In: op.In{"fireId": "f", "content": "mine", "author": "beta/Gandalf"}},
		{
			Name:  "during a duel",
			Given: thrown,
			In:    op.In{"fireId": "f", "content": "the plan"},
			Fault: fault.Precondition,
		},
		{
			Name:  "of an unknown fire",
			In:    op.In{"fireId": "nowhere", "content": "the plan"},
			Fault: fault.NotFound,
		},
	}, Refused: []op.Refusal{
		{Name: "a blank plan", In: `{"fireId":"f","content":" "}`, Path: "content", Words: "content cannot be empty."},
	}}
}

func listCases() op.Cases {
	second := op.After(lit, op.Step{Op: "campfire_get_or_create_fire", In: op.In{"fireId": "g"}},
		op.Step{Op: "campfire_list_fires", As: op.Human, In: op.In{"limit": 1}, Save: "nextCursor as cursor"})
	return op.Cases{RPCs: 1, Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}, Examples: []op.Example{
		{Given: struck, As: op.Human},
		{Name: "the next page", Given: second, As: op.Human, In: op.In{"limit": 1, "cursor": "$cursor"}},
		{Name: "where there is none", As: op.Human},
		{Name: "by an agent", Given: lit, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a limit of 0", As: op.Human, In: `{"limit":0}`, Path: "limit", Words: "must be at least 1"},
		{Name: "an unknown cursor", As: op.Human, In: `{"cursor":"xyz"}`, Path: "cursor", Words: "use the one that came with the page before"},
	}}
}

func getCases() op.Cases {
	return op.Cases{RPCs: 2, Rights: anybody, Owned: []string{"fireId"}, Examples: []op.Example{
		{Given: drafted, In: op.In{"fireId": "f"}},
		{Name: "without a plan", Given: lit, In: op.In{"fireId": "f"}},
		{Name: "during a duel", Given: struck, In: op.In{"fireId": "f"}},
		{Name: "with an earlier plan", Given: op.After(drafted, op.Step{Op: "campfire_update_battle_plan",
			In: op.In{"fireId": "f", "content": "another"}}),
			In: op.In{"fireId": "f", "planVersion": 1}},
		{Name: "of an unknown fire", In: op.In{"fireId": "nowhere"}, Fault: fault.NotFound},
	}, Refused: []op.Refusal{
		{
			Name:  "version 0",
			In:    `{"fireId":"f","planVersion":0}`,
			Path:  "planVersion",
			Words: "must be at least 1",
		},
		{Name: "a version to come", Given: drafted, In: `{"fireId":"f","planVersion":2}`, Path: "planVersion",
			Words: "must be at most the newest version of the plan, which is 1"},
	}}
}

package feed

import (
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

func cases() op.Cases {
	begun := []op.Step{{Op: "get_feed", As: op.Human, Save: "cursor as cursor"}}
	changed := op.After(begun,
		op.Step{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}},
		op.Step{Op: "send_message", In: op.In{"message": "hello", "target": "alpha", "message_type": "STATUS"}})
	return op.Cases{Rights: op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}, Examples: []op.Example{
		{Name: "what has changed", Given: changed, As: op.Human, In: op.In{"cursor": "$cursor"}, RPCs: 1},
		{Name: "from now on", As: op.Human, RPCs: 1},
		{Name: "with a wait", Given: begun, As: op.Human, In: op.In{"cursor": "$cursor", "waitMs": 1}, RPCs: 3,
			Over: "it follows the log, and reads again once it does"},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a negative wait", As: op.Human, In: `{"waitMs":-1}`, Path: "waitMs", Words: "must be at least 0"},
		{Name: "another cursor", As: op.Human, In: `{"cursor":"e30"}`, Path: "cursor", Words: "is not one of this log"},
	}}
}

package overview

import (
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// busy creates one entry of every kind in a view, and two programs.
var busy = []op.Step{
	{Op: "create_key", As: op.Human, In: op.In{"program": "gamma"}},
	{Op: "create_session", In: op.In{"name": "n"}},
	{Op: "create_task", In: op.In{"title": "t", "target": "alpha"}, Save: "taskId as task"},
	{Op: "claim_task", In: op.In{"taskId": "$task"}},
	{Op: "ask_question", In: op.In{"question": "and now?"}},
	{Op: "create_task", In: op.In{"title": "w", "target": "beta"}},
	{Op: "send_alert", In: op.In{"message": "the disk is full"}},
	{Op: "send_message", In: op.In{"message": "lost", "target": "nobody", "message_type": "STATUS"}},
	{Op: "send_message", As: op.Human,
		In: op.In{"message": "unread", "source": "someone", "target": "alpha", "message_type": "STATUS"}},
}

func cases() op.Cases {
	marked := op.After(busy, op.Step{Op: "get_overview", As: op.Human, Save: "mark as mark"})
	// A view reads the live sessions with their heartbeats, the claims with their leases, the questions, the mail of each
	// of the two programs, the queues, the alerts and the mail to unknown names. Once a minute it reads the
	// keys, and whether a program that has called ever had a session. No agent polls it.
	const view = 2 + 2 + 1 + 2 + 3
	const why = "it reads sessions, heartbeats, claims, leases, questions, queues, alerts, stray mail, and the mail of each program"
	// A wait has three listeners, and reads the view again when all are established.
	const waited = view + 3 + view
	rights := op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	return op.Cases{Rights: rights, Examples: []op.Example{
		{Given: busy, As: op.Human, RPCs: view + 2, Over: why},
		{Name: "where nothing goes on", As: op.Human, RPCs: 7, Over: why},
		{Name: "with a wait", Given: marked, As: op.Human, In: op.In{"since": "$mark", "waitMs": 1},
			RPCs: waited, Over: why + ", and follows three collections"},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a negative wait", As: op.Human, In: `{"waitMs":-1}`, Path: "waitMs", Words: "must be at least 0"},
	}}
}

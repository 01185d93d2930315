package costs

import (
	"context"
	"time"

	"parley.internal/shared/dispatch"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/relay"
)

// share is a kind of call in a day of agents at work.
type share struct {
	name string
	of   int // how many of 100 calls
	from int // the first of the rounds in which it is made
	// wait is the average wait of such a call in production. The test does not wait that long.
	wait    time.Duration
	prepare func(c *cloud) // not counted; may be nil
	do      func(c *cloud, round int)
}

// mix is 100 calls of agents and of their human: two programs that take work from a queue, write to each other, send
// heartbeats, and sometimes ask a question. Most calls look for a task or message that does not exist yet; half of these
// wait for it.
var mix = []share{
	{name: "create_session", of: 1, do: func(c *cloud, _ int) {
		c.make(c.alpha, "create_session", "sessionId", args{"name": "work"})
	}},
	{name: "update_session, a heartbeat", of: 14, do: func(c *cloud, _ int) {
		c.call(c.alpha, "update_session", args{"sessionId": c.made["sessionId"][0], "lastHeartbeat": true})
	}},
	{name: "update_session, with news", of: 4, do: func(c *cloud, round int) {
		c.call(c.alpha, "update_session",
			args{"sessionId": c.made["sessionId"][0], "status": "at it", "progress": 10 * round})
	}},
	{name: "list_sessions", of: 2, do: func(c *cloud, _ int) { c.call(c.alpha, "list_sessions", args{}) }},
	{name: "get_tasks, nothing there", of: 6, do: func(c *cloud, _ int) {
		c.call(c.beta, "get_tasks", args{"target": "beta"})
	}},
	{name: "get_tasks, waits in vain", of: 12, wait: 55 * time.Second,
		prepare: func(c *cloud) { c.call(c.other, "get_tasks", args{"target": "gamma", "waitMs": 1}) },
		do:      func(c *cloud, _ int) { c.call(c.other, "get_tasks", args{"target": "gamma", "waitMs": 1}) }},
	{name: "get_tasks, waits and is woken", of: 2, wait: 25 * time.Second, prepare: (*cloud).newUser,
		do: func(c *cloud, _ int) {
			in := op.Fill(dispatch.CreateInput{Title: "t", Target: "gamma"})
			c.woken("get_tasks", args{"target": "gamma"}, 2, func(ctx context.Context, caller identity.Caller) error {
				_, err := c.beside.Dispatch.Create(ctx, caller, in)
				return err
			})
		}},
	{name: "create_task", of: 4, do: func(c *cloud, _ int) { c.make(c.alpha, "create_task", "taskId", newTask()) }},
	{name: "create_task, with an idempotency key", of: 2, from: 4, do: func(c *cloud, round int) {
		in := newTask()
		in["idempotencyKey"] = key(round)
		c.make(c.alpha, "create_task", "taskId", in)
	}},
	{name: "get_tasks, a task there", of: 4, do: func(c *cloud, _ int) {
		c.call(c.beta, "get_tasks", args{"target": "beta"})
	}},
	{name: "claim_task", of: 6, do: func(c *cloud, round int) {
		c.call(c.beta, "claim_task", args{"taskId": c.made["taskId"][round]})
	}},
	{name: "renew_claim", of: 2, do: func(c *cloud, round int) {
		c.call(c.beta, "renew_claim", args{"taskId": c.made["taskId"][round], "claimToken": 1})
	}},
	{name: "update_task, with a note", of: 4, do: func(c *cloud, round int) {
		c.call(c.beta, "update_task", args{"taskId": c.made["taskId"][round], "note": "half of it"})
	}},
	{name: "get_task", of: 2, do: func(c *cloud, round int) {
		c.call(c.alpha, "get_task", args{"taskId": c.made["taskId"][round]})
	}},
	{name: "complete_task", of: 6, do: func(c *cloud, round int) {
		c.call(c.beta, "complete_task", args{"taskId": c.made["taskId"][round], "result": "It is done, and it works."})
	}},
	{name: "get_messages, nothing there", of: 5, do: func(c *cloud, _ int) { c.call(c.beta, "get_messages", args{}) }},
	{name: "get_messages, waits in vain", of: 4, wait: 55 * time.Second,
		prepare: func(c *cloud) { c.call(c.other, "get_messages", args{"waitMs": 1}) },
		do:      func(c *cloud, _ int) { c.call(c.other, "get_messages", args{"waitMs": 1}) }},
	{name: "send_message", of: 4, do: func(c *cloud, _ int) {
		c.make(c.alpha, "send_message", "messageId", newMessage())
	}},
	{name: "send_message, with an idempotency key", of: 2, from: 4, do: func(c *cloud, round int) {
		in := newMessage()
		in["idempotencyKey"] = key(round)
		c.make(c.alpha, "send_message", "messageId", in)
	}},
	{name: "get_messages, a message there", of: 2, do: func(c *cloud, _ int) { c.call(c.beta, "get_messages", args{}) }},
	{name: "get_messages, waits and is woken", of: 2, wait: 25 * time.Second, prepare: (*cloud).newUser,
		do: func(c *cloud, _ int) {
			in := op.Fill(relay.SendInput{Message: "m", Source: "gamma", Target: "gamma", MessageType: "STATUS"})
			c.woken("get_messages", args{}, 2, func(ctx context.Context, caller identity.Caller) error {
				_, err := c.beside.Relay.Send(ctx, caller, in)
				return err
			})
		}},
	{name: "ack_messages", of: 4, do: func(c *cloud, round int) {
		c.call(c.beta, "ack_messages", args{"messageIds": []string{c.made["messageId"][round]}})
	}},
	{name: "ask_question", of: 1, do: func(c *cloud, _ int) {
		c.make(c.alpha, "ask_question", "questionId", args{"question": "Ship it?", "options": []string{"yes", "no"}})
	}},
	{name: "list_questions", of: 1, do: func(c *cloud, _ int) { c.call(c.human, "list_questions", args{}) }},
	{name: "answer_question", of: 1, do: func(c *cloud, _ int) {
		c.call(c.human, "answer_question", args{"questionId": c.made["questionId"][0], "response": "yes"})
	}},
	{name: "get_response, waits and is woken", of: 1, wait: 40 * time.Second, prepare: (*cloud).ask,
		do: func(c *cloud, _ int) { c.awaitAnswer() }},
	{name: "send_alert", of: 1, do: func(c *cloud, _ int) {
		c.call(c.alpha, "send_alert", args{"message": "The build is green."})
	}},
	{name: "get_overview", of: 1, do: func(c *cloud, _ int) { c.call(c.human, "get_overview", args{}) }},
}

// expensive are calls that cost more than those of the mix. They are not part of the sums.
var expensive = []share{
	{name: "create_sprint, of 10 stories", do: func(c *cloud, _ int) {
		stories := make([]any, 10)
		for i := range stories {
			stories[i] = args{"id": key(i), "title": "t"}
		}
		c.make(c.alpha, "create_sprint", "sprintId", args{"projectName": "p", "branch": "b", "stories": stories})
	}},
	{name: "update_sprint_story, takes one up", do: func(c *cloud, _ int) {
		c.call(c.alpha, "update_sprint_story",
			args{"sprintId": c.made["sprintId"][0], "storyId": key(0), "status": "active"})
	}},
	{name: "update_sprint_story, completes one", do: func(c *cloud, _ int) {
		c.call(c.alpha, "update_sprint_story",
			args{"sprintId": c.made["sprintId"][0], "storyId": key(0), "status": "complete"})
	}},
	{name: "get_sprint, of 10 stories", do: func(c *cloud, _ int) {
		c.call(c.alpha, "get_sprint", args{"sprintId": c.made["sprintId"][0]})
	}},
	{name: "start_council", do: func(c *cloud, _ int) {
		c.make(c.alpha, "start_council", "session_id", args{"agent_name": "alpha", "request": "r"})
	}},
	{name: "join_council", do: func(c *cloud, _ int) {
		c.call(c.beta, "join_council", args{"agent_name": "beta", "session_id": c.made["session_id"][0]})
	}},
	{name: "send_response", do: func(c *cloud, _ int) {
		c.call(c.beta, "send_response", args{"agent_name": "beta", "session_id": c.made["session_id"][0], "content": "c"})
	}},
	{name: "campfire_post_message",
		prepare: func(c *cloud) { c.call(c.alpha, "campfire_get_or_create_fire", args{"fireId": "f"}) },
		do:      func(c *cloud, _ int) { c.call(c.alpha, "campfire_post_message", args{"fireId": "f", "text": "t"}) }},
	{name: "send_message, to all of 3 programs",
		prepare: func(c *cloud) { c.call(c.human, "create_session", args{"name": "third", "programId": "gamma"}) },
		do: func(c *cloud, _ int) {
			c.call(c.alpha, "send_message",
				args{"message": "m", "source": "alpha", "target": "all", "message_type": "STATUS"})
		}},
}

func newTask() args {
	return args{"title": "Review the parser", "target": "beta",
		"instructions": "Read it from the top, note what is wrong, and mend what you can."}
}

func newMessage() args {
	return args{"message": "The review is done; two findings, both fixed.",
		"source": "alpha", "target": "beta", "message_type": "QUERY"}
}

func key(n int) string { return "key-" + string(rune('a'+n)) }

package costs

import (
	"context"
	"fmt"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/signal"
	"parley.internal/shared/task"
)

// newUser creates a user with a cached key. A call of theirs that waits opens a new listener, which receives no earlier
// changes.
func (c *cloud) newUser() {
	c.latest = fmt.Sprintf("new-%d", len(c.made["users"]))
	c.made["users"] = append(c.made["users"], c.latest)
	c.latestKey = c.hub.Agent(c.latest, "gamma")
	c.call(c.latestKey, "get_tasks", args{"target": "gamma"})
	c.hub.Flush()
}

// latestAs returns the newest user as a caller: as a program, or as a human if the program is empty.
func (c *cloud) latestAs(program string) identity.Caller {
	caller := identity.Caller{User: c.latest, Program: program, Kind: identity.Agent}
	if program == "" {
		caller.Kind = identity.Human
	}
	return caller
}

// woken makes a call of the newest user that waits, and then ends its wait with wake, which is not counted. The call is
// waiting when it has made the given number of reads, the last of them after its listener was opened.
func (c *cloud) woken(name string, in args, reads int, wake func(context.Context, identity.Caller) error) {
	c.t.Helper()
	before := c.server.now()
	in["waitMs"] = 50_000
	answer := make(chan error, 1)
	go func() {
		_, err := c.try(c.t.Context(), c.latestKey, name, in)
		answer <- err
	}()
	must(c.t, c.server.until(c.t.Context(), func(o ops) bool { return o.reads == before.reads+reads }))
	must(c.t, wake(c.t.Context(), c.latestAs("gamma")))
	must(c.t, <-answer)
}

// ask creates a user with a question.
func (c *cloud) ask() {
	c.t.Helper()
	c.newUser()
	in := op.Fill(signal.AskInput{Question: "q", Priority: task.Normal, TTL: 86400})
	out, err := c.beside.Signal.Ask(c.t.Context(), c.latestAs("gamma"), in)
	must(c.t, err)
	c.question = out.QuestionID
}

// awaitAnswer waits for the answer to the newest user's question.
func (c *cloud) awaitAnswer() {
	c.t.Helper()
	in := op.Fill(signal.AnswerInput{QuestionID: c.question, Response: "r"})
	c.woken("get_response", args{"questionId": c.question}, 3, func(ctx context.Context, _ identity.Caller) error {
		_, err := c.beside.Signal.Answer(ctx, c.latestAs(""), in)
		return err
	})
}

// eraseOthers erases the data of all users but the first.
func (c *cloud) eraseOthers() {
	c.t.Helper()
	for _, name := range append(c.made["users"], quiet) {
		_, err := c.admins().Erase(c.t.Context(), name)
		must(c.t, err)
	}
}

package costs

import (
	"context"
	"fmt"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/signal"
	"parley.internal/shared/task"
)

// newcomer is a user who is new, with a key that is known. Whoever waits for them waits on
// a listener that is new too, and hears of nothing that came before.
func (c *cloud) newcomer() {
	c.latest = fmt.Sprintf("new-%d", len(c.made["users"]))
	c.made["users"] = append(c.made["users"], c.latest)
	c.latestKey = c.hub.Agent(c.latest, "gamma")
	c.call(c.latestKey, "get_tasks", args{"target": "gamma"})
	c.hub.Settle()
}

// latestAs is the newcomer as a program, or as a person where none is named.
func (c *cloud) latestAs(program string) identity.Caller {
	who := identity.Caller{User: c.latest, Program: program, Kind: identity.Agent}
	if program == "" {
		who.Kind = identity.Human
	}
	return who
}

// woken makes a call of the newcomer's that waits, and then, beside the server, what
// wakes it. The call stands once it has made so many reads, the last of them when its
// listener was there.
func (c *cloud) woken(name string, in args, reads int, wake func(ctx context.Context, who identity.Caller) error) {
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

// asker is a newcomer who has asked something.
func (c *cloud) asker() {
	c.t.Helper()
	c.newcomer()
	out, err := c.beside.Signal.Ask(c.t.Context(), c.latestAs("gamma"), op.Fill(signal.AskInput{Question: "q", Priority: task.Normal, TTL: 86400}))
	must(c.t, err)
	c.question = out.QuestionID
}

// answered waits for the answer to the asker's question.
func (c *cloud) answered() {
	c.t.Helper()
	c.woken("get_response", args{"questionId": c.question}, 3, func(ctx context.Context, _ identity.Caller) error {
		_, err := c.beside.Signal.Answer(ctx, c.latestAs(""), op.Fill(signal.AnswerInput{QuestionID: c.question, Response: "r"}))
		return err
	})
}

// goAway takes all away that there is of others than the user.
func (c *cloud) goAway() {
	c.t.Helper()
	for _, who := range append(c.made["users"], quiet) {
		_, err := c.admins().Erase(c.t.Context(), who)
		must(c.t, err)
	}
}

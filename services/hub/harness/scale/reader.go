package scale

import (
	"context"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/sleep"
	"parley.internal/shared/team"
)

// waits returns the loops in which the agent waits, each until its context ends.
func (a *agent) waits() []func(context.Context) {
	out := []func(context.Context){a.readMail}
	if a.number%workerEvery == 0 {
		out = append(out, a.work)
	}
	if a.team != "" {
		out = append(out, a.readTeam)
	}
	return out
}

// readMail waits for messages. Each read confirms the one before.
func (a *agent) readMail(ctx context.Context) {
	receipt := ""
	a.repeat(ctx, "get_messages", func() error {
		out, err := a.client.GetMessages(ctx,
			relay.GetInput{Confirm: true, Receipt: receipt, WaitMs: int(wait.Milliseconds())})
		now := time.Now()
		if err != nil {
			return err
		}
		receipt = out.Receipt
		for _, m := range out.Messages {
			a.run.tally.Received(mail, m.Message, now, m.Again)
		}
		return nil
	})
}

// readTeam waits for messages of the team, as readMail does.
func (a *agent) readTeam(ctx context.Context) {
	receipt, ms := "", int(wait.Milliseconds())
	a.repeat(ctx, "team_poll_inbox", func() error {
		out, err := a.client.TeamPollInbox(ctx,
			team.PollInput{TeamName: a.team, AgentName: a.seat, Confirm: true, Receipt: receipt, TimeoutMs: &ms})
		now := time.Now()
		if err != nil {
			return err
		}
		receipt = out.Receipt
		for _, m := range out.Messages {
			a.run.tally.Received(teamMail, m.Text, now, m.Again)
		}
		return nil
	})
}

// work waits for tasks and completes each at once.
func (a *agent) work(ctx context.Context) {
	a.repeat(ctx, "claim_next_task", func() error {
		out, err := a.client.ClaimNextTask(ctx, dispatch.NextInput{WaitMs: int(wait.Milliseconds())})
		now := time.Now()
		if err != nil || !out.Claimed {
			return err
		}
		a.run.tally.Received(tasks, out.Task.Title, now, false)
		in := dispatch.CompleteInput{TaskID: out.Task.ID, ClaimToken: out.ClaimToken, Result: "done"}
		_, err = a.client.CompleteTask(ctx, in)
		a.run.calls.failed(ctx, "complete_task", err)
		return nil
	})
}

// repeat makes a call until ctx ends, with a pause after one that failed.
func (a *agent) repeat(ctx context.Context, op string, call func() error) {
	for ctx.Err() == nil {
		if err := call(); err != nil {
			a.run.calls.failed(ctx, op, err)
			_ = a.rest(ctx, setback) // the loop ends with ctx
		}
	}
}

// human answers the questions of all agents.
type human struct {
	run    *run
	client *client.Client
}

// lookEvery is the interval at which the human looks for questions.
const lookEvery = 500 * time.Millisecond

// answer answers questions until ctx ends.
func (h *human) answer(ctx context.Context) {
	for sleep.For(ctx, lookEvery) == nil {
		list, err := h.client.ListQuestions(ctx, signal.ListInput{Limit: 100})
		h.run.calls.failed(ctx, "list_questions", err)
		now := time.Now()
		for _, q := range list.Questions {
			h.run.tally.Received(questions, q.Question, now, false)
			text := "the answer to " + q.Question
			h.run.tally.Sending(answers, text, time.Now())
			_, err := h.client.AnswerQuestion(ctx, signal.AnswerInput{QuestionID: q.ID, Response: text})
			h.run.calls.failed(ctx, "answer_question", err)
			if err == nil {
				h.run.tally.Acknowledged(answers, text)
			}
		}
	}
}

package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/pulse"
	"parley.internal/shared/relay"
	"parley.internal/shared/signal"
	"parley.internal/shared/sleep"
	"parley.internal/shared/team"
)

// The channels of the tally.
const (
	mail      = "message"
	teamMail  = "team message"
	tasks     = "task"
	questions = "question"
	answers   = "answer"
)

var channels = []string{mail, teamMail, tasks, questions, answers}

const (
	// Each workerEvery-th agent waits for tasks. The first teamShare-th part of the agents form teams of teamSize.
	workerEvery = 4
	teamShare   = 5
	teamSize    = 8
	// wait is the wait of a reading call, and beat the interval between two heartbeats of a session.
	wait = 20 * time.Second
	beat = time.Minute
	// setback is the pause after a failed call.
	setback = 500 * time.Millisecond
)

// agent is a program of the user.
type agent struct {
	run    *run
	name   string
	number int
	client *client.Client
	random *rand.Rand // used by act alone
	serial int
	team   string // empty for one without a team
	seat   string // its name in the team
	mates  []string
}

func newAgent(r *run, i int, key string) *agent {
	return &agent{run: r, name: programName(i), number: i, client: r.client.With(client.WithKey(key)),
		random: rand.New(rand.NewPCG(r.options.Seed, uint64(i)))}
}

// formTeams makes the teams. The first agent of each leads it.
func (r *run) formTeams(ctx context.Context) error {
	for first := 0; first+teamSize <= len(r.agents)/teamShare; first += teamSize {
		name, members := fmt.Sprintf("team-%d", first/teamSize), r.agents[first:first+teamSize]
		lead := members[0]
		if _, err := lead.client.TeamCreate(ctx, team.CreateInput{TeamName: name}); err != nil {
			return err
		}
		seats := []string{team.Lead}
		for _, m := range members[1:] {
			in := team.SpawnInput{TeamName: name, Name: m.name, Prompt: "work", BackendType: team.External}
			if _, err := lead.client.TeamSpawnTeammate(ctx, in); err != nil {
				return err
			}
			seats = append(seats, m.name)
		}
		for i, m := range members {
			m.team, m.seat, m.mates = name, seats[i], seats
		}
	}
	return nil
}

// act opens a session when the agent comes, and after another pause makes an action now and then, until sending ends. A
// call in flight then is finished.
func (a *agent) act(ctx, sending context.Context, comes, pause time.Duration) {
	if a.rest(sending, comes) != nil {
		return
	}
	made, err := a.client.CreateSession(ctx, pulse.CreateInput{Name: "session of " + a.name})
	a.run.calls.failed(ctx, "create_session", err)
	if a.rest(sending, pause) != nil {
		return
	}
	beaten := time.Now()
	for {
		if a.rest(sending, time.Duration(a.random.ExpFloat64()*float64(a.run.options.Pace))) != nil {
			return
		}
		a.action()(ctx)
		if err == nil && time.Since(beaten) > beat {
			_, late := a.client.UpdateSession(ctx, pulse.UpdateInput{SessionID: made.SessionID, LastHeartbeat: true})
			a.run.calls.failed(ctx, "update_session", late)
			beaten = time.Now()
		}
	}
}

func (a *agent) rest(ctx context.Context, d time.Duration) error { return sleep.For(ctx, d) }

// action returns a random action.
func (a *agent) action() func(context.Context) {
	n := a.random.IntN(100)
	switch {
	case n < 5:
		return a.ask
	case n < 30:
		return a.createTask
	case n < 65 && a.team != "":
		return a.sendTeamMessage
	}
	return a.sendMail
}

// text returns a text that occurs once.
func (a *agent) text(what string) string {
	a.serial++
	return fmt.Sprintf("%s %d of %s", what, a.serial, a.name)
}

func (a *agent) sendMail(ctx context.Context) {
	text, to := a.text(mail), a.run.agents[a.random.IntN(len(a.run.agents))]
	a.send(ctx, mail, text, "send_message", func() error {
		_, err := a.client.SendMessage(ctx, relay.SendInput{Message: text, Target: to.name, MessageType: "STATUS"})
		return err
	})
}

// send announces a text, sends it, and records the outcome of the call.
func (a *agent) send(ctx context.Context, channel, text, op string, call func() error) {
	a.run.tally.Sending(channel, text, time.Now())
	if err := call(); err != nil {
		a.run.calls.failed(ctx, op, err)
		return
	}
	a.run.tally.Acknowledged(channel, text)
}

// createTask creates a task for anybody, or for one of those who wait for tasks.
func (a *agent) createTask(ctx context.Context) {
	text, target := a.text(tasks), "any"
	if a.random.IntN(2) == 0 {
		workers := (len(a.run.agents) + workerEvery - 1) / workerEvery
		target = programName(a.random.IntN(workers) * workerEvery)
	}
	a.send(ctx, tasks, text, "create_task", func() error {
		_, err := a.client.CreateTask(ctx, dispatch.CreateInput{Title: text, Target: target})
		return err
	})
}

func (a *agent) sendTeamMessage(ctx context.Context) {
	text, to := a.text(teamMail), a.mates[a.random.IntN(len(a.mates))]
	a.send(ctx, teamMail, text, "team_send_message", func() error {
		_, err := a.client.TeamSendMessage(ctx, team.SendInput{TeamName: a.team, Type: "message", Recipient: to,
			Content: text, Summary: "news"})
		return err
	})
}

// ask asks the human and waits for the answer.
func (a *agent) ask(ctx context.Context) {
	text, id := a.text(questions), ""
	a.send(ctx, questions, text, "ask_question", func() error {
		out, err := a.client.AskQuestion(ctx, signal.AskInput{Question: text})
		id = out.QuestionID
		return err
	})
	for id != "" && ctx.Err() == nil {
		out, err := a.client.GetResponse(ctx, signal.ResponseInput{QuestionID: id, WaitMs: int(wait.Milliseconds())})
		a.run.calls.failed(ctx, "get_response", err)
		switch {
		case err != nil:
			_ = a.rest(ctx, setback) // the loop ends with ctx
		case out.Status == signal.Answered:
			a.run.tally.Received(answers, out.Response, time.Now(), false)
			return
		}
	}
}

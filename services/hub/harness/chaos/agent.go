package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/history"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/fault"
)

// agent is a client with the key of a program.
type agent struct {
	run    *run
	crew   *crew
	book   *witness.Book
	call   *caller.Caller
	name   string // of its program
	number int
	circle *circle
	seat   string // its name in the team
	random *rand.Rand
	serial int
	cursor string // the position in the campfire
	// confirms says that it asks for receipts of its messages.
	confirms bool
	receipts receipts
}

func newAgent(r *run, c *crew, i int, call *caller.Caller) *agent {
	a := &agent{run: r, crew: c, book: c.book, call: call, name: fmt.Sprintf("p%d", i), number: i,
		confirms: i >= crewSize/2}
	a.random = rand.New(rand.NewPCG(r.options.Seed, hash(c.user+a.name)))
	return a
}

// hash is FNV-1a. It gives each agent a random sequence of its own that is the same in every run.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// move is a step of an agent, of one or more calls, with its weight in the random choice. An error ends the agent.
type move struct {
	weight int
	do     func(*agent, context.Context) error
}

var moves = []move{
	{14, (*agent).createTask},
	{18, (*agent).work},
	{4, (*agent).sendMail},
	{4, (*agent).readMail},
	{3, (*agent).giveUp},
	{2, (*agent).teamTask},
	{2, (*agent).sendTeamMessage},
	{2, (*agent).teamInbox},
	{1, (*agent).heartbeat},
	{4, (*agent).postToFire},
	{4, (*agent).readFire},
	{3, (*agent).ask},
}

// act makes moves while more returns true: first each move once, then random ones.
func (a *agent) act(ctx context.Context, more func(done int) bool) error {
	first := a.random.Perm(len(moves))
	for done := 0; more(done); done++ {
		m := a.pick()
		if done < len(first) {
			m = moves[first[done]]
		}
		if err := m.do(a, ctx); err != nil {
			return fmt.Errorf("%s of %s: %w", a.name, a.crew.user, err)
		}
		a.run.pace.step()
	}
	return nil
}

func (a *agent) pick() move {
	all := 0
	for _, m := range moves {
		all += m.weight
	}
	at := a.random.IntN(all)
	for _, m := range moves {
		if at -= m.weight; at < 0 {
			return m
		}
	}
	return moves[0]
}

// drain reads everything addressed to the agent. It is called when no agent acts any more.
func (a *agent) drain(ctx context.Context) error {
	for _, step := range []func(context.Context) error{a.drainMail, a.drainTeam, a.drainFire} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s of %s, reading the rest: %w", a.name, a.crew.user, err)
		}
	}
	return nil
}

// uniqueText returns a text that occurs once in the run.
func (a *agent) uniqueText(what string) string {
	a.serial++
	return fmt.Sprintf("%s %d of %s.%s", what, a.serial, a.crew.user, a.name)
}

// peer returns a random other agent of the crew, or the agent itself if it is the only one.
func (a *agent) peer() *agent { return a.other(a.crew.agents) }

// teammate returns a random other agent of the circle, or the agent itself if it is the only one.
func (a *agent) teammate() *agent { return a.other(a.circle.agents) }

func (a *agent) other(all []*agent) *agent {
	at := a.random.IntN(len(all))
	if all[at] == a {
		at = (at + 1) % len(all)
	}
	return all[at]
}

func (a *agent) percent(n int) bool { return a.random.IntN(100) < n }

// wait returns a random wait for a reading call, which may be zero.
func (a *agent) wait() time.Duration {
	return time.Duration(a.random.IntN(3)) * 600 * time.Millisecond
}

// do calls an operation and reports whether it succeeded. It records a refusal as a violation and returns no error
// for it.
func (a *agent) do(
	ctx context.Context, op string, wait time.Duration, args map[string]any, out any,
) (call caller.Call, ok bool, err error) {
	call, err = a.call.Do(ctx, op, wait, args, out)
	var refused *caller.Refusal
	if errors.As(err, &refused) {
		a.noteRefusal(refused)
		return call, false, nil
	}
	return call, err == nil, err
}

// span returns the time of a call, for the history.
func span(c caller.Call) history.Span { return history.Span{From: c.Began(), To: c.Ended()} }

// noteRefusal records an unexpected refusal as a violation.
func (a *agent) noteRefusal(r *caller.Refusal) {
	a.book.Violate(witness.Answers, r.RequestID, "%v", r)
}

// precondition reports whether a refusal is a Precondition fault.
func precondition(r *caller.Refusal) bool { return r.Code == fault.Precondition.Code() }

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/fault"
)

// agent is one client with a program's key.
type agent struct {
	run    *run
	crew   *crew
	book   *witness.Book
	call   *caller.Caller
	name   string // its program
	circle *circle
	seat   string // its name in the team
	chance *rand.Rand
	serial int
	cursor string // how far it followed the fire
}

func newAgent(r *run, c *crew, i int, call *caller.Caller) *agent {
	a := &agent{run: r, crew: c, book: c.book, call: call, name: fmt.Sprintf("p%d", i)}
	a.chance = rand.New(rand.NewPCG(r.options.Seed, hash(c.user+a.name)))
	return a
}

// hash is FNV-1a, so that each agent has chances of its own, the same in every run.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// move is one thing that an agent does, of one or more calls. An error ends the agent.
type move struct {
	weight int
	do     func(*agent, context.Context) error
}

var moves = []move{
	{14, (*agent).createTask},
	{18, (*agent).work},
	{4, (*agent).sendMail},
	{4, (*agent).readMail},
	{2, (*agent).teamTask},
	{2, (*agent).teamTalk},
	{2, (*agent).teamInbox},
	{4, (*agent).speak},
	{4, (*agent).listen},
	{3, (*agent).ask},
}

// act makes moves until more says that it is enough: first each of them once.
func (a *agent) act(ctx context.Context, more func(done int) bool) error {
	first := a.chance.Perm(len(moves))
	for done := 0; more(done); done++ {
		m := a.pick()
		if done < len(first) {
			m = moves[first[done]]
		}
		if err := m.do(a, ctx); err != nil {
			return fmt.Errorf("%s of %s: %w", a.name, a.crew.user, err)
		}
		a.run.stepped()
	}
	return nil
}

func (a *agent) pick() move {
	all := 0
	for _, m := range moves {
		all += m.weight
	}
	at := a.chance.IntN(all)
	for _, m := range moves {
		if at -= m.weight; at < 0 {
			return m
		}
	}
	return moves[0]
}

// drain reads all there is to read, once everybody has ended.
func (a *agent) drain(ctx context.Context) error {
	for _, step := range []func(context.Context) error{a.drainMail, a.drainTeam, a.drainFire} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s of %s, reading what is left: %w", a.name, a.crew.user, err)
		}
	}
	return nil
}

// label is a text that nothing else of the run says.
func (a *agent) label(what string) string {
	a.serial++
	return fmt.Sprintf("%s %d of %s.%s", what, a.serial, a.crew.user, a.name)
}

// peer is another agent of the crew, mate another of the circle; the agent itself
// where there is none.
func (a *agent) peer() *agent { return a.other(a.crew.agents) }
func (a *agent) mate() *agent { return a.other(a.circle.agents) }

func (a *agent) other(all []*agent) *agent {
	at := a.chance.IntN(len(all))
	if all[at] == a {
		at = (at + 1) % len(all)
	}
	return all[at]
}

func (a *agent) percent(n int) bool { return a.chance.IntN(100) < n }

// wait is how long a reading call waits, at times not at all.
func (a *agent) wait() time.Duration {
	return time.Duration(a.chance.IntN(3)) * 600 * time.Millisecond
}

// do calls an operation. A refusal is a violation, and then nothing came of the call.
func (a *agent) do(ctx context.Context, op string, wait time.Duration, args map[string]any, out any) (call caller.Call, ok bool, err error) {
	call, err = a.call.Do(ctx, op, wait, args, out)
	var refused *caller.Refusal
	if errors.As(err, &refused) {
		a.strange(refused)
		return call, false, nil
	}
	return call, err == nil, err
}

// strange notes a refusal that nothing explains.
func (a *agent) strange(r *caller.Refusal) {
	a.book.Violate(witness.Answers, r.RequestID, "%v", r)
}

// precondition says whether a refusal is one of the state of things.
func precondition(r *caller.Refusal) bool { return r.Code == fault.Precondition.Code() }

// last is the id of the request that was answered.
func last(c caller.Call) string { return c.Attempts[len(c.Attempts)-1].RequestID }

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/history"
	"parley.internal/services/hub/harness/chaos/typescript"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/app"
	"parley.internal/shared/campfire"
	"parley.internal/shared/client"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/team"
)

// crewSize is the number of agents that share a user.
const crewSize = 8

// circleSize is the number of agents of a crew that share a team and a campfire. A team's board and a campfire are one
// document each, for which few transactions may contend in the emulator.
const circleSize = 3

// kinds are the kinds of a crew's agents. The second half asks for receipts, because with several servers the cancellation
// by an SDK for TypeScript may reach another server than its call, which then goes on.
var kinds = [crewSize]kind{{protocol: "2026-07-28"}, {}, {protocol: "2025-11-25"}, {},
	{protocol: "2026-07-28", era: typescript.Modern}, {}, {protocol: "2025-11-25", era: typescript.Legacy}, {}}

// kind is the protocol of an agent: a version of MCP, or REST where it is empty. With an era the SDK for TypeScript is used
// in place of that for Go, if the run has it.
type kind struct{ protocol, era string }

var toolsets = []string{"dispatch", "relay", "signal", "team", "campfire"}

// crew is a user with its human and its agents.
type crew struct {
	user   string
	book   *witness.Book
	calls  history.History
	agents []*agent
	human  *caller.Caller
	// done is closed when no agent asks questions any more.
	done chan struct{}

	mu    sync.Mutex
	tasks []string // the announced tasks, the newest last
}

// maxAnnounced is the maximum number of announced tasks.
const maxAnnounced = 6

// announce tells the crew of a task that any agent may claim.
func (c *crew) announce(task string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks = append(c.tasks, task)
	c.tasks = c.tasks[max(0, len(c.tasks)-maxAnnounced):]
}

// announced returns a random announced task, empty if there is none. Other agents may have claimed it already.
func (c *crew) announced(random *rand.Rand) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tasks) == 0 {
		return ""
	}
	return c.tasks[random.IntN(len(c.tasks))]
}

// circle is a group of agents of a crew with a team and a campfire of its own. The first agent leads the team.
type circle struct {
	team, fire string
	agents     []*agent
}

// newCrew creates a user, the keys of its human and agents, and the teams and campfires of its circles.
func (r *run) newCrew(ctx context.Context, n, size int) (*crew, error) {
	c := &crew{user: fmt.Sprintf("crew%d", n), book: witness.NewBook(), done: make(chan struct{})}
	made, err := r.app.Keys.Issue(ctx, c.user, keys.CreateInput{Kind: identity.Human})
	if err != nil {
		return nil, err
	}
	if c.human, err = r.connect(c, "human", made.Key, kind{}); err != nil {
		return nil, err
	}
	for i := range size {
		name := fmt.Sprintf("p%d", i)
		made, err := r.app.Keys.Issue(ctx, c.user, keys.CreateInput{Program: name})
		if err != nil {
			return nil, err
		}
		call, err := r.connect(c, name, made.Key, kinds[i])
		if err != nil {
			return nil, err
		}
		c.agents = append(c.agents, newAgent(r, c, i, call))
	}
	for first := 0; first < size; first += circleSize {
		n := first / circleSize
		members := c.agents[first:min(first+circleSize, size)]
		in := &circle{fmt.Sprintf("team%d", n), fmt.Sprintf("fire%d", n), members}
		if err := c.createTeam(ctx, r.app, in); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// connect returns the client of an agent or of the human of a crew.
func (r *run) connect(c *crew, name, key string, k kind) (*caller.Caller, error) {
	rest, err := client.New(r.base, key, client.WithHTTPClient(r.client), client.WithUserAgent("parley-chaos"))
	if err != nil {
		return nil, err
	}
	out := &caller.Caller{Name: c.user + "." + name, Key: key, Base: r.base, REST: rest, Client: r.client, Now: time.Now,
		Count: r.tally.count, Slack: r.options.Slack, Patience: r.options.Patience,
		Silent: func(id string) bool { return r.options.hole(id) != balancer.None }, Stuck: func(op, id string) {
			c.book.Violate(witness.Waits, id, "%s got no answer within %v after its wait", op, r.options.Slack)
		}}
	if k.protocol == "" {
		return out, nil
	}
	out.Toolsets, out.Protocol = toolsets, k.protocol
	if sdks := r.options.TypeScript; sdks != nil && k.era != "" {
		if out.TypeScript, err = sdks.Start(k.era, out.Endpoint(), key); err != nil {
			return nil, err
		}
		r.report.TypeScript++
	}
	r.callers = append(r.callers, out)
	return out, nil
}

// createTeam creates the team and the campfire of a circle.
func (c *crew) createTeam(ctx context.Context, a *app.App, in *circle) error {
	lead := identity.Caller{User: c.user, Program: in.agents[0].name}
	if _, err := a.Team.Create(ctx, lead, op.Fill(team.CreateInput{TeamName: in.team})); err != nil {
		return err
	}
	if _, err := a.Campfire.GetOrCreate(ctx, lead, campfire.FireInput{FireID: in.fire}); err != nil {
		return err
	}
	for i, m := range in.agents {
		m.circle, m.seat = in, team.Lead
		c.book.Follows(in.fire, m.name)
		if i == 0 {
			continue
		}
		m.seat = m.name
		spawn := op.Fill(team.SpawnInput{TeamName: in.team, Name: m.name, Prompt: "prompt of " + m.name,
			BackendType: team.External})
		if _, err := a.Team.Spawn(ctx, lead, spawn); err != nil {
			return err
		}
		c.book.TeamSent(in.team, m.name, spawn.Prompt)
	}
	return nil
}

// newHTTPClient returns a client with enough idle connections for all agents.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}}
}

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"parley.internal/services/hub/harness/chaos/caller"
	"parley.internal/services/hub/harness/chaos/witness"
	"parley.internal/shared/app"
	"parley.internal/shared/campfire"
	"parley.internal/shared/client"
	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/op"
	"parley.internal/shared/team"
)

// crewSize is how many agents share a user.
const crewSize = 8

// circleSize is how many of a crew share a team and a fire. A team's board and a fire
// are one document each, which the emulator lets few write at once.
const circleSize = 3

var toolsets = []string{"dispatch", "relay", "signal", "team", "campfire"}

// crew is a user with its agents.
type crew struct {
	user   string
	book   *witness.Book
	agents []*agent
	human  *caller.Caller
	// done is closed when no agent asks any more.
	done chan struct{}

	mu      sync.Mutex
	rumours []string // tasks for anyone that agents have heard of, the newest last
}

// manyRumours is how many tasks are talked about at once.
const manyRumours = 6

// rumour has the crew hear of a task.
func (c *crew) rumour(task string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rumours = append(c.rumours, task)
	c.rumours = c.rumours[max(0, len(c.rumours)-manyRumours):]
}

// heard is a task that is talked about, empty where none is. Others may have taken it
// up since, or be about to.
func (c *crew) heard(chance *rand.Rand) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rumours) == 0 {
		return ""
	}
	return c.rumours[chance.IntN(len(c.rumours))]
}

// circle is some agents of a crew with what they alone write to. The first of them
// leads the team.
type circle struct {
	team, fire string
	agents     []*agent
}

// muster makes a user, the keys of its agents and its human, its team and its fire.
func (r *run) muster(ctx context.Context, n, size int) (*crew, error) {
	c := &crew{user: fmt.Sprintf("crew%d", n), book: witness.NewBook(), done: make(chan struct{})}
	rest, err := client.New(r.base, "", client.WithHTTPClient(r.client), client.WithUserAgent("parley-chaos"))
	if err != nil {
		return nil, err
	}
	connect := func(name, key string, mcp bool) *caller.Caller {
		out := &caller.Caller{Name: c.user + "." + name, Key: key, Base: r.base, REST: rest.With(client.WithKey(key)), Client: r.client,
			Now: time.Now, Count: r.tally.count, Slack: r.options.Slack,
			Stuck: func(op, id string) {
				c.book.Violate(witness.Waits, id, "%s got no answer within %v of its time", op, r.options.Slack)
			}}
		if mcp {
			out.Toolsets = toolsets
		}
		return out
	}
	made, err := r.app.Keys.Issue(ctx, c.user, keys.CreateInput{Kind: identity.Human})
	if err != nil {
		return nil, err
	}
	c.human = connect("human", made.Key, false)
	for i := range size {
		name := fmt.Sprintf("p%d", i)
		made, err := r.app.Keys.Issue(ctx, c.user, keys.CreateInput{Program: name})
		if err != nil {
			return nil, err
		}
		c.agents = append(c.agents, newAgent(r, c, i, connect(name, made.Key, i%2 == 0)))
	}
	for first := 0; first < size; first += circleSize {
		in := &circle{fmt.Sprintf("team%d", first/circleSize), fmt.Sprintf("fire%d", first/circleSize), c.agents[first:min(first+circleSize, size)]}
		if err := c.found(ctx, r.app, in); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// found makes a circle's team and lights its fire.
func (c *crew) found(ctx context.Context, a *app.App, in *circle) error {
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
		spawn := op.Fill(team.SpawnInput{TeamName: in.team, Name: m.name, Prompt: "prompt of " + m.name, BackendType: team.External})
		if _, err := a.Team.Spawn(ctx, lead, spawn); err != nil {
			return err
		}
		c.book.TeamSent(in.team, m.name, spawn.Prompt)
	}
	return nil
}

// connections is a client for many agents at once.
func connections() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}}
}

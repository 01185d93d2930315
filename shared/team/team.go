package team

import (
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

const (
	// Lead is the reserved name of every team's lead.
	Lead = "team-lead"
	// MaxMembers is how many members a team has, its lead among them.
	MaxMembers = 100
	// system is the sender of what Parley itself says. Nobody else has that name.
	system = "parley"
	// maxName is the longest name of a team or a member.
	maxName = 64
)

// Backends say who starts a teammate's process.
const (
	// ByRunner leaves it to a runner.
	ByRunner = "process"
	// External leaves it to whoever spawned the member.
	External = "external"
)

// Member is a member of a team: the lead, or a teammate with what only those have.
type Member struct {
	AgentID          string   `json:"agentId"`
	Name             string   `json:"name"`
	AgentType        string   `json:"agentType"`
	Model            string   `json:"model"`
	Prompt           *string  `json:"prompt,omitempty"`
	Color            *string  `json:"color,omitempty"`
	PlanModeRequired *bool    `json:"planModeRequired,omitempty"`
	JoinedAt         int64    `json:"joinedAt"`
	TmuxPaneID       string   `json:"tmuxPaneId"`
	Cwd              string   `json:"cwd"`
	Subscriptions    []string `json:"subscriptions"`
	BackendType      *string  `json:"backendType,omitempty"`
	IsActive         *bool    `json:"isActive,omitempty"`
}

// Config is a team, in the reference's shape; times are milliseconds since 1970.
type Config struct {
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	CreatedAt     int64    `json:"createdAt"`
	LeadAgentID   string   `json:"leadAgentId"`
	LeadSessionID string   `json:"leadSessionId"`
	Members       []Member `json:"members"`
}

// document is a team as it is kept.
type document struct {
	Config
	// ID is the team's own, unlike its name: what belongs to it is kept under it.
	ID    string `json:"id"`
	Owner string `json:"owner"`
	// Processes are those that members run in, by the member's name.
	Processes map[string]string `json:"processes,omitempty"`
}

// seat says which team an identity leads.
type seat struct {
	Team string `json:"team"`
}

// deletion is a deleted team of which the sweep deletes the rest of the documents.
type deletion struct {
	DueAt time.Time `json:"dueAt"`
}

// instruction is the prompt of a teammate.
type instruction struct {
	Prompt string `json:"prompt"`
}

var (
	teams     = store.Collection[document]{Name: "teams", Unindexed: []string{"members", "processes", "description"}}
	seats     = store.Collection[seat]{Name: "teamSeats"}
	deletions = store.Collection[deletion]{Name: "teamGraves", AllUsers: []string{"dueAt"}}
	prompts   = store.Collection[instruction]{Name: "teams/*/teamPrompts", Unindexed: []string{"prompt"}}
)

// Defs declares the collections of teams.
func (*Service) Defs() []*store.Def {
	return []*store.Def{teams.Def(), seats.Def(), deletions.Def(), prompts.Def(), inboxes.Def(), messages.Def(), boards.Def(), texts.Def(), beats.Def(), processes.Def()}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkName refuses what cannot name a team, in the reference's words.
func checkName(name string) error { return checkNameOf("team", "Team", name) }

// checkMember refuses what cannot name a teammate.
func checkMember(name string) error {
	if name == Lead || name == system {
		return fault.New(fault.Invalid, "Agent name '%s' is reserved", name)
	}
	return checkNameOf("agent", "Agent", name)
}

func checkNameOf(what, What, name string) error {
	if !namePattern.MatchString(name) {
		return fault.New(fault.Invalid, "Invalid %s name: '%s'. Use only letters, numbers, hyphens, underscores.", what,
			name)
	}
	if n := utf8.RuneCountInString(name); n > maxName {
		return fault.New(fault.Invalid, "%s name too long (%d chars, max %d): '%s'...", What, n, maxName, name[:20])
	}
	return nil
}

// docID is the id of a team's document: not the name alone, because a store keeps
// names such as __x__ for itself.
func docID(name string) string { return "team:" + name }

// memberID is the id of what is kept once for each member of the team of that name.
func memberID(team, member string) string { return docID(team) + ":" + member }

// leader is the identity that leads at most one team: the key's program, else the key.
func leader(c identity.Caller) string {
	if c.Bound() {
		return "program:" + c.Program
	}
	return "key:" + c.KeyID
}

func newConfig(name, description, session string, ms int64) Config {
	id := Lead + "@" + name
	return Config{Name: name, Description: description, CreatedAt: ms, LeadAgentID: id, LeadSessionID: session,
		Members: []Member{{AgentID: id, Name: Lead, AgentType: Lead, JoinedAt: ms, Subscriptions: []string{}}}}
}

// colors are those of teammates, in the order in which they are given.
var colors = []string{"blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red"}

// nextColor is the color that the fewest members have, of equals the first.
func (c *Config) nextColor() string {
	used := map[string]int{}
	for _, m := range c.Members {
		if m.Color != nil {
			used[*m.Color]++
		}
	}
	return slices.MinFunc(colors, func(a, b string) int { return used[a] - used[b] })
}

// Member is the member of that name, or nil.
func (c *Config) Member(name string) *Member {
	i := slices.IndexFunc(c.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Members[i]
}

// names are the names of all members.
func (c *Config) names() []string {
	out := make([]string, len(c.Members))
	for i, m := range c.Members {
		out[i] = m.Name
	}
	return out
}

// Join adds a teammate and gives it its id and color. A name that a member has is
// Exists, a full team Precondition.
func (c *Config) Join(m Member) error {
	if c.Member(m.Name) != nil {
		return fault.New(fault.Exists, "Member '%s' already exists in team '%s'", m.Name, c.Name)
	}
	if len(c.Members) >= MaxMembers {
		return fault.New(fault.Precondition,
			"Team %s has %d members, which is as many as a team can have; remove one first", c.Name, MaxMembers)
	}
	color, idle := c.nextColor(), false
	m.AgentID, m.Color, m.IsActive = m.Name+"@"+c.Name, &color, &idle
	c.Members = append(c.Members, m)
	return nil
}

// teammate is the member of that name. The lead, and who is no member, is NotFound.
func (c *Config) teammate(name string) (*Member, error) {
	if m := c.Member(name); m != nil && name != Lead {
		return m, nil
	}
	return nil, fault.New(fault.NotFound, "Teammate %s not found in team %s", name, c.Name)
}

// Leave removes a teammate.
func (c *Config) Leave(name string) {
	c.Members = slices.DeleteFunc(c.Members, func(m Member) bool { return m.Name == name })
}

// setActive notes whether a teammate is heard from, and says whether that is news.
func (m *Member) setActive(active bool) bool {
	if m.IsActive == nil || *m.IsActive == active {
		return false
	}
	m.IsActive = &active
	return true
}

func (m *Member) color() string { return value(m.Color) }

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// seatOf is the name that a bound key has in the team: the lead's where its program
// leads it, else its program.
func (d *document) seatOf(c identity.Caller) string {
	if c.Bound() && d.Owner == leader(c) {
		return Lead
	}
	return c.Program
}

// speaker is the name that a call speaks under. A key bound to a program has its own;
// one that is not says who it is, and is the lead where it does not.
func (d *document) speaker(c identity.Caller, said string) (string, error) {
	if !c.Bound() {
		switch said {
		case "":
			return Lead, nil
		case system:
			return "", fault.New(fault.Forbidden,
				"%q is the sender of what the system itself says, and no key sends as that; name another sender",
				system)
		case Lead:
			return said, nil
		}
		return said, checkNameOf("agent", "Agent", said)
	}
	if own := d.seatOf(c); said == "" || said == own || said == c.Program {
		return own, nil
	}
	_, _, err := c.SpeaksAs(said)
	return "", err
}

// mayActAs says why a caller may not act as a member, or nil.
func (d *document) mayActAs(c identity.Caller, name string) error {
	if c.Bound() && d.seatOf(c) == name {
		return nil
	}
	_, _, err := c.SpeaksAs(name)
	return err
}

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
	// MaxMembers is the largest number of members of a team, including its lead.
	MaxMembers = 100
	// system is the sender of Parley's own messages. No member has that name.
	system = "parley"
	// maxName is the largest length of the name of a team or member, in characters.
	maxName = 64
)

// The backends of a teammate's process.
const (
	// ByRunner means that a runner starts the process.
	ByRunner = "process"
	// External means that the process is started outside Parley.
	External = "external"
)

// Member is a member of a team. The pointer fields are nil for the lead.
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

// Config is a team in the shape of config.json (see the package comment). Times are
// milliseconds since 1970.
type Config struct {
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	CreatedAt     int64    `json:"createdAt"`
	LeadAgentID   string   `json:"leadAgentId"`
	LeadSessionID string   `json:"leadSessionId"`
	Members       []Member `json:"members"`
}

// document is the document of a team.
type document struct {
	Config
	// ID is unique among all teams, earlier ones of the same name included. The team's
	// documents are stored under it.
	ID string `json:"id"`
	// Owner is the identity that leads the team (see leader).
	Owner string `json:"owner"`
	// FounderKey is the id of the key that founded the team. Older teams have none.
	FounderKey string `json:"founderKey,omitempty"`
	// Processes maps the names of members to the ids of their processes.
	Processes map[string]string `json:"processes,omitempty"`
	// Nulls lists the fields of the team and of its members that are null in the archive that it comes from.
	Nulls Nulls `json:"nulls,omitempty"`
}

// leadership names the team that an identity leads.
type leadership struct {
	Team string `json:"team"`
}

// deletion marks a deleted team, or an unfinished import, for the sweep.
type deletion struct {
	DueAt time.Time `json:"dueAt"`
}

// instruction is the prompt of a teammate.
type instruction struct {
	Prompt string `json:"prompt"`
}

var (
	teams = store.Collection[document]{Name: "teams", PartOf: "a team",
		Indexes: []string{"name"}, Unindexed: []string{"members", "processes", "description", "nulls"},
		Log: "team", Note: func(d *document, id string) store.Note { return store.Note{Line: d.Name, Program: d.Owner} }}
	leaderships = store.Collection[leadership]{Name: "teamSeats", PartOf: "a team"}
	deletions   = store.Collection[deletion]{Name: "teamGraves", AllUsers: []string{"dueAt"}}
	prompts     = store.Collection[instruction]{Name: "teams/*/teamPrompts", PartOf: "a process",
		Unindexed: []string{"prompt"}}
)

// Defs declares the collections of teams.
func (*Service) Defs() []*store.Def {
	return []*store.Def{teams.Def(), leaderships.Def(), deletions.Def(), prompts.Def(), inboxes.Def(), messages.Def(),
		boards.Def(), texts.Def(), beats.Def(), processes.Def(), hearings.Def()}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkName returns Invalid for a malformed name of a team.
func checkName(name string) error { return checkNameOf("team", "Team", name) }

// checkMember returns Invalid for a malformed or reserved name of a teammate.
func checkMember(name string) error {
	if identity.Same(name, Lead) || identity.Same(name, system) {
		return fault.New(fault.Invalid, "Agent name '%s' is reserved", name)
	}
	return checkNameOf("agent", "Agent", name)
}

func checkNameOf(kind, capitalized, name string) error {
	if !namePattern.MatchString(name) {
		return fault.New(fault.Invalid, "Invalid %s name: '%s'. Use only letters, numbers, hyphens, underscores.", kind,
			name)
	}
	if n := utf8.RuneCountInString(name); n > maxName {
		return fault.New(fault.Invalid, "%s name too long (%d chars, max %d): '%s'...", capitalized, n, maxName,
			name[:20])
	}
	return nil
}

// docID is the id of a team's document. It is not the name alone, because Firestore reserves
// names such as __x__.
func docID(name string) string { return "team:" + name }

// memberID is the id of the documents that exist once for each member.
func memberID(team, member string) string { return docID(team) + ":" + member }

// leader returns the identity that may lead one team: the program of a bound key, else the key.
func leader(c identity.Caller) string {
	if c.Bound() {
		return "program:" + identity.Fold(c.Program)
	}
	return "key:" + c.KeyID
}

// newConfig returns a new team, with the model and the working directory of its lead.
func newConfig(name, description, model, cwd, session string, ms int64) Config {
	id := Lead + "@" + name
	return Config{Name: name, Description: description, CreatedAt: ms, LeadAgentID: id, LeadSessionID: session,
		Members: []Member{{AgentID: id, Name: Lead, AgentType: Lead, Model: model, Cwd: cwd,
			JoinedAt: ms, Subscriptions: []string{}}}}
}

// colors lists the colors of teammates in the order of assignment.
var colors = []string{"blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red"}

// leadColor is the color of the lead, which no teammate has.
const leadColor = "white"

// nextColor returns the color with the fewest members, the first of equals.
func (c *Config) nextColor() string {
	used := map[string]int{}
	for _, m := range c.Members {
		if m.Color != nil {
			used[*m.Color]++
		}
	}
	return slices.MinFunc(colors, func(a, b string) int { return used[a] - used[b] })
}

// Member returns the member of that name in any case, or nil. The pointer is into c.Members.
func (c *Config) Member(name string) *Member {
	i := slices.IndexFunc(c.Members, func(m Member) bool { return identity.Same(m.Name, name) })
	if i < 0 {
		return nil
	}
	return &c.Members[i]
}

// spelling returns the name of a member as the team has it, and any other name as it is given.
func (c *Config) spelling(name string) string {
	if m := c.Member(name); m != nil {
		return m.Name
	}
	return name
}

// names returns the names of all members.
func (c *Config) names() []string {
	out := make([]string, len(c.Members))
	for i, m := range c.Members {
		out[i] = m.Name
	}
	return out
}

// Join adds a teammate and sets its id and color. A name in use is Exists, a team with
// MaxMembers members Precondition.
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

// teammate returns the teammate of that name. The lead and a name without a member are NotFound.
func (c *Config) teammate(name string) (*Member, error) {
	if m := c.Member(name); m != nil && m.Name != Lead {
		return m, nil
	}
	return nil, fault.New(fault.NotFound, "Teammate %s not found in team %s", name, c.Name)
}

// Leave removes a teammate. A name without a member changes nothing.
func (c *Config) Leave(name string) {
	c.Members = slices.DeleteFunc(c.Members, func(m Member) bool { return m.Name == name })
}

// setActive sets whether a teammate is active, and reports whether that changed it.
func (m *Member) setActive(active bool) bool {
	if m.IsActive == nil || *m.IsActive == active {
		return false
	}
	m.IsActive = &active
	return true
}

// color returns the member's color. The lead has one of its own, whether it has the field or not.
func (m *Member) color() string {
	if m.Color == nil && m.Name == Lead {
		return leadColor
	}
	return deref(m.Color)
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// leads reports whether the caller has the rights of the lead: it founded the team, or it is a human.
func (d *document) leads(c identity.Caller) bool { return c.IsHuman() || d.founded(c) }

// founded reports whether the team is the caller's: its program founded it, or its key without a program did. The key of
// a member is none of the founder's, even where it has the founder's program.
func (d *document) founded(c identity.Caller) bool {
	return identity.Same(d.Owner, leader(c)) && !d.owns(c)
}

// owns reports whether the key was made for a member of the team.
func (d *document) owns(c identity.Caller) bool { return c.Member != "" && c.Team == d.Name }

// mayLead returns Forbidden unless the caller leads the team.
func (d *document) mayLead(c identity.Caller) error {
	if d.leads(c) {
		return nil
	}
	return fault.New(fault.Forbidden, "only the lead of team %s or a human may do this; %s", d.Name, c)
}

// nameOf returns the name of a bound key in the team: Lead if its program founded the team, the member that the key was
// made for, or the member with the name of its program. It is empty for a key that belongs to no member: the server makes
// the key of a member whose process a runner starts, so that a program of the same name is another agent; and no program
// is the lead by its name.
func (d *document) nameOf(c identity.Caller) string {
	name := c.Program
	switch {
	case !c.Bound():
		return ""
	case d.founded(c):
		return Lead
	case d.owns(c):
		name = c.Member
	}
	m, err := d.teammate(name)
	if err != nil || !d.owns(c) && deref(m.BackendType) == ByRunner {
		return ""
	}
	return m.Name
}

// belongs returns Forbidden unless the caller is the lead, a member or a human.
func (d *document) belongs(c identity.Caller) error {
	if d.leads(c) || d.nameOf(c) != "" {
		return nil
	}
	return fault.New(fault.Forbidden, "only the members of team %s, its lead or a human may do this; %s", d.Name, c)
}

// speaker returns the sender's name of a call. A bound key speaks under its own name; the unbound key that founded the
// team, and a human, under the claimed name, or as the lead if they claim none. A name that the key may not use is
// Forbidden, as is a caller that does not belong to the team; a malformed name is Invalid.
func (d *document) speaker(c identity.Caller, claimed string) (string, error) {
	if err := d.belongs(c); err != nil {
		return "", err
	}
	switch own := d.nameOf(c); {
	case own != "" && (claimed == "" || identity.Same(claimed, own) || identity.Same(claimed, c.Program)):
		return own, nil
	case own != "":
		return "", mayNotSpeak(own, claimed)
	case claimed == "":
		return Lead, nil
	case identity.Same(claimed, system):
		return "", fault.New(fault.Forbidden,
			"%q is reserved for messages of the system itself; name another sender",
			system)
	}
	if err := checkNameOf("agent", "Agent", claimed); err != nil {
		return "", err
	}
	return d.spelling(claimed), c.MayName(claimed)
}

// mayActAs returns Forbidden if the caller may not act as the member of that name.
func (d *document) mayActAs(c identity.Caller, name string) error {
	if err := d.belongs(c); err != nil {
		return err
	}
	if own := d.nameOf(c); own != "" && !identity.Same(own, name) {
		return mayNotSpeak(own, name)
	}
	return c.MayName(name)
}

func mayNotSpeak(own, as string) error {
	return fault.New(fault.Forbidden, "this key speaks for %q and may not speak as %q", own, as)
}

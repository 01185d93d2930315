package team

import (
	"regexp"
	"unicode/utf8"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Lead is the reserved name of every team's lead.
const Lead = "team-lead"

// Member is a member of a team: the lead, or a teammate with what only those have.
type Member struct {
	AgentID       string   `json:"agentId"`
	Name          string   `json:"name"`
	AgentType     string   `json:"agentType"`
	Model         string   `json:"model"`
	JoinedAt      int64    `json:"joinedAt"`
	TmuxPaneID    string   `json:"tmuxPaneId"`
	Cwd           string   `json:"cwd"`
	Subscriptions []string `json:"subscriptions"`
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
	Owner string `json:"owner"`
}

// seat says which team an identity leads.
type seat struct {
	Team string `json:"team"`
}

var (
	teams = store.Collection[document]{Name: "teams"}
	seats = store.Collection[seat]{Name: "teamSeats"}
)

// Defs declares the collections of teams.
func Defs() []*store.Def { return []*store.Def{teams.Def(), seats.Def()} }

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const maxName = 64

// checkName refuses what cannot name a team, in the reference's words.
func checkName(name string) error {
	if !namePattern.MatchString(name) {
		return fault.New(fault.Invalid, "Invalid team name: '%s'. Use only letters, numbers, hyphens, underscores.", name)
	}
	if n := utf8.RuneCountInString(name); n > maxName {
		return fault.New(fault.Invalid, "Team name too long (%d chars, max %d): '%s'...", n, maxName, name[:20])
	}
	return nil
}

// docID is the id of a team's document: not the name alone, because a store keeps
// names such as __x__ for itself.
func docID(name string) string { return "team:" + name }

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

package identity

import (
	"fmt"
	"time"

	"parley.internal/shared/fault"
)

// PauseScope is the kind of thing that a pause halts.
type PauseScope string

// The scopes of a pause. All but Everything have a name.
const (
	Everything    PauseScope = "everything"
	PausedProgram PauseScope = "program"
	PausedAgent   PauseScope = "agent" // a session's address, or key: with the short id of an unbound key
	PausedTeam    PauseScope = "team"
	PausedProject PauseScope = "project"
)

// Pause is a person's order to begin nothing new: agents that it halts may neither claim work nor send messages.
type Pause struct {
	Scope PauseScope
	Name  string
	// Words are for the agents that are refused.
	Words string
	By    string
	At    time.Time
}

// Halts reports whether the pause halts the caller, in a call that concerns a team and a project; each may be empty.
func (p Pause) Halts(c Caller, team, project string) bool {
	switch p.Scope {
	case Everything:
		return true
	case PausedProgram:
		program, _ := SplitAddress(Address(c.Program, c.Session))
		_, acts := Among(c.ActsAs, p.Name)
		return acts || c.Bound() && Same(p.Name, c.Program) || c.Session != "" && Same(p.Name, program)
	case PausedAgent:
		return Same(p.Name, c.Actor()) || c.Session != "" && Same(p.Name, Address(c.Program, c.Session))
	case PausedTeam:
		return c.Team != "" && Same(p.Name, c.Team) || team != "" && Same(p.Name, team)
	case PausedProject:
		return project != "" && Same(p.Name, project)
	}
	return false
}

// String names the pause in a message: everything, or the program "claude".
func (p Pause) String() string {
	if p.Scope == Everything {
		return string(p.Scope)
	}
	return fmt.Sprintf("the %s %q", p.Scope, p.Name)
}

// Paused returns the fault of a call that a pause forbids, and nil if none of the caller's pauses halts it. Nothing halts
// a person.
func (c Caller) Paused(team, project string) error {
	if c.IsHuman() {
		return nil
	}
	for _, p := range c.Pauses {
		if !p.Halts(c, team, project) {
			continue
		}
		words := ""
		if p.Words != "" {
			words = ": " + p.Words
		}
		return fault.New(fault.Paused, "%s paused %s at %s%s. Until a person resumes it, claims and messages are refused; "+
			"report on what you hold, or wait", p.By, p, p.At.Format(time.RFC3339), words)
	}
	return nil
}

package session

import (
	"slices"

	"parley.internal/services/hub/internal/hook/usage"
)

// The bounds on the records of subagents: their number, of which the oldest go first, and the length of a path.
const (
	maxSubagents = 200
	maxRecord    = 4096
)

// subagent remembers the record of a subagent. The client writes it after it tells of the end, or the subagent goes on, so
// it is read at the end of each turn.
func (s *State) subagent(path string) {
	if path == "" || len(path) > maxRecord || path == s.Transcript ||
		slices.ContainsFunc(s.Subagents, func(at usage.Position) bool { return at.Path == path }) {
		return
	}
	if s.Subagents = append(s.Subagents, usage.Position{Path: path, Agent: true}); len(s.Subagents) > maxSubagents {
		s.Subagents = slices.Delete(s.Subagents, 0, 1)
	}
}

// Unbooked returns where the next reading of the session's usage begins, in its record and in those of its subagents.
func (s *State) Unbooked() []usage.Position {
	own := s.Usage
	if own.Path != s.Transcript {
		own = usage.Position{Path: s.Transcript, Forked: own.Forked}
	}
	return append([]usage.Position{own}, s.Subagents...)
}

// Booked records that the server has the usage up to positions that [State.Unbooked] returned before.
func (s *State) Booked(read []usage.Position) {
	for _, at := range read {
		if !at.Agent {
			s.Usage = at
			continue
		}
		if i := slices.IndexFunc(s.Subagents, func(old usage.Position) bool { return old.Path == at.Path }); i >= 0 {
			s.Subagents[i] = at
		}
	}
}

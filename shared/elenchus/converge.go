package elenchus

import (
	"fmt"
	"slices"
)

// Convergence says how near a verification is to its end.
type Convergence struct {
	IsConverged            bool `json:"isConverged"`
	CriticalUnresolved     int  `json:"criticalUnresolved"`
	RoundsWithoutNewIssues int  `json:"roundsWithoutNewIssues"`
	CurrentRound           int  `json:"currentRound"`
}

// Convergence is computed from the session's counters alone.
func (s *Session) Convergence() Convergence {
	return Convergence{
		IsConverged:        s.Counts.CriticalUnresolved == 0 && s.QuietRounds >= 2 && s.CurrentRound >= 2,
		CriticalUnresolved: s.Counts.CriticalUnresolved, RoundsWithoutNewIssues: s.QuietRounds, CurrentRound: s.CurrentRound,
	}
}

// The interventions.
const (
	ContextExpand = "CONTEXT_EXPAND"
	LoopBreak     = "LOOP_BREAK"
	SoftCorrect   = "SOFT_CORRECT"
)

const (
	manyNewFiles = 3  // files of a round that are worth another look
	loopRounds   = 3  // rounds of the last four that raise the same issue
	wideContext  = 50 // files past which a context is too wide
)

// Intervention is the arbiter's word to both roles.
type Intervention struct {
	Type            string   `json:"type" allow:"enum=CONTEXT_EXPAND|LOOP_BREAK|SOFT_CORRECT"`
	Reason          string   `json:"reason"`
	Action          string   `json:"action"`
	NewContextFiles []string `json:"newContextFiles,omitempty"`
}

// Arbitrate is the first intervention that applies, or nil: to the files that a round
// brought, the issues of the last four rounds, and the number of files in all.
func Arbitrate(newFiles []string, recent []Raised, files int) *Intervention {
	if len(newFiles) >= manyNewFiles {
		return expand(len(newFiles), newFiles)
	}
	if id, n := looping(recent); n >= loopRounds {
		return &Intervention{Type: LoopBreak, Reason: fmt.Sprintf("%s was raised in %d of the last %d rounds", id, n, recentRounds),
			Action: "settle " + id + " with new evidence, or leave it to the verdict"}
	}
	if files > wideContext {
		return &Intervention{Type: SoftCorrect, Reason: fmt.Sprintf("the context has grown to %d files", files),
			Action: "go back to the target and its requirements; name no more files than you need"}
	}
	return nil
}

func expand(n int, newFiles []string) *Intervention {
	return &Intervention{Type: ContextExpand, Reason: fmt.Sprintf("the round discovered %d new files", n),
		Action: "read the new files before the next round", NewContextFiles: newFiles}
}

// looping is the issue that most of the rounds raise, the latest of equals, and how many.
func looping(recent []Raised) (id string, most int) {
	times := map[string]int{}
	for _, r := range recent {
		for _, id := range r.IDs {
			times[id]++
		}
	}
	for _, r := range slices.Backward(recent) {
		for _, one := range r.IDs {
			if times[one] > most {
				id, most = one, times[one]
			}
		}
	}
	return id, most
}

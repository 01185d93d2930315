package elenchus

import (
	"fmt"
	"slices"
)

// Convergence has the figures that decide whether a verification has converged.
type Convergence struct {
	IsConverged            bool `json:"isConverged"`
	CriticalUnresolved     int  `json:"criticalUnresolved"`
	RoundsWithoutNewIssues int  `json:"roundsWithoutNewIssues"`
	CurrentRound           int  `json:"currentRound"`
}

// Convergence returns the figures of the session. It has converged after two rounds or more, of which the last two
// raised no new issue, and with no critical issue open.
func (s *Session) Convergence() Convergence {
	return Convergence{
		IsConverged:            s.Counts.CriticalUnresolved == 0 && s.QuietRounds >= 2 && s.CurrentRound >= 2,
		CriticalUnresolved:     s.Counts.CriticalUnresolved,
		RoundsWithoutNewIssues: s.QuietRounds,
		CurrentRound:           s.CurrentRound,
	}
}

// The types of interventions.
const (
	ContextExpand = "CONTEXT_EXPAND"
	LoopBreak     = "LOOP_BREAK"
	SoftCorrect   = "SOFT_CORRECT"
)

const (
	manyNewFiles = 3  // new files in a round that cause an intervention
	loopRounds   = 3  // rounds of the last four that raise the same issue
	wideContext  = 50 // files above which a context is too large
)

// Intervention is the advice of the arbiter to both roles.
type Intervention struct {
	Type            string   `json:"type" allow:"enum=CONTEXT_EXPAND|LOOP_BREAK|SOFT_CORRECT"`
	Reason          string   `json:"reason"`
	Action          string   `json:"action"`
	NewContextFiles []string `json:"newContextFiles,omitempty"`
}

// Arbitrate returns the first intervention that applies, or nil. It considers the new files of a round, the issues of
// the last four rounds, and the number of all files, in this order.
func Arbitrate(newFiles []string, recent []Raised, files int) *Intervention {
	if len(newFiles) >= manyNewFiles {
		return expand(len(newFiles), newFiles)
	}
	if id, n := looping(recent); n >= loopRounds {
		return &Intervention{
			Type:   LoopBreak,
			Reason: fmt.Sprintf("%s was raised in %d of the last %d rounds", id, n, recentRounds),
			Action: "settle " + id + " with new evidence, or leave it to the verdict",
		}
	}
	if files > wideContext {
		return &Intervention{Type: SoftCorrect, Reason: fmt.Sprintf("the context has grown to %d files", files),
			Action: "go back to the target and its requirements; name no more files than you need"}
	}
	return nil
}

// arbitrate returns the intervention in a round that added files. Nobody is told to read them before the next round if
// none follows.
func (s *Session) arbitrate(newFiles []string) *Intervention {
	if s.Over() {
		newFiles = nil
	}
	return Arbitrate(newFiles, s.Recent, s.Files)
}

func expand(n int, newFiles []string) *Intervention {
	return &Intervention{Type: ContextExpand, Reason: fmt.Sprintf("the round discovered %d new files", n),
		Action: "read the new files before the next round", NewContextFiles: newFiles}
}

// looping returns the issue that most of the rounds raise and their number. Of equal ones it returns the latest.
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

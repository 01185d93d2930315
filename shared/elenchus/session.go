package elenchus

import (
	"fmt"
	"io"
	"strings"
	"time"

	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/fault"
)

// Status is where a verification stands.
type Status string

// The statuses. Converged and forced_stop take no more rounds and can be gone back
// from; completed is the end.
const (
	Initialized Status = "initialized"
	Verifying   Status = "verifying"
	Converging  Status = "converging"
	Converged   Status = "converged"
	ForcedStop  Status = "forced_stop"
	Completed   Status = "completed"
)

// Role is who submits a round.
type Role string

// The roles; Complete stands for nobody's turn.
const (
	Verifier Role = "verifier"
	Critic   Role = "critic"
	Complete Role = "complete"
)

// Verdict is what a verification came to.
type Verdict string

const (
	// idle is how long a verification may rest before a sweep stops it.
	idle = 7 * 24 * time.Hour
	// kept is how long one is kept after its end.
	kept = 90 * 24 * time.Hour
	// recentRounds is how many rounds the arbiter looks at.
	recentRounds = 4
)

// Raised is the issues that a round named.
type Raised struct {
	Round int      `json:"round"`
	IDs   []string `json:"ids"`
}

// State is what a checkpoint keeps and a rollback restores. It is small, and no
// longer after many rounds than after few, but for the list of checkpoints.
type State struct {
	Status       Status `json:"status"`
	CurrentRound int    `json:"currentRound"`
	// QuietRounds is how many rounds in a row have raised no new issue.
	QuietRounds int    `json:"quietRounds"`
	Counts      Counts `json:"counts"`
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	// Discovered is how many files have come since the last round.
	Discovered int             `json:"discovered"`
	Recent     []Raised        `json:"recent"`
	Modules    []source.Module `json:"modules"`
	// Packages are directories with Go files, and Unplaced what the target imports while
	// no go.mod says where that is.
	Packages []string `json:"packages"`
	Unplaced []string `json:"unplaced"`
	// Checkpoints are the rounds that can be gone back to, and CheckpointTick the
	// time of the last of them.
	Checkpoints    []int `json:"checkpoints"`
	CheckpointTick int64 `json:"checkpointTick"`
}

// Session is a verification. Ticks count its changes and never go back.
type Session struct {
	Target       string `json:"target"`
	Requirements string `json:"requirements"`
	WorkingDir   string `json:"workingDir"`
	MaxRounds    int    `json:"maxRounds"`
	By           string `json:"by"`
	Verified     bool   `json:"verified"`
	State
	Tick    int64   `json:"tick"`
	Verdict Verdict `json:"verdict,omitempty"`
	// RollingBack is set while a rollback is under way.
	RollingBack *Rollback `json:"rollingBack,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	EndedAt     time.Time `json:"endedAt,omitzero"`
	// SweepAt is when a sweep must look at it: to stop it, or to delete it.
	SweepAt time.Time `json:"sweepAt"`
	Purging bool      `json:"purging,omitempty"`
}

// Rollback is where an unfinished rollback goes.
type Rollback struct {
	Round int `json:"round"`
}

// Over says whether no more rounds are taken.
func (s *Session) Over() bool {
	return s.Status == Converged || s.Status == ForcedStop || s.Status == Completed
}

// NextRole is whose turn it is.
func (s *Session) NextRole() Role {
	switch {
	case s.Over():
		return Complete
	case s.CurrentRound%2 == 0:
		return Verifier
	}
	return Critic
}

// MayTake says why a role may not submit the next round, or nil.
func (s *Session) MayTake(id string, role Role) error {
	switch {
	case s.Status == Completed:
		return s.ended(id)
	case s.Over():
		return fault.New(fault.Precondition, "verification %s takes no more rounds: its status is %s. End it with elenchus_end_session, or go back with elenchus_rollback", id, s.Status)
	case role != s.NextRole():
		return fault.New(fault.Precondition, "it is the %s's turn: round %d of verification %s is not the %s's", s.NextRole(), s.CurrentRound+1, id, role)
	}
	return nil
}

func (s *Session) ended(id string) error {
	return fault.New(fault.Precondition, "verification %s ended at %s with the verdict %s", id, s.EndedAt.Format(time.RFC3339), s.Verdict)
}

// MayChange says why nothing more may be added to the record, or nil.
func (s *Session) MayChange(id string) error {
	if s.Status == Completed {
		return s.ended(id)
	}
	return nil
}

// touch notes a change, which puts the sweep off.
func (s *Session) touch(now time.Time) {
	s.Tick++
	s.UpdatedAt, s.SweepAt = now, now.Add(idle)
	if s.Status != Completed {
		s.EndedAt = time.Time{}
	}
}

// Take counts a round that named these issues, fresh of them for the first time. The
// issues' counts are already in.
func (s *Session) Take(ids []string, fresh int, now time.Time) {
	s.CurrentRound++
	s.QuietRounds++
	if fresh > 0 {
		s.QuietRounds = 0
	}
	s.Recent = append(s.Recent, Raised{s.CurrentRound, ids})
	if n := len(s.Recent); n > recentRounds {
		s.Recent = s.Recent[n-recentRounds:]
	}
	s.Discovered = 0
	s.touch(now)
	switch c := s.Convergence(); {
	case s.CurrentRound >= s.MaxRounds:
		s.Status = ForcedStop
	case c.IsConverged:
		s.Status = Converged
	case c.CriticalUnresolved == 0 && c.RoundsWithoutNewIssues > 0:
		s.Status = Converging
	default:
		s.Status = Verifying
	}
}

// End stores the verdict. One wins; the others are told which.
func (s *Session) End(id string, v Verdict, now time.Time) error {
	if err := s.MayChange(id); err != nil {
		return err
	}
	s.touch(now)
	s.Status, s.Verdict, s.EndedAt, s.SweepAt = Completed, v, now, now.Add(kept)
	return nil
}

// Abandon stops a verification that nobody has touched for a week and says whether
// it did; converged ones stay so. It is kept for 90 days, and can still be ended, or
// gone back in.
func (s *Session) Abandon(now time.Time) bool {
	if s.Status == Completed || !s.EndedAt.IsZero() || now.Before(s.SweepAt) {
		return false
	}
	if !s.Over() {
		s.Status = ForcedStop
	}
	s.EndedAt, s.SweepAt = now, now.Add(kept)
	return true
}

// Spent says whether its time in the store is over.
func (s *Session) Spent(now time.Time) bool {
	return s.Purging || (!s.EndedAt.IsZero() && !now.Before(s.SweepAt))
}

// maxSlug is how much of the target an id shows.
const maxSlug = 30

// newID is a session's id: its day, its target, and six random characters, which say
// nothing and are what makes it one of its kind.
func newID(target string, now time.Time, random io.Reader) (string, error) {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	// Bytes past the last whole multiple of 36 would favour the first letters.
	const fair = 256 - 256%len(letters)
	var tail [6]byte
	for i := 0; i < len(tail); {
		var b [1]byte
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return "", fault.Wrap(fault.Internal, err, "random source")
		}
		if int(b[0]) < fair {
			tail[i] = letters[int(b[0])%len(letters)]
			i++
		}
	}
	return fmt.Sprintf("%s_%s_%s", now.UTC().Format(time.DateOnly), slug(target), tail[:]), nil
}

// slug is a text as lower-case letters, digits and single hyphens.
func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9'):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxSlug {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "target"
}

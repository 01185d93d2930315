package elenchus

import (
	"fmt"
	"io"
	"strings"
	"time"

	"parley.internal/shared/elenchus/source"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// Status is the status of a verification.
type Status string

// The statuses of a verification. Converged and ForcedStop accept a rollback and no more rounds. Completed is final.
const (
	Initialized Status = "initialized"
	Verifying   Status = "verifying"
	Converging  Status = "converging"
	Converged   Status = "converged"
	ForcedStop  Status = "forced_stop"
	Completed   Status = "completed"
)

// Role is the role of an agent in a round.
type Role string

// The roles. Complete is the next role of a verification that accepts no more rounds.
const (
	Verifier Role = "verifier"
	Critic   Role = "critic"
	Complete Role = "complete"
)

// Verdict is the verdict of a verification: PASS, FAIL or CONDITIONAL.
type Verdict string

const (
	// idle is the time without a change after which a sweep stops a verification.
	idle = 7 * 24 * time.Hour
	// kept is the time from the end of a verification to its deletion.
	kept = 90 * 24 * time.Hour
	// recentRounds is the number of rounds that the arbiter considers.
	recentRounds = 4
)

// Raised lists the issues that a round named, with the tick under which the round is stored and the size of its output.
type Raised struct {
	Round int      `json:"round"`
	IDs   []string `json:"ids"`
	Tick  int64    `json:"tick,omitempty"`
	Bytes int      `json:"bytes,omitempty"`
}

// State is the part of a session that a checkpoint stores and a rollback restores. It is small, and only its list of
// checkpoints grows with the rounds.
type State struct {
	Status       Status `json:"status"`
	CurrentRound int    `json:"currentRound"`
	// QuietRounds is the number of consecutive rounds without a new issue.
	QuietRounds int    `json:"quietRounds"`
	Counts      Counts `json:"counts"`
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	// Discovered is the number of files added by the last round and since.
	Discovered int             `json:"discovered"`
	Recent     []Raised        `json:"recent"`
	Modules    []source.Module `json:"modules"`
	// Packages are directories with Go files. Unplaced are import paths of the target that no known go.mod resolves.
	Packages []string `json:"packages"`
	Unplaced []string `json:"unplaced"`
	// Checkpoints are the rounds with a checkpoint. CheckpointTick is the tick of the last one.
	Checkpoints    []int `json:"checkpoints"`
	CheckpointTick int64 `json:"checkpointTick"`
}

// Session is a verification. Tick counts its changes. A rollback does not reset it.
type Session struct {
	Target       string `json:"target"`
	Requirements string `json:"requirements"`
	WorkingDir   string `json:"workingDir"`
	MaxRounds    int    `json:"maxRounds"`
	// By is the caller that started the verification, as [identity.Caller.Actor] names it, and Verified whether its key
	// is bound to that program.
	By       string `json:"by"`
	Verified bool   `json:"verified"`
	// Maker is the owner of the verification, and Takers are those of the roles, by their first rounds. Verifications
	// from before ownership was kept have none; see [Session.Owner].
	Maker  identity.Owner          `json:"maker,omitzero"`
	Takers map[Role]identity.Owner `json:"takers,omitempty"`
	State
	Tick    int64   `json:"tick"`
	Verdict Verdict `json:"verdict,omitempty"`
	// EndedBy is the caller that gave the verdict, as [identity.Caller.Actor] names it.
	EndedBy string `json:"endedBy,omitempty"`
	// RollingBack is the rollback in progress, or nil.
	RollingBack *Rollback `json:"rollingBack,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	EndedAt     time.Time `json:"endedAt,omitzero"`
	// SweepAt is the time at which a sweep stops or deletes the verification.
	SweepAt time.Time `json:"sweepAt"`
	// Purging marks a verification that is being deleted.
	Purging bool `json:"purging,omitempty"`
}

// Rollback is a rollback in progress to a round.
type Rollback struct {
	Round int `json:"round"`
}

// Over reports whether the verification accepts no more rounds.
func (s *Session) Over() bool {
	return s.Status == Converged || s.Status == ForcedStop || s.Status == Completed
}

// NextRole returns the role that submits the next round, or [Complete].
func (s *Session) NextRole() Role {
	switch {
	case s.Over():
		return Complete
	case s.CurrentRound%2 == 0:
		return Verifier
	}
	return Critic
}

// Owner returns the owner of the verification: the caller that started it. A verification without a maker belongs to
// its verified program, or else to people.
func (s *Session) Owner() identity.Owner {
	if s.Maker == (identity.Owner{}) && s.Verified {
		return identity.Owner{Program: s.By}
	}
	return s.Maker
}

// mayEnd returns [fault.Forbidden] unless the caller started the verification or is a person.
func (s *Session) mayEnd(c identity.Caller, id string) error {
	if s.Owner().Is(c) {
		return nil
	}
	return fault.New(fault.Forbidden, "only %s may end verification %s or roll it back; %s",
		s.Owner().Or("started it"), id, c)
}

// plays reports whether the caller may submit rounds of the role: it took the role, nobody has taken it, or the caller
// started the verification or is a person.
func (s *Session) plays(c identity.Caller, role Role) bool {
	taker, taken := s.Takers[role]
	return !taken || taker.Is(c) || s.Owner().Is(c)
}

// mayPlay returns [fault.Forbidden] unless the caller may submit rounds of the role.
func (s *Session) mayPlay(c identity.Caller, id string, role Role) error {
	if s.plays(c, role) {
		return nil
	}
	return fault.New(fault.Forbidden,
		"%s has taken the role of the %s in verification %s; only it or %s may submit in that role; %s",
		s.Takers[role], role, id, s.Owner().Or("started it"), c)
}

// mayHelp returns [fault.Forbidden] unless the caller may submit rounds of one of the roles. It may then also change the
// shared context, and take checkpoints.
func (s *Session) mayHelp(c identity.Caller, id string) error {
	if s.plays(c, Verifier) || s.plays(c, Critic) {
		return nil
	}
	return fault.New(fault.Forbidden,
		"the roles of verification %s are taken by %s and %s; only they or %s may change it; %s", id,
		s.Takers[Verifier], s.Takers[Critic], s.Owner().Or("started it"), c)
}

// take records the caller that submits a role's first round.
func (s *Session) take(c identity.Caller, role Role) {
	if _, taken := s.Takers[role]; taken {
		return
	}
	if s.Takers == nil {
		s.Takers = map[Role]identity.Owner{}
	}
	s.Takers[role] = c.Owner()
}

// MayTake returns nil if the role may submit the next round, and [fault.Precondition] otherwise.
func (s *Session) MayTake(id string, role Role) error {
	switch {
	case s.Status == Completed:
		return s.ended(id)
	case s.Over():
		return fault.New(fault.Precondition,
			"verification %s takes no more rounds: its status is %s. End it with elenchus_end_session, or go back "+
				"with elenchus_rollback",
			id, s.Status)
	case role != s.NextRole():
		return fault.New(fault.Precondition, "it is the %s's turn: round %d of verification %s is not the %s's",
			s.NextRole(), s.CurrentRound+1, id, role)
	}
	return nil
}

func (s *Session) ended(id string) error {
	return fault.New(fault.Precondition, "verification %s ended at %s with the verdict %s", id,
		s.EndedAt.Format(time.RFC3339), s.Verdict)
}

// MayChange returns [fault.Precondition] if the verification has ended, after which its record does not change.
func (s *Session) MayChange(id string) error {
	if s.Status == Completed {
		return s.ended(id)
	}
	return nil
}

// touch counts a change and postpones the sweep.
func (s *Session) touch(now time.Time) {
	s.Tick++
	s.UpdatedAt, s.SweepAt = now, now.Add(idle)
	if s.Status != Completed {
		s.EndedAt = time.Time{}
	}
}

// Take counts a round that named the issues with the given ids, of which fresh are new, and sets the status. The caller
// must have counted the issues before.
func (s *Session) Take(ids []string, fresh int, now time.Time) {
	s.CurrentRound++
	s.QuietRounds++
	if fresh > 0 {
		s.QuietRounds = 0
	}
	s.Recent = append(s.Recent, Raised{Round: s.CurrentRound, IDs: ids, Tick: s.Tick + 1})
	if n := len(s.Recent); n > recentRounds {
		s.Recent = s.Recent[n-recentRounds:]
	}
	s.Discovered = 0
	s.touch(now)
	switch c := s.Convergence(); {
	case c.IsConverged:
		s.Status = Converged
	case s.CurrentRound >= s.MaxRounds:
		s.Status = ForcedStop
	case c.CriticalUnresolved == 0 && c.RoundsWithoutNewIssues > 0:
		s.Status = Converging
	default:
		s.Status = Verifying
	}
}

// End ends the verification with a verdict. It returns [fault.Precondition] if the verification has a verdict already.
func (s *Session) End(id string, v Verdict, now time.Time) error {
	if err := s.MayChange(id); err != nil {
		return err
	}
	s.touch(now)
	s.Status, s.Verdict, s.EndedAt, s.SweepAt = Completed, v, now, now.Add(kept)
	return nil
}

// Abandon stops a verification without activity for a week, and reports whether it did. A converged one keeps its
// status. A stopped verification is kept for 90 days, and still accepts an end or a rollback.
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

// Spent reports whether the verification is due to be deleted.
func (s *Session) Spent(now time.Time) bool {
	return s.Purging || (!s.EndedAt.IsZero() && !now.Before(s.SweepAt))
}

// maxSlug is the length of the part of an id that comes from the target.
const maxSlug = 30

// newID returns a session id: the day, the target, and six random characters that make it unique.
func newID(target string, now time.Time, random io.Reader) (string, error) {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	// Bytes above the largest multiple of 36 would favour the first characters.
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

// slug returns a text as lower-case letters, digits and single hyphens, and "target" if it has none of them.
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

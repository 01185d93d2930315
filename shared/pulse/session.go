package pulse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// State is what a session says that it is doing.
type State string

// The states.
const (
	Working  State = "working"
	Blocked  State = "blocked"
	Complete State = "complete"
	Pinned   State = "pinned"
)

// Retention is how long an ended session and its archive record are kept.
const Retention = 30 * 24 * time.Hour

// Session is a document of the collection.
type Session struct {
	Name        string      `json:"name"`
	ProgramID   string      `json:"programId,omitempty"`
	Verified    bool        `json:"verified"`
	Status      string      `json:"status,omitempty"`
	State       State       `json:"state"`
	Lifecycle   task.Status `json:"lifecycle"`
	Progress    int         `json:"progress"`
	ProjectName string      `json:"projectName,omitempty"`
	CreatedAt   time.Time   `json:"createdAt"`
	UpdatedAt   time.Time   `json:"updatedAt"`
	EndedAt     time.Time   `json:"endedAt,omitzero"`
	Archived    bool        `json:"archived"`
	// Life counts how often the session began: once, and again with each revival.
	Life int `json:"life"`
	// LastHeartbeat is kept here once the session is archived and its heartbeat gone.
	LastHeartbeat time.Time `json:"lastHeartbeat,omitzero"`
	PurgeAt       time.Time `json:"purgeAt,omitzero"`
}

// Heartbeat is when a session was last heard of, in a document named after it.
type Heartbeat struct {
	At        time.Time `json:"at"`
	ProgramID string    `json:"programId,omitempty"`
}

// Record is a session as it was when it was archived.
type Record struct {
	Session
	SessionID string `json:"sessionId"`
}

// A session is found by its lifecycle, newest first; what it says of itself and
// whose it is narrow that.
var sessions = store.Collection[Session]{Name: "sessions", Indexes: []string{"lifecycle,createdAt desc"},
	Filters: []string{"state,createdAt desc", "programId,createdAt desc"}, Unindexed: []string{"name", "status"}}

var heartbeats = store.Collection[Heartbeat]{Name: "heartbeats", AllUsers: []string{"at"}}

var archive = store.Collection[Record]{Name: "archive", Unindexed: []string{"name", "status"}}

// Defs declares the collections of presence.
func (*Service) Defs() []*store.Def {
	return []*store.Def{sessions.Def(), heartbeats.Def(), archive.Def()}
}

// Lifecycle is where a session in the state stands.
func (s State) Lifecycle() task.Status {
	switch s {
	case Blocked, Pinned:
		return task.Blocked
	case Complete:
		return task.Done
	}
	return task.Active
}

// Live says whether the session has not ended.
func (s *Session) Live() bool { return s.Lifecycle == task.Active || s.Lifecycle == task.Blocked }

// enter puts a session into the state, from wherever it stands: a new one begins,
// and one that ended is revived.
func (s *Session) enter(state State, now time.Time) error {
	s.State = state
	to := state.Lifecycle()
	if s.Lifecycle != to && !s.Live() {
		if err := s.step(task.Active, now); err != nil {
			return err
		}
	}
	return s.step(to, now)
}

// step makes one transition. Staying is none.
func (s *Session) step(to task.Status, now time.Time) error {
	if s.Lifecycle == to {
		return nil
	}
	if err := Move(s.Lifecycle, to); err != nil {
		return err
	}
	revived := s.Lifecycle == task.Derezzed
	s.Lifecycle = to
	switch {
	case s.Live():
		s.EndedAt = time.Time{}
	case s.EndedAt.IsZero():
		s.EndedAt = now
	}
	if s.Archived = to == task.Derezzed; s.Archived {
		s.PurgeAt = now.Add(Retention)
	}
	if revived {
		s.Life++
		s.LastHeartbeat, s.PurgeAt = time.Time{}, time.Time{}
	}
	return nil
}

// mine refuses a key that is bound to another program than the session's. A
// session of no program is anyone's.
func (s *Session) mine(c identity.Caller, id string) error {
	if c.Bound() && s.ProgramID != "" && s.ProgramID != c.Program {
		return fault.New(fault.Forbidden, "session %q is of %q; this key speaks for %q: use a session of your own", id,
			s.ProgramID, c.Program)
	}
	return nil
}

// recordID names the archive record of one life of a session.
func recordID(id string, life int) string { return id + "." + strconv.Itoa(life) }

// noticeID names the message that tells of a task which a session held when it
// ended in this life, so that a repeated sweep makes no second one. It is short
// enough for any id of a document.
func noticeID(id string, life int, taskID string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", id, life, taskID))
	return "ended-" + hex.EncodeToString(sum[:16])
}

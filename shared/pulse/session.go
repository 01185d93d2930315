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

// State is the state that an agent reports for its session.
type State string

// The states.
const (
	Working  State = "working"
	Blocked  State = "blocked"
	Complete State = "complete"
	Pinned   State = "pinned"
)

// Retention is the time for which an archived session and its record are kept.
const Retention = 30 * 24 * time.Hour

// Session is the document of a session.
type Session struct {
	// Address is the session's id as its callers give it, where that is an address: the id of the document is made from
	// it. It is empty in other sessions, whose documents have their ids.
	Address   string `json:"address,omitempty"`
	Name      string `json:"name"`
	ProgramID string `json:"programId,omitempty"`
	Verified  bool   `json:"verified"`
	// Maker is the caller that created the session. Sessions from before ownership was kept have none.
	Maker identity.Owner `json:"maker,omitzero"`
	// KeyID is the key that began the session or revived it. Older sessions have none.
	KeyID       string      `json:"keyId,omitempty"`
	Status      string      `json:"status,omitempty"`
	State       State       `json:"state"`
	Lifecycle   task.Status `json:"lifecycle"`
	Progress    int         `json:"progress"`
	ProjectName string      `json:"projectName,omitempty"`
	CreatedAt   time.Time   `json:"createdAt"`
	UpdatedAt   time.Time   `json:"updatedAt"`
	EndedAt     time.Time   `json:"endedAt,omitzero"`
	Archived    bool        `json:"archived"`
	// Life is 1 for a new session and counts up with each revival.
	Life int `json:"life"`
	// LastHeartbeat is set when the session is archived and its heartbeat deleted.
	LastHeartbeat time.Time `json:"lastHeartbeat,omitzero"`
	PurgeAt       time.Time `json:"purgeAt,omitzero"`
}

// Heartbeat is the document of a session's last heartbeat. It has the id of the session.
type Heartbeat struct {
	At        time.Time `json:"at"`
	ProgramID string    `json:"programId,omitempty"`
}

// Record is a copy of a session at the time of its archiving.
type Record struct {
	Session
	SessionID string `json:"sessionId"`
}

// Sessions are queried by lifecycle, newest first, and filtered by state and program.
var sessions = store.Collection[Session]{Name: "sessions", PartOf: "a session",
	Indexes: []string{"lifecycle,createdAt desc"},
	Filters: []string{"state,createdAt desc", "programId,createdAt desc"}, Unindexed: []string{"name", "status", "address", "keyId"},
	Log: "session", Note: (*Session).logged}

// logged describes the session in the log.
func (s *Session) logged(doc string) store.Note {
	line := s.Name
	if s.Status != "" {
		line += ": " + s.Status
	}
	return store.Note{ID: s.id(doc), Line: line, State: string(s.State), Program: s.ProgramID}
}

var heartbeats = store.Collection[Heartbeat]{Name: "heartbeats", PartOf: "a session", AllUsers: []string{"at"}}

var archive = store.Collection[Record]{Name: "archive", Unindexed: []string{"name", "status", "address", "keyId"}}

// Defs declares the collections of presence.
func (*Service) Defs() []*store.Def {
	return []*store.Def{sessions.Def(), heartbeats.Def(), archive.Def()}
}

// Lifecycle returns the status of a session in that state.
func (s State) Lifecycle() task.Status {
	switch s {
	case Blocked, Pinned:
		return task.Blocked
	case Complete:
		return task.Done
	}
	return task.Active
}

// Live reports whether the session has not ended.
func (s *Session) Live() bool { return s.Lifecycle == task.Active || s.Lifecycle == task.Blocked }

// enter gives a session a state from any other: a new session begins, and one that has ended is
// revived.
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

// step makes one transition of the lifecycle. A step to the same status does nothing; one that the
// lifecycle does not allow is Precondition.
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

// owner returns the owner of the session, who may continue it, the zero value if that is unknown. A session that a
// person made for a program is the program's; one from before owners were kept is that of its verified program.
func (s *Session) owner() identity.Owner {
	if unknown := s.Maker == (identity.Owner{}); unknown && s.Verified || s.Maker.Human && s.ProgramID != "" {
		return identity.Owner{Program: s.ProgramID}
	}
	return s.Maker
}

// checkOwner returns Forbidden if the session is another caller's. One without a known owner is anyone's who may speak
// as the program that it was said to have.
func (s *Session) checkOwner(c identity.Caller, id string) error {
	owner := s.owner()
	if owner == (identity.Owner{}) {
		_, _, err := c.SpeaksAs(s.ProgramID)
		return err
	}
	if owner.Is(c) {
		return nil
	}
	return fault.New(fault.Forbidden, "session %q is of %s; %s: use a session of your own", id, owner, c)
}

// adopt makes a caller that continues a session without an owner its owner. A person owns only new sessions.
func (s *Session) adopt(c identity.Caller) {
	if s.Maker == (identity.Owner{}) && !c.IsHuman() {
		s.Maker = c.Owner()
	}
}

// owns reports whether a claim that names the session falls with it: its claimant is the session's owner. Under the
// session of a person or of an unknown owner every claim falls.
func (s *Session) owns(claimant string) bool {
	switch owner := s.owner(); {
	case owner.Program != "":
		return identity.Same(owner.Program, claimant)
	case owner.Human || owner.KeyID == "":
		return true
	default:
		return owner.String() == claimant
	}
}

// recordID returns the id of the archive record of one life of a session.
func recordID(id string, life int) string { return id + "." + strconv.Itoa(life) }

// noticeID returns the id of the message about a task that a session held when this life of it
// ended. It is the same for a repeated sweep, which so sends no second message.
func noticeID(id string, life int, taskID string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", id, life, taskID))
	return "ended-" + hex.EncodeToString(sum[:16])
}

package pulse

import (
	"context"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Seat is a session as another domain that keeps it alive sees it.
type Seat struct {
	// Found means that there is a session of the program under the address; the other fields are zero otherwise.
	Found   bool
	Session Session
	// Heard is the time of its last heartbeat.
	Heard time.Time

	doc string
}

// Mine reports whether the caller may continue the session.
func (s Seat) Mine(c identity.Caller) bool { return s.Found && s.Session.checkOwner(c, "") == nil }

// Seat prepares to read the session of an address, for another domain, by [store.Load]. read gives it afterwards.
func (*Service) Seat(address string) (fetches []*store.Fetch, read func() Seat) {
	program, name := identity.SplitAddress(address)
	ids := []string{docID(address)}
	if name != "" && docID(name) != ids[0] {
		ids = append(ids, docID(name)) // a session that was given this id without its program
	}
	seats, beats := make([]Seat, len(ids)), make([]Heartbeat, len(ids))
	for i, id := range ids {
		fetches = append(fetches, sessions.Fetch(id, &seats[i].Session), heartbeats.Fetch(id, &beats[i]))
	}
	return fetches, func() Seat {
		for i, id := range ids {
			if fetches[2*i].Found && identity.Same(seats[i].Session.ProgramID, program) {
				return Seat{Found: true, Session: seats[i].Session, Heard: beats[i].At, doc: id}
			}
		}
		return Seat{}
	}
}

// Beat writes a heartbeat of a session that [Service.Seat] has found, and its activity. It reads nothing, so that a
// transaction of it alone is one commit; if the session was deleted meanwhile, the commit fails as NotFound.
func (s *Service) Beat(tx *store.Tx, seat Seat, doing string) {
	now := s.Now()
	heartbeats.Put(tx, seat.doc, Heartbeat{At: now, ProgramID: seat.Session.ProgramID})
	if doing != "" && doing != seat.Session.Status {
		sessions.Patch(tx, seat.doc, store.Set("status", doing), store.Set("updatedAt", now))
	}
}

// Names returns the texts that name the session of an address in claims.
func Names(address string) []string {
	if _, name := identity.SplitAddress(address); name != "" {
		return []string{address, name}
	}
	return []string{address}
}

// Close ends the session of an address as complete, and gives its unread mail to its program. One that has ended stays
// as it is.
func (s *Service) Close(ctx context.Context, c identity.Caller, address string) error {
	_, err := s.Update(ctx, c, UpdateInput{SessionID: address, State: Complete})
	return err
}

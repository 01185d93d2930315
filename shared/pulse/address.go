package pulse

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// docID returns the id of the document of a session, which its caller names by an id or an address.
func docID(session string) string {
	if strings.Contains(session, "/") {
		return identity.NameID(session)
	}
	return session
}

// id returns the session's id for its callers.
func (s *Session) id(doc string) string { return cmp.Or(s.Address, doc) }

// names returns the texts that name the session in a claim: its id and, if it has a program, its address and its name in
// the program.
func (s *Session) names(doc string) []string {
	id := s.id(doc)
	if s.ProgramID == "" {
		return []string{id}
	}
	address := identity.Address(s.ProgramID, id)
	if address != id {
		return []string{id, address}
	}
	_, name := identity.SplitAddress(address)
	return []string{id, name}
}

// lookup finds the session that an id or an address means, and the id of its document. The session "build" of a program
// is also found by its address and the other way round. A session that is not found has the id of the document that it
// would have.
func lookup(ctx context.Context, r store.Reader, program, session string) (doc string, v Session, found bool, err error) {
	owner, name, qualified := strings.Cut(session, "/")
	other := identity.Address(program, session)
	if qualified {
		program, other = owner, name
	}
	f := sessions.Fetch(docID(session), &v)
	if err := store.Load(ctx, r, f); err != nil || f.Found || docID(other) == docID(session) {
		return docID(session), v, f.Found, err
	}
	var alias Session
	a := sessions.Fetch(docID(other), &alias)
	if err := store.Load(ctx, r, a); err != nil {
		return "", v, false, err
	}
	if a.Found && identity.Same(alias.ProgramID, program) {
		return docID(other), alias, true, nil
	}
	return docID(session), v, false, nil
}

// Life prepares to read a program's session, given by its id or its address, for another domain. After the fetches are
// loaded, read tells whether the session is known and has ended, and when it was last heard of, zero if that is unknown.
func (*Service) Life(program, session string) (fetches []*store.Fetch, read func() (ended bool, heard time.Time)) {
	other := identity.Address(program, session)
	if owner, name, qualified := strings.Cut(session, "/"); qualified {
		program, other = owner, name
	}
	var v, alias Session
	var beat, aliasBeat Heartbeat
	f := sessions.Fetch(docID(session), &v)
	fetches = []*store.Fetch{f, heartbeats.Fetch(docID(session), &beat)}
	if docID(other) != docID(session) {
		fetches = append(fetches, sessions.Fetch(docID(other), &alias), heartbeats.Fetch(docID(other), &aliasBeat))
	}
	return fetches, func() (bool, time.Time) {
		found := f.Found
		if !found && len(fetches) > 2 && fetches[2].Found && identity.Same(alias.ProgramID, program) {
			v, beat, found = alias, aliasBeat, true
		}
		heard := beat.At
		if v.LastHeartbeat.After(heard) {
			heard = v.LastHeartbeat
		}
		return found && !v.Live(), heard
	}
}

// maxNumbered is the largest number of sessions of a program that are not archived at once, among which a free number is
// looked for.
const maxNumbered = 500

// nextAddress returns the address with the lowest number that no session of the program has which is not archived.
func nextAddress(ctx context.Context, tx *store.Tx, c identity.Caller, program string) (string, error) {
	q := listed(maxNumbered)
	q.Where = append(q.Where, store.In("programId", spellings(c, program)...))
	page, err := sessions.Query(ctx, tx, q)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, d := range page.Docs {
		taken[identity.Fold(identity.Address(program, d.Value.id(d.ID)))] = true
	}
	for n := 1; n <= maxNumbered; n++ {
		if address := program + "/" + strconv.Itoa(n); !taken[identity.Fold(address)] {
			return address, nil
		}
	}
	return "", fault.New(fault.Precondition, "%q has %d sessions that have not ended; give a sessionId, or end some with "+
		"update_session, state complete", program, maxNumbered)
}

// SessionLive reports whether there is a session with the address and it has not ended.
func (s *Service) SessionLive(ctx context.Context, r store.Reader, address string) (bool, error) {
	program, _ := identity.SplitAddress(address)
	_, v, found, err := lookup(ctx, r, program, address)
	return found && v.Live() && identity.Same(v.ProgramID, program), err
}

// Sessions returns the addresses of the live sessions of a program, newest first.
func (s *Service) Sessions(ctx context.Context, user, program string) ([]string, error) {
	q := live(maxNumbered)
	q.Where = append(q.Where, store.In("programId", spellings(identity.Caller{Program: program}, program)...))
	page, err := sessions.Query(ctx, s.DB.User(user), q)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, d := range page.Docs {
		addresses = append(addresses, identity.Address(program, d.Value.id(d.ID)))
	}
	return addresses, nil
}

package council

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// maxActive limits the active councils that are read, and listed in a fault, if a call names none.
const maxActive = 20

// active returns the active councils, newest first.
func active(ctx context.Context, r store.Reader, limit int) ([]Session, error) {
	page, err := councils.Query(ctx, r,
		store.Query{Where: []store.Cond{store.Eq("status", Active)}, Order: []string{"created_at desc"}, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := make([]Session, len(page.Docs))
	for i, d := range page.Docs {
		out[i] = d.Value
	}
	return out, nil
}

// soleActive returns the only active council, or nil if there is none. It does not choose between several: it
// returns [fault.Precondition] with a message that lists them.
func soleActive(found []Session) (*Session, error) {
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return &found[0], nil
	}
	names := make([]string, len(found))
	for i, s := range found {
		names[i] = fmt.Sprintf("%s (started by %s at %s)", s.ID, s.CreatedBy, s.CreatedAt.Format(time.RFC3339))
	}
	more := ""
	if len(found) == maxActive {
		more = "; list_councils shows all"
	}
	return nil, fault.New(fault.Precondition,
		"Several councils are active, and you have joined none: give session_id, one of %s%s",
		strings.Join(names, ", "), more)
}

// find returns the council of a call: the one named by id, else the one that the agent started or joined last,
// else the only active one. It returns nil if there is none, [fault.NotFound] if id names none, and
// [fault.Precondition] if several are active. The fetches that with returns for the id are loaded together with
// the session.
func find(
	ctx context.Context, r store.Reader, agent speaker, id string, now time.Time, with func(id string) []*store.Fetch,
) (*Session, error) {
	named := id != ""
	if !named {
		var held seat
		if err := store.Load(ctx, r, seats.Fetch(agent.id(), &held)); err != nil {
			return nil, err
		}
		id = held.SessionID
	}
	if id != "" {
		var s Session
		f := councils.Fetch(id, &s)
		if err := store.Load(ctx, r, append(with(id), f)...); err != nil {
			return nil, err
		}
		if f.Found && !s.Gone(now) {
			return &s, nil
		}
		if named {
			return nil, errMissing(id)
		}
	}
	found, err := active(ctx, r, maxActive)
	if err != nil {
		return nil, err
	}
	s, err := soleActive(found)
	if err != nil || s == nil {
		return nil, err
	}
	return s, store.Load(ctx, r, with(s.ID)...)
}

// noFetches is for calls that need the session only.
func noFetches(string) []*store.Fetch { return nil }

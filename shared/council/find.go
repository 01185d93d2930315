package council

import (
	"context"
	"time"

	"parley.internal/shared/store"
)

const (
	// maxActive limits the active councils that a read without a council looks through for that of its agent.
	maxActive = 20
	// maxOthers limits the other active councils in the reply to a call that was given the newest one.
	maxOthers = 5
	// maxEnded limits the newest closed councils among which a call looks for one that is not gone.
	maxEnded = 5
)

// newest returns the newest councils of a status.
func newest(ctx context.Context, r store.Reader, status Status, limit int) ([]Session, error) {
	page, err := councils.Query(ctx, r,
		store.Query{Where: []store.Cond{store.Eq("status", status)}, Order: []string{"created_at desc"}, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := make([]Session, len(page.Docs))
	for i, d := range page.Docs {
		out[i] = d.Value
	}
	return out, nil
}

// newestClosed returns the newest closed council that can still be read, or nil if there is none.
func newestClosed(ctx context.Context, r store.Reader, now time.Time) (*Session, error) {
	found, err := newest(ctx, r, Closed, maxEnded)
	for i := range found {
		if !found[i].Gone(now) {
			return &found[i], err
		}
	}
	return nil, err
}

// first returns the newest of the active councils, which lists the next ones as the others.
func first(found []Session) *Session {
	s := &found[0]
	for _, other := range found[1:min(len(found), 1+maxOthers)] {
		s.others = append(s.others, Other{SessionID: other.ID, CreatedBy: other.CreatedBy, Title: other.Title})
	}
	return s
}

// find returns the council of a call: the one named by id, else the one that the agent started or joined last if
// it is active, else the newest active one, else the newest closed one. It returns nil if there is none, and
// [fault.NotFound] if id names none. The fetches that with returns for the id are loaded together with the session.
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
		if there := f.Found && !s.Gone(now); there && (named || s.Status == Active) {
			return &s, nil
		}
		if named {
			return nil, errMissing(id)
		}
	}
	found, err := newest(ctx, r, Active, 1+maxOthers)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return newestClosed(ctx, r, now)
	}
	s := first(found)
	return s, store.Load(ctx, r, with(s.ID)...)
}

// noFetches is for calls that need the session only.
func noFetches(string) []*store.Fetch { return nil }

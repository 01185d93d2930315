package council

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// maxActive is how many active councils are looked at, and listed, where a call names none.
const maxActive = 20

func active(ctx context.Context, r store.Reader, limit int) ([]Session, error) {
	page, err := councils.Query(ctx, r, store.Query{Where: []store.Cond{store.Eq("status", Active)}, Order: []string{"created_at desc"}, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := make([]Session, len(page.Docs))
	for i, d := range page.Docs {
		out[i] = d.Value
	}
	return out, nil
}

// only is the one active council, nil where there is none. Of several none is
// guessed: that is Precondition, and the message lists them.
func only(found []Session) (*Session, error) {
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
	return nil, fault.New(fault.Precondition, "Several councils are active, and you have joined none: give session_id, one of %s%s", strings.Join(names, ", "), more)
}

// find is the council that a call is about: the one it names, else the one that the
// agent last started or joined, else the only active one; nil where there is none.
// What with asks for is read along with it.
func find(ctx context.Context, r store.Reader, agent, id string, now time.Time, with func(id string) []*store.Fetch) (*Session, error) {
	named := id != ""
	if !named {
		var held seat
		if err := store.Load(ctx, r, seats.Fetch(agent, &held)); err != nil {
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
	s, err := only(found)
	if err != nil || s == nil {
		return nil, err
	}
	return s, store.Load(ctx, r, with(s.ID)...)
}

// none is for calls that need no more than the session.
func none(string) []*store.Fetch { return nil }

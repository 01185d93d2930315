package pulse

import (
	"context"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// maxCurrent is the number of the newest live sessions of a program among which the current one is looked for.
const maxCurrent = 15

// current returns the session of a call without an id: the newest one of the key that holds a claim, else the newest one
// of the key, else the newest one of the program. others has the heartbeats of the program's other sessions that hold
// claims, by the ids of their documents.
func (s *Service) current(
	ctx context.Context, tx *store.Tx, c identity.Caller,
) (doc string, v Session, others map[string]Heartbeat, err error) {
	if !c.Bound() {
		return "", v, nil, fault.New(fault.NotFound,
			"sessionId is required with a key that is bound to no program; create_session returned it")
	}
	q := live(maxCurrent)
	q.Where = append(q.Where, store.Eq("programId", c.Program))
	page, err := sessions.Query(ctx, tx, q)
	if err != nil {
		return "", v, nil, err
	}
	if len(page.Docs) == 0 {
		return "", v, nil, fault.New(fault.NotFound, "%q has no live session: begin one with create_session", c.Program)
	}
	at, working := 0, map[int]bool{}
	if len(page.Docs) > 1 {
		if working, err = s.working(ctx, tx, c, page.Docs); err != nil {
			return "", v, nil, err
		}
		at = chosen(page.Docs, working, c.KeyID)
	}
	others, now := map[string]Heartbeat{}, s.Now()
	for i, d := range page.Docs {
		if i != at && working[i] {
			others[d.ID] = Heartbeat{At: now, ProgramID: d.Value.ProgramID}
		}
	}
	return page.Docs[at].ID, page.Docs[at].Value, others, nil
}

// chosen returns the index of the current session among the live ones of a program, newest first.
func chosen(docs []store.Doc[Session], working map[int]bool, key string) int {
	own := -1
	for i, d := range docs {
		switch {
		case d.Value.KeyID == "" || d.Value.KeyID != key:
		case working[i]:
			return i
		case own < 0:
			own = i
		}
	}
	return max(own, 0)
}

// working returns the indexes of the sessions that hold a claim of the caller whose term is not over.
func (s *Service) working(
	ctx context.Context, tx *store.Tx, c identity.Caller, docs []store.Doc[Session],
) (map[int]bool, error) {
	at, ids := map[string]int{}, []string{}
	for i, d := range docs {
		id := d.Value.id(d.ID)
		for _, name := range []string{id, id[strings.LastIndexByte(id, '/')+1:]} {
			if _, known := at[name]; !known {
				at[name], ids = i, append(ids, name)
			}
		}
	}
	page, err := task.Leases.Query(ctx, tx, store.Query{Where: []store.Cond{store.In("sessionId", ids...)},
		Limit: store.MaxLimit})
	out, now := map[int]bool{}, s.Now()
	for _, d := range page.Docs {
		if l := d.Value; identity.Same(l.ClaimedBy, c.Actor()) && now.Before(l.LeaseUntil) {
			out[at[l.SessionID]] = true
		}
	}
	return out, err
}

package council

import (
	"context"
	"slices"
	"time"

	"parley.internal/shared/store"
)

// page limits the responses in a reply.
const page = 20

// snapshot is a council as one call has read it for an agent. A nil session means that there is no council.
type snapshot struct {
	agent   speaker
	cursor  cursor
	session *Session
	// part is the agent's own record; seen reports whether there is one.
	part     Participant
	seen     bool
	request  Request
	feedback []Feedback
}

// lookAt reads the council named by id, or else the current one of the agent, from the position of a cursor. It
// loads the responses in a second batch, once the session has told their number, and loads none for a reader
// that has them all. It returns [fault.NotFound] if id names no council.
func lookAt(ctx context.Context, r store.Reader, agent speaker, id string, cur cursor, now time.Time) (*snapshot, error) {
	guess, named := id, id != ""
	if !named {
		guess = cur.session
	}
	if guess == "" {
		return search(ctx, r, agent, cur, now)
	}
	l := &snapshot{agent: agent, cursor: cur}
	var s Session
	var held seat
	fetches, done := l.ownRecord(guess)
	f := councils.Fetch(guess, &s)
	fetches = append(fetches, f)
	if !named {
		fetches = append(fetches, seats.Fetch(agent.id(), &held))
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return nil, err
	}
	done()
	switch there := f.Found && !s.Gone(now); {
	case there && (named || held.SessionID == guess && s.Status == Active):
		l.session = &s
		return l, l.fill(ctx, r)
	case named:
		return nil, errMissing(id)
	}
	return search(ctx, r, agent, cur, now)
}

// ownRecord fetches the agent's own record. The caller runs done after loading; it sets l.seen.
func (l *snapshot) ownRecord(id string) (fetches []*store.Fetch, done func()) {
	if l.agent.name == "" {
		return nil, func() {}
	}
	f := participants.Under(id).Fetch(l.agent.id(), &l.part)
	return []*store.Fetch{f}, func() { l.seen = f.Found }
}

// unread fetches the unread part of a session: the request, without a cursor, and the next page of responses. The
// caller runs done after loading.
func (l *snapshot) unread(s *Session) (fetches []*store.Fetch, done func()) {
	cur := l.cursor.of(s)
	if cur.session == "" {
		fetches = append(fetches, requests.Fetch(s.ID, &l.request))
	}
	return l.after(fetches, s.ID, cur.seq, min(page, s.Responses-cur.seq))
}

// after adds fetches of the n responses that follow the number from. The function that it returns, run after
// loading, drops those that do not exist.
func (l *snapshot) after(fetches []*store.Fetch, id string, from, n int64) ([]*store.Fetch, func()) {
	l.feedback = make([]Feedback, n)
	own := make([]*store.Fetch, n)
	for i := range own {
		own[i] = responses.Under(id).Fetch(number(from+int64(i)+1), &l.feedback[i])
	}
	return append(fetches, own...), func() {
		found := 0
		for found < len(own) && own[found].Found {
			found++
		}
		l.feedback = l.feedback[:found]
	}
}

func (l *snapshot) fill(ctx context.Context, r store.Reader) error {
	fetches, done := l.unread(l.session)
	err := store.Load(ctx, r, fetches...)
	done()
	return err
}

// search reads the council of a call that names none: the one in the agent's seat if it is active, else the newest
// active one, else the newest closed one. It loads the likely council together with the seat, so that a first call
// takes no more round trips than a later one.
func search(ctx context.Context, r store.Reader, agent speaker, cur cursor, now time.Time) (*snapshot, error) {
	found, err := newest(ctx, r, Active, maxActive)
	if err != nil {
		return nil, err
	}
	l := &snapshot{agent: agent, cursor: cur, feedback: []Feedback{}}
	if len(found) == 0 {
		if l.session, err = newestClosed(ctx, r, now); err != nil || l.session == nil {
			return l, err
		}
		return l, l.fillWith(ctx, r)
	}
	l.session = likely(found, agent.name)
	var held seat
	if err := l.fillWith(ctx, r, seats.Fetch(agent.id(), &held)); err != nil || held.SessionID == l.session.ID {
		return l, err
	}
	if held.SessionID != "" && mayBeActive(found, held.SessionID) {
		last, err := readSeat(ctx, r, agent, held.SessionID)
		if last != nil || err != nil {
			return last, err
		}
	}
	guess := l.session.ID
	l.session = first(found)
	if l.session.ID == guess {
		return l, nil
	}
	l.part, l.seen, l.request = Participant{}, false, Request{}
	return l, l.fillWith(ctx, r)
}

// fillWith loads the agent's own record, the parts of the session that the reader lacks, and more.
func (l *snapshot) fillWith(ctx context.Context, r store.Reader, more ...*store.Fetch) error {
	own, noteOwn := l.ownRecord(l.session.ID)
	rest, noteRest := l.unread(l.session)
	err := store.Load(ctx, r, append(append(more, own...), rest...)...)
	noteOwn()
	noteRest()
	return err
}

// mayBeActive reports whether a council is one of the active ones that were found, or may be one that the limit
// left out.
func mayBeActive(found []Session, id string) bool {
	return len(found) == maxActive || slices.ContainsFunc(found, func(s Session) bool { return s.ID == id })
}

// likely returns the active council that is probably in the agent's seat: the one that it joined last, else the
// newest one.
func likely(found []Session, agent string) *Session {
	var guess *Session
	var at time.Time
	for i := range found {
		if m := found[i].member(agent); m != nil && (guess == nil || m.At.After(at)) {
			guess, at = &found[i], m.At
		}
	}
	if guess == nil {
		guess = &found[0]
	}
	return guess
}

// readSeat reads the council in the agent's seat where that is not the likely one. A page of responses is loaded
// with the session, before their number is known. They start at the first response, because lookAt has already
// handled a cursor of this council. The result is nil if the council is not active.
func readSeat(ctx context.Context, r store.Reader, agent speaker, id string) (*snapshot, error) {
	l := &snapshot{agent: agent}
	var s Session
	f := councils.Fetch(id, &s)
	own, noteOwn := l.ownRecord(id)
	fetches, noteRest := l.after(append(own, f, requests.Fetch(id, &l.request)), id, 0, page)
	if err := store.Load(ctx, r, fetches...); err != nil || !f.Found || s.Status != Active {
		return nil, err
	}
	noteOwn()
	noteRest()
	l.session = &s
	return l, nil
}

// upTo returns the number of the last response that the reader has after this reply.
func (l *snapshot) upTo() int64 { return l.cursor.of(l.session).seq + int64(len(l.feedback)) }

// view returns the reply with the data that was read.
func (l *snapshot) view() ViewOutput {
	out := ViewOutput{AgentName: l.agent.name, Feedback: l.feedback, NextCursor: l.cursor.String(), State: noState()}
	if out.Feedback == nil {
		out.Feedback = []Feedback{}
	}
	s := l.session
	if s == nil {
		out.NextCursor = cursor{}.String()
		return out
	}
	cur := l.cursor.of(s)
	out.SessionID, out.NextCursor = s.ID, cursor{s.ID, l.upTo(), s.Revision}.String()
	out.More = l.upTo() < s.Responses
	if out.State = s.brief(l.agent.name); cur.session == "" || cur.revision < s.Revision {
		out.State = s.state(l.agent.name)
	}
	if cur.session == "" {
		out.Request = &l.request
	}
	if l.seen {
		out.Participant = &l.part
	}
	return out
}

package council

import (
	"context"
	"time"

	"parley.internal/shared/store"
)

// page is how many responses a reply brings at most.
const page = 20

// look is what a reading call has read. A nil session says that there is no council.
type look struct {
	agent   string
	cursor  cursor
	session *Session
	// part is the agent's own record; seen says that there is one.
	part     Participant
	seen     bool
	request  Request
	feedback []Feedback
}

// lookAt reads a council for an agent with a cursor. Its responses take a second
// batch, when it is known how many there are: none for who has them all.
func lookAt(ctx context.Context, r store.Reader, agent, id string, cur cursor, now time.Time) (*look, error) {
	guess, named := id, id != ""
	if !named {
		guess = cur.session
	}
	if guess == "" {
		return search(ctx, r, agent, cur, now)
	}
	l := &look{agent: agent, cursor: cur}
	var s Session
	var held seat
	fetches, note := l.ownRecord(guess)
	f := councils.Fetch(guess, &s)
	fetches = append(fetches, f)
	if !named {
		fetches = append(fetches, seats.Fetch(agent, &held))
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return nil, err
	}
	note()
	switch there := f.Found && !s.Gone(now); {
	case there && (named || held.SessionID == guess):
		l.session = &s
		return l, l.fill(ctx, r)
	case named:
		return nil, errMissing(id)
	}
	return search(ctx, r, agent, cur, now)
}

// ownRecord fetches the agent's own record; note must be called after the fetch.
func (l *look) ownRecord(id string) (fetches []*store.Fetch, note func()) {
	if l.agent == "" {
		return nil, func() {}
	}
	f := participants.Under(id).Fetch(l.agent, &l.part)
	return []*store.Fetch{f}, func() { l.seen = f.Found }
}

// unread fetches what the reader does not have yet of a session: the request, and the
// next page of responses. note must be called after the fetch.
func (l *look) unread(s *Session) (fetches []*store.Fetch, note func()) {
	cur := l.cursor.of(s)
	if cur.session == "" {
		fetches = append(fetches, requests.Fetch(s.ID, &l.request))
	}
	return l.after(fetches, s.ID, cur.seq, min(page, s.Responses-cur.seq))
}

// after fetches some responses after a number. Those that are not there are left out.
func (l *look) after(fetches []*store.Fetch, id string, from, some int64) ([]*store.Fetch, func()) {
	l.feedback = make([]Feedback, some)
	own := make([]*store.Fetch, some)
	for i := range own {
		own[i] = responses.Under(id).Fetch(number(from+int64(i)+1), &l.feedback[i])
	}
	return append(fetches, own...), func() {
		n := 0
		for n < len(own) && own[n].Found {
			n++
		}
		l.feedback = l.feedback[:n]
	}
}

func (l *look) fill(ctx context.Context, r store.Reader) error {
	fetches, note := l.unread(l.session)
	err := store.Load(ctx, r, fetches...)
	note()
	return err
}

// search reads the council of an agent that names none: the one where it sits, else
// the only active one. The likely one is read together with the agent's seat, so that
// a first look takes no more round trips than a later one.
func search(ctx context.Context, r store.Reader, agent string, cur cursor, now time.Time) (*look, error) {
	found, err := active(ctx, r, maxActive)
	if err != nil {
		return nil, err
	}
	l := &look{agent: agent, cursor: cur, feedback: []Feedback{}}
	var held seat
	fetches, note := []*store.Fetch{seats.Fetch(agent, &held)}, func() {}
	guess := likely(found, agent)
	if guess != nil {
		own, noteOwn := l.ownRecord(guess.ID)
		rest, noteRest := l.unread(guess)
		fetches, note = append(append(fetches, own...), rest...), func() { noteOwn(); noteRest() }
	}
	if err := store.Load(ctx, r, fetches...); err != nil {
		return nil, err
	}
	note()
	if held.SessionID != "" && (guess == nil || held.SessionID != guess.ID) {
		last, err := lookBack(ctx, r, agent, held.SessionID, now)
		if last != nil || err != nil {
			return last, err
		}
		held.SessionID = "" // it is gone
	}
	if held.SessionID == "" {
		if _, err := only(found); err != nil {
			return nil, err
		}
	}
	l.session = guess
	return l, nil
}

// likely is the active council where an agent probably sits: the last that it joined,
// else the only one.
func likely(found []Session, agent string) (guess *Session) {
	var at time.Time
	for i := range found {
		if m := found[i].member(agent); m != nil && (guess == nil || m.At.After(at)) {
			guess, at = &found[i], m.At
		}
	}
	if guess == nil && len(found) == 1 {
		guess = &found[0]
	}
	return guess
}

// lookBack reads the council where an agent sits that is not the likely one: mostly one
// that is closed, and has its responses. So they are read with it, unseen how many there
// are, and all anew: a cursor of it would have led here at once. It is nil where that
// council is gone.
func lookBack(ctx context.Context, r store.Reader, agent, id string, now time.Time) (*look, error) {
	l := &look{agent: agent}
	var s Session
	f := councils.Fetch(id, &s)
	own, noteOwn := l.ownRecord(id)
	fetches, noteRest := l.after(append(own, f, requests.Fetch(id, &l.request)), id, 0, page)
	if err := store.Load(ctx, r, fetches...); err != nil || !f.Found || s.Gone(now) {
		return nil, err
	}
	noteOwn()
	noteRest()
	l.session = &s
	return l, nil
}

// upTo is the number of the last response that the reader has after this look.
func (l *look) upTo() int64 { return l.cursor.of(l.session).seq + int64(len(l.feedback)) }

// view is the reply: what the reader does not have yet.
func (l *look) view() ViewOutput {
	out := ViewOutput{AgentName: l.agent, Feedback: l.feedback, NextCursor: l.cursor.String(), State: noState()}
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
	if out.State = s.brief(l.agent); cur.session == "" || cur.revision < s.Revision {
		out.State = s.state(l.agent)
	}
	if cur.session == "" {
		out.Request = &l.request
	}
	if l.seen {
		out.Participant = &l.part
	}
	return out
}

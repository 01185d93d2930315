package council

import (
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Service is the councils of all users.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
}

// speaker is the name that a call speaks under.
type speaker struct {
	name     string
	verified bool
}

func speaking(c identity.Caller, name string) (speaker, error) {
	name, verified, err := c.SpeaksAs(name)
	return speaker{name, verified}, err
}

// Start opens a council. It closes nothing and deletes nothing.
func (s *Service) Start(ctx context.Context, c identity.Caller, in StartInput) (StartOutput, error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return StartOutput{}, err
	}
	now, id, requestID := s.Now(), s.NewID(), s.NewID()
	v, q := Open(id, requestID, in.Request, who.name, who.verified, now)
	opener := Participant{AgentName: who.name}
	opener.See(&v, who.verified, 0, now)
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(_ context.Context, tx *store.Tx) (StartOutput, error) {
		councils.Create(tx, id, v)
		requests.Create(tx, id, q)
		participants.Under(id).Create(tx, who.name, opener)
		seats.Put(tx, who.name, seat{id})
		return StartOutput{AgentName: who.name, SessionID: id, RequestID: requestID, State: v.state(who.name)}, nil
	})
}

// Join makes the caller a participant and gives the whole view, by page. A closed
// council is read and not joined.
func (s *Service) Join(ctx context.Context, c identity.Caller, in JoinInput) (ViewOutput, error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return ViewOutput{}, err
	}
	l, err := s.enter(ctx, c, who, in.SessionID, cursor{}, true)
	if err != nil {
		return ViewOutput{}, err
	}
	return l.view(), nil
}

// Get reads what is new since a cursor, and waits for a first response where it is
// told to. It joins who has not joined; a caller that may only read, and a closed
// council, change by nothing.
func (s *Service) Get(ctx context.Context, c identity.Caller, in GetInput) (ViewOutput, error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return ViewOutput{}, err
	}
	cur := readCursor(in.Cursor)
	l, err := s.read(ctx, c, who, in.SessionID, cur)
	if err != nil {
		return ViewOutput{}, err
	}
	came, err := s.wait(ctx, c, l, time.Duration(in.WaitMs)*time.Millisecond)
	if err == nil && came {
		l, err = s.read(ctx, c, who, in.SessionID, cur)
	}
	if err != nil {
		return ViewOutput{}, err
	}
	return l.view(), nil
}

// read looks beside any transaction where that does: for who takes part, the session
// stays free for those who write to it.
func (s *Service) read(ctx context.Context, c identity.Caller, who speaker, id string, cur cursor) (*look, error) {
	if cur.session == "" {
		return s.enter(ctx, c, who, id, cur, false)
	}
	t, now := s.DB.User(c.User), s.Now()
	l, err := lookAt(ctx, t, who.name, id, cur, now)
	if err != nil || !c.CanWrite() || l.session == nil || l.session.Status == Closed {
		return l, err
	}
	if l.session.member(who.name) == nil || !l.seen {
		return s.enter(ctx, c, who, id, cur, false)
	}
	l.part.See(l.session, who.verified, l.upTo(), now)
	return l, t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
		participants.Under(l.session.ID).Put(tx, who.name, l.part)
		return nil
	})
}

// enter looks and joins in one transaction; who may not write only looks. An agent sits where it joined last, and
// where it says so in as many words.
func (s *Service) enter(ctx context.Context, c identity.Caller, who speaker, id string, cur cursor, explicit bool) (l *look, err error) {
	now, t := s.Now(), s.DB.User(c.User)
	if !c.CanWrite() {
		return lookAt(ctx, t, who.name, id, cur, now)
	}
	err = t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		if l, err = lookAt(ctx, tx, who.name, id, cur, now); err != nil {
			return err
		}
		v := l.session
		if v == nil || v.Status == Closed {
			return nil
		}
		fresh, err := v.Join(who.name, now)
		if err != nil {
			return err
		}
		if fresh {
			councils.Put(tx, v.ID, *v)
		}
		if fresh || explicit {
			seats.Put(tx, who.name, seat{v.ID})
		}
		l.part.AgentName, l.seen = who.name, true
		l.part.See(v, who.verified, l.upTo(), now)
		participants.Under(v.ID).Put(tx, who.name, l.part)
		return nil
	})
	return l, err
}

// wait waits where a look found no response and one may come, and says whether there
// is something to look at: a response, the end of the council, or a council where
// there was none.
func (s *Service) wait(ctx context.Context, c identity.Caller, l *look, d time.Duration) (came bool, err error) {
	v, t := l.session, s.DB.User(c.User)
	if d == 0 || len(l.feedback) > 0 || (v != nil && v.Status == Closed) {
		return false, nil
	}
	if v == nil {
		err = councils.Wait(ctx, t, []store.Cond{store.Eq("status", Active)}, d, func(ctx context.Context) (bool, error) {
			found, err := active(ctx, t, 1)
			came = len(found) > 0
			return came, err
		})
		return came, err
	}
	err = councils.Wait(ctx, t, []store.Cond{store.Eq("id", v.ID)}, d, func(ctx context.Context) (bool, error) {
		now, err := councils.Get(ctx, t, v.ID)
		came = now.Responses > v.Responses || now.Status == Closed
		return came, err
	})
	return came, err
}

// admit makes a participant of who speaks in a council: nobody answers or ranks from outside.
func admit(tx *store.Tx, v *Session, who speaker, now time.Time) (write func(), err error) {
	fresh, err := v.Join(who.name, now)
	if err != nil {
		return nil, err
	}
	return func() {
		councils.Put(tx, v.ID, *v)
		if !fresh {
			participants.Under(v.ID).Patch(tx, who.name, store.Set("last_seen", now), store.Set("verified", who.verified))
			return
		}
		seats.Put(tx, who.name, seat{v.ID})
		participants.Under(v.ID).Put(tx, who.name, Participant{AgentName: who.name, Verified: who.verified, LastSeen: now})
	}, nil
}

// Send adds a response to the current request.
func (s *Service) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return SendOutput{}, err
	}
	now := s.Now()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(ctx context.Context, tx *store.Tx) (SendOutput, error) {
		v, err := find(ctx, tx, who.name, in.SessionID, now, none)
		if err != nil {
			return SendOutput{}, err
		}
		if v == nil {
			return SendOutput{}, errNone()
		}
		write, err := admit(tx, v, who, now)
		if err != nil {
			return SendOutput{}, err
		}
		n, err := v.Answer(who.name, now)
		if err != nil {
			return SendOutput{}, err
		}
		f := Feedback{ID: number(n), Label: label(n), RequestID: v.RequestID, Author: who.name, Verified: who.verified, Content: in.Content, CreatedAt: now}
		write()
		responses.Under(v.ID).Create(tx, f.ID, f)
		return SendOutput{AgentName: who.name, Feedback: f, State: v.state(who.name)}, nil
	})
}

// Close ends a council with a conclusion. Of many at once, one does.
func (s *Service) Close(ctx context.Context, c identity.Caller, in CloseInput) (out CloseOutput, err error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return out, err
	}
	now := s.Now()
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		v, err := find(ctx, tx, who.name, in.SessionID, now, none)
		if err != nil {
			return err
		}
		if v == nil {
			return errNone()
		}
		end := Conclusion{Author: who.name, Verified: who.verified, Content: in.Conclusion, CreatedAt: now}
		if err := v.Close(end, now); err != nil {
			return err
		}
		councils.Put(tx, v.ID, *v)
		requests.Patch(tx, v.ID, store.Set("status", RequestClosed))
		out = CloseOutput{AgentName: who.name, SessionID: v.ID, Conclusion: end, State: v.state(who.name)}
		out.State.Conclusion = nil // it stands beside
		return nil
	})
	return out, err
}

// Rank takes a peer's order of the responses. Its last one counts. Its own response
// is not for it to rank.
func (s *Service) Rank(ctx context.Context, c identity.Caller, in RankInput) (out RankOutput, err error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return out, err
	}
	ranked, err := order(in.Ranking)
	if err != nil {
		return out, err
	}
	now := s.Now()
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		var all Ballots
		var found []Feedback
		v, err := find(ctx, tx, who.name, in.SessionID, now, func(id string) []*store.Fetch {
			all, found = Ballots{}, make([]Feedback, len(ranked)) // nothing of a council looked at before
			fetches := []*store.Fetch{ballots.Fetch(id, &all)}
			for i, n := range ranked {
				fetches = append(fetches, responses.Under(id).Fetch(number(n), &found[i]))
			}
			return fetches
		})
		if err != nil {
			return err
		}
		if v == nil {
			return errNone()
		}
		write, err := admit(tx, v, who, now)
		if err != nil {
			return err
		}
		if err := others(found, in.Ranking, who.name); err != nil {
			return err
		}
		all.cast(who.name, ranked)
		if err := v.Rank(all, now); err != nil {
			return err
		}
		write()
		ballots.Put(tx, v.ID, all)
		out = RankOutput{AgentName: who.name, SessionID: v.ID, Ranking: make([]string, len(ranked)), State: v.state(who.name)}
		for i, n := range ranked {
			out.Ranking[i] = label(n)
		}
		return nil
	})
	return out, err
}

// others says what of a ranking is not the response of another.
func others(found []Feedback, ranking []string, agent string) error {
	var wrong []fault.Problem
	for i, f := range found {
		switch {
		case f.ID == "":
			wrong = append(wrong, unknown(i, ranking[i]))
		case f.Author == agent:
			wrong = append(wrong, fault.Problem{Path: at(i), Message: "is your own response; rank those of the others"})
		}
	}
	if len(wrong) > 0 {
		return fault.Problems(wrong...)
	}
	return nil
}

// List reads a page of the councils, newest first.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Sessions: []SessionView{}}
	q := store.Query{Order: []string{"created_at desc"}, Limit: in.Limit, Cursor: in.Cursor}
	if in.Status != "" {
		q.Where = []store.Cond{store.Eq("status", in.Status)}
	}
	found, err := councils.Query(ctx, s.DB.User(c.User), q)
	if err != nil {
		return out, err
	}
	out.NextCursor = found.Next
	now := s.Now()
	for _, d := range found.Docs {
		if !d.Value.Gone(now) {
			out.Sessions = append(out.Sessions, view(&d.Value))
		}
	}
	return out, nil
}

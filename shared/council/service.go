package council

import (
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Service has the operations on the councils of all users. All fields must be set. Its methods may be called
// concurrently.
//
// A method returns [fault.Forbidden] if the caller may not speak under the agent name of its input, and
// [fault.NotFound] if the input names a council that the user does not have. Without a council in the input it works on
// the current council of the agent if that is active, else on the newest active one, and names other active ones in its
// output, else on the newest closed one, which refuses every change.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
}

// speaker is the agent that makes a call: its name, whether its key is bound to the program of that name, and the owner
// of all that it begins.
type speaker struct {
	name     string
	verified bool
	owner    identity.Owner
	caller   identity.Caller
}

func speaking(c identity.Caller, name string) (speaker, error) {
	name, verified, err := c.Character("agent_name", name)
	if err == nil && name == "" {
		err = fault.Field("agent_name", "is required with a key that is bound to no program")
	}
	return speaker{name, verified, c.Owner(), c}, err
}

// id is the id of the documents that exist once for each agent.
func (w speaker) id() string { return agentID(w.name, w.owner) }

// agentID returns the id of the documents of an agent. Agents of different unbound keys have different ids.
func agentID(name string, owner identity.Owner) string {
	if owner.Program != "" || owner.Human || owner.KeyID == "" {
		return identity.NameID(name)
	}
	return owner.String() + ":" + identity.NameID(name)
}

// Start opens a council and makes it the agent's current one. Other councils stay as they are. Repeated with
// the same idempotency key, it returns the first result.
func (s *Service) Start(ctx context.Context, c identity.Caller, in StartInput) (StartOutput, error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return StartOutput{}, err
	}
	now, id, requestID := s.Now(), s.NewID(), s.NewID()
	v, q := Open(id, requestID, in.Request, who, now)
	opener := Participant{AgentName: who.name}
	opener.See(&v, who.verified, 0, now)
	return idempotency.Update(ctx, s.DB.User(c.User), in, now,
		func(_ context.Context, tx *store.Tx) (StartOutput, error) {
			councils.Create(tx, id, v)
			requests.Create(tx, id, q)
			participants.Under(id).Create(tx, who.id(), opener)
			seats.Put(tx, who.id(), seat{id})
			return StartOutput{AgentName: who.name, SessionID: id, RequestID: requestID, State: v.state(who.name)}, nil
		})
}

// Join makes the agent a participant, makes the council its current one, and returns the first page of it. A
// closed council is read and not joined. If there is no council, the result has no session. A full council is
// [fault.Precondition].
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

// Get returns the news since a cursor. If there is no response yet, it waits for the first one, for the end of the
// council or for the start of one, for at most WaitMs. It joins an agent that has not joined. A caller with read access
// only joins nothing and changes nothing; nor does any caller in a closed council.
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
	changed, err := s.wait(ctx, c, l, time.Duration(in.WaitMs)*time.Millisecond)
	if err == nil && changed {
		if l.session != nil {
			in.SessionID = l.session.ID // The reader is told of the end of this council before it is given another.
		}
		l, err = s.read(ctx, c, who, in.SessionID, cur)
	}
	if err != nil {
		return ViewOutput{}, err
	}
	return l.view(), nil
}

// read avoids a transaction on the session where it can: a participant that follows a council does not contend
// with its writers.
func (s *Service) read(ctx context.Context, c identity.Caller, who speaker, id string, cur cursor) (*snapshot, error) {
	if cur.session == "" {
		return s.enter(ctx, c, who, id, cur, false)
	}
	t, now := s.DB.User(c.User), s.Now()
	l, err := lookAt(ctx, t, who, id, cur, now)
	if err != nil || !c.CanWrite() || l.session == nil || l.session.Status == Closed {
		return l, err
	}
	if err := l.session.mayContinue(who); err != nil {
		return nil, err
	}
	m := l.session.member(who.name)
	if m == nil || !l.seen {
		return s.enter(ctx, c, who, id, cur, false)
	}
	l.agent.name = m.Name
	l.part.See(l.session, who.verified, l.upTo(), now)
	return l, t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
		participants.Under(l.session.ID).Put(tx, who.id(), l.part)
		return nil
	})
}

// enter reads and joins in one transaction; for a caller without write access it only reads. The council becomes
// the current one of an agent that joins it, and with explicit also of one that had joined before.
func (s *Service) enter(
	ctx context.Context, c identity.Caller, who speaker, id string, cur cursor, explicit bool,
) (l *snapshot, err error) {
	now, t := s.Now(), s.DB.User(c.User)
	if !c.CanWrite() {
		return lookAt(ctx, t, who, id, cur, now)
	}
	err = t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		if l, err = lookAt(ctx, tx, who, id, cur, now); err != nil {
			return err
		}
		v := l.session
		if v == nil || v.Status == Closed {
			return nil
		}
		fresh, err := v.Join(&l.agent, now)
		if err != nil {
			return err
		}
		if fresh {
			councils.Put(tx, v.ID, *v)
		}
		if fresh || explicit {
			seats.Put(tx, who.id(), seat{v.ID})
		}
		l.part.AgentName, l.seen = l.agent.name, true
		l.part.See(v, who.verified, l.upTo(), now)
		participants.Under(v.ID).Put(tx, who.id(), l.part)
		return nil
	})
	return l, err
}

// wait waits for at most d if the snapshot has no response and one may come. It reports whether there is
// something new: a response, the end of the council, or a council where there was none.
func (s *Service) wait(ctx context.Context, c identity.Caller, l *snapshot, d time.Duration) (changed bool, err error) {
	v, t := l.session, s.DB.User(c.User)
	if d == 0 || len(l.feedback) > 0 || (v != nil && v.Status == Closed) {
		return false, nil
	}
	if v == nil {
		err = councils.Wait(ctx, t, []store.Cond{store.Eq("status", Active)}, d,
			func(ctx context.Context) (bool, error) {
				found, err := newest(ctx, t, Active, 1)
				changed = len(found) > 0
				return changed, err
			})
		return changed, err
	}
	err = councils.Wait(ctx, t, []store.Cond{store.Eq("id", v.ID)}, d, func(ctx context.Context) (bool, error) {
		now, err := councils.Get(ctx, t, v.ID)
		changed = now.Responses > v.Responses || now.Status == Closed
		return changed, err
	})
	return changed, err
}

// admit joins the speaker of a response or a ranking, as [Session.Join]. The caller runs write after its last read
// and its last change of v.
func admit(tx *store.Tx, v *Session, who *speaker, now time.Time) (write func(), err error) {
	fresh, err := v.Join(who, now)
	if err != nil {
		return nil, err
	}
	return func() {
		councils.Put(tx, v.ID, *v)
		if !fresh && v.hasRecord(*who) {
			participants.Under(v.ID).
				Patch(tx, who.id(), store.Set("last_seen", now), store.Set("verified", who.verified))
			return
		}
		if fresh {
			seats.Put(tx, who.id(), seat{v.ID})
		}
		participants.Under(v.ID).
			Put(tx, who.id(), Participant{AgentName: who.name, Verified: who.verified, LastSeen: now})
	}, nil
}

// Send adds a response to the request of a council, and joins an agent that has not joined. It returns
// [fault.Precondition] if there is no council, or if it is closed or full. Repeated with the same idempotency
// key, it returns the first result.
func (s *Service) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return SendOutput{}, err
	}
	now := s.Now()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now,
		func(ctx context.Context, tx *store.Tx) (SendOutput, error) {
			v, err := find(ctx, tx, who, in.SessionID, now, noFetches)
			if err != nil {
				return SendOutput{}, err
			}
			if v == nil {
				return SendOutput{}, errNone()
			}
			write, err := admit(tx, v, &who, now)
			if err != nil {
				return SendOutput{}, err
			}
			n, err := v.Answer(who.name, now)
			if err != nil {
				return SendOutput{}, err
			}
			f := Feedback{
				ID:        number(n),
				Label:     label(n),
				RequestID: v.RequestID,
				Author:    who.name,
				Verified:  who.verified,
				Content:   in.Content,
				CreatedAt: now,
			}
			write()
			responses.Under(v.ID).Create(tx, f.ID, f)
			return SendOutput{AgentName: who.name, Feedback: f, State: v.state(who.name)}, nil
		})
}

// Close ends a council with a conclusion. Of concurrent calls one succeeds. The starter may close it, a human, and any
// participant once the starter has been silent for [Silence]; others are [fault.Forbidden]. It returns
// [fault.Precondition] if there is no council, or if it is already closed.
func (s *Service) Close(ctx context.Context, c identity.Caller, in CloseInput) (out CloseOutput, err error) {
	who, err := speaking(c, in.AgentName)
	if err != nil {
		return out, err
	}
	now := s.Now()
	err = s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		v, err := find(ctx, tx, who, in.SessionID, now, noFetches)
		if err != nil {
			return err
		}
		if v == nil {
			return errNone()
		}
		if m := v.member(who.name); m != nil {
			who.name = m.Name
		}
		if v.Status == Active {
			if err := mayClose(ctx, tx, v, who, now); err != nil {
				return err
			}
		}
		end := Conclusion{Author: who.name, Verified: who.verified, Content: in.Conclusion, CreatedAt: now}
		if err := v.Close(end, now); err != nil {
			return err
		}
		councils.Put(tx, v.ID, *v)
		requests.Patch(tx, v.ID, store.Set("status", RequestClosed))
		out = CloseOutput{AgentName: who.name, SessionID: v.ID, Conclusion: end, State: v.state(who.name)}
		out.State.Conclusion = nil // The output has it already.
		return nil
	})
	return out, err
}

// mayClose returns [fault.Forbidden] for a speaker that may not close a council.
func mayClose(ctx context.Context, tx *store.Tx, v *Session, who speaker, now time.Time) error {
	starter := v.starter()
	if starter.Is(who.caller) {
		return nil
	}
	var last Participant
	f := participants.Under(v.ID).Fetch(agentID(v.CreatedBy, starter), &last)
	if err := store.Load(ctx, tx, f); err != nil {
		return err
	}
	heard := v.CreatedAt
	if f.Found && last.LastSeen.After(heard) {
		heard = last.LastSeen
	}
	member := v.member(who.name)
	if member != nil && v.mayContinue(who) == nil && !now.Before(heard.Add(Silence)) {
		return nil
	}
	return fault.New(fault.Forbidden, "only %s, who started the council, or a human may close it, and any participant from "+
		"%s on if %s stays silent; %s", v.CreatedBy, heard.Add(Silence).Format(time.RFC3339), v.CreatedBy, who.caller)
}

// List returns a page of the councils, newest first.
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

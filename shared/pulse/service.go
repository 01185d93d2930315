package pulse

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Service implements the operations, sweeps and reactions of sessions. All methods are safe for
// concurrent use.
type Service struct {
	DB    *store.DB
	Now   func() time.Time
	NewID func() string
	// StaleAfter is the time without a heartbeat after which a sweep ends a session; zero means
	// 65 minutes.
	StaleAfter time.Duration
	// Claims and Mail are used by sweeps only, Notifier by reactions only.
	Claims   Claims
	Mail     Mail
	Notifier Notifier
}

const defaultStaleAfter = 65 * time.Minute

func (s *Service) staleAfter() time.Duration {
	if s.StaleAfter == 0 {
		return defaultStaleAfter
	}
	return s.StaleAfter
}

// set assigns *from to *to unless from is nil.
func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Create creates a session, or resumes or revives the one with the same id. Without an id, a session of a program gets
// the lowest free address, such as "claude/2". A session of another caller is Forbidden, and so is another program than
// the key's.
func (s *Service) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	if owner, _, qualified := strings.Cut(in.SessionID, "/"); qualified && in.ProgramID == "" {
		in.ProgramID = owner
	}
	program, verified, err := c.SpeaksAs(in.ProgramID)
	if err != nil {
		return CreateOutput{}, err
	}
	now := s.Now()
	return idempotency.Update(ctx, s.DB.User(c.User), in, now, func(ctx context.Context, tx *store.Tx) (CreateOutput, error) {
		out, write, err := s.join(ctx, tx, c, in, program, verified, now)
		if err == nil {
			write()
		}
		return out, err
	})
}

// Join is [Service.Create] as part of a transaction of another domain, without its idempotency key. It reads alone; the
// session is written by write.
func (s *Service) Join(ctx context.Context, tx *store.Tx, c identity.Caller, in CreateInput) (
	out CreateOutput, write func(), err error,
) {
	program, verified, err := c.SpeaksAs(in.ProgramID)
	if err != nil {
		return out, nil, err
	}
	return s.join(ctx, tx, c, in, program, verified, s.Now())
}

func (s *Service) join(ctx context.Context, tx *store.Tx, c identity.Caller, in CreateInput, program string,
	verified bool, now time.Time,
) (out CreateOutput, write func(), err error) {
	given := in.SessionID
	id, v, found, err := s.begin(ctx, tx, c, program, given)
	if err != nil {
		return out, nil, err
	}
	switch {
	case !found:
		v.Lifecycle, v.CreatedAt, v.Life, v.Maker = task.Created, now, 1, c.Owner()
	case given == "": // the number of an archived session, which is another session to its callers
		v.Status, v.Progress, v.ProjectName, v.CreatedAt, v.Maker = "", 0, "", now, c.Owner()
	default:
		if err := v.checkOwner(c, v.id(id)); err != nil {
			return out, nil, err
		}
	}
	v.adopt(c)
	if found && c.IsHuman() && program != "" && !identity.Same(program, v.ProgramID) {
		v.Maker = c.Owner() // a person gives the session to another program
	}
	v.Name, v.UpdatedAt = in.Name, now
	if !c.IsHuman() {
		v.KeyID = c.KeyID
	}
	if program != "" {
		v.ProgramID, v.Verified = program, verified
	}
	set(&v.Status, in.Status)
	set(&v.Progress, in.Progress)
	set(&v.ProjectName, in.ProjectName)
	if err := v.enter(in.State, now); err != nil {
		return out, nil, err
	}
	beat := Heartbeat{At: now, ProgramID: v.ProgramID}
	out = CreateOutput{View: s.view(id, v, beat, now), Created: !found || given == ""}
	return out, func() {
		sessions.Put(tx, id, v)
		heartbeats.Put(tx, id, beat)
	}, nil
}

// begin finds the session that a call of Create means, and the id of its document. Without an id it is the one with the
// program's lowest free number, or, for a caller without a program, a new one.
func (s *Service) begin(ctx context.Context, tx *store.Tx, c identity.Caller, program, given string) (
	doc string, v Session, found bool, err error) {
	switch {
	case given == "" && program == "":
		return s.NewID(), v, false, nil
	case given == "":
		address, err := nextAddress(ctx, tx, c, program)
		if err != nil {
			return "", v, false, err
		}
		f := sessions.Fetch(docID(address), &v)
		err = store.Load(ctx, tx, f)
		v.Address = address
		return docID(address), v, f.Found, err
	}
	owner, _, qualified := strings.Cut(given, "/")
	if qualified && !identity.Same(owner, program) {
		return "", v, false, fault.Field("sessionId", "is an address of %q; the session's program is %q", owner, program)
	}
	if doc, v, found, err = lookup(ctx, tx, program, given); err == nil && !found && qualified {
		v.Address = identity.Address(program, given)
	}
	return doc, v, found, err
}

// Update changes the given fields of a session and renews its heartbeat. Without an id it is the caller's current session,
// and the heartbeats of the program's other sessions that hold claims are renewed too: any of them may be the one that
// works. A call that changes nothing writes only the
// heartbeat. The end of a session gives its unread mail to its program. A session that does not exist is NotFound, one
// of another caller Forbidden, and an archived one Precondition.
func (s *Service) Update(ctx context.Context, c identity.Caller, in UpdateInput) (View, error) {
	var out View
	ended, now := false, s.Now()
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		id, v, others, err := s.find(ctx, tx, c, in.SessionID)
		if err != nil {
			return err
		}
		old := v
		v.adopt(c)
		set(&v.Status, in.Status)
		set(&v.Progress, in.Progress)
		set(&v.ProjectName, in.ProjectName)
		if in.State != "" {
			v.State = in.State
			if err := v.step(in.State.Lifecycle(), now); err != nil {
				return err
			}
		}
		if v != old {
			v.UpdatedAt = now
			sessions.Put(tx, id, v)
		}
		beat := Heartbeat{At: now, ProgramID: v.ProgramID}
		heartbeats.Put(tx, id, beat)
		for other, beat := range others {
			heartbeats.Put(tx, other, beat)
		}
		out, ended = s.view(id, v, beat, now), old.Live() && !v.Live()
		return nil
	})
	if err == nil && ended && out.ProgramID != "" {
		// The session has ended, and a repeat of the call would forward nothing: the sweep does.
		_ = s.forward(ctx, c.User, out.ProgramID, out.SessionID)
	}
	return out, err
}

// forward gives the unread mail of a session that has ended to its program.
func (s *Service) forward(ctx context.Context, user, program, session string) error {
	if s.Mail == nil {
		return nil
	}
	return s.Mail.Forward(ctx, user, identity.Address(program, session))
}

// find returns the session that a call means: the one with that id, or without an id the caller's current one, with the
// heartbeats of others that are renewed with it.
func (s *Service) find(
	ctx context.Context, tx *store.Tx, c identity.Caller, id string,
) (doc string, v Session, others map[string]Heartbeat, err error) {
	if id == "" {
		return s.current(ctx, tx, c)
	}
	doc, v, err = s.named(ctx, tx, c, id)
	return doc, v, nil, err
}

// named returns the session with that id.
func (s *Service) named(ctx context.Context, tx *store.Tx, c identity.Caller, id string) (string, Session, error) {
	doc, v, found, err := lookup(ctx, tx, c.Program, id)
	switch {
	case err != nil:
		return doc, v, err
	case !found:
		return doc, v, fault.New(fault.NotFound,
			"no session with id %q; create_session with the same id starts or revives it", id)
	}
	if err := v.checkOwner(c, id); err != nil {
		return doc, v, err
	}
	if v.Archived {
		err = fault.New(fault.Precondition, "session %q has ended: create_session with the same id revives it", id)
	}
	return doc, v, err
}

// live returns the query for sessions that have not ended, newest first.
func live(limit int) store.Query {
	return store.Query{Where: []store.Cond{store.In("lifecycle", task.Active, task.Blocked)},
		Order: []string{"createdAt desc"}, Limit: limit}
}

// listed returns the query for sessions that are not archived, newest first.
func listed(limit int) store.Query {
	return store.Query{Where: []store.Cond{store.In("lifecycle", task.Active, task.Blocked, task.Done, task.Failed)},
		Order: []string{"createdAt desc"}, Limit: limit}
}

// List returns a page of sessions, newest first, with the times of their heartbeats.
func (s *Service) List(ctx context.Context, c identity.Caller, in ListInput) (ListOutput, error) {
	out := ListOutput{Sessions: []View{}}
	q := listed(in.Limit)
	q.Cursor = in.Cursor
	if in.IncludeArchived {
		q.Where = []store.Cond{store.In("lifecycle", task.Active, task.Blocked, task.Done, task.Failed, task.Derezzed)}
	}
	if in.State != "all" {
		q.Where = append(q.Where, store.Eq("state", in.State))
	}
	if in.ProgramID != "" {
		q.Where = append(q.Where, store.In("programId", spellings(c, in.ProgramID)...))
	}
	var err error
	out.Sessions, out.NextCursor, err = s.page(ctx, c, q)
	return out, err
}

// spellings returns the names under which the sessions of a program may be stored: as given, without case, and as the
// program's key has it.
func spellings(c identity.Caller, program string) []string {
	known, _ := identity.Among(slices.Concat(c.Reserved, []string{c.Program}), program)
	return slices.Compact(slices.Sorted(slices.Values([]string{program, identity.Fold(program), known})))
}

// Live returns the sessions that have not ended and have a recent heartbeat, newest first. It
// considers the newest limit sessions that have not ended.
func (s *Service) Live(ctx context.Context, c identity.Caller, limit int) ([]View, error) {
	views, _, err := s.page(ctx, c, live(limit))
	return slices.DeleteFunc(views, func(v View) bool { return !v.Live }), err
}

// page returns the sessions of a query with their heartbeats.
func (s *Service) page(ctx context.Context, c identity.Caller, q store.Query) ([]View, string, error) {
	now, t, out := s.Now(), s.DB.User(c.User), []View{}
	page, err := sessions.Query(ctx, t, q)
	if err != nil || len(page.Docs) == 0 {
		return out, "", err
	}
	beats, fetches := make([]Heartbeat, len(page.Docs)), make([]*store.Fetch, len(page.Docs))
	for i, d := range page.Docs {
		fetches[i] = heartbeats.Fetch(d.ID, &beats[i])
	}
	if err := store.Load(ctx, t, fetches...); err != nil {
		return nil, "", err
	}
	for i, d := range page.Docs {
		out = append(out, s.view(d.ID, d.Value, beats[i], now))
	}
	return out, page.Next, nil
}

// The largest number of sessions that Programs reads, which is far above real use.
const (
	programsPage  = 500
	programsPages = 4
)

// Had reports whether a program has or had a session that is still kept.
func (s *Service) Had(ctx context.Context, user, program string) (bool, error) {
	page, err := sessions.Query(ctx, s.DB.User(user), store.Query{
		Where: []store.Cond{store.In("lifecycle", task.Statuses()...), store.In("programId", spellings(identity.Caller{}, program)...)},
		Order: []string{"createdAt desc"}, Limit: 1})
	return len(page.Docs) > 0, err
}

// Programs returns the sorted names of the programs with a live session.
func (s *Service) Programs(ctx context.Context, user string) ([]string, error) {
	names := map[string]string{} // by their folded form
	q := live(programsPage)
	for range programsPages {
		page, err := sessions.Query(ctx, s.DB.User(user), q)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Docs {
			if p := d.Value.ProgramID; p != "" && names[identity.Fold(p)] == "" {
				names[identity.Fold(p)] = p
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	programs := slices.AppendSeq([]string{}, maps.Values(names))
	slices.Sort(programs)
	return programs, nil
}

// Wait calls check at once and after changes of the user's sessions, until it returns true or d is
// over. Heartbeats are no changes.
func (s *Service) Wait(ctx context.Context, user string, d time.Duration,
	check func(context.Context) (bool, error)) error {
	return sessions.Wait(ctx, s.DB.User(user), nil, d, check)
}

package overview

import (
	"cmp"
	"context"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

const (
	// maxShown is the largest number of entries of each kind in a view.
	maxShown = 50
	// maxCounted is the largest number of waiting tasks that are counted.
	maxCounted = 100
)

// Service implements get_overview. It is safe for concurrent use.
type Service struct {
	DB       *store.DB
	Sessions Sessions
	Mail     Mail
	Callers  Callers
	Now      func() time.Time
}

// Changes is a source of changes. Wait has the contract of a store collection's Wait: it calls
// check, and again after changes, until check returns true or d is over.
type Changes interface {
	Wait(ctx context.Context, user string, d time.Duration, check func(context.Context) (bool, error)) error
}

// Sessions provides the live sessions.
type Sessions interface {
	Changes
	Live(ctx context.Context, c identity.Caller, limit int) ([]Session, error)
}

// Mail provides the numbers of unread messages by program.
type Mail interface {
	Changes
	Unread(ctx context.Context, c identity.Caller) ([]Unread, error)
	// Strays counts the messages to names that no program has.
	Strays(ctx context.Context, c identity.Caller) ([]Unread, error)
}

// Callers provides the programs that have called and never made a session.
type Callers interface {
	Without(ctx context.Context, user string) ([]Caller, error)
}

// Get returns the current view. If its mark equals Since, Get waits for a view with another mark
// for at most WaitMs milliseconds, and returns the same view after that time.
func (s *Service) Get(ctx context.Context, c identity.Caller, in Input) (View, error) {
	var view View
	look := func(ctx context.Context) (bool, error) {
		v, err := s.view(ctx, c)
		if err == nil {
			view = v
		}
		return v.Mark != in.Since, err
	}
	if changed, err := look(ctx); changed || err != nil || in.WaitMs == 0 {
		return view, err
	}
	err := s.wait(ctx, c.User, time.Duration(in.WaitMs)*time.Millisecond, look)
	return view, err
}

// wait waits for changes of the sources until look returns true.
func (s *Service) wait(ctx context.Context, user string, d time.Duration,
	look func(context.Context) (bool, error)) error {
	var follows []store.Changes
	for _, kind := range []Changes{taskChanges{s.DB}, s.Sessions, s.Mail} {
		follows = append(follows, func(ctx context.Context, check func(context.Context) (bool, error)) error {
			return kind.Wait(ctx, user, d, check)
		})
	}
	return store.WaitAny(ctx, look, follows...)
}

type taskChanges struct{ db *store.DB }

// Wait returns after d, or as soon as check reports true after a change of the user's tasks.
func (t taskChanges) Wait(ctx context.Context, user string, d time.Duration,
	check func(context.Context) (bool, error)) error {
	return task.Tasks.Wait(ctx, t.db.User(user), nil, d, check)
}

func (s *Service) view(ctx context.Context, c identity.Caller) (v View, err error) {
	if v.Sessions, err = s.Sessions.Live(ctx, c, maxShown); err != nil {
		return v, err
	}
	if v.Claims, err = s.claims(ctx, c); err != nil {
		return v, err
	}
	if v.Questions, err = s.questions(ctx, c); err != nil {
		return v, err
	}
	if v.Unread, err = s.Mail.Unread(ctx, c); err != nil {
		return v, err
	}
	if v.Queues, v.Uncounted, err = s.queues(ctx, c, v.Claims); err != nil {
		return v, err
	}
	if v.Alerts, err = s.alerts(ctx, c); err != nil {
		return v, err
	}
	if v.Strays, err = s.Mail.Strays(ctx, c); err != nil {
		return v, err
	}
	if v.Callers, err = s.callers(ctx, c, v.Sessions); err != nil {
		return v, err
	}
	if err := v.seal(); err != nil {
		return v, fault.Wrap(fault.Internal, err, "overview")
	}
	return v, nil
}

func (s *Service) tasks(ctx context.Context, c identity.Caller, limit int, routes []string,
	statuses ...task.Status) ([]store.Doc[task.Task], error) {
	page, err := task.Tasks.Query(ctx, s.DB.User(c.User),
		store.Query{Where: []store.Cond{store.In("status", statuses...), store.ContainsAny("routes", routes...)},
			Order: []string{"rank desc", "createdAt"}, Limit: limit})
	return page.Docs, err
}

func (s *Service) claims(ctx context.Context, c identity.Caller) ([]Claim, error) {
	docs, err := s.tasks(ctx, c, maxShown, []string{task.Everywhere, task.TypeRoute(task.Story, task.Everywhere)}, task.Active,
		task.Blocked, task.Completing)
	if err != nil || len(docs) == 0 {
		return []Claim{}, err
	}
	leases := make([]task.Lease, len(docs))
	fetches := make([]*store.Fetch, len(docs))
	for i, d := range docs {
		fetches[i] = task.Leases.Fetch(d.ID, &leases[i])
	}
	if err := store.Load(ctx, s.DB.User(c.User), fetches...); err != nil {
		return nil, err
	}
	out := make([]Claim, len(docs))
	for i, d := range docs {
		out[i] = Claim{ID: d.ID, Type: d.Value.Type, Title: d.Value.Title, Target: d.Value.Target, Status: d.Value.Status,
			ClaimedBy: d.Value.ClaimedBy, SessionID: d.Value.SessionID, LeaseUntil: leases[i].LeaseUntil}
	}
	return out, nil
}

func (s *Service) questions(ctx context.Context, c identity.Caller) ([]Question, error) {
	out, now := []Question{}, s.Now()
	docs, err := s.tasks(ctx, c, maxShown, []string{task.TypeRoute(task.Question, task.Everywhere)}, task.Created)
	for _, d := range docs {
		if t := d.Value; t.Question != nil && !t.Expired(now) {
			out = append(out, Question{ID: d.ID, Question: t.Question.Content, Options: t.Question.Options,
				Source: t.Source, Priority: t.Priority, Assurance: cmp.Or(t.Question.Assurance, identity.Local),
				CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt})
		}
	}
	return out, err
}

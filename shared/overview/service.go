package overview

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// maxShown is how many of each kind a view shows.
const maxShown = 50

// Service is the view of all users.
type Service struct {
	DB       *store.DB
	Sessions Sessions
	Mail     Mail
	Now      func() time.Time
}

// Changes waits for changes as a collection's Wait does.
type Changes interface {
	Wait(ctx context.Context, user string, d time.Duration, check func(context.Context) (bool, error)) error
}

// Sessions knows who is at work.
type Sessions interface {
	Changes
	Live(ctx context.Context, c identity.Caller, limit int) ([]Session, error)
}

// Mail knows what waits to be read.
type Mail interface {
	Changes
	Unread(ctx context.Context, c identity.Caller) ([]Unread, error)
}

// Get reads the view, and waits for one that is another than since where it is told to.
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

// wait follows all kinds at once. The first that is done ends the others. A kind's
// own first look is the caller's, and its second, when its listener stands, is
// left to the kind that stands last: by then all changes wake.
func (s *Service) wait(ctx context.Context, user string, d time.Duration,
	look func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kinds := []Changes{taskChanges{s.DB}, s.Sessions, s.Mail}
	var mu sync.Mutex
	done, standing := false, 0
	check := func() func(context.Context) (bool, error) {
		calls := 0
		return func(ctx context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls == 2 {
				standing++
			}
			if done || calls == 1 || (calls == 2 && standing < len(kinds)) {
				return done, nil
			}
			var err error
			done, err = look(ctx)
			return done, err
		}
	}
	errs := make([]error, len(kinds))
	var wg sync.WaitGroup
	for i, kind := range kinds {
		wg.Go(func() {
			errs[i] = kind.Wait(ctx, user, d, check())
			cancel()
		})
	}
	wg.Wait()
	if done {
		return nil
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

type taskChanges struct{ db *store.DB }

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
	if err := v.seal(); err != nil {
		return v, fault.Wrap(fault.Internal, err, "overview")
	}
	return v, nil
}

func (s *Service) tasks(ctx context.Context, c identity.Caller, routes []string,
	statuses ...task.Status) ([]store.Doc[task.Task], error) {
	page, err := task.Tasks.Query(ctx, s.DB.User(c.User),
		store.Query{Where: []store.Cond{store.In("status", statuses...), store.ContainsAny("routes", routes...)},
			Order: []string{"rank desc", "createdAt"}, Limit: maxShown})
	return page.Docs, err
}

func (s *Service) claims(ctx context.Context, c identity.Caller) ([]Claim, error) {
	docs, err := s.tasks(ctx, c, []string{task.Everywhere, task.TypeRoute(task.Story, task.Everywhere)}, task.Active,
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
		out[i] = Claim{ID: d.ID, Type: d.Value.Type, Title: d.Value.Title, Status: d.Value.Status,
			ClaimedBy: d.Value.ClaimedBy, SessionID: d.Value.SessionID, LeaseUntil: leases[i].LeaseUntil}
	}
	return out, nil
}

func (s *Service) questions(ctx context.Context, c identity.Caller) ([]Question, error) {
	out, now := []Question{}, s.Now()
	docs, err := s.tasks(ctx, c, []string{task.TypeRoute(task.Question, task.Everywhere)}, task.Created)
	for _, d := range docs {
		if t := d.Value; t.Question != nil && !t.Expired(now) {
			out = append(out, Question{ID: d.ID, Question: t.Question.Content, Options: t.Question.Options,
				Source: t.Source, Priority: t.Priority, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt})
		}
	}
	return out, err
}

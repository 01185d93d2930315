package overview

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// maxShown is the largest number of entries of each kind in a view.
const maxShown = 50

// Service implements get_overview. It is safe for concurrent use.
type Service struct {
	DB       *store.DB
	Sessions Sessions
	Mail     Mail
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

// Mail provides the numbers of unread messages.
type Mail interface {
	Changes
	Unread(ctx context.Context, c identity.Caller) ([]Unread, error)
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

// wait waits for all sources concurrently; the first that is done ends the others. Calls of a source whose listener is
// not established yet are skipped, because the caller has just read the view. Of the first calls of each source with an
// established listener only the last reads it: from then on all listeners are established, and no change is missed.
func (s *Service) wait(ctx context.Context, user string, d time.Duration,
	look func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kinds := []Changes{taskChanges{s.DB}, s.Sessions, s.Mail}
	var mu sync.Mutex
	done, standing := false, 0
	check := func() func(context.Context) (bool, error) {
		stands := false
		return func(ctx context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			first := !stands && store.Listening(ctx)
			if first {
				stands = true
				standing++
			}
			if done || !stands || (first && standing < len(kinds)) {
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
				Source: t.Source, Priority: t.Priority, Assurance: cmp.Or(t.Question.Assurance, identity.Local),
				CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt})
		}
	}
	return out, err
}

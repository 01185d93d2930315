package files

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// leaving bounds the time in which a call that was given up leaves its place.
const leaving = 5 * time.Second

// soonest is the least time between two looks at a board that has not changed.
const soonest = 10 * time.Millisecond

// errGivenUp is the fault of a call that its caller has cancelled, and does not read.
var errGivenUp = fault.New(fault.Unavailable, "the call was cancelled before its turn came; nothing was reserved")

// wait gives the call a turn and waits for it. When the time is over without, the fault is that of a call that does not
// wait, and the place is kept for as long again, at most [Grace]. A call that is given up, or that cannot wait on, leaves
// its place.
func (s *Service) wait(
	ctx context.Context, c identity.Caller, in ReserveInput, project string, q *request,
) (ReserveOutput, error) {
	begun := time.Now()
	out, err := s.inTurn(ctx, c, in, project, q)
	over := time.Since(begun) >= time.Duration(in.WaitMs)*time.Millisecond
	if err == nil || ctx.Err() == nil && !store.Ended(ctx) && (over || blocked(err)) {
		return out, err
	}
	gone, end := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer end()
	return out, errors.Join(err, s.leave(gone, s.DB.User(c.User), boardID(project), q))
}

// inTurn is wait for a call that is not given up.
func (s *Service) inTurn(
	ctx context.Context, c identity.Caller, in ReserveInput, project string, q *request,
) (ReserveOutput, error) {
	t, d := s.DB.User(c.User), time.Duration(in.WaitMs)*time.Millisecond
	if err := s.enqueue(ctx, t, project, q, d); err != nil {
		return ReserveOutput{}, err
	}
	timed, stop := context.WithTimeout(ctx, d)
	defer stop()
	for {
		ready, err := s.turn(timed, t, project, q)
		switch {
		case err != nil && timed.Err() == nil || ctx.Err() != nil:
			return ReserveOutput{}, err
		case store.Ended(ctx):
			return ReserveOutput{}, errGivenUp
		}
		// Without a turn the time is over, or the server stops.
		if out, err := s.attempt(ctx, c, in, project, q); !ready || !blocked(err) {
			return out, err
		}
	}
}

// kept returns the time for which a call that waited in vain keeps its place.
func kept(waited time.Duration) time.Duration { return min(waited, Grace) }

// enqueue gives a request its turn.
func (s *Service) enqueue(ctx context.Context, t *store.Tenant, project string, q *request, d time.Duration) error {
	now, id := s.Now(), boardID(project)
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.read(ctx, tx, id, now)
		if err != nil {
			return err
		}
		b.Project = project
		if err := b.queue(q, now.Add(d+kept(d))); err != nil {
			return err
		}
		write(tx, b)
		return nil
	})
}

// leave removes a request from the waiters.
func (s *Service) leave(ctx context.Context, t *store.Tenant, id string, q *request) error {
	now := s.Now()
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := s.read(ctx, tx, id, now)
		if err != nil {
			return err
		}
		i := b.turn(q)
		if i < 0 {
			return nil
		}
		b.Waiters = slices.Delete(b.Waiters, i, i+1)
		write(tx, b)
		return nil
	})
}

// turn waits until nothing seems to stand in the way of a request. It returns false without an error when the database
// drains.
func (s *Service) turn(ctx context.Context, t *store.Tenant, project string, q *request) (bool, error) {
	for {
		seen, ready, err := s.look(ctx, t, project, q)
		if ready || err != nil {
			return ready, err
		}
		slice := max(seen.nextEnd().Sub(s.Now()), soonest)
		begin, changed := time.Now(), false
		watched, unwatch := context.WithTimeout(ctx, slice)
		s.watch(watched, t, seen.inTheWay, slice, unwatch)
		err = boards.Wait(watched, t, []store.Cond{store.Eq("project", project)}, slice, func(ctx context.Context) (bool, error) {
			now, free, err := s.look(ctx, t, project, q)
			if err != nil {
				return false, err
			}
			ready, changed = free, now.UpdatedAt != seen.UpdatedAt
			return ready || changed, nil
		})
		over := changed || watched.Err() != nil || time.Since(begin) >= slice
		unwatch()
		switch {
		case ready:
			return true, nil
		case ctx.Err() != nil:
			return false, err
		case !over:
			return false, err
		}
	}
}

// seen is a board that a waiting request has looked at.
type seen struct {
	*stand
	// inTheWay are the reservations in the request's way that end with a session or a task.
	inTheWay []Reservation
}

// look reads a board and reports whether nothing stands in the way of a request.
func (s *Service) look(ctx context.Context, t *store.Tenant, project string, q *request) (seen, bool, error) {
	b, err := s.read(ctx, t, boardID(project), s.Now())
	if err != nil {
		return seen{}, false, err
	}
	against, _, err := s.decide(ctx, t, b, q, b.turn(q))
	return seen{b, heldBy(against)}, len(against) == 0, err
}

// watch calls found once the session or task of one of the reservations has ended, unless ctx ends before.
func (s *Service) watch(ctx context.Context, t *store.Tenant, held []Reservation, d time.Duration, found func()) {
	if len(held) == 0 {
		return
	}
	check := func(ctx context.Context) (bool, error) {
		if !store.Listening(ctx) {
			return false, nil
		}
		b := &stand{Board: Board{Reservations: slices.Clone(held)}}
		ended, err := s.prune(ctx, t, b, held)
		if ended {
			found()
		}
		return ended, err
	}
	// An error ends the watch alone: the wait looks again when the first lease ends.
	go func() {
		_ = task.Tasks.Wait(ctx, t, []store.Cond{store.In("status", task.Done, task.Failed, task.Derezzed)}, d, check)
	}()
	if s.Sessions != nil {
		go func() { _ = s.Sessions.Wait(ctx, t.ID(), d, check) }()
	}
}

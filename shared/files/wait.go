package files

import (
	"context"
	"slices"
	"time"

	"parley.internal/shared/identity"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// leaving bounds the time in which a call that was given up leaves its place.
const leaving = 5 * time.Second

// soonest is the least time between two looks at a board that has not changed.
const soonest = 10 * time.Millisecond

// wait gives the call a turn and waits for it. When the time is over without, the fault is that of a call that does not
// wait, and the place is kept for as long again, at most [Grace]. A call that is given up leaves its place.
func (s *Service) wait(
	ctx context.Context, c identity.Caller, in ReserveInput, project string, q *request,
) (ReserveOutput, error) {
	t, id, d := s.DB.User(c.User), boardID(project), time.Duration(in.WaitMs)*time.Millisecond
	if err := s.enqueue(ctx, t, project, q, d); err != nil {
		return ReserveOutput{}, err
	}
	timed, stop := context.WithTimeout(ctx, d)
	defer stop()
	for {
		ready, err := s.turn(timed, t, project, id, q)
		switch {
		case ctx.Err() != nil:
			gone, end := context.WithTimeout(context.WithoutCancel(ctx), leaving)
			defer end()
			return ReserveOutput{}, s.leave(gone, t, id, q, err)
		case err != nil && timed.Err() == nil:
			return ReserveOutput{}, err
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

// leave removes a request from the waiters and returns the cause.
func (s *Service) leave(ctx context.Context, t *store.Tenant, id string, q *request, cause error) error {
	now := s.Now()
	err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
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
	if err != nil {
		return err
	}
	return cause
}

// turn waits until nothing seems to stand in the way of a request. It returns false without an error when the database
// drains.
func (s *Service) turn(ctx context.Context, t *store.Tenant, project, id string, q *request) (bool, error) {
	for {
		var against []conflict
		end := time.Time{}
		look := func(ctx context.Context) (bool, error) {
			b, err := s.read(ctx, t, id, s.Now())
			if err != nil {
				return false, err
			}
			if against, _, err = s.decide(ctx, t, b, q, b.turn(q)); err != nil {
				return false, err
			}
			end = b.nextEnd()
			return len(against) == 0, nil
		}
		if ready, err := look(ctx); ready || err != nil {
			return ready, err
		}
		slice := max(end.Sub(s.Now()), soonest)
		begin, ready := time.Now(), false
		first := heldBy(against)
		watched, unwatch := context.WithTimeout(ctx, slice)
		s.watch(watched, t, first, slice, unwatch)
		err := boards.Wait(watched, t, []store.Cond{store.Eq("project", project)}, slice, func(ctx context.Context) (bool, error) {
			var err error
			ready, err = look(ctx)
			return ready, err
		})
		over := watched.Err() != nil || time.Since(begin) >= slice
		unwatch()
		switch {
		case ready:
			return true, nil
		case ctx.Err() != nil:
			return false, err
		case over:
			continue // a lease, a session or a task has ended
		default:
			return false, err
		}
	}
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

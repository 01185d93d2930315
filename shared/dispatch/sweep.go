package dispatch

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// Sweeps returns the steps of the domain in the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{
		{Schedule: domain.Tasks, Name: "leases", Takes: true, Run: s.SweepLeases},
		{Schedule: domain.Tasks, Name: "expired", Run: s.SweepExpired},
		{Schedule: domain.Tasks, Name: "ended", Run: s.SweepEnded},
	}
}

// The sweeps handle at most limit documents and return how many: fewer than limit
// means that none is left. Each may be ended and run again at any point, and looks
// again at a document before it changes it. One that cannot be handled does not
// keep the others from it.

// SweepLeases puts tasks whose lease has run out back into the queue, or ends them as failed after
// task.MaxAttempts leases.
func (s *Service) SweepLeases(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := task.Leases.QueryAll(
		ctx,
		a,
		store.Query{Where: []store.Cond{store.Le("leaseUntil", now)}, Order: []string{"leaseUntil"}, Limit: limit},
	)
	if err != nil {
		return 0, err
	}
	return forEach(due, func(d store.Located[task.Lease]) error {
		return s.reclaim(
			ctx,
			a.User(d.Ref.User),
			d.Ref.ID,
			now,
			"",
			func(l task.Lease, _ *task.Task) bool { return !now.Before(l.LeaseUntil) },
		)
	})
}

// reclaim takes a task from its claimant if lost still returns true for its lease. A task that is
// queued again has the reason; one that fails has a reason of its own.
func (s *Service) reclaim(
	ctx context.Context,
	t *store.Tenant,
	id string,
	now time.Time,
	reason string,
	lost func(task.Lease, *task.Task) bool,
) error {
	var sprint string
	err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		sprint = ""
		t, lease, err := s.load(ctx, tx, id)
		if fault.Is(err, fault.NotFound) {
			task.Leases.Delete(tx, id)
			return nil
		}
		if err != nil || lease.LeaseUntil.IsZero() || !lost(lease, &t) {
			return err // renewed or released after the listing
		}
		if t.ClaimedBy != "" && !t.Status.Ended() {
			t.GiveUp(now)
			if t.Reason == "" {
				t.Reason = reason
			}
			s.keep(&t, now)
			if t.Sprint != nil && t.Sprint.Ended {
				sprint = t.Sprint.ParentID
			}
			task.Tasks.Put(tx, id, t)
		}
		task.Leases.Delete(tx, id)
		return nil
	})
	if err == nil && sprint != "" && s.Stories != nil {
		err = s.Stories.StoryEnded(ctx, t.ID(), sprint)
	}
	return err
}

// SweepExpired ends tasks that were not taken up before their expiry.
func (s *Service) SweepExpired(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := task.Tasks.QueryAll(
		ctx,
		a,
		store.Query{
			Where: []store.Cond{store.Eq("status", task.Created), store.Le("expiresAt", now)},
			Order: []string{"expiresAt"},
			Limit: limit,
		},
	)
	if err != nil {
		return 0, err
	}
	return forEach(due, func(d store.Located[task.Task]) error {
		return a.User(d.Ref.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			t, err := s.one(ctx, tx, d.Ref.ID)
			if fault.Is(err, fault.NotFound) || (err == nil && !t.Expired(now)) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := task.Move(t.Type, t.Status, task.Derezzed); err != nil {
				return err
			}
			t.End(task.Derezzed, now)
			t.Reason = "expired"
			t.Route()
			task.Tasks.Put(tx, d.Ref.ID, t)
			return nil
		})
	})
}

// SweepEnded deletes tasks whose retention is over. Firestore's TTL policy does the same, up to a day
// or so later.
func (s *Service) SweepEnded(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := task.Tasks.QueryAll(
		ctx,
		a,
		store.Query{Where: []store.Cond{store.Le("purgeAt", now)}, Order: []string{"purgeAt"}, Limit: limit},
	)
	if err != nil {
		return 0, err
	}
	return forEach(due, func(d store.Located[task.Task]) error {
		return a.User(d.Ref.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			t, err := s.one(ctx, tx, d.Ref.ID)
			if fault.Is(err, fault.NotFound) || (err == nil && (t.PurgeAt.IsZero() || t.PurgeAt.After(now))) {
				return nil // queued again after the listing
			}
			if err != nil {
				return err
			}
			task.Tasks.Delete(tx, d.Ref.ID)
			return nil
		})
	})
}

// keep sets the time at which a task that nobody claims and that does not expire is deleted. It must be called after
// [task.Task.Route] for every change of such a task.
func (s *Service) keep(t *task.Task, now time.Time) {
	if s.Keep > 0 && t.Status == task.Created && t.ExpiresAt.IsZero() && (t.Type == task.Work || t.Type == task.Dream) {
		t.PurgeAt = now.Add(s.Keep)
	}
}

// forEach handles documents one by one and returns how many it could; its error joins the failures.
func forEach[T any](docs []store.Located[T], handle func(store.Located[T]) error) (int, error) {
	var failed []error
	for _, d := range docs {
		if err := handle(d); err != nil {
			failed = append(failed, err)
		}
	}
	return len(docs) - len(failed), errors.Join(failed...)
}

// sessionPage is the number of claims in one page.
const sessionPage = 100

// Claims returns a page of at most 100 claims of a session. next is the cursor of the next page, empty
// after the last.
func (s *Service) Claims(ctx context.Context, user, sessionID, cursor string) (held []task.Claim, next string, err error) {
	u := s.DB.User(user)
	page, err := task.Leases.Query(
		ctx,
		u,
		store.Query{Where: []store.Cond{store.Eq("sessionId", sessionID)}, Limit: sessionPage, Cursor: cursor},
	)
	if err != nil || len(page.Docs) == 0 {
		return nil, "", err
	}
	out := make([]task.Claim, len(page.Docs))
	fetches := make([]*store.Fetch, len(page.Docs))
	for i, d := range page.Docs {
		out[i] = task.Claim{ID: d.ID, LeaseUntil: d.Value.LeaseUntil}
		fetches[i] = task.Tasks.Fetch(d.ID, &out[i].Task)
	}
	return out, page.Next, store.Load(ctx, u, fetches...)
}

// Reclaim takes a task from a session that ended at the time gone, as if its lease had run out. It
// does nothing if the session does not hold the task, or claimed it after gone.
func (s *Service) Reclaim(ctx context.Context, user, taskID, sessionID string, gone time.Time, reason string) error {
	return s.reclaim(ctx, s.DB.User(user), taskID, s.Now(), reason, func(l task.Lease, t *task.Task) bool {
		return l.SessionID == sessionID && t.StartedAt.Before(gone)
	})
}

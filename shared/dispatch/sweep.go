package dispatch

import (
	"context"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// SweepLeases gives tasks whose lease ran out back to the queue, at most limit of
// them, and says how many leases it settled. Fewer than limit means that none is
// left. It may be ended and run again at any point.
func (s *Service) SweepLeases(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := task.Leases.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le("leaseUntil", now)}, Order: []string{"leaseUntil"}, Limit: limit})
	if err != nil {
		return 0, err
	}
	for i, d := range due {
		err := a.User(d.Ref.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			t, lease, err := s.load(ctx, tx, d.Ref.ID)
			if fault.Is(err, fault.NotFound) {
				task.Leases.Delete(tx, d.Ref.ID)
				return nil
			}
			if err != nil || now.Before(lease.LeaseUntil) {
				return err // renewed since it was listed
			}
			if t.ClaimedBy != "" && !t.Status.Ended() {
				giveUp(&t, now)
				task.Tasks.Put(tx, d.Ref.ID, t)
			}
			task.Leases.Delete(tx, d.Ref.ID)
			return nil
		})
		if err != nil {
			return i, err
		}
	}
	return len(due), nil
}

package campfire

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Sweeps returns the steps that the domain adds to the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{
		{Schedule: domain.Sessions, Name: "duels", Run: s.SweepDuels},
		{Schedule: domain.Sessions, Name: "fires", Run: s.SweepFires},
	}
}

// SweepDuels records the end of overdue duels. It handles at most limit duels and returns how many it handled; fewer
// than limit means that none is left. It may be interrupted and called again at any point. It reads a duel again
// before it ends it. A duel that fails does not stop the others; the error joins all failures.
func (s *Service) SweepDuels(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := fires.QueryAll(ctx, a, store.Query{
		Where: []store.Cond{store.Le("duel.turnDeadline", now)},
		Order: []string{"duel.turnDeadline"},
		Limit: limit,
	})
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, d := range due {
		err := a.User(d.Ref.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
			f, err := load(ctx, tx, d.Ref.ID)
			if err != nil {
				return err
			}
			lapsed := f.Lapse(now)
			if lapsed == nil {
				return nil // An agent acted, or ended the duel, after it was listed.
			}
			f.touch(now, s.Keep)
			fires.Put(tx, f.ID, f)
			record(tx, *lapsed)
			return nil
		})
		if err != nil {
			failed = append(failed, err)
		}
	}
	return len(due) - len(failed), errors.Join(failed...)
}

// touch sets the time at which the fire is deleted: it is kept for a time after its last word, for ever if that is 0.
func (f *Fire) touch(now time.Time, keep time.Duration) {
	if f.SweepAt = (time.Time{}); keep > 0 {
		f.SweepAt = now.Add(keep)
	}
}

// purgeBatch is the number of documents below a fire that one transaction deletes.
const purgeBatch = 100

// SweepFires deletes fires without a word for the time that the service keeps them, with all documents below them. It
// handles at most limit fires and returns how many it handled; fewer than limit means that none is left. It may be
// interrupted and called again at any point. A fire that fails does not stop the others; the error joins all failures.
func (s *Service) SweepFires(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := fires.QueryAll(ctx, a, store.Query{
		Where: []store.Cond{store.Le("sweepAt", now)},
		Order: []string{"sweepAt"},
		Limit: limit,
	})
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, d := range due {
		if err := purge(ctx, a.User(d.Ref.User), d.Ref.ID, now); err != nil {
			failed = append(failed, err)
		}
	}
	return len(due) - len(failed), errors.Join(failed...)
}

// purge deletes a fire, unless somebody has spoken there since the sweep listed it. It deletes the documents below it in
// batches and the fire last, so that the next sweep finds one whose deletion was interrupted.
func purge(ctx context.Context, t *store.Tenant, id string, now time.Time) error {
	due := func(ctx context.Context, r store.Reader) (bool, error) {
		f, err := fires.Get(ctx, r, id)
		if fault.Is(err, fault.NotFound) {
			return false, nil
		}
		return err == nil && !f.SweepAt.IsZero() && !now.Before(f.SweepAt), err
	}
	for _, remove := range []func(context.Context, *store.Tenant, store.Query) (int, error){
		messages.Under(id).DeleteWhere, plans.Under(id).DeleteWhere, duels.Under(id).DeleteWhere,
	} {
		for n := purgeBatch; n == purgeBatch; {
			still, err := due(ctx, t)
			if err != nil || !still {
				return err
			}
			if n, err = remove(ctx, t, store.Query{Limit: purgeBatch}); err != nil {
				return err
			}
		}
	}
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		still, err := due(ctx, tx)
		if err == nil && still {
			fires.Delete(tx, id)
		}
		return err
	})
}

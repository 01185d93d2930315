package campfire

import (
	"context"
	"errors"
	"parley.internal/shared/domain"

	"parley.internal/shared/store"
)

// Sweeps are the steps that the domain adds to the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Sessions, Name: "duels", Run: s.SweepDuels}}
}

// SweepDuels abandons at most limit duels whose phase is overdue and says how many:
// fewer than limit means that none is left. It may be ended and run again at any point,
// and looks again at a duel before it ends it. One that cannot be ended does not keep
// the others from it.
func (s *Service) SweepDuels(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := fires.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le("duel.turnDeadline", now)}, Order: []string{"duel.turnDeadline"}, Limit: limit})
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
				return nil // somebody acted, or ended it, since it was listed
			}
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

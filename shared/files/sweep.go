package files

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Sweeps returns the step of the domain in the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Sessions, Name: "reservations", Run: s.SweepBoards}}
}

// SweepBoards removes expired reservations and turns from at most limit boards. It returns the number of boards that it
// handled; fewer than limit means that none is left. It may be interrupted and run again at any point. A board that
// fails does not stop the others; the error joins all failures.
func (s *Service) SweepBoards(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := boards.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le("dueAt", now)}, Order: []string{"dueAt"},
		Limit: min(limit, store.MaxLimit)})
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, d := range due {
		if err := s.sweep(ctx, a.User(d.Ref.User), d.Ref.ID, now); err != nil {
			failed = append(failed, err)
		}
	}
	return len(due) - len(failed), errors.Join(failed...)
}

// sweep stores a board without its expired reservations and turns, unless another call did so since the sweep listed
// it.
func (s *Service) sweep(ctx context.Context, t *store.Tenant, id string, now time.Time) error {
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := boards.Get(ctx, tx, id)
		if fault.Is(err, fault.NotFound) || err == nil && (b.DueAt.IsZero() || b.DueAt.After(now)) {
			return nil
		}
		if err != nil {
			return err
		}
		st, err := s.read(ctx, tx, id, now)
		if err != nil {
			return err
		}
		write(tx, st)
		return nil
	})
}

package ledger

import (
	"context"
	"errors"
	"parley.internal/shared/domain"

	"parley.internal/shared/store"
)

// Sweeps returns the steps of the domain in the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Ledger, Name: "records", Run: s.SweepLedger}}
}

// SweepLedger deletes at most limit batches whose retention is over. It returns the number of
// batches that it deleted; without an error, fewer than limit means that none is left. The totals
// of the days stay. It may be interrupted and run again at any point. Firestore's TTL policy does
// the same, up to a day or so later.
func (s *Service) SweepLedger(ctx context.Context, a *store.Admin, limit int) (int, error) {
	due, _, err := batches.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le(store.PurgeField, s.Now())},
		Order: []string{store.PurgeField}, Limit: limit})
	if err != nil {
		return 0, err
	}
	byUser := map[string][]string{}
	for _, d := range due {
		byUser[d.Ref.User] = append(byUser[d.Ref.User], d.Ref.ID)
	}
	deleted := 0
	var failed []error
	for user, ids := range byUser {
		err := a.User(user).Update(ctx, func(_ context.Context, tx *store.Tx) error {
			for _, id := range ids {
				batches.Delete(tx, id) // a batch never changes, so a listed one is still due
			}
			return nil
		})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		deleted += len(ids)
	}
	return deleted, errors.Join(failed...)
}

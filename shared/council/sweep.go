package council

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Sweeps returns the steps that the domain adds to the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Sessions, Name: "councils", Run: s.SweepCouncils}}
}

// purgeBatch is the number of responses that one transaction deletes. It bounds the text that the transaction
// reads to a few megabytes.
const purgeBatch = 100

// SweepCouncils closes councils without activity for [Patience], and deletes closed ones whose [Retention] is
// over, with all documents below them. It handles at most limit councils and returns how many it handled; fewer
// than limit means that none is left. It may be interrupted and called again at any point. A council that fails
// does not stop the others; the error joins all failures.
func (s *Service) SweepCouncils(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := councils.QueryAll(ctx, a, store.Query{
		Where: []store.Cond{store.Le("due_at", now)},
		Order: []string{"due_at"},
		Limit: min(limit, store.MaxLimit),
	})
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, d := range due {
		handle := abandon
		if d.Value.Status == Closed {
			handle = purge
		}
		if err := handle(ctx, a.User(d.Ref.User), d.Ref.ID, now); err != nil {
			failed = append(failed, err)
		}
	}
	return len(due) - len(failed), errors.Join(failed...)
}

// abandon closes a council, unless it has had activity since the sweep listed it.
func abandon(ctx context.Context, t *store.Tenant, id string, now time.Time) error {
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		v, err := councils.Get(ctx, tx, id)
		if fault.Is(err, fault.NotFound) || (err == nil && !v.Abandon(now)) {
			return nil
		}
		if err != nil {
			return err
		}
		councils.Put(tx, id, v)
		requests.Patch(tx, id, store.Set("status", RequestClosed))
		return nil
	})
}

// purge deletes a council that is gone. It deletes the documents below it in batches and the session last, so that the
// next sweep finds a council whose deletion was interrupted.
func purge(ctx context.Context, t *store.Tenant, id string, now time.Time) error {
	below := []func(context.Context, *store.Tenant, store.Query) (int, error){
		responses.Under(id).DeleteWhere, participants.Under(id).DeleteWhere,
	}
	for _, remove := range below {
		for n := purgeBatch; n == purgeBatch; {
			var err error
			if n, err = remove(ctx, t, store.Query{Limit: purgeBatch}); err != nil {
				return err
			}
		}
	}
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		v, err := councils.Get(ctx, tx, id)
		if fault.Is(err, fault.NotFound) || (err == nil && !v.Gone(now)) {
			return nil
		}
		if err != nil {
			return err
		}
		var agents []string
		for _, m := range v.Members {
			agents = append(agents, agentID(m.Name, m.Owner))
			// Its seat may be from before names were folded.
			if m.Owner == (identity.Owner{}) && identity.ValidName(m.Name) {
				agents = append(agents, m.Name)
			}
		}
		slices.Sort(agents)
		agents = slices.Compact(agents)
		held := make([]seat, len(agents))
		fetches := make([]*store.Fetch, len(agents))
		for i, agent := range agents {
			fetches[i] = seats.Fetch(agent, &held[i])
		}
		if err := store.Load(ctx, tx, fetches...); err != nil {
			return err
		}
		for i, agent := range agents {
			if held[i].SessionID == id {
				seats.Delete(tx, agent)
			}
		}
		requests.Delete(tx, id)
		ballots.Delete(tx, id)
		councils.Delete(tx, id)
		return nil
	})
}

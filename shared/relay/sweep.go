package relay

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/store"
)

// Sweeps returns the steps that the domain adds to the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Relay, Name: "messages", Run: s.SweepRelay}}
}

// sweepBatch is the number of a user's messages that one transaction sweeps, small enough that the user's readers are
// not held up for long.
const sweepBatch = 100

// SweepRelay handles at most limit messages whose SweepAt has come: it makes dead letters of messages that expired
// unread or were not acknowledged, and deletes expired messages that were read, and dead letters after [DeadFor]. It
// returns the number of messages that it handled; fewer than limit without an error means that none is left. It may be
// interrupted and run again at any point.
func (s *Service) SweepRelay(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now, n := s.Now(), 0
	for n < limit {
		width := min(limit-n, store.MaxLimit)
		due, _, err := messages.QueryAll(
			ctx,
			a,
			store.Query{Where: []store.Cond{store.Le("sweepAt", now)}, Order: []string{"sweepAt"}, Limit: width},
		)
		if err != nil {
			return n, err
		}
		// A failure for one user does not hold up the mail of the others.
		var failed error
		for _, b := range batches(due) {
			if err := sweep(ctx, a.User(b.user), b.ids, now); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			n += len(b.ids)
		}
		if failed != nil || len(due) < width {
			return n, failed
		}
	}
	return n, nil
}

type batch struct {
	user string
	ids  []string
}

// batches groups messages by user, at most sweepBatch in each group.
func batches(due []store.Located[Message]) []*batch {
	var out []*batch
	open := map[string]*batch{}
	for _, d := range due {
		b := open[d.Ref.User]
		if b == nil || len(b.ids) == sweepBatch {
			b = &batch{user: d.Ref.User}
			open[b.user], out = b, append(out, b)
		}
		b.ids = append(b.ids, d.Ref.ID)
	}
	return out
}

// sweep makes dead letters of the messages of one user, or deletes them. Messages that were read, acknowledged or swept
// since they were listed have a later SweepAt and are not changed.
func sweep(ctx context.Context, t *store.Tenant, ids []string, now time.Time) error {
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		found, err := load(ctx, tx, ids)
		if err != nil {
			return err
		}
		for i, m := range found {
			if m == nil {
				continue
			}
			switch dead, spent := m.Sweep(now); {
			case dead:
				messages.Put(tx, ids[i], *m)
			case spent:
				messages.Delete(tx, ids[i])
			}
		}
		return nil
	})
}

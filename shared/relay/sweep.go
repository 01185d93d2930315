package relay

import (
	"context"
	"errors"
	"parley.internal/shared/domain"
	"time"

	"parley.internal/shared/store"
)

// Sweeps are the steps that the domain adds to the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Relay, Name: "messages", Run: s.SweepRelay}}
}

// sweepBatch is how many messages of a user one transaction sweeps: few enough
// that a reader of theirs does not wait for long.
const sweepBatch = 100

// SweepRelay sweeps at most limit messages whose time has come: it makes dead
// letters of what expired unread or went unacknowledged, and deletes what was read
// and expired, and dead letters past their time. It says how many it looked at: fewer
// than limit means that none is left. It may be ended and run again at any point.
func (s *Service) SweepRelay(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now, n := s.Now(), 0
	for n < limit {
		width := min(limit-n, store.MaxLimit)
		due, _, err := messages.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le("sweepAt", now)}, Order: []string{"sweepAt"}, Limit: width})
		if err != nil {
			return n, err
		}
		// What one user's mail meets does not hold up the others'.
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

// batches are the messages by user, as many at once as a transaction sweeps.
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

// sweep makes dead letters of, or deletes, messages of one user. What was read, acknowledged or swept since
// they were listed is due later, and is left alone.
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

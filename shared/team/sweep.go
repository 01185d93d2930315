package team

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// Sweeps returns the steps of the domain in the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{
		{Schedule: domain.Sessions, Name: "teammates", Takes: true, Run: s.SweepMembers},
		{Schedule: domain.Sessions, Name: "teams", Run: s.SweepTeams},
	}
}

// SweepMembers handles at most limit members whose lease has run out. A member with a task in
// progress or a process is retired: its unfinished tasks become pending, its process is lost,
// and the lead gets a message. SweepMembers returns the number of members that it handled;
// fewer than limit means that none is left. It may be interrupted and run again at any point.
func (s *Service) SweepMembers(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now := s.Now()
	due, _, err := beats.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le("leaseUntil", now)},
		Order: []string{"leaseUntil"}, Limit: min(limit, store.MaxLimit)})
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, d := range due {
		if err := s.expireLease(ctx, a.User(d.Ref.User), d.Ref.ID, d.Value, now); err != nil {
			failed = append(failed, err)
		}
	}
	return len(due) - len(failed), errors.Join(failed...)
}

// expireLease handles one lease that has run out, unless a heartbeat came after it was listed.
func (s *Service) expireLease(ctx context.Context, t *store.Tenant, id string, listed beat, now time.Time) error {
	return t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		var b beat
		f := beats.Fetch(id, &b)
		d, board, err := withBoard(ctx, tx, listed.TeamName, f)
		if fault.Is(err, fault.NotFound) || (err == nil && f.Found && b.TeamID != d.ID) {
			beats.Delete(tx, id) // the team was deleted
			return nil
		}
		if err != nil {
			return err
		}
		if !f.Found || b.LeaseUntil.IsZero() || now.Before(b.LeaseUntil) {
			return nil
		}
		m := d.Member(listed.Agent)
		if m == nil {
			beats.Delete(tx, id)
			return nil
		}
		var p storedProcess
		if process := d.Processes[m.Name]; process != "" {
			if err := store.Load(ctx, tx, processes.Fetch(process, &p)); err != nil {
				return err
			}
		}
		lost := p.MarkLost(now)
		if !lost && !board.Working(m.Name) {
			// The member owes no heartbeat. Its next task or heartbeat begins a new lease.
			beats.Patch(tx, id, store.Unset("leaseUntil"))
			return nil
		}
		if _, err := s.retireAndTellLead(ctx, tx, d, m, "sent no heartbeat for 10 minutes and is inactive",
			stamp(now), lost); err != nil {
			return err
		}
		if lost {
			processes.Put(tx, p.ProcessID, p)
		}
		return nil
	})
}

// clearPage is the number of documents that one transaction deletes.
const clearPage = 200

// SweepTeams deletes the documents of at most limit deleted teams and unfinished imports. It
// returns the number of teams that it handled; fewer than limit means that none is left. It
// may be interrupted and run again at any point.
func (s *Service) SweepTeams(ctx context.Context, a *store.Admin, limit int) (int, error) {
	due, _, err := deletions.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le("dueAt", s.Now())},
		Order: []string{"dueAt"}, Limit: min(limit, store.MaxLimit)})
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, d := range due {
		if err := purge(ctx, a.User(d.Ref.User), d.Ref.ID); err != nil {
			failed = append(failed, err)
		}
	}
	return len(due) - len(failed), errors.Join(failed...)
}

// purge deletes all documents of a deleted team. The deletion goes last, so that an interrupted
// purge is found again.
func purge(ctx context.Context, t *store.Tenant, id string) error {
	all := store.Query{Limit: clearPage}
	of := func(order string) store.Query {
		return store.Query{Where: []store.Cond{store.Eq("teamId", id)}, Order: []string{order}, Limit: clearPage}
	}
	for _, clear := range []func() (int, error){
		func() (int, error) { return messages.Under(id).DeleteWhere(ctx, t, all) },
		func() (int, error) { return texts.Under(id).DeleteWhere(ctx, t, all) },
		func() (int, error) { return prompts.Under(id).DeleteWhere(ctx, t, all) },
		func() (int, error) { return inboxes.DeleteWhere(ctx, t, of("agent")) },
		func() (int, error) { return beats.DeleteWhere(ctx, t, of("agent")) },
		func() (int, error) { return processes.DeleteWhere(ctx, t, of("requested_at desc")) },
	} {
		for n := clearPage; n == clearPage; {
			var err error
			if n, err = clear(); err != nil {
				return err
			}
		}
	}
	return t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
		deletions.Delete(tx, id)
		return nil
	})
}

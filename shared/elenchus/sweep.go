package elenchus

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/domain"
	"parley.internal/shared/store"
)

// Sweeps returns the steps that the domain adds to the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Sessions, Name: "verifications", Run: s.SweepVerifications}}
}

// The page sizes of a deletion. The deletion of a page writes at most 500 documents and reads no contents.
const (
	purgeRounds = 200
	purgeSteps  = 4 // of at most 100 documents each
	purgeFiles  = 200
	purgePlain  = 400
)

// SweepVerifications stops verifications without activity for a week, and deletes those that ended 90 days ago, with
// all documents below them. It handles at most limit verifications and returns how many it handled; fewer than limit
// means that none is left. It may be interrupted and called again at any point. A verification that fails does not stop
// the others; the error joins all failures.
func (s *Service) SweepVerifications(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now, n := s.Now(), 0
	due, _, err := sessions.QueryAll(ctx, a, store.Query{
		Where: []store.Cond{store.Le("sweepAt", now)},
		Order: []string{"sweepAt"},
		Limit: min(limit, store.MaxLimit),
	})
	if err != nil {
		return 0, err
	}
	var failed error
	for _, d := range due {
		if err := sweep(ctx, a.User(d.Ref.User), d.Ref.ID, now); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		n++
	}
	return n, failed
}

// sweep stops or deletes one verification, unless it has changed since it was listed.
func sweep(ctx context.Context, t *store.Tenant, id string, now time.Time) error {
	purge := false
	err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		purge = false
		var v Session
		f := sessions.Fetch(id, &v)
		if err := store.Load(ctx, tx, f); err != nil || !f.Found {
			return err
		}
		switch {
		case v.Spent(now):
			// No call finds the session from here on, so that nothing is added below it.
			purge, v.Purging = true, true
		case !v.Abandon(now):
			return nil
		}
		sessions.Put(tx, id, v)
		return nil
	})
	if err != nil || !purge {
		return err
	}
	return purgeAll(ctx, t, id)
}

// purgeAll deletes the documents below a session, and the session last, so that the next sweep finds a session whose
// deletion was interrupted.
func purgeAll(ctx context.Context, t *store.Tenant, id string) error {
	for _, part := range []func() (more bool, err error){
		func() (bool, error) {
			ids := func(d store.Doc[Round]) []string { return []string{d.ID} }
			return purgePage(ctx, t, rounds.Under(id), "tick desc", purgeRounds, ids, outputs.Under(id).Delete)
		},
		func() (bool, error) {
			ids := func(d store.Doc[step]) (out []string) {
				for _, b := range d.Value.Files {
					out = append(out, contentID(File{Path: b.File.Path, Tick: d.Value.Tick}), contentID(b.File))
				}
				return out
			}
			return purgePage(ctx, t, steps.Under(id), "tick desc", purgeSteps, ids, contents.Under(id).Delete)
		},
		func() (bool, error) {
			ids := func(d store.Doc[File]) []string { return []string{contentID(d.Value)} }
			return purgePage(ctx, t, files.Under(id), "path", purgeFiles, ids, contents.Under(id).Delete)
		},
		func() (bool, error) { return purgePage(ctx, t, issues.Under(id), "number", purgePlain, nil, nil) },
		func() (bool, error) { return purgePage(ctx, t, checkpoints.Under(id), "round", purgePlain, nil, nil) },
	} {
		for {
			more, err := part()
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
		sessions.Delete(tx, id)
		return nil
	})
}

// purgePage deletes a page of a collection, and reports whether there may be more. It also deletes the documents in
// another collection that belong to those of the page: dependents returns their ids, and drop deletes one of them. Both
// may be nil.
func purgePage[T any](
	ctx context.Context, t *store.Tenant, coll store.Collection[T], order string, size int,
	dependents func(store.Doc[T]) []string, drop func(*store.Tx, string),
) (more bool, err error) {
	err = t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		page, err := coll.Query(ctx, tx, store.Query{Order: []string{order}, Limit: size})
		if err != nil {
			return err
		}
		ids := map[string]bool{}
		for _, d := range page.Docs {
			coll.Delete(tx, d.ID)
			if dependents != nil {
				for _, id := range dependents(d) {
					ids[id] = true
				}
			}
		}
		for id := range ids {
			drop(tx, id)
		}
		more = len(page.Docs) == size
		return nil
	})
	return more, err
}

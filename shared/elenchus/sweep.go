package elenchus

import (
	"context"
	"errors"
	"parley.internal/shared/domain"
	"time"

	"parley.internal/shared/store"
)

// Sweeps are the steps that the domain adds to the scheduled sweeps.
func (s *Service) Sweeps() []domain.Sweep {
	return []domain.Sweep{{Schedule: domain.Sessions, Name: "verifications", Run: s.SweepVerifications}}
}

// The pages of a deletion: each writes at most 500 documents, and none reads contents.
const (
	purgeRounds = 200
	purgeSteps  = 4 // of at most 100 documents each
	purgeFiles  = 200
	purgePlain  = 400
)

// SweepVerifications looks after at most limit verifications whose time has come: it
// stops those that nobody has touched for a week, and deletes those that ended 90 days
// ago, with all below them. It returns how many it handled: fewer than limit means that
// none is left. It may be ended and run again at any point.
func (s *Service) SweepVerifications(ctx context.Context, a *store.Admin, limit int) (int, error) {
	now, n := s.Now(), 0
	due, _, err := sessions.QueryAll(ctx, a, store.Query{Where: []store.Cond{store.Le("sweepAt", now)}, Order: []string{"sweepAt"}, Limit: min(limit, store.MaxLimit)})
	if err != nil {
		return 0, err
	}
	// What one verification meets does not hold up the others.
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

// sweep stops or deletes one verification, unless it was touched since it was listed.
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
			// From here on no call finds it, so that nothing is added to what is deleted.
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

// purgeAll deletes what is below a session, and the session last, so that what is left
// of an attempt cut short is found again.
func purgeAll(ctx context.Context, t *store.Tenant, id string) error {
	for _, part := range []func() (int, int, error){
		func() (int, int, error) {
			return purge(ctx, t, rounds.Under(id), "tick desc", purgeRounds, func(d store.Doc[Round], gone map[string]bool) { gone[d.ID] = true }, outputs.Under(id).Delete)
		},
		func() (int, int, error) {
			return purge(ctx, t, steps.Under(id), "tick desc", purgeSteps, func(d store.Doc[step], gone map[string]bool) {
				for _, b := range d.Value.Files {
					gone[contentID(File{Path: b.File.Path, Tick: d.Value.Tick})] = true
					gone[contentID(b.File)] = true
				}
			}, contents.Under(id).Delete)
		},
		func() (int, int, error) {
			return purge(ctx, t, files.Under(id), "path", purgeFiles, func(d store.Doc[File], gone map[string]bool) { gone[contentID(d.Value)] = true }, contents.Under(id).Delete)
		},
		func() (int, int, error) { return purge(ctx, t, issues.Under(id), "number", purgePlain, nil, nil) },
		func() (int, int, error) { return purge(ctx, t, checkpoints.Under(id), "round", purgePlain, nil, nil) },
	} {
		for {
			n, width, err := part()
			if err != nil {
				return err
			}
			if n < width {
				break
			}
		}
	}
	return t.Update(ctx, func(_ context.Context, tx *store.Tx) error {
		sessions.Delete(tx, id)
		return nil
	})
}

// purge deletes a page of a collection, and by the last function the documents that
// hang on those of the page, which hang collects.
func purge[T any](ctx context.Context, t *store.Tenant, coll store.Collection[T], order string, width int, hang func(store.Doc[T], map[string]bool), drop func(*store.Tx, string)) (int, int, error) {
	n := 0
	err := t.Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		page, err := coll.Query(ctx, tx, store.Query{Order: []string{order}, Limit: width})
		if err != nil {
			return err
		}
		gone := map[string]bool{}
		for _, d := range page.Docs {
			coll.Delete(tx, d.ID)
			if hang != nil {
				hang(d, gone)
			}
		}
		for id := range gone {
			drop(tx, id)
		}
		n = len(page.Docs)
		return nil
	})
	return n, width, err
}

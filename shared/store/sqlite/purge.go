package sqlite

import (
	"context"
	"errors"
	"time"

	"parley.internal/shared/store"
)

// Purge deletes at most limit documents whose purgeAt has passed, as Firestore does by itself, and as many commits of
// the log that are older than [store.LogKept]. It returns the larger of the two numbers. Documents of collections that
// the schema lacks are kept.
func (d *Driver) Purge(ctx context.Context, schema *store.Schema, now time.Time, limit int) (int, error) {
	rows, err := d.read.QueryContext(ctx, `SELECT u, c, id FROM docs
		WHERE purge IS NOT NULL AND purge <= ? ORDER BY purge LIMIT ?`, now.UnixMicro(), limit)
	if err != nil {
		return 0, asFault(err)
	}
	var due []store.Write
	for rows.Next() {
		w := store.Write{Action: store.Delete}
		if err := rows.Scan(&w.Ref.User, &w.Ref.Coll, &w.Ref.ID); err != nil {
			return 0, errors.Join(asFault(err), rows.Close())
		}
		if w.Def = schema.DefOf(w.Ref.Coll); w.Def != nil {
			due = append(due, w)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, asFault(err)
	}
	n := 0
	err = d.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
		var writes []store.Write
		for _, w := range due {
			raws, err := r.Get(ctx, []store.Ref{w.Ref})
			if err != nil {
				return nil, err
			}
			// Its purgeAt may have been moved since it was listed.
			if raws[0] == nil {
				continue
			}
			if t, ok := raws[0].Fields[store.PurgeField].(time.Time); ok && !t.After(now) {
				writes = append(writes, w)
			}
		}
		n = len(writes)
		return writes, nil
	})
	if err != nil {
		return n, err
	}
	logs, err := d.purgeLog(ctx, now, limit)
	return max(n, logs), err
}

package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"parley.internal/shared/store"
)

// userDataPage is the number of documents that one step reads or erases.
const userDataPage = 300

// Walk implements store.Driver.
func (d *Driver) Walk(ctx context.Context, user string, page func([]store.Raw) error) error {
	for last := (store.Ref{User: user}); ; {
		raws, err := d.after(ctx, d.read, last)
		if err != nil {
			return err
		}
		if len(raws) == 0 {
			return nil
		}
		if err := page(raws); err != nil {
			return err
		}
		last = raws[len(raws)-1].Ref
	}
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// after returns the next page of a user's documents after last, ordered by collection and id.
func (d *Driver) after(ctx context.Context, q querier, last store.Ref) (raws []store.Raw, err error) {
	rows, err := q.QueryContext(ctx, `SELECT c, id, d FROM docs
		WHERE u = ? AND (c, id) > (?, ?) ORDER BY c, id LIMIT ?`, last.User, last.Coll, last.ID, userDataPage)
	if err != nil {
		return nil, asFault(err)
	}
	defer func() { err = errors.Join(err, asFault(rows.Err()), rows.Close()) }()
	for rows.Next() {
		raw := store.Raw{Ref: store.Ref{User: last.User}}
		var text string
		if err := rows.Scan(&raw.Ref.Coll, &raw.Ref.ID, &text); err != nil {
			return nil, asFault(err)
		}
		if raw.Fields, err = parseText(text); err != nil {
			return nil, err
		}
		raws = append(raws, raw)
	}
	return raws, nil
}

// Erase implements store.Driver. Erased rows are overwritten in the file, and the user's changes in the feed and
// in the log are deleted too.
func (d *Driver) Erase(ctx context.Context, user string) (total int, err error) {
	run := func(do func(ctx context.Context, conn *sql.Conn) error) error {
		return asFault(d.submit(&transaction{ctx: ctx, result: make(chan error, 1), raw: do}))
	}
	for n := userDataPage; n == userDataPage; total += n {
		err := run(func(ctx context.Context, conn *sql.Conn) error {
			n = 0 // the function may run again
			if err := d.flush(ctx); err != nil {
				return err
			}
			if _, err := conn.ExecContext(ctx, `PRAGMA secure_delete = ON`); err != nil {
				return err
			}
			raws, err := d.after(ctx, conn, store.Ref{User: user})
			if err != nil {
				return err
			}
			for _, raw := range raws {
				if err := d.eraseDoc(ctx, raw); err != nil {
					return err
				}
			}
			n = len(raws)
			return nil
		})
		if err != nil {
			return total, err
		}
	}
	err = run(func(ctx context.Context, conn *sql.Conn) error {
		for _, query := range []string{`DELETE FROM changes WHERE u = ?`, `DELETE FROM log WHERE u = ?`} {
			if _, err := conn.ExecContext(ctx, query, user); err != nil {
				return err
			}
		}
		// The words of a text that is gone remain in its segment of the index until that is merged with others.
		_, err := conn.ExecContext(ctx, `INSERT INTO words (words) VALUES ('optimize')`)
		return err
	})
	if err != nil {
		return total, err
	}
	// The write-ahead log still holds the old pages. While a reader uses it, the checkpoint leaves it for a later one.
	_, err = d.write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return total, asFault(err)
}

// eraseDoc deletes a document and its index rows. The rows of a collection that the schema lacks are unknown and
// remain; they lead to no document.
func (d *Driver) eraseDoc(ctx context.Context, raw store.Raw) error {
	if def := d.schema.DefOf(raw.Ref.Coll); def != nil {
		for _, row := range d.rows(def, raw.Ref, raw.Fields) {
			if _, err := d.w.delKey.ExecContext(ctx, row.key); err != nil {
				return err
			}
		}
	}
	if err := d.w.texts.set(ctx, raw.Ref, nil); err != nil {
		return err
	}
	_, err := d.w.del.ExecContext(ctx, raw.Ref.User, raw.Ref.Coll, raw.Ref.ID)
	return err
}

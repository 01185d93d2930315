package sqlite

import (
	"context"
	"database/sql"
	"time"

	"parley.internal/shared/store"
)

type watchScope struct{ user, coll string }

type watcher struct{ tell func(store.Change) }

// Watch implements store.Driver. It sees the commits of this process; another
// process that has the file open is not heard.
func (d *Driver) Watch(_ context.Context, user, coll string, _ *store.Def, tell func(store.Change)) (func(), error) {
	s, w := watchScope{user, coll}, &watcher{tell}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watchers[s] == nil {
		d.watchers[s] = map[*watcher]struct{}{}
	}
	d.watchers[s][w] = struct{}{}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers[s], w)
		if len(d.watchers[s]) == 0 {
			delete(d.watchers, s)
		}
	}, nil
}

// tell lets watchers and readers of the feed know of a commit.
func (d *Driver) tell(changes []store.Change) {
	d.mu.Lock()
	var calls []func()
	ring := false
	for _, c := range changes {
		for w := range d.watchers[watchScope{c.Ref.User, c.Ref.Coll}] {
			calls = append(calls, func() { w.tell(c) })
		}
		ring = ring || d.fed[c.Ref.Coll] > 0
	}
	if ring {
		close(d.bell)
		d.bell = make(chan struct{})
	}
	d.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// record adds a change to the feed, where anyone reads it.
func (d *Driver) record(ctx context.Context, c change, after any) error {
	d.mu.Lock()
	read := d.fed[c.def.Name] > 0
	d.mu.Unlock()
	if !read {
		return nil
	}
	kind, before := store.Updated, any(nil)
	if c.before == nil {
		kind = store.Created
	} else {
		before = string(appendText(nil, c.before))
	}
	if c.after == nil {
		kind = store.Deleted
	}
	_, err := d.w.record.ExecContext(ctx, time.Now().UnixMicro(), string(kind), c.ref.User, c.ref.Coll, c.ref.ID, before, after)
	return err
}

type feed struct {
	d    *Driver
	name string
}

// Feed is the change feed of the named reader over collections without parents.
// Its place is kept in the file; a reader that is new begins with the next commit.
func (d *Driver) Feed(ctx context.Context, name string, collections ...string) (store.Feed, error) {
	for _, c := range collections {
		n, err := d.exec(ctx, `INSERT INTO readers (name, c, seq) VALUES (?, ?, (SELECT coalesce(max(seq), 0) FROM changes))
			ON CONFLICT DO NOTHING`, name, c)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			d.mu.Lock()
			d.fed[c]++
			d.mu.Unlock()
		}
	}
	return &feed{d, name}, nil
}

// exec runs one statement in the writer's next group and says how many rows it
// changed.
func (d *Driver) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = d.submit(&member{ctx: ctx, result: make(chan error, 1), raw: func(ctx context.Context, conn *sql.Conn) error {
		res, err := conn.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	}})
	return n, asFault(err)
}

// Next implements store.Feed.
func (f *feed) Next(ctx context.Context, limit int) ([]store.Event, error) {
	for {
		f.d.mu.Lock()
		bell := f.d.bell
		f.d.mu.Unlock()
		events, err := f.read(ctx, limit)
		if err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-bell:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.d.quit:
			return nil, errClosed
		}
	}
}

func (f *feed) read(ctx context.Context, limit int) ([]store.Event, error) {
	rows, err := f.d.read.QueryContext(ctx, `SELECT changes.seq, at, kind, u, changes.c, id, before, after FROM changes
		JOIN readers ON readers.name = ? AND readers.c = changes.c WHERE changes.seq > readers.seq ORDER BY changes.seq LIMIT ?`, f.name, limit)
	if err != nil {
		return nil, asFault(err)
	}
	defer rows.Close()
	var events []store.Event
	for rows.Next() {
		var e store.Event
		var at int64
		var before, after sql.NullString
		if err := rows.Scan(&e.Seq, &at, &e.Kind, &e.Ref.User, &e.Ref.Coll, &e.Ref.ID, &before, &after); err != nil {
			return nil, asFault(err)
		}
		e.At = time.UnixMicro(at).UTC()
		for text, to := range map[*sql.NullString]*store.Fields{&before: &e.Before, &after: &e.After} {
			if text.Valid {
				if *to, err = parseText(text.String); err != nil {
					return nil, err
				}
			}
		}
		events = append(events, e)
	}
	return events, asFault(rows.Err())
}

// Ack implements store.Feed. What every reader is past is forgotten.
func (f *feed) Ack(ctx context.Context, seq int64) error {
	if _, err := f.d.exec(ctx, `UPDATE readers SET seq = max(seq, ?) WHERE name = ?`, seq, f.name); err != nil {
		return err
	}
	_, err := f.d.exec(ctx, `DELETE FROM changes WHERE seq <= (SELECT min(seq) FROM readers)`)
	return err
}

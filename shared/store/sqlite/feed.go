package sqlite

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"parley.internal/shared/store"
)

type watchScope struct{ user, coll string }

type watcher struct{ tell func(store.Change) }

// Watch implements store.Driver. It sees the commits of this process; another
// process that has the file open is not heard.
func (d *Driver) Watch(_ context.Context, user, coll string, tell func(store.Change)) (func(), error) {
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
	for _, c := range changes {
		for w := range d.watchers[watchScope{c.Ref.User, c.Ref.Coll}] {
			calls = append(calls, func() { w.tell(c) })
		}
	}
	if d.recorded {
		d.recorded = false
		close(d.bell)
		d.bell = make(chan struct{})
	}
	d.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// record adds a change to the feed, where it concerns anyone who reads it.
func (d *Driver) record(ctx context.Context, c change, after any) error {
	kind := store.Updated
	switch {
	case c.before == nil:
		kind = store.Created
	case c.after == nil:
		kind = store.Deleted
	}
	if !d.concerns(kind, c) {
		return nil
	}
	var before any
	if c.before != nil {
		before = string(appendText(nil, c.before))
	}
	d.recorded = true
	_, err := d.w.record.ExecContext(ctx, time.Now().UnixMicro(), string(kind), c.ref.User, c.ref.Coll, c.ref.ID, before, after)
	return err
}

// concerns asks the readers of the feed. One that has not come back since this
// process began is taken to want everything.
func (d *Driver) concerns(kind store.EventKind, c change) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.follows[c.def.Name]
	if d.fed[c.def.Name] > len(known) {
		return true
	}
	for _, f := range known {
		if f == nil || f(kind, c.before, c.after) {
			return true
		}
	}
	return false
}

type feed struct {
	d    *Driver
	name string
}

// Feed is the change feed of the named reader. Its place is kept in the file; a
// reader that is new begins with the next commit.
func (d *Driver) Feed(ctx context.Context, name string, follows ...store.Follow) (store.Feed, error) {
	for _, f := range follows {
		n, err := d.exec(ctx, `INSERT INTO readers (name, c, seq) VALUES (?, ?, (SELECT coalesce(max(seq), 0) FROM changes))
			ON CONFLICT DO NOTHING`, name, f.Collection)
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		d.fed[f.Collection] += int(n)
		if d.follows[f.Collection] == nil {
			d.follows[f.Collection] = map[string]func(store.EventKind, store.Fields, store.Fields) bool{}
		}
		d.follows[f.Collection][name] = f.Concerns
		d.mu.Unlock()
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
func (f *feed) Next(ctx context.Context, after int64, limit int) ([]store.Event, error) {
	for {
		f.d.mu.Lock()
		bell := f.d.bell
		f.d.mu.Unlock()
		events, err := f.read(ctx, after, limit)
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

func (f *feed) read(ctx context.Context, after int64, limit int) ([]store.Event, error) {
	rows, err := f.d.read.QueryContext(ctx, `SELECT changes.seq, at, kind, u, changes.c, id, before, after FROM changes
		JOIN readers ON readers.name = ? AND readers.c = changes.c WHERE changes.seq > max(readers.seq, ?) ORDER BY changes.seq LIMIT ?`, f.name, after, limit)
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
		e.ID, e.At = "feed-"+strconv.FormatInt(e.Seq, 10), time.UnixMicro(at).UTC()
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

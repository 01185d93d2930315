package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"parley.internal/shared/store"
)

type watchScope struct{ user, coll string }

type watcher struct{ notify func(store.Change) }

// Watch implements store.Driver. It reports the commits of this process only, not those of other processes that have
// the file open.
func (d *Driver) Watch(_ context.Context, user, coll string, notify func(store.Change)) (func(), error) {
	s, w := watchScope{user, coll}, &watcher{notify}
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

// notify reports the changes of a commit to the watchers and wakes the reader of the feed.
func (d *Driver) notify(changes []store.Change) {
	d.mu.Lock()
	var calls []func()
	for _, c := range changes {
		for w := range d.watchers[watchScope{c.Ref.User, c.Ref.Coll}] {
			calls = append(calls, func() { w.notify(c) })
		}
	}
	if d.recorded {
		d.recorded = false
		close(d.appended)
		d.appended = make(chan struct{})
	}
	d.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// record adds a change to the feed if it concerns the feed's reader.
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
	_, err := d.w.record.ExecContext(ctx,
		time.Now().UnixMicro(), string(kind), c.ref.User, c.ref.Coll, c.ref.ID, before, after)
	return err
}

// concerns reports whether the reader of the feed wants a change.
func (d *Driver) concerns(kind store.EventKind, c change) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.follows[c.def.Name]
	return ok && (f.Concerns == nil || f.Concerns(kind, c.before, c.after))
}

// feedReader is the reader's name in the file. The layout has room for several readers.
const feedReader = "reactions"

type feed struct{ d *Driver }

// Feed returns the change feed for its one reader, which follows the given collections. The reader's offset is kept in
// the file. A collection that it followed before goes on after the last Ack, a new one begins with the next commit, and
// one that it no longer follows is dropped. Between Open and the call of Feed, all changes of the collections followed
// before are kept.
func (d *Driver) Feed(ctx context.Context, follows ...store.Follow) (store.Feed, error) {
	byName := map[string]store.Follow{}
	for _, f := range follows {
		byName[f.Collection] = f
	}
	names, err := json.Marshal(slices.AppendSeq([]string{}, maps.Keys(byName)))
	if err != nil {
		return nil, err
	}
	for _, query := range []string{
		`DELETE FROM readers WHERE c NOT IN (SELECT value FROM json_each(?))`,
		`INSERT INTO readers (name, c, seq) SELECT '` + feedReader + `', value, (SELECT coalesce(max(seq), 0) FROM changes)
			FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
	} {
		if err := d.exec(ctx, query, string(names)); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.follows = byName
	return &feed{d}, nil
}

// exec runs one statement in the writer's next group.
func (d *Driver) exec(ctx context.Context, query string, args ...any) error {
	run := func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, query, args...)
		return err
	}
	return asFault(d.submit(&transaction{ctx: ctx, result: make(chan error, 1), raw: run}))
}

// Next implements store.Feed.
func (f *feed) Next(ctx context.Context, after int64, limit int) ([]store.Event, error) {
	for {
		f.d.mu.Lock()
		appended := f.d.appended
		f.d.mu.Unlock()
		events, err := f.read(ctx, after, limit)
		if err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-appended:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.d.quit:
			return nil, errClosed
		}
	}
}

func (f *feed) read(ctx context.Context, after int64, limit int) ([]store.Event, error) {
	rows, err := f.d.read.QueryContext(ctx, `SELECT changes.seq, at, kind, u, changes.c, id, before, after FROM changes
		JOIN readers ON readers.c = changes.c
		WHERE changes.seq > max(readers.seq, ?) ORDER BY changes.seq LIMIT ?`, after, limit)
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

// Ack implements store.Feed. It deletes the changes up to the offset.
func (f *feed) Ack(ctx context.Context, seq int64) error {
	if err := f.d.exec(ctx, `UPDATE readers SET seq = max(seq, ?)`, seq); err != nil {
		return err
	}
	return f.d.exec(ctx, `DELETE FROM changes WHERE seq <= (SELECT min(seq) FROM readers)`)
}

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
)

// maxGroup is how many transactions one commit takes at most, maxPatience how long
// one waits for others.
const (
	maxGroup    = 256
	maxPatience = time.Millisecond
)

// transaction waits for the writer, which runs it.
type transaction struct {
	ctx     context.Context
	fn      func(context.Context, store.Reads) ([]store.Write, error)
	raw     func(context.Context, *sql.Conn) error // a statement of the driver's own, in place of fn
	result  chan error
	err     error
	wrote   bool
	changes []store.Change
}

// Update implements store.Driver. Once a transaction is taken up, its caller
// waits for the outcome whatever becomes of ctx, so that it is never told that
// nothing happened when something did.
func (d *Driver) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	return d.submit(&transaction{ctx: ctx, fn: fn, result: make(chan error, 1)})
}

func (d *Driver) submit(t *transaction) error {
	select {
	case d.queue <- t:
	case <-t.ctx.Done():
		return fault.From(t.ctx.Err())
	case <-d.quit:
		return errClosed
	}
	select {
	case err := <-t.result:
		return err
	case <-d.done:
		select {
		case err := <-t.result:
			return err
		default:
			return errClosed
		}
	}
}

var errClosed = fault.New(fault.Unavailable, "the store is closed")

func (d *Driver) writeLoop() {
	defer close(d.done)
	for {
		select {
		case t := <-d.queue:
			d.commitGroup(d.gather(t))
		case <-d.quit:
			for {
				select {
				case t := <-d.queue:
					d.commitGroup(d.gather(t))
				default:
					return
				}
			}
		}
	}
}

// gather takes the transactions that wait. One commit costs about the same for many
// as for one, so where there were many just now it gives their callers a moment to
// come back: half as long as the last commit took, and none where it had one transaction.
func (d *Driver) gather(t *transaction) []*transaction {
	group := []*transaction{t}
	var patience <-chan time.Time
	for len(group) < maxGroup {
		select {
		case t := <-d.queue:
			group = append(group, t)
			continue
		default:
		}
		if len(group) >= d.lastGroup {
			break
		}
		if patience == nil {
			timer := time.NewTimer(min(d.lastCommit/2, maxPatience))
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case t := <-d.queue:
			group = append(group, t)
		case <-patience:
			return group
		}
	}
	return group
}

// commitGroup runs the transactions and commits them with one fsync. Where the group
// as a whole fails, each is run again alone, so that none fails for another.
func (d *Driver) commitGroup(group []*transaction) {
	start := time.Now()
	defer func() { d.lastGroup, d.lastCommit = len(group), time.Since(start) }()
	if err := d.tryGroup(group); err != nil {
		for _, t := range group {
			if err := d.tryGroup([]*transaction{t}); err != nil {
				t.err = asFault(err)
			}
			d.finish(t)
		}
		return
	}
	for _, t := range group {
		d.finish(t)
	}
}

// finish tells the watchers of the changes of a transaction, and its caller of the outcome.
func (d *Driver) finish(t *transaction) {
	if t.err == nil {
		d.tell(t.changes)
	}
	t.result <- t.err
}

// errGroup is the failure of a statement that may have left rows behind, or of
// the transaction itself: the group cannot be committed.
type errGroup struct{ error }

func (e errGroup) Unwrap() error { return e.error }

func (d *Driver) tryGroup(group []*transaction) error {
	ctx := context.Background()
	if _, err := d.w.begin.ExecContext(ctx); err != nil {
		return err
	}
	wrote := false
	d.fresh, d.flushed = d.fresh[:0], nil
	for _, t := range group {
		t.changes, t.wrote = nil, false
		t.err = d.run(ctx, t)
		var broken errGroup
		if errors.As(t.err, &broken) {
			d.rollback(ctx)
			return broken.error
		}
		if d.flushed != nil { // whatever the transaction made of it, rows of others are missing
			d.rollback(ctx)
			return d.flushed
		}
		wrote = wrote || t.wrote
	}
	if !wrote {
		d.rollback(ctx)
		return nil
	}
	err := d.flush(ctx)
	if err == nil {
		_, err = d.w.commit.ExecContext(ctx)
	}
	if err != nil {
		d.rollback(ctx)
	}
	return err
}

// flush writes the index rows that the group has gathered, many in a statement:
// what a statement costs by itself is most of what a row costs. It comes before
// whatever could miss them, a query in the group or the removal of one of them,
// and before the commit.
func (d *Driver) flush(ctx context.Context) error {
	rows := d.fresh
	d.fresh = d.fresh[:0]
	slices.SortFunc(rows, compareRows)
	for len(rows) > 0 {
		n, stmt := manyKeys, d.w.addKeys
		if len(rows) < manyKeys {
			n, stmt = 1, d.w.addKey
		}
		args := make([]any, 0, 2*n)
		for _, r := range rows[:n] {
			args = append(args, r.key, r.name)
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			d.flushed = err
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// rollback ends the transaction. Its error tells nothing: SQLite ends one by
// itself where a disk is full, and then has none to roll back.
func (d *Driver) rollback(ctx context.Context) {
	_, _ = d.conn.ExecContext(ctx, "ROLLBACK")
}

func (d *Driver) run(ctx context.Context, t *transaction) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Wrap(fault.Internal, fmt.Errorf("panic: %v", p), "a transaction's function panicked")
		}
	}()
	if err := t.ctx.Err(); err != nil {
		return fault.From(err)
	}
	if t.raw != nil {
		t.wrote = true
		if err := t.raw(ctx, d.conn); err != nil {
			return errGroup{err}
		}
		return nil
	}
	r := reader{d, d.w}
	writes, err := t.fn(context.WithoutCancel(t.ctx), r)
	if err != nil {
		return err
	}
	if len(writes) == 1 && writes[0].Action == store.Create {
		return d.create(ctx, t, writes[0])
	}
	pending := make([]change, len(writes))
	for i, w := range writes {
		if pending[i], err = r.check(ctx, w); err != nil {
			return err
		}
	}
	for _, c := range pending {
		if err := d.apply(ctx, c); err != nil {
			return errGroup{err}
		}
		t.wrote = true
		t.changes = append(t.changes, store.Change{Ref: c.ref, Fields: c.after})
	}
	return nil
}

// create is a transaction that creates one document and does nothing else: the row
// itself tells whether there was one, so it is not looked for.
func (d *Driver) create(ctx context.Context, t *transaction, w store.Write) error {
	c := change{ref: w.Ref, def: w.Def, after: w.Fields}
	text := string(appendText(nil, c.after))
	res, err := d.w.add.ExecContext(ctx, c.ref.User, c.ref.Coll, c.ref.ID, text, purgeOf(c.after))
	if err != nil {
		return errGroup{err}
	}
	if n, err := res.RowsAffected(); err != nil {
		return errGroup{err}
	} else if n == 0 {
		return errExists(w)
	}
	d.fresh = append(d.fresh, d.rows(c.def, c.ref, c.after)...)
	if err := d.record(ctx, c, text); err != nil {
		return errGroup{err}
	}
	t.wrote, t.changes = true, []store.Change{{Ref: c.ref, Fields: c.after}}
	return nil
}

func errExists(w store.Write) error {
	return fault.New(fault.Exists, "%s %q exists already", w.Def.ID(), w.Ref.ID)
}

func purgeOf(doc store.Fields) any {
	if t, ok := doc[store.PurgeField].(time.Time); ok {
		return t.UnixMicro()
	}
	return nil
}

// change is a write whose conditions hold.
type change struct {
	ref           store.Ref
	def           *store.Def
	before, after store.Fields
}

// check finds what a write will do, or refuses it; it changes nothing.
func (r reader) check(ctx context.Context, w store.Write) (change, error) {
	c := change{ref: w.Ref, def: w.Def}
	var err error
	if c.before, err = r.doc(ctx, w.Ref); err != nil {
		return c, err
	}
	switch w.Action {
	case store.Create:
		if c.before != nil {
			return c, errExists(w)
		}
		c.after = w.Fields
	case store.Put:
		c.after = w.Fields
	case store.Patch:
		if c.before == nil {
			return c, fault.New(fault.NotFound, "no %s with id %q", w.Def.ID(), w.Ref.ID)
		}
		c.after = maps.Clone(c.before)
		if err := store.Apply(c.after, w.Edits); err != nil {
			return c, fault.Wrap(fault.Internal, err, "patch")
		}
		if err := store.CheckSize(w.Ref, c.after); err != nil {
			return c, err
		}
	}
	return c, nil
}

// apply writes the rows of a change.
func (d *Driver) apply(ctx context.Context, c change) error {
	if c.before == nil && c.after == nil {
		return nil
	}
	old, now := d.rows(c.def, c.ref, c.before), d.rows(c.def, c.ref, c.after)
	if len(old) > 0 { // one of them may not be in the table yet
		if err := d.flush(ctx); err != nil {
			return err
		}
	}
	for _, row := range old {
		if _, kept := slices.BinarySearchFunc(now, row, compareRows); !kept {
			if _, err := d.w.delKey.ExecContext(ctx, row.key); err != nil {
				return err
			}
		}
	}
	for _, row := range now {
		if _, had := slices.BinarySearchFunc(old, row, compareRows); !had {
			d.fresh = append(d.fresh, row)
		}
	}
	var text any
	if c.after == nil {
		if _, err := d.w.del.ExecContext(ctx, c.ref.User, c.ref.Coll, c.ref.ID); err != nil {
			return err
		}
	} else {
		text = string(appendText(nil, c.after))
		if _, err := d.w.put.ExecContext(ctx, c.ref.User, c.ref.Coll, c.ref.ID, text, purgeOf(c.after)); err != nil {
			return err
		}
	}
	return d.record(ctx, c, text)
}

// Purge deletes at most limit documents whose purgeAt has passed, as Firestore
// does by itself, and says how many they were.
func (d *Driver) Purge(ctx context.Context, schema *store.Schema, now time.Time, limit int) (int, error) {
	rows, err := d.read.QueryContext(ctx, `SELECT u, c, id FROM docs WHERE purge IS NOT NULL AND purge <= ? ORDER BY purge LIMIT ?`, now.UnixMicro(), limit)
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
			// One that was given more time since it was listed lives on.
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
	return n, err
}

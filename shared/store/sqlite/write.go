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

// maxGroup is the maximum number of transactions in one commit, maxDelay the longest time that a commit waits for
// further ones.
const (
	maxGroup = 256
	maxDelay = time.Millisecond
)

// transaction is a unit of work for the writer.
type transaction struct {
	ctx     context.Context
	fn      func(context.Context, store.Reads) ([]store.Write, error)
	raw     func(context.Context, *sql.Conn) error // statements of the driver itself, in place of fn
	result  chan error
	err     error
	wrote   bool
	changes []store.Change
}

// Update implements store.Driver. Once the writer has taken the transaction, its caller waits for the outcome even if
// ctx ends, so that a change is never reported as not made.
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

// gather returns t and the other waiting transactions. A commit of many costs about as much as a commit of one, so if
// the last group had several transactions, gather waits up to half the duration of the last commit for as many again.
func (d *Driver) gather(t *transaction) []*transaction {
	group := []*transaction{t}
	var timeout <-chan time.Time
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
		if timeout == nil {
			timer := time.NewTimer(min(d.lastCommit/2, maxDelay))
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case t := <-d.queue:
			group = append(group, t)
		case <-timeout:
			return group
		}
	}
	return group
}

// commitGroup runs the transactions and commits them with one fsync. If the group fails as a whole, each transaction
// runs again alone, so that none fails because of another.
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

// finish reports the changes of a transaction to the watchers and the outcome to its caller.
func (d *Driver) finish(t *transaction) {
	if t.err == nil {
		d.notify(t.changes)
	}
	t.result <- t.err
}

// errGroup is the failure of a statement that may have left rows behind, or of the SQL transaction itself. The group
// cannot be committed.
type errGroup struct{ error }

// Unwrap returns the failure.
func (e errGroup) Unwrap() error { return e.error }

func (d *Driver) tryGroup(group []*transaction) error {
	ctx := context.Background()
	if _, err := d.w.begin.ExecContext(ctx); err != nil {
		return err
	}
	if err := d.sameSet(d.w.set.QueryRowContext(ctx)); err != nil {
		d.rollback(ctx)
		return err
	}
	wrote := false
	d.fresh, d.flushErr = d.fresh[:0], nil
	for _, t := range group {
		t.changes, t.wrote = nil, false
		t.err = d.run(ctx, t)
		var broken errGroup
		if errors.As(t.err, &broken) {
			d.rollback(ctx)
			return broken.error
		}
		if d.flushErr != nil { // rows of other transactions are missing, even if this one ignored the error
			d.rollback(ctx)
			return d.flushErr
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

// flush writes the gathered index rows of the group, many in one statement, because most of the cost of a row is that
// of its statement. It is called before any statement that depends on the rows (a query in the group, the deletion of a
// row) and before the commit.
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
			d.flushErr = err
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// rollback ends the SQL transaction. Its error is ignored: SQLite may have ended the transaction by itself, for example
// when the disk is full, and then has none to roll back.
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
	if err := d.keep(ctx, t, writes); err != nil {
		return errGroup{err}
	}
	return nil
}

// create runs a transaction that only creates one document. The insertion itself shows whether the document existed, so
// there is no read before it.
func (d *Driver) create(ctx context.Context, t *transaction, w store.Write) error {
	c := change{ref: w.Ref, def: w.Def, after: w.Fields, newText: w.NewText, text: w.Text}
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
	if err := errors.Join(d.setText(ctx, c), d.record(ctx, c, text)); err != nil {
		return errGroup{err}
	}
	t.wrote, t.changes = true, []store.Change{{Ref: c.ref, Fields: c.after}}
	if err := d.keep(ctx, t, []store.Write{w}); err != nil {
		return errGroup{err}
	}
	return nil
}

func errExists(w store.Write) error {
	return fault.New(fault.Exists, "%s %q already exists", w.Def.ID(), w.Ref.ID)
}

func purgeOf(doc store.Fields) any {
	if t, ok := doc[store.PurgeField].(time.Time); ok {
		return t.UnixMicro()
	}
	return nil
}

// change is a write whose conditions were checked.
type change struct {
	ref           store.Ref
	def           *store.Def
	before, after store.Fields

	newText bool
	text    *store.Text
}

// check computes the change of a write, or refuses it. It changes nothing.
func (r reader) check(ctx context.Context, w store.Write) (change, error) {
	c := change{ref: w.Ref, def: w.Def, newText: w.NewText, text: w.Text}
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

// apply writes the document and the index rows of a change.
func (d *Driver) apply(ctx context.Context, c change) error {
	if c.before == nil && c.after == nil {
		return nil
	}
	old, now := d.rows(c.def, c.ref, c.before), d.rows(c.def, c.ref, c.after)
	if len(old) > 0 { // some of them may still wait for flush
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
	if err := d.setText(ctx, c); err != nil {
		return err
	}
	return d.record(ctx, c, text)
}

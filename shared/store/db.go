package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"parley.internal/shared/fault"
)

// Schema is the set of all collections of a program. The last segments of their names are unique too, because
// Firestore's indexes identify a collection by its last segment alone.
type Schema struct {
	defs []*Def
	by   map[string]*Def
}

// NewSchema returns the schema of the given declarations. It panics if two names have the same last segment.
func NewSchema(defs ...*Def) *Schema {
	s := &Schema{by: map[string]*Def{}}
	last := map[string]string{}
	for _, d := range defs {
		if other, dup := last[d.ID()]; dup {
			panic(fmt.Sprintf("store: collections %s and %s share a last segment", other, d.Name))
		}
		last[d.ID()] = d.Name
		s.by[d.Name] = d
		s.defs = append(s.defs, d)
	}
	return s
}

// Defs returns the declarations in the order given to NewSchema. The caller must not change the slice.
func (s *Schema) Defs() []*Def { return s.defs }

// DB is a database. Documents are reached through [DB.User]. A DB may be used concurrently.
type DB struct {
	driver     Driver
	schema     *Schema
	abortFirst bool
	waits      *waits
	turns      turns
}

// Option changes the behaviour of a DB.
type Option func(*DB)

// AbortFirst aborts the first attempt of every transaction, so that tests find side effects in transaction functions.
func AbortFirst() Option { return func(db *DB) { db.abortFirst = true } }

// WaitLimits sets the maximum numbers of listeners and of waiters of an instance; zero leaves a number as it is. A wait
// beyond either is Unavailable. The defaults are the number that the driver carries, and 4,096.
func WaitLimits(listeners, waiters int) Option {
	return func(db *DB) {
		db.waits.maxListeners = cmp.Or(listeners, db.waits.maxListeners)
		db.waits.maxWaiters = cmp.Or(waiters, db.waits.maxWaiters)
	}
}

// New returns a database on a driver that was opened with the same schema. The database owns the driver and closes it.
func New(driver Driver, schema *Schema, opts ...Option) *DB {
	db := &DB{driver: driver, schema: schema, waits: newWaits(driver)}
	for _, o := range opts {
		o(db)
	}
	return db
}

// User returns access to the documents of one user. A malformed uid is reported by the first read or write, as
// Internal.
func (db *DB) User(uid string) *Tenant { return &Tenant{db: db, uid: uid} }

// Drain ends all waits, and all later ones at once, as if their time were over. Other calls are not affected.
func (db *DB) Drain() { db.waits.drain() }

// Drained returns a channel that is closed by [DB.Drain].
func (db *DB) Drained() <-chan struct{} { return db.waits.drained }

// Close drains the database and closes the driver.
func (db *DB) Close() error {
	db.Drain()
	db.waits.close()
	return db.driver.Close()
}

// Reader reads the documents of a user. It is a [Tenant], or a [Tx] for reads that must hold until the commit.
type Reader interface {
	user() string
	checkDef(*Def) error
	reads(context.Context) (Reads, error)
}

// Tenant gives access to the documents of one user.
type Tenant struct {
	db  *DB
	uid string
}

// ID returns the id of the user.
func (t *Tenant) ID() string { return t.uid }

func (t *Tenant) user() string { return t.uid }

func (t *Tenant) checkDef(d *Def) error {
	if t.db.schema.by[d.Name] == nil {
		return fault.New(fault.Internal, "store: collection %s is not in the schema", d.Name)
	}
	if err := checkUser(t.uid); err != nil {
		return fault.Wrap(fault.Internal, err, "store")
	}
	return nil
}

type inTx struct{}

func (t *Tenant) reads(ctx context.Context) (Reads, error) {
	if ctx.Value(inTx{}) != nil {
		return nil, fault.New(fault.Internal, "store: a read inside a transaction must use the transaction")
	}
	return t.db.driver, nil
}

var errAborted = errors.New("store: first attempt aborted")

// Update runs fn in a serializable transaction and commits its writes, all or none. fn may run more than once, so it
// must have no side effects except assignments that a later run overwrites. In fn, reads must come before writes and
// must use tx; a violation is Internal. An error of fn is returned, and nothing is written. Contention that outlasts
// the driver's retries is Conflict.
func (t *Tenant) Update(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	return t.update(ctx, fn, t.db.driver.Update)
}

// update runs fn as one of the driver's methods does.
func (t *Tenant) update(ctx context.Context, fn func(ctx context.Context, tx *Tx) error,
	driver func(ctx context.Context, fn func(ctx context.Context, r Reads) ([]Write, error)) error) error {
	if ctx.Value(inTx{}) != nil {
		return fault.New(fault.Internal, "store: transactions must not be nested")
	}
	if err := ctx.Err(); err != nil {
		return fault.From(err)
	}
	if !t.db.local() {
		leave, err := t.db.turns.wait(ctx, t.uid)
		if err != nil {
			return err
		}
		defer leave()
	}
	aborted := !t.db.abortFirst
	run := func(ctx context.Context, r Reads) ([]Write, error) {
		tx := &Tx{tenant: t, driver: r}
		if err := fn(context.WithValue(ctx, inTx{}, true), tx); err != nil {
			return nil, err
		}
		if tx.err != nil {
			return nil, tx.err
		}
		if !aborted {
			aborted = true
			return nil, errAborted
		}
		return tx.writes, nil
	}
	err := driver(ctx, run)
	if errors.Is(err, errAborted) {
		err = driver(ctx, run)
	}
	return err
}

// Consume takes documents away from others that want them: fn reads some and changes them, and of several that have read
// a document one changes it; fn of the others runs again. It promises no more: a document that fn reads and does not
// write may change meanwhile, and two reads of fn may be of different times. Otherwise fn is that of
// [Tenant.Update].
//
// On a driver whose reads are local, Consume first calls waiting outside of the transaction, and returns nil if it reports
// false, so that an empty look does not hold up writers. On others, waiting would cost as much as the first read of fn
// and is not called. fn must therefore handle the empty case too.
func (t *Tenant) Consume(
	ctx context.Context, waiting func(context.Context, Reader) (bool, error), fn func(context.Context, *Tx) error,
) error {
	if t.db.local() {
		if found, err := waiting(ctx, t); err != nil || !found {
			return err
		}
	}
	if d, ok := t.db.driver.(Unchanged); ok {
		return t.update(ctx, fn, d.UpdateUnchanged)
	}
	return t.Update(ctx, fn)
}

// local reports whether the driver reads locally and runs one transaction after the other.
func (db *DB) local() bool {
	d, ok := db.driver.(interface{ ReadsLocally() bool })
	return ok && d.ReadsLocally()
}

// MaxWrites is the maximum number of documents that one transaction may write.
const MaxWrites = 500

// Tx is a running transaction. Its reads may be concurrent. It must not be used after its function has returned.
type Tx struct {
	tenant *Tenant
	driver Reads
	mu     sync.Mutex
	writes []Write
	err    error
}

func (tx *Tx) user() string          { return tx.tenant.uid }
func (tx *Tx) checkDef(d *Def) error { return tx.tenant.checkDef(d) }

func (tx *Tx) reads(context.Context) (Reads, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if len(tx.writes) > 0 {
		return nil, fault.New(fault.Internal, "store: reads must come before writes in a transaction")
	}
	return tx.driver, nil
}

// add keeps a write for the commit. The transaction fails with the first err that it is given or finds.
func (tx *Tx) add(w Write, err error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err == nil && w.Fields != nil {
		err = CheckSize(w.Ref, w.Fields)
	}
	if err == nil && reserved(w) {
		err = fault.New(fault.Internal, "store: the fields %s and %s are reserved for the driver", ChangedField, ShardField)
	}
	for _, other := range tx.writes {
		if err == nil && other.Ref == w.Ref {
			err = fault.New(fault.Internal, "store: %s/%s must be written only once in a transaction", w.Ref.Coll, w.Ref.ID)
		}
	}
	if err == nil && len(tx.writes) == MaxWrites {
		err = fault.New(fault.Internal, "store: a transaction must have at most %d writes", MaxWrites)
	}
	if err != nil {
		if tx.err == nil {
			tx.err = err
		}
		return
	}
	tx.writes = append(tx.writes, w)
}

// DefOf returns the declaration of the collection at a concrete path, nil if there is none.
func (s *Schema) DefOf(path string) *Def {
	for _, d := range s.defs {
		if pathOf(d.Name, path) {
			return d
		}
	}
	return nil
}

// ChangedField is a top-level field that a driver may add to documents to find changes. Documents must not have a field
// of this name.
const ChangedField = "changedAt"

// ShardField is a top-level field that a driver may add to documents that queries over all users find. Documents must not
// have a field of this name.
const ShardField = "sweepShard"

func reserved(w Write) bool {
	_, has := w.Fields[ChangedField]
	_, sharded := w.Fields[ShardField]
	return has || sharded || slices.ContainsFunc(w.Edits, func(e Edit) bool {
		return e.Field == ChangedField || e.Field == ShardField
	})
}

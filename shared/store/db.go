package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"parley.internal/shared/fault"
)

// Schema is every collection of a program. Names are unique, in their last
// segment too, because Firestore's indexes know a collection by that alone.
type Schema struct {
	defs []*Def
	by   map[string]*Def
}

// NewSchema collects declarations. It panics where two share a name.
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

// Defs lists the declarations.
func (s *Schema) Defs() []*Def { return s.defs }

// DB is a database. Only [DB.User] reaches documents.
type DB struct {
	driver     Driver
	schema     *Schema
	abortFirst bool
	waits      *waits
}

// Option changes how a DB behaves.
type Option func(*DB)

// AbortFirst makes every transaction's first attempt come to nothing, so that a
// test finds side effects inside of transaction functions.
func AbortFirst() Option { return func(db *DB) { db.abortFirst = true } }

// WaitLimits sets how many listeners and waiters an instance serves at once;
// past them a wait is Unavailable. The defaults are 80 and 4,096.
func WaitLimits(listeners, waiters int) Option {
	return func(db *DB) { db.waits.maxListeners, db.waits.maxWaiters = listeners, waiters }
}

// New is a database over a driver that was opened with the same schema.
func New(driver Driver, schema *Schema, opts ...Option) *DB {
	db := &DB{driver: driver, schema: schema, waits: newWaits(driver)}
	for _, o := range opts {
		o(db)
	}
	return db
}

// User is one user's documents.
func (db *DB) User(uid string) *Tenant { return &Tenant{db: db, uid: uid} }

// Drain ends every wait with nothing found, now and from now on. Other calls go on.
func (db *DB) Drain() { db.waits.drain() }

// Close drains the database and closes the driver.
func (db *DB) Close() error {
	db.Drain()
	db.waits.close()
	return db.driver.Close()
}

// Reader reads a user's documents: a [Tenant], or a [Tx] for what must hold
// until the commit.
type Reader interface {
	user() string
	knows(*Def) error
	reads(context.Context) (Reads, error)
}

// Tenant is one user's documents.
type Tenant struct {
	db  *DB
	uid string
}

// ID is the user's.
func (t *Tenant) ID() string { return t.uid }

func (t *Tenant) user() string { return t.uid }

func (t *Tenant) knows(d *Def) error {
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
		return nil, fault.New(fault.Internal, "store: read through the transaction, not beside it")
	}
	return t.db.driver, nil
}

var errAborted = errors.New("store: first attempt aborted")

// Update runs fn in a serializable transaction and commits what it wrote, all
// or nothing. fn may run more than once: it has no side effects but assignments
// that a later run overwrites. Reads come before writes. An error of fn ends the
// transaction with nothing written. Contention past the driver's retries is Conflict.
func (t *Tenant) Update(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	if ctx.Value(inTx{}) != nil {
		return fault.New(fault.Internal, "store: a transaction inside a transaction")
	}
	if err := ctx.Err(); err != nil {
		return fault.From(err)
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
	err := t.db.driver.Update(ctx, run)
	if errors.Is(err, errAborted) {
		err = t.db.driver.Update(ctx, run)
	}
	return err
}

// Consume runs fn as [Tenant.Update] does, where waiting finds something for it. A driver whose
// reads are local asks waiting before it begins a transaction, so that a look which finds nothing
// keeps no writer from its turn. Another leaves that to fn, whose own first read costs no more; so
// fn must find out for itself too.
func (t *Tenant) Consume(
	ctx context.Context, waiting func(context.Context, Reader) (bool, error), fn func(context.Context, *Tx) error,
) error {
	if d, ok := t.db.driver.(interface{ ReadsLocally() bool }); ok && d.ReadsLocally() {
		if found, err := waiting(ctx, t); err != nil || !found {
			return err
		}
	}
	return t.Update(ctx, fn)
}

// MaxWrites is how many documents one transaction may write.
const MaxWrites = 500

// Tx is a running transaction.
type Tx struct {
	tenant *Tenant
	driver Reads
	mu     sync.Mutex
	writes []Write
	err    error
}

func (tx *Tx) user() string       { return tx.tenant.uid }
func (tx *Tx) knows(d *Def) error { return tx.tenant.knows(d) }

func (tx *Tx) reads(context.Context) (Reads, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if len(tx.writes) > 0 {
		return nil, fault.New(fault.Internal, "store: a transaction reads before it writes")
	}
	return tx.driver, nil
}

// add keeps a write until the commit. The first error is the transaction's.
func (tx *Tx) add(w Write, err error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err == nil && w.Fields != nil {
		err = CheckSize(w.Ref, w.Fields)
	}
	if err == nil && reserved(w) {
		err = fault.New(fault.Internal, "store: the field %s is the driver's", ChangedField)
	}
	for _, other := range tx.writes {
		if err == nil && other.Ref == w.Ref {
			err = fault.New(fault.Internal, "store: two writes to %s/%s in a transaction", w.Ref.Coll, w.Ref.ID)
		}
	}
	if err == nil && len(tx.writes) == MaxWrites {
		err = fault.New(fault.Internal, "store: more than %d writes in a transaction", MaxWrites)
	}
	if err != nil {
		if tx.err == nil {
			tx.err = err
		}
		return
	}
	tx.writes = append(tx.writes, w)
}

// DefOf is the declaration of the collection at a concrete path, or nil.
func (s *Schema) DefOf(path string) *Def {
	for _, d := range s.defs {
		if pathOf(d.Name, path) {
			return d
		}
	}
	return nil
}

// ChangedField is a top-level field that a driver may keep in a document to find
// what changed. No document has one of its own.
const ChangedField = "changedAt"

func reserved(w Write) bool {
	_, has := w.Fields[ChangedField]
	return has || slices.ContainsFunc(w.Edits, func(e Edit) bool { return e.Field == ChangedField })
}

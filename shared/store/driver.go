package store

import (
	"context"
	"time"
)

// Fields is a document as a driver holds it. A value is nil, bool, int64,
// float64, string, time.Time (UTC, microseconds), []any or Fields.
type Fields map[string]any

// Ref names one document of a user. Coll is the concrete path of its
// collection, "tasks" or "fires/f1/messages".
type Ref struct{ User, Coll, ID string }

// Action is what a [Write] does.
type Action int

// The actions.
const (
	Create Action = iota // refused with Exists where the document is there
	Put                  // whole, whether it is there or not
	Patch                // single fields; refused with NotFound where it is not there
	Delete               // no error where it is not there
)

// Write is one change of a transaction. A transaction holds at most one for a
// document, and a driver applies all of them or none.
type Write struct {
	Action Action
	Ref    Ref
	Def    *Def
	Fields Fields // Create, Put
	Edits  []Edit // Patch
}

// Edit changes one top-level field of a document in a [Patch].
type Edit struct {
	Field string
	Value any // what to set; nil with Unset
	Add   int64
	Unset bool
	IsAdd bool
}

// Raw is a document read by a driver.
type Raw struct {
	Ref    Ref
	Fields Fields
}

// Plan is a query that this package has checked and planned.
type Plan struct {
	// User is empty for a query over all users ([Admin]); then Coll is empty too.
	User, Coll string
	Def        *Def
	// Index is the declared index that the query ranges over, nil for a listing
	// by id. Merge are further indexes of the same order whose equalities must hold.
	Index *Index
	Merge []*Index
	Where []Cond
	Order []Field
	Limit int
	// After is where the page before ended: the values of Order, then the
	// document.
	After *Position
}

// Position is a place in the order of a query.
type Position struct {
	Values []any
	Ref    Ref
}

// Change is what a watcher is told: a document as it stands after a commit, nil
// fields for one that was deleted.
type Change struct {
	Ref    Ref
	Fields Fields
	// Lost says that the driver may have missed changes: everyone looks again.
	Lost bool
}

// Reads is the reading half of a driver, inside and outside of transactions.
type Reads interface {
	// Get returns the documents in the order of refs, nil for one that is missing.
	Get(ctx context.Context, refs []Ref) ([]*Raw, error)
	// Query returns at most plan.Limit documents in order.
	Query(ctx context.Context, plan Plan) ([]Raw, error)
}

// Driver is a database. Its methods return faults; anything else is Internal.
type Driver interface {
	Reads
	// Update runs fn in a serializable transaction and applies the writes that
	// it returns. fn runs again after contention. Where fn reads nothing, no
	// transaction is begun.
	Update(ctx context.Context, fn func(ctx context.Context, r Reads) ([]Write, error)) error
	// Watch calls tell for every document of the collection that is written after
	// Watch has returned, until stop is called or it has told Lost; of deletions it
	// tells what it hears. tell must not block.
	Watch(ctx context.Context, user, coll string, tell func(Change)) (stop func(), err error)
	// Walk gives page all documents of a user, of whatever collection, by pages.
	Walk(ctx context.Context, user string, page func([]Raw) error) error
	// Erase deletes all documents of a user, with all else that is kept of them, and
	// counts them.
	Erase(ctx context.Context, user string) (int, error)
	Close() error
}

// EventKind says what a change in a [Feed] did.
type EventKind string

// The kinds of event.
const (
	Created EventKind = "created"
	Updated EventKind = "updated"
	Deleted EventKind = "deleted"
)

// Event is one committed change. A [Feed] gives them in the order of commits.
type Event struct {
	// ID is the same whenever the event is delivered, and no other event's.
	ID string
	// Seq is the event's place in its feed, zero for one that came another way.
	Seq           int64
	At            time.Time
	Kind          EventKind
	Ref           Ref
	Before, After Fields
}

// Follow is a collection that the reader of a feed follows.
type Follow struct {
	// Collection is the name of one without parents.
	Collection string
	// Concerns reports whether the reader wants the change. Nil is every change. Other changes are not kept, so it is
	// asked about each write before its commit, and must be quick.
	Concerns func(kind EventKind, before, after Fields) bool
}

// Feed is a durable change feed with one reader. Events that were not acknowledged come
// again after a restart.
type Feed interface {
	// Next waits until there is an event past the reader's offset and past after, or ctx
	// ends, and returns at most limit events.
	Next(ctx context.Context, after int64, limit int) ([]Event, error)
	// Ack moves the reader's offset to seq.
	Ack(ctx context.Context, seq int64) error
}

package store

import (
	"context"
	"encoding/json"
	"time"
)

// Fields is a document as a driver holds it. A value is nil, bool, int64, float64, string, time.Time (UTC,
// microseconds), []any or Fields.
type Fields map[string]any

// Ref is the reference of one document of a user. Coll is the concrete path of its collection, such as "tasks" or
// "fires/f1/messages".
type Ref struct{ User, Coll, ID string }

// Action is the kind of a [Write].
type Action int

// The actions.
const (
	Create Action = iota // adds a document; Exists if there is one
	Put                  // adds or replaces a document
	Patch                // changes single fields; NotFound if there is no document
	Delete               // removes a document, if there is one
)

// Write is one change of a transaction. A transaction holds at most one for each document, and a driver applies all of
// them or none.
type Write struct {
	Action Action
	Ref    Ref
	Def    *Def
	Fields Fields // Create, Put
	Edits  []Edit // Patch
	// Entry is the addition of the commit to the log of the user, nil for nothing.
	Entry *Entry
	// NewText means that the document is found by Text after the write, and by nothing if that is nil.
	NewText bool
	Text    *Text
}

// Edit changes one top-level field of a document in a [Patch].
type Edit struct {
	Field string
	Value any // the new value, unless Unset or IsAdd
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
	// Index is the declared index that the query reads, nil for a listing by id. Merge lists further indexes of the
	// same order, whose equalities must hold too.
	Index *Index
	Merge []*Index
	Where []Cond
	Order []Field
	Limit int
	// After is the end of the previous page, nil for the first page.
	After *Position
}

// Position is a place in the order of a query: the values of its Order, then the document.
type Position struct {
	Values []any
	Ref    Ref
}

// Change is a change to a document, as a watcher receives it. Fields is the document after the commit, nil for a
// deletion.
type Change struct {
	Ref    Ref
	Fields Fields
	// Lost reports that changes may have been missed. Ref and Fields are empty then, and the watch has ended.
	Lost bool
}

// Reads is the reading half of a driver, inside and outside of transactions.
type Reads interface {
	// Get returns the documents in the order of refs, nil for a missing one.
	Get(ctx context.Context, refs []Ref) ([]*Raw, error)
	// Query returns at most plan.Limit documents, in the order of the plan.
	Query(ctx context.Context, plan Plan) ([]Raw, error)
}

// Driver is a database. Its methods return faults; any other error counts as Internal. They may be called concurrently.
type Driver interface {
	Reads
	// Update runs fn in a serializable transaction and applies the writes that it returns. fn runs again after
	// contention. If fn reads nothing, the driver need not begin a transaction. r must not be used after fn has
	// returned.
	Update(ctx context.Context, fn func(ctx context.Context, r Reads) ([]Write, error)) error
	// Watch calls notify for every document of the collection that is written after Watch has returned, until stop is
	// called or a Change with Lost has been sent. Deletions are reported as far as the driver learns of them. notify
	// must not block. The end of ctx does not end the watch.
	Watch(ctx context.Context, user, coll string, notify func(Change)) (stop func(), err error)
	// Log returns the commits of a user's log that follow a place, at most [MaxLogPage], and the place after them. Without
	// a place it returns the present one and no commits. A place that is not the driver's own is Invalid.
	Log(ctx context.Context, user string, place json.RawMessage) (DriverPage, error)
	// Search returns a page of the index of texts, with the documents of a user that match, newest first. A place that is
	// not the driver's own is Invalid.
	Search(ctx context.Context, plan TextPlan) (TextPage, error)
	// Walk calls page with all documents of a user, of every collection, page by page. An error of page ends it and is
	// returned.
	Walk(ctx context.Context, user string, page func([]Raw) error) error
	// Erase deletes all documents of a user and all other records of them, and returns the number of documents.
	Erase(ctx context.Context, user string) (int, error)
	// Usage counts the documents of a user and their bytes.
	Usage(ctx context.Context, user string) (Usage, error)
	// Close releases the database. No change is reported after it has returned.
	Close() error
}

// Unchanged is implemented by a driver whose transactions hold up others that only read.
type Unchanged interface {
	// UpdateUnchanged runs fn outside of a transaction and applies the writes that it returns, all or none, if none of the
	// documents that they change, of those that fn has read, was changed since. Otherwise fn runs again.
	UpdateUnchanged(ctx context.Context, fn func(ctx context.Context, r Reads) ([]Write, error)) error
}

// EventKind is the kind of a change in a [Feed].
type EventKind string

// The kinds of event.
const (
	Created EventKind = "created"
	Updated EventKind = "updated"
	Deleted EventKind = "deleted"
)

// Event is one committed change. A [Feed] returns events in the order of commits.
type Event struct {
	// ID is unique to the event, and the same at every delivery.
	ID string
	// Seq is the event's place in its feed, zero for an event from another source.
	Seq           int64
	At            time.Time
	Kind          EventKind
	Ref           Ref
	Before, After Fields
}

// Follow is a subscription of a feed's reader to a collection.
type Follow struct {
	// Collection is the name of a top-level collection.
	Collection string
	// Concerns reports whether the reader wants the change; nil means every change. Other changes are not kept. It is
	// called for each write before its commit, so it must be quick.
	Concerns func(kind EventKind, before, after Fields) bool
}

// Feed is a durable change feed with one reader. Events that were not acknowledged are delivered again after a restart.
type Feed interface {
	// Next returns at most limit events past both the reader's offset and after. It waits until there is one, or ctx
	// ends.
	Next(ctx context.Context, after int64, limit int) ([]Event, error)
	// Ack moves the reader's offset to seq.
	Ack(ctx context.Context, seq int64) error
}
